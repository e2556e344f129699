// The B+-tree of byte keys under many threads: writers with keys of their own and with shared keys,
// readers that check invariants, scans, witnesses, and reclamation of rows, separators and nodes.
// Also meant for the thread and address sanitizers: rows are freed after their grace period.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tests/index/byte_btree_test_support.h"

namespace elider::index::test {
namespace {

// A row in memory of its own, so that a sanitizer sees a use after the grace period.
Handle new_row(const std::string& text) {
  auto* const memory = static_cast<std::byte*>(std::malloc(kRowKey.offset + sizeof(KeyBytes) + text.size()));
  auto* const key = new (memory + kRowKey.offset) KeyBytes{static_cast<uint32_t>(text.size())};
  if (!text.empty()) std::memcpy(key->data(), text.data(), text.size());
  return reinterpret_cast<Handle>(memory);
}
void free_row(Handle row) { std::free(reinterpret_cast<void*>(row)); }
void reclaim_row(Worker&, void* row, uint64_t) { std::free(row); }
void retire_row(Worker& worker, Handle row) { worker.retire(reclaim_row, reinterpret_cast<void*>(row), 0, 64); }

template <class Policy>
struct ByteBTreeStressTest : testing::Test {
  using Tree = BTree<Policy, ByteKey>;
  using Contents = typename Tree::Contents;
  using Hint = typename Tree::Hint;
  using Held = HeldKey<ByteKey>;
  static constexpr uint64_t kSpace = 3000;
  static constexpr uint64_t kWriters = 3;

  // Keys n with n % 5 < 3 belong to writer n % 5. All writers share those with n % 5 == 3. Those
  // with n % 5 == 4 are always present, except in a part of the tree that therefore often empties.
  // The strings have shared prefixes of several lengths, and tie in their heads.
  static bool lasts(uint64_t n) { return n % 5 == 4 && n < kSpace / 2; }
  static std::string text(uint64_t n) {
    std::string made(1, static_cast<char>('a' + n * 7 / kSpace));
    made += n % 7 < 3 ? std::string(20, 'z') : "yy";
    made += static_cast<char>(n >> 8);
    made += static_cast<char>(n);
    made += std::string(n % 3 * 5, '\0');
    return made;
  }
  static const std::vector<Held>& keys() {
    static const std::vector<Held> all = [] {
      std::vector<Held> made;
      for (uint64_t n = 0; n < kSpace; ++n) made.emplace_back(text(n));
      return made;
    }();
    return all;
  }
  void fill() {
    Inside inside(arena);
    Hint hint;
    for (uint64_t n = 0; n < kSpace; ++n)
      if (lasts(n)) {
        ASSERT_TRUE(tree.get_or_insert(*inside, keys()[n].key(), new_row(text(n)), hint).inserted);
        ++lasting;
      }
  }
  // Checks the tree, and frees its rows. The tree must not be used afterwards.
  void finish() {
    const Status status = tree.verify();
    EXPECT_TRUE(status.ok()) << status.message();
    Inside inside(arena);
    Hint hint;
    Contents contents;
    Bound<ByteKey> at;
    std::vector<Handle> rows;
    do {
      tree.read_leaf(at, Direction::kForward, hint, contents);
      rows.insert(rows.end(), contents.handles.begin(), contents.handles.begin() + static_cast<ptrdiff_t>(contents.count));
      at = contents.range.to;
    } while (!contents.range.to.end);
    for (const Handle row : rows) free_row(row);
  }

