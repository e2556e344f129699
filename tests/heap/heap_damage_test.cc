// What damage to a heap's file does. A heap was closed, or its process was killed with transactions
// that are only in the log. Then a bit of the file is wrong, or a sector contains zeros. Opening
// refuses (kCorrupt or kUnsupported, with the file's name), or everything that was acknowledged is
// there.
//
// One loss cannot be distinguished from a crash, and is therefore accepted: the end of the log. A
// damaged transaction may be missing, with all later ones, if no remaining marker refers to it.
// Then no later transaction of its own slot remains. Of each other slot, at most one remains, which
// was written before its thread knew that the missing one was durable.
//
// The words of the heap do not have a checksum, so the tests do not damage them.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/sanitizer.h"
#include "elider/heap.h"
#include "elider/try.h"
#include "heap/format.h"
#include "tests/support/memory_files.h"
#include "tests/heap/defaults.h"
#include "tests/heap/golden_heap.h"
#include "tests/support/random.h"
#include "tests/support/status_matchers.h"

namespace elider::test {
namespace {

constexpr size_t kStep = kAddressSanitizer || kThreadSanitizer ? 61 : 1;  // of bits
constexpr uint64_t kSectorBytes = 512;

// Transaction `number` writes its number to `total`, and how many its thread has made.
struct Counts {
  uint64_t total;
  uint64_t padding[7];
  uint64_t own[2];
  uint64_t words[400];
};

using Contents = std::vector<std::byte>;

HeapOptions damage_options() {
  HeapOptions options;
  options.threads_max = 2;
  options.log_bytes = 64 << 10;
  options.markers = 256;
  options.capacity_bytes = 4 << 20;
  options.background_replay = false;
  set_backend(options);
  return options;
}

// `large`: the record has 3 KiB.
Status count(Heap& heap, uint64_t thread, bool large) {
  return heap.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(auto root, txn.root<Counts>("counts"));
    Counts& counts = txn[root];
    const uint64_t total = txn.read(counts.total) + 1;
    txn.write(counts.total, total);
    txn.write(counts.own[thread], txn.read(counts.own[thread]) + 1);
    for (uint64_t i = 0; large && i < std::size(counts.words); ++i) txn.write(counts.words[i], total);
    return {};
  });
}

// A heap's file, and what is known of it.
struct Image {
  Contents contents;
  uint64_t acknowledged = 0;
  uint64_t replayed = 0;
  uint64_t log_bytes = 0;
  heap::Geometry geometry;
  std::map<uint64_t, heap::Marker> pending;  // that are in the log alone, by number
};

Image image_of(io::MemoryFiles& files, const Heap& heap, uint64_t acknowledged) {
  Image image{.contents = files.contents().at(kPath), .acknowledged = acknowledged, .geometry = {}, .pending = {}};
  const HeapStatus status = heap.status();
  image.log_bytes = status.log_bytes;
  image.replayed = status.replayed_number;
  heap::FileHeader header;
  std::memcpy(&header, image.contents.data(), sizeof(header));
  EXPECT_OK(heap::decode(header, kPath, &image.geometry));
  for (uint64_t i = 0; i < image.geometry.markers; ++i) {
    heap::Marker marker;
    std::memcpy(&marker, image.contents.data() + image.geometry.marker_at(i), sizeof(marker));
    if (heap::is_valid(marker, image.geometry) && marker.number > image.replayed) image.pending[marker.number] = marker;
  }
  return image;
}

// Threads take turns. The log is replayed after transaction `replay_after`, and when it is full.
Image killed_image(uint64_t threads, uint64_t transactions, uint64_t replay_after, HeapDurability durability, bool large = false) {
  io::MemoryFiles files;
  const io::SubstituteFiles substitute(files);
  HeapOptions options = damage_options();
  options.durability = durability;
  auto heap = Heap::open(kPath, 1 << 20, options);
  EXPECT_OK(heap);
  std::atomic<uint64_t> turn{0};
  std::vector<std::thread> running;
  for (uint64_t t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      for (;;) {
        uint64_t now = 0;
        while ((now = turn.load()) < transactions && now % threads != t) std::this_thread::yield();
        if (now >= transactions) return;
        EXPECT_OK(count(*heap, t, large));
        if (now + 1 == replay_after) {
          EXPECT_OK(heap->replay());
        }
        turn.store(now + 1);
      }
    });
  for (std::thread& thread : running) thread.join();
  if (durability == HeapDurability::kLater) {
    EXPECT_OK(heap->persist());
  }
  return image_of(files, *heap, transactions);
}

