// Heap files that were made to do harm. Each field of the header, of the entries, of a marker and
// of its record, and the words that lead to free blocks and roots, has values that no program
// writes, with matching checksums. Opening, checking, asking for the status and the first
// transactions return an error, or succeed. They do not stop the process, run forever, or take
// memory without a bound.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/sanitizer.h"
#include "elider/try.h"
#include "heap/allocator.h"
#include "heap/format.h"
#include "tests/heap/heap_fixture.h"

namespace elider::test {
namespace {

struct Hundred {
  uint64_t words[100];
};

class HeapHostileTest : public testing::Test, protected HeapFixture {
 protected:
  // Makes a heap whose last transactions are only in the log.
  HeapHostileTest() {
    options_.threads_max = 2;
    options_.log_bytes = 64 << 10;
    options_.markers = 256;
    options_.capacity_bytes = 4 << 20;
    options_.background_replay = false;
    options_.durability = HeapDurability::kLater;
    options_.flush_ns = 0;
    reopen();
    std::vector<HeapPtr<Hundred>> freed(40);
    EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
      ELIDER_TRY(txn.root<Hundred>("hundred").status());
      for (auto& pointer : freed) {
        ELIDER_ASSIGN(pointer, txn.allocate<Hundred>());
      }
      return {};
    }));
    EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
      for (const auto& pointer : freed) ELIDER_TRY(txn.free(pointer));
      return {};
    }));
    EXPECT_OK(heap_.replay());
    replayed_ = heap_.status().replayed_number;
    for (uint64_t i = 1; i <= 3; ++i)
      EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
        ELIDER_ASSIGN(auto root, txn.root<Hundred>("hundred"));
        txn.write(txn[root].words[0], i);
        return {};
      }));
    std::ifstream file(path_, std::ios::binary);
    image_.assign(std::istreambuf_iterator<char>(file), {});
    std::memcpy(&header_, image_.data(), sizeof(header_));
    EXPECT_OK(heap::decode(header_, path_, &geometry_));
    heap_ = {};
  }

  template <class T>
  T part(uint64_t at) const {
    T part;
    std::memcpy(&part, image_.data() + at, sizeof(part));
    return part;
  }
  template <class T>
  static void put(std::string& bytes, uint64_t at, const T& part) {
    std::memcpy(bytes.data() + at, &part, sizeof(part));
  }
  std::vector<uint64_t> values_for(uint64_t now) const {
    constexpr uint64_t kOne = 1;
    return {0, 1, 2, 7, 65, now - 1, now + 1, now + 8, now + 64, now * 2, now / 2, kOne << 20, image_.size(), image_.size() - 8,
            kOne << 32, kOne << 40, (kOne << 48) - 1, kOne << 56, kOne << 63, ~uint64_t{7}, ~uint64_t{0}};
  }

  static uint64_t memory_used() {
    rusage usage;
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<uint64_t>(usage.ru_maxrss) << 10;
  }

  // Makes more commits than there are markers, so that the log is replayed.
  static Status use(Heap& heap) {
    for (int i = 0; i < 300; ++i)
      ELIDER_TRY(heap.transaction([](HeapTransaction& txn) -> Status {
        ELIDER_ASSIGN(auto root, txn.root<Hundred>("another"));
        txn.write(txn[root].words[7], txn.read(txn[root].words[7]) + 1);
        ELIDER_ASSIGN(auto small, txn.allocate<Hundred>());
        ELIDER_ASSIGN(auto large, txn.allocate<std::byte>(40'000));
        ELIDER_TRY(txn.free(large));
        return txn.free(small);
      }));
    return heap.persist();
  }
  void look_at(const std::string& bytes) {
    const uint64_t before = memory_used();
    const auto is_expected = [&](const Status& status) {
      const std::set<Code> expected = {Code::kOk,          Code::kCorrupt, Code::kUnsupported,  Code::kInvalidArgument,
                                       Code::kMemoryLimit, Code::kIoError, Code::kSchemaMismatch};
      EXPECT_TRUE(expected.contains(status.code())) << status.message();
      ++(status.ok() ? worked_ : refused_);
    };
    for (const HeapMedium medium : {HeapMedium::kFile, HeapMedium::kDelay}) {
      std::ofstream(path_, std::ios::binary) << bytes;
      is_expected(Heap::check(path_).status());
      is_expected(Heap::status_of(path_).status());
      options_.medium = medium;
      auto heap = Heap::open(path_, options_);
      is_expected(heap.status());
      if (heap.ok()) is_expected(use(*heap));
    }
    EXPECT_LT(memory_used() - before, uint64_t{kAddressSanitizer || kThreadSanitizer ? 1024 : 128} << 20);
  }

  uint64_t replayed_ = 0, worked_ = 0, refused_ = 0;
  std::string image_;
  heap::FileHeader header_;
  heap::Geometry geometry_;
};

// Tests each field with the original place of the heap, and with the place that matches the other
// fields.
TEST_F(HeapHostileTest, HeadersOfAnyFields) {
  const auto look_at_header = [&](heap::FileHeader header) {
    header.checksum = checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(heap::FileHeader, checksum)), 0x6865617031);
    std::string bytes = image_;
    put(bytes, 0, header);
    look_at(bytes);
  };
  const auto with = [&](auto heap::FileHeader::*field) {
    for (const uint64_t value : values_for(header_.*field)) {
      heap::FileHeader header = header_;
      header.*field = static_cast<std::remove_reference_t<decltype(header.*field)>>(value);
      look_at_header(header);
      const heap::Geometry fitting{header.threads, header.markers, header.log_bytes, 0, 0};
      header.heap_at = heap::aligned(fitting.ring_at(header.threads));
      look_at_header(header);
    }
  };
  with(&heap::FileHeader::version);
  with(&heap::FileHeader::threads);
  with(&heap::FileHeader::markers);
  with(&heap::FileHeader::reserved);
  with(&heap::FileHeader::log_bytes);
  with(&heap::FileHeader::heap_at);
  with(&heap::FileHeader::identity);
  EXPECT_GT(refused_, worked_);
}