  void write_shared(Inside& inside, uint64_t n, Handle there, const Witness& witness) {
    Hint hint;
    const ByteKey key = keys()[n].key();
    if (there == kNoHandle) {
      const Handle row = new_row(text(n));
      const InsertResult result = tree.get_or_insert(*inside, key, row, hint);
      ASSERT_EQ(text_of_row(result.handle), text(n));
      if (!result.inserted) return free_row(row);
      ++shared_inserted;
      ASSERT_FALSE(witness.holds()) << "of the key's absence, beyond its insertion";
    } else if (tree.remove(*inside, key, there)) {
      ++shared_removed;
      retire_row(*inside, there);
    }
  }
  void write(uint64_t id, uint64_t steps, uint64_t seed) {
    Inside inside(arena);
    Random random(seed);
    std::unordered_map<uint64_t, Handle> own;
    for (uint64_t i = 0; i < steps; ++i) {
      const bool shared = random.one_in(4);
      // Now and then, a writer empties a part of the tree.
      const uint64_t part = i / 500 % 7 * (kSpace / 35);
      const uint64_t n = (i / 250 % 2 == 0 ? random.below(kSpace / 5) : part + random.below(kSpace / 35)) * 5 + (shared ? 3 : id);
      const ByteKey key = keys()[n].key();
      Witness witness;
      Hint hint;
      const Handle there = tree.get(key, hint, witness);
      if (shared) {
        ASSERT_NO_FATAL_FAILURE(write_shared(inside, n, there, witness));
      } else {
        const auto known = own.find(n);
        ASSERT_EQ(there, known == own.end() ? kNoHandle : known->second);
        if (known == own.end()) {
          if (i / 250 % 2 == 1 && !random.one_in(8)) continue;
          const Handle row = new_row(text(n));
          ASSERT_TRUE(tree.get_or_insert(*inside, key, row, hint).inserted);
          own.emplace(n, row);
        } else {
          ASSERT_TRUE(tree.remove(*inside, key, there));
          retire_row(*inside, there);
          own.erase(n);
        }
        ASSERT_FALSE(witness.holds());
      }
      if (i % 64 == 0) inside.pass();
    }
    inserted_left += own.size();
  }
  void read_until_done(uint64_t seed) {
    Inside inside(arena);
    Random random(seed);
    while (!done.load()) {
      const uint64_t n = random.below(kSpace);
      switch (random.below(3)) {
        case 0: look(n); break;
        case 1: batch(random); break;
        default: scan(random.one_in(2)); break;
      }
      inside.pass();
    }
  }
  void look(uint64_t n) {
    Witness first, second;
    Hint hint;
    const Handle before = tree.get(keys()[n].key(), hint, first);
    const Handle after = tree.get(keys()[n].key(), hint, second);
    ASSERT_TRUE(before != kNoHandle || !lasts(n));
    if (before != kNoHandle) {
      ASSERT_EQ(text_of_row(before), text(n));
    }
    if (first.holds()) {
      ASSERT_EQ(before, after);
    }
  }
  void batch(Random& random) {
    constexpr size_t kCount = 24;
    KeyRef batched[kCount];
    uint64_t numbers[kCount];
    Handle handles[kCount];
    Witness witnesses[kCount];
    for (size_t i = 0; i < kCount; ++i) {
      numbers[i] = random.below(kSpace);
      batched[i] = keys()[numbers[i]].batch_key();
    }
    tree.multi_get(batched, kCount, handles, witnesses);
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_TRUE(handles[i] != kNoHandle || !lasts(numbers[i]));
      if (handles[i] != kNoHandle) {
        ASSERT_EQ(text_of_row(handles[i]), text(numbers[i]));
      }
    }
  }
  // Scans everything: each lasting key is found once, and all keys are in order.
  void scan(bool forward) {
    Contents contents;
    Hint hint;
    Bound<ByteKey> at{{}, !forward};
    uint64_t found_lasting = 0;
    std::string last;
    bool first = true;
    while (true) {
      tree.read_leaf(at, forward ? Direction::kForward : Direction::kBackward, hint, contents);
      for (size_t i = 0; i < contents.count; ++i) {
        const size_t entry = forward ? i : contents.count - 1 - i;
        // The leaf may cover the range of an unlinked neighbour, whose entries have been visited.
        if (forward ? contents.keys[entry] < at.key : !at.above(contents.keys[entry])) continue;
        const std::string found = text_of(contents.keys[entry]);
        ASSERT_EQ(found, text_of_row(contents.handles[entry]));
        ASSERT_TRUE(first || (forward ? last < found : found < last));
        last = found;
        first = false;
        found_lasting += lasting_texts().count(found);
      }
      if (forward ? contents.range.to.end : contents.range.from.size() == 0) break;
      at = forward ? contents.range.to : Bound<ByteKey>{contents.range.from, false};
    }
    ASSERT_EQ(found_lasting, lasting);
  }
  static const std::unordered_map<std::string, uint64_t>& lasting_texts() {
    static const std::unordered_map<std::string, uint64_t> all = [] {
      std::unordered_map<std::string, uint64_t> made;
      for (uint64_t n = 0; n < kSpace; ++n)
        if (lasts(n)) made.emplace(text(n), n);
      return made;
    }();
    return all;
  }