Image closed_image() {
  Image image = killed_image(1, 30, 20, HeapDurability::kWait);
  io::MemoryFiles files({{kPath, image.contents}});
  const io::SubstituteFiles substitute(files);
  {
    auto heap = Heap::open(kPath, 1 << 20, damage_options());
    EXPECT_OK(heap);
    for (int i = 0; i < 5; ++i) EXPECT_OK(count(*heap, 0, false));
  }
  image.contents = files.contents().at(kPath);
  image.acknowledged += 5;
  image.pending.clear();
  return image;
}

// Which of the pending transactions have a byte of their marker or record in this part of the file.
std::set<uint64_t> touched(const Image& image, uint64_t from, uint64_t to) {
  std::set<uint64_t> numbers;
  const auto overlaps = [&](uint64_t at, uint64_t bytes) { return at < to && from < at + bytes; };
  for (const auto& [number, marker] : image.pending)
    if (overlaps(image.geometry.marker_at(number), sizeof(marker)) ||
        overlaps(image.geometry.record_at(marker.slot, marker.start), marker.bytes))
      numbers.insert(number);
  return numbers;
}

// Returns the smallest total that is allowed if these transactions are damaged.
uint64_t least_of(const Image& image, const std::set<uint64_t>& damaged) {
  for (const uint64_t number : damaged) {
    std::map<uint32_t, uint64_t> left;  // of each slot, later ones that are not damaged
    for (auto later = image.pending.upper_bound(number); later != image.pending.end(); ++later)
      if (!damaged.contains(later->first)) ++left[later->second.slot];
    bool is_end = left[image.pending.at(number).slot] == 0;
    for (const auto& [slot, count] : left) is_end = is_end && count <= 1;
    if (is_end) return number - 1;
  }
  return image.acknowledged;
}

struct Found {
  Status status;
  Counts counts{};
};
Found open_damaged(const Contents& contents) {
  io::MemoryFiles files({{kPath, contents}});
  const io::SubstituteFiles substitute(files);
  Found found;
  auto heap = Heap::open(kPath, 1 << 20, damage_options());
  if (!heap.ok()) return {heap.status(), {}};
  found.status = heap->read([&](HeapReader& reader) -> Status {
    ELIDER_ASSIGN(auto root, reader.root<Counts>("counts"));
    found.counts = reader.read(reader[root]);
    return {};
  });
  return found;
}

uint64_t refused = 0, whole = 0, shorter = 0;

// Returns an empty text, or what is wrong with how the damaged file opens.
std::string judge(const Image& image, const Contents& damaged, uint64_t from, uint64_t to) {
  const Found found = open_damaged(damaged);
  if (found.status.code() == Code::kCorrupt || found.status.code() == Code::kUnsupported) {
    ++refused;
    return found.status.message().find(kPath) == std::string::npos ? "no file is named: " + std::string(found.status.message()) : "";
  }
  const uint64_t least = least_of(image, touched(image, from, to));
  if (!found.status.ok()) {
    if (found.status.code() == Code::kNotFound && least == 0) return "";
    return "another error: " + std::string(found.status.message());
  }
  if (found.counts.own[0] + found.counts.own[1] != found.counts.total) return "part of a transaction";
  if (found.counts.total < least) return "of " + std::to_string(image.acknowledged) + " only " + std::to_string(found.counts.total);
  ++(found.counts.total == image.acknowledged ? whole : shorter);
  return "";
}

// Flips every `step`th bit from `from` to `to`.
void flip_bits(const Image& image, uint64_t from, uint64_t to, size_t step, const char* what) {
  SCOPED_TRACE(what);
  Contents damaged = image.contents;
  for (uint64_t bit = from * 8; bit < to * 8; bit += step) {
    const auto mask = static_cast<std::byte>(1u << bit % 8);
    damaged[bit / 8] ^= mask;
    ASSERT_EQ(judge(image, damaged, bit / 8, bit / 8 + 1), "") << "bit " << bit % 8 << " of byte " << bit / 8;
    damaged[bit / 8] ^= mask;
  }
}

void flip_everything(const Image& image) {
  flip_bits(image, 0, sizeof(heap::FileHeader), kStep, "the header");
  for (const auto& places : heap::kReplayedAt)
    for (const uint64_t at : places) flip_bits(image, at, at + sizeof(heap::Replayed), kStep, "an entry");
  flip_bits(image, heap::kPersistedAt, heap::kPersistedAt + sizeof(heap::Replayed), kStep, "what persist() has promised");
  for (const auto& [number, marker] : image.pending) {
    SCOPED_TRACE("transaction " + std::to_string(number));
    const uint64_t at = image.geometry.marker_at(number), record = image.geometry.record_at(marker.slot, marker.start);
    flip_bits(image, at, at + sizeof(marker), kStep, "a marker");
    flip_bits(image, record, record + marker.bytes, kStep, "a record");
  }
}