TEST_F(HeapHostileTest, EntriesOfAnyFields) {
  for (const uint64_t value : values_for(replayed_))
    for (const bool is_sequence : {false, true}) {
      std::string bytes = image_;
      const auto newest = part<heap::Replayed>(heap::kReplayedAt[0][0]);
      const heap::Replayed entry = is_sequence ? heap::make_replayed(value, newest.number, geometry_)
                                               : heap::make_replayed(100 + newest.sequence, value, geometry_);
      put(bytes, heap::kReplayedAt[0][0], entry);
      look_at(bytes);
      bytes = image_;
      put(bytes, heap::kPersistedAt, heap::make_replayed(1, value, geometry_));
      look_at(bytes);
    }
  EXPECT_GT(refused_, 50u);
}

TEST_F(HeapHostileTest, MarkersOfAnyFields) {
  const uint64_t at = geometry_.marker_at(replayed_ + 2);
  const auto marker_with = [&](auto heap::Marker::*field) {
    for (const uint64_t value : values_for(part<heap::Marker>(at).*field)) {
      auto marker = part<heap::Marker>(at);
      marker.*field = static_cast<std::remove_reference_t<decltype(marker.*field)>>(value);
      heap::seal(marker, geometry_);
      std::string bytes = image_;
      put(bytes, at, marker);
      look_at(bytes);
    }
  };
  marker_with(&heap::Marker::number);
  marker_with(&heap::Marker::needs);
  marker_with(&heap::Marker::start);
  marker_with(&heap::Marker::bytes);
  marker_with(&heap::Marker::slot);
  marker_with(&heap::Marker::record_checksum);
  marker_with(&heap::Marker::durable);
  marker_with(&heap::Marker::previous);
  EXPECT_GT(refused_, worked_ / 4);
}