  Arena arena;
  Tree tree{kRowKey};
  uint64_t lasting = 0;
  std::atomic<bool> done{false};
  std::atomic<uint64_t> inserted_left{0}, shared_inserted{0}, shared_removed{0};
};
TYPED_TEST_SUITE(ByteBTreeStressTest, ConcurrentTablePolicies);

TYPED_TEST(ByteBTreeStressTest, WritersAndReadersAgree) {
  const uint64_t seed = seed_of_test();
  this->fill();
  std::vector<std::thread> writers, readers;
  for (uint64_t t = 0; t < this->kWriters; ++t) writers.emplace_back([this, t, seed] { this->write(t, scaled(30000), seed + t); });
  for (uint64_t t = 0; t < 2; ++t) readers.emplace_back([this, t, seed] { this->read_until_done(seed + 100 + t); });
  for (std::thread& writer : writers) writer.join();
  this->done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(this->tree.size(), this->lasting + this->inserted_left + this->shared_inserted - this->shared_removed);
  this->finish();
}

// Two threads append keys and remove their own. The tree then contains little more than the keys
// that are present, under a memory limit that all insertions together would exceed many times.
TYPED_TEST(ByteBTreeStressTest, QueuesOfTwoThreadsStayBounded) {
  Arena small(uint64_t{8} << 20);
  std::atomic<uint64_t> tail{0};
  const auto churn = [&] {
    Inside inside(small);
    typename TestFixture::Hint hint;
    std::vector<Handle> queue;
    size_t head = 0;
    for (uint64_t i = 0; i < scaled(100000); ++i) {
      const std::string text = "queue:" + text_of(tail++);
      queue.push_back(new_row(text));
      ASSERT_TRUE(this->tree.get_or_insert(*inside, kRowKey.of(queue.back()), queue.back(), hint).inserted)
          << "the limit was reached after " << i;
      if (queue.size() - head > 100) {
        ASSERT_TRUE(this->tree.remove(*inside, kRowKey.of(queue[head]), queue[head]));
        retire_row(*inside, queue[head]);
        ++head;
      }
      if (i % 32 == 0) inside.pass();
    }
  };
  std::thread other(churn);
  churn();
  other.join();
  EXPECT_LE(this->tree.size(), 200u);
  EXPECT_LE(this->tree.memory_bytes(), 256u * 1024);
  this->finish();
}

// Several threads insert the same keys. Each key has one winner, and all threads agree on it.
TYPED_TEST(ByteBTreeStressTest, EachKeyHasOneWinner) {
  const uint64_t count = scaled(20000);
  std::vector<std::vector<Handle>> seen(4);
  std::atomic<uint64_t> wins{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Inside inside(this->arena);
      typename TestFixture::Hint hint;
      for (uint64_t n = 0; n < count; ++n) {
        const Handle row = new_row(text_of(n % 2 == 0 ? n : n * 0x9e3779b97f4a7c15u));
        const InsertResult result = this->tree.get_or_insert(*inside, kRowKey.of(row), row, hint);
        wins += result.inserted ? 1 : 0;
        seen[t].push_back(result.handle);
        if (!result.inserted) free_row(row);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wins, count);
  for (uint64_t t = 1; t < 4; ++t) EXPECT_EQ(seen[t], seen[0]);
  EXPECT_EQ(this->tree.size(), count);
  this->finish();
}

}  // namespace
}  // namespace elider::index::test