void zero_sectors(const Image& image) {
  for (uint64_t at = 0; at < image.log_bytes; at += kSectorBytes) {
    Contents damaged = image.contents;
    std::fill_n(damaged.begin() + static_cast<ptrdiff_t>(at), kSectorBytes, std::byte{0});
    if (damaged == image.contents) continue;
    ASSERT_EQ(judge(image, damaged, at, at + kSectorBytes), "") << "the sector at byte " << at;
  }
}

class HeapDamageTest : public testing::Test {
 protected:
  HeapDamageTest() { refused = whole = shorter = 0; }
  ~HeapDamageTest() override {
    std::printf("%llu images refused, %llu whole, %llu without the log's end\n", static_cast<unsigned long long>(refused),
                static_cast<unsigned long long>(whole), static_cast<unsigned long long>(shorter));
  }
};

TEST_F(HeapDamageTest, EveryWrongBitIsFoundOrChangesNothing) {
  const Image image = killed_image(1, 30, 20, HeapDurability::kWait);
  ASSERT_EQ(image.pending.size(), 10u);
  flip_everything(image);
  EXPECT_GT(refused, whole);
  EXPECT_GT(whole, shorter);
}

TEST_F(HeapDamageTest, EveryWrongBitOfTwoThreadsLogsIsFoundOrChangesNothing) {
  const Image image = killed_image(2, 32, 24, HeapDurability::kWait);
  ASSERT_EQ(image.pending.size(), 8u);
  ASSERT_NE(image.pending.at(31).slot, image.pending.at(32).slot);
  flip_everything(image);
  EXPECT_GT(refused, whole);
}

// Not even the end of the log may be missing, because persist() leaves a proof of its own.
TEST_F(HeapDamageTest, EveryWrongBitOfWhatWasPersistedIsFoundOrChangesNothing) {
  const Image image = killed_image(1, 30, 20, HeapDurability::kLater);
  flip_everything(image);
  EXPECT_GT(refused, whole);
  EXPECT_EQ(shorter, 0u);
}

TEST_F(HeapDamageTest, EveryWrongBitOfAClosedHeapsLogIsFoundOrChangesNothing) {
  const Image image = closed_image();
  flip_everything(image);
  EXPECT_EQ(shorter, 0u);
}

TEST_F(HeapDamageTest, EverySectorOfZerosIsFoundOrChangesNothing) {
  zero_sectors(killed_image(1, 30, 20, HeapDurability::kWait));
  zero_sectors(killed_image(2, 60, 20, HeapDurability::kWait));
  zero_sectors(killed_image(1, 30, 20, HeapDurability::kLater));
  zero_sectors(closed_image());
}

// The log was reused several times. What an older entry refers to has been overwritten.
TEST_F(HeapDamageTest, OfALogThatWentRoundNothingOlderCounts) {
  for (const uint64_t threads : {1, 2}) {
    const Image image = killed_image(threads, 100 * threads, 70 * threads, HeapDurability::kWait, true);
    zero_sectors(image);
    // Both places of the newest entry.
    Contents damaged = image.contents;
    heap::Replayed entries[2];
    for (int i = 0; i < 2; ++i) std::memcpy(&entries[i], damaged.data() + heap::kReplayedAt[i][0], sizeof(heap::Replayed));
    const auto& newest = heap::kReplayedAt[entries[0].sequence > entries[1].sequence ? 0 : 1];
    for (const uint64_t at : newest) damaged[at] ^= std::byte{1};
    EXPECT_CODE(Code::kCorrupt, open_damaged(damaged).status);
  }
}

// An earlier version of the program wrote this heap: its markers do not claim anything, and each
// entry has one place.
TEST_F(HeapDamageTest, AHeapOfEarlierDaysIsOpened) {
  io::MemoryFiles files({{kPath, golden_heap()}});
  const io::SubstituteFiles substitute(files);
  const auto value_of = [](Heap& heap) {
    uint64_t value = 0;
    EXPECT_OK(heap.read([&](HeapReader& reader) -> Status {
      ELIDER_ASSIGN(auto root, reader.root<uint64_t>("counter"));
      value = reader.read(reader[root]);
      return {};
    }));
    return value;
  };
  for (uint64_t round = 0; round < 2; ++round) {
    auto heap = Heap::open(kPath, 1 << 20, damage_options());
    ASSERT_OK(heap);
    EXPECT_EQ(heap->status().recovered, round == 0 ? 20u : 0u);
    EXPECT_EQ(value_of(*heap), 40 + round);
    EXPECT_OK(heap->transaction([&](HeapTransaction& txn) -> Status {
      ELIDER_ASSIGN(auto root, txn.root<uint64_t>("counter"));
      txn.write(txn[root], 41 + round);
      return {};
    }));
  }
}

}  // namespace
}  // namespace elider::test