TEST_F(HeapHostileTest, RecordsOfAnyRuns) {
  const uint64_t at = geometry_.marker_at(replayed_ + 3);
  const auto look_at_record = [&](const std::vector<uint64_t>& words) {
    std::string bytes = image_;
    auto marker = part<heap::Marker>(at);
    marker.bytes = static_cast<uint32_t>(words.size() * 8);
    marker.record_checksum = heap::record_checksum(std::as_bytes(std::span(words)), marker.number, geometry_);
    heap::seal(marker, geometry_);
    std::memcpy(bytes.data() + geometry_.record_at(marker.slot, marker.start), words.data(), words.size() * 8);
    put(bytes, at, marker);
    look_at(bytes);
  };
  constexpr uint64_t kNextChunk = heap::HeapHead::kNextChunkAt / 8, kFirst = heap::HeapHead::bytes(2) / 8;
  for (const uint64_t value : values_for(kFirst)) {
    look_at_record({value});
    look_at_record({value, 0});
    look_at_record({value, value, value});
    look_at_record({heap::run_header(kFirst, 0), value});        // zeros
    look_at_record({heap::run_header(value >> 16, 1), value});   // a word anywhere
    look_at_record({heap::run_header(kNextChunk, 1), value});    // a heap of any size
    // The heap is as large as the run of zeros says.
    look_at_record({heap::run_header(kNextChunk, 1), value, heap::run_header(kFirst, 0), value / 8 - kFirst});
  }
  constexpr uint64_t kTerabytes = uint64_t{15} << 40;
  look_at_record({heap::run_header(kNextChunk, 1), kTerabytes, heap::run_header(kFirst, 0), kTerabytes / 8 - kFirst});
  look_at_record({heap::run_header(kNextChunk, 1), kTerabytes, heap::run_header(kFirst, 2), kTerabytes - 8 * kFirst, kTerabytes,
                  heap::run_header(kFirst + 100, 0), kTerabytes / 8 - kFirst - 100});
  EXPECT_GT(refused_, 50u);
}

// The words do not have a checksum. Tests the words of the head that are in use, all words of the
// lists of a class from which blocks are allocated, and the contents of the first chunk.
TEST_F(HeapHostileTest, WordsOfTheAllocatorAndOfRoots) {
  using heap::HeapHead;
  std::set<uint64_t> places = {HeapHead::kRootsAt, HeapHead::kNextChunkAt};
  for (const uint32_t block_class : {heap::block_class_of(808), heap::block_class_of(40'008)}) {
    places.insert(HeapHead::kBatchesAt + block_class * 8);
    for (uint32_t slot = 0; slot < 2 && block_class < heap::kSmallClasses; ++slot)
      for (uint64_t i = 0; i < 3; ++i)
        places.insert(HeapHead::arena_at(slot) + heap::Arena::kListsAt + block_class * heap::Arena::kListBytes + i * 8);
  }
  const uint64_t first = HeapHead::bytes(2);
  for (uint64_t at = 0; at < first + 4096; at += 8)
    if (part<uint64_t>(geometry_.heap_at + at) != 0) places.insert(at);
  ASSERT_GT(places.size(), 15u);
  for (const uint64_t place : places) {
    const auto now = part<uint64_t>(geometry_.heap_at + place);
    for (const uint64_t value : {uint64_t{0}, uint64_t{1}, first, now + 8, now + 64, place - 8, place, uint64_t{(1 << 20) - 8},
                                 uint64_t{1} << 40, ~uint64_t{7}, ~uint64_t{0}}) {
      SCOPED_TRACE("offset " + std::to_string(place) + ", value " + std::to_string(value));
      std::string bytes = image_;
      put(bytes, geometry_.heap_at + place, value);
      look_at(bytes);
    }
  }
  EXPECT_GT(refused_, 50u);
}

}  // namespace
}  // namespace elider::test
