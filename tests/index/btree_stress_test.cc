// The B+-tree under many threads: writers with keys of their own and with shared keys, readers that
// check invariants, queues, and reclamation. Also meant for the thread and address sanitizers.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "tests/index/index_combinations.h"

namespace elider::index::test {
namespace {

template <class C>
struct BTreeStressTest : testing::Test {
  using Key = typename C::Key;
  using Tree = BTree<typename C::Sync, Key>;
  using Hint = typename Tree::Hint;
  using Contents = typename Tree::Contents;
  static constexpr uint64_t kSpace = 4000;
  static constexpr uint64_t kWriters = 3;

  // Keys n with n % 5 < 3 belong to writer n % 5. All writers share those with n % 5 == 3. Those
  // with n % 5 == 4 are always present.
  void fill() {
    Inside inside(arena);
    Hint hint;
    for (uint64_t n = 4; n < kSpace; n += 5) ASSERT_TRUE(tree.get_or_insert(*inside, nth_key<Key>(n), handle_of(n), hint).inserted);
  }

  void write(uint64_t me, uint64_t operations, uint64_t seed) {
    Random random(seed);
    Inside inside(arena);
    Hint hint;
    std::map<uint64_t, Handle> mine;
    for (uint64_t i = 0; i < operations; ++i) {
      if (random.one_in(16)) {
        inside.pass();
        hint = {};
      }
      const uint64_t block = random.below(kSpace / 5) * 5;
      if (random.one_in(3)) {
        shared_key(*inside, block + 3, random, hint);
        continue;
      }
      const uint64_t n = block + me;
      const auto entry = mine.find(n);
      Witness witness;
      EXPECT_EQ(tree.get(nth_key<Key>(n), hint, witness), entry == mine.end() ? kNoHandle : entry->second);
      if (entry != mine.end() && random.one_in(2)) {
        EXPECT_TRUE(tree.remove(*inside, nth_key<Key>(n), entry->second));
        EXPECT_FALSE(witness.holds());
        mine.erase(entry);
      } else if (entry == mine.end()) {
        const InsertResult result = tree.get_or_insert(*inside, nth_key<Key>(n), handle_of(n, i), hint);
        EXPECT_TRUE(result.inserted);
        EXPECT_FALSE(witness.holds());
        mine[n] = result.handle;
      }
    }
    inserted_left += mine.size();
  }
  // Exactly one thread is told that it inserted the key. The removal expects the handle that was
  // found.
  void shared_key(Worker& worker, uint64_t n, Random& random, Hint& hint) {
    const InsertResult result = tree.get_or_insert(worker, nth_key<Key>(n), handle_of(n, random.next()), hint);
    EXPECT_EQ(number_of_handle(result.handle), n);
    shared_inserted += result.inserted ? 1 : 0;
    if (random.one_in(2) && tree.remove(worker, nth_key<Key>(n), result.handle)) ++shared_removed;
  }

  // Checks every whole scan: leaves join, keys ascend, handles match their keys, and permanent keys
  // are present.
  void scan(Random& random) {
    Inside inside(arena);
    const bool reverse = random.one_in(2);
    uint64_t permanent = 0;
    Range<Key> rest;
    Contents leaf;
    Hint hint;
    while (!rest.empty()) {
      if (reverse) tree.read_leaf(rest.to, Direction::kBackward, hint, leaf);
      else tree.read_leaf({rest.from, false}, Direction::kForward, hint, leaf);
      hint = {};
      if (!reverse) {
        ASSERT_TRUE(leaf.range.covers(rest.from));
      }
      for (size_t i = 0; i < leaf.count; ++i) {
        ASSERT_TRUE(leaf.range.covers(leaf.keys[i]));
        if (i > 0) {
          ASSERT_LT(leaf.keys[i - 1], leaf.keys[i]);
        }
        ASSERT_EQ(number_of_handle(leaf.handles[i]), number_of(leaf.keys[i]));
        permanent += rest.covers(leaf.keys[i]) && number_of(leaf.keys[i]) % 5 == 4 ? 1 : 0;
      }
      if (reverse) rest.to = {leaf.range.from, false};
      else if (leaf.range.to.end) break;
      else rest.from = leaf.range.to.key;
    }
    ASSERT_EQ(permanent, kSpace / 5);
  }
  void look_up(Random& random) {
    Inside inside(arena);
    Key keys[40];
    Handle handles[40];
    Witness witnesses[40];
    for (Key& key : keys) key = nth_key<Key>(random.below(kSpace));
    tree.multi_get(keys, 40, handles, witnesses);
    Hint hint;
    for (size_t i = 0; i < 40; ++i) {
      const uint64_t n = number_of(keys[i]);
      if (n % 5 == 4) {
        ASSERT_EQ(handles[i], handle_of(n));
      }
      if (handles[i] != kNoHandle) {
        ASSERT_EQ(number_of_handle(handles[i]), n);
      }
      Witness witness;
      const Handle again = tree.get(keys[i], hint, witness);
      if (witnesses[i].holds() && witness.holds()) {
        ASSERT_EQ(again, handles[i]);
      }
    }
  }
  void read_until_done(uint64_t seed) {
    Random random(seed);
    while (!done.load()) {
      if (random.one_in(8)) {
        ASSERT_NO_FATAL_FAILURE(scan(random));
      }
      ASSERT_NO_FATAL_FAILURE(look_up(random));
    }
  }

  Arena arena;
  Tree tree;
  std::atomic<bool> done{false};
  std::atomic<uint64_t> inserted_left{0}, shared_inserted{0}, shared_removed{0};
};
TYPED_TEST_SUITE(BTreeStressTest, ConcurrentTreeCombinations);

TYPED_TEST(BTreeStressTest, WritersAndReadersAgree) {
  const uint64_t seed = seed_of_test();
  this->fill();
  std::vector<std::thread> writers, readers;
  for (uint64_t t = 0; t < this->kWriters; ++t) writers.emplace_back([this, t, seed] { this->write(t, scaled(40000), seed + t); });
  for (uint64_t t = 0; t < 2; ++t) readers.emplace_back([this, t, seed] { this->read_until_done(seed + 100 + t); });
  for (std::thread& writer : writers) writer.join();
  this->done = true;
  for (std::thread& reader : readers) reader.join();
  const Status status = this->tree.verify();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(this->tree.size(), this->kSpace / 5 + this->inserted_left + this->shared_inserted - this->shared_removed);
}

// Two threads append keys and remove their own. The tree then holds little more than the keys that
// are present, under a memory limit that all insertions together would exceed many times.
TYPED_TEST(BTreeStressTest, QueuesOfTwoThreadsStayBounded) {
  using Key = typename TestFixture::Key;
  Arena small(uint64_t{8} << 20);
  std::atomic<uint64_t> tail{0};
  const auto churn = [&] {
    Inside inside(small);
    typename TestFixture::Hint hint;
    std::vector<uint64_t> queue;
    size_t head = 0;
    for (uint64_t i = 0; i < scaled(150000); ++i) {
      const uint64_t n = tail++;
      const InsertResult result = this->tree.get_or_insert(*inside, nth_key<Key>(n), handle_of(n), hint);
      ASSERT_TRUE(result.inserted) << "the limit was reached after " << i;
      queue.push_back(n);
      if (queue.size() - head > 100) {
        ASSERT_TRUE(this->tree.remove(*inside, nth_key<Key>(queue[head]), handle_of(queue[head])));
        ++head;
      }
      if (i % 32 == 0) {
        inside.pass();
        hint = {};
      }
    }
  };
  std::thread other(churn);
  churn();
  other.join();
  const Status status = this->tree.verify();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_LE(this->tree.size(), 200u);
  EXPECT_LE(this->tree.memory_bytes(), 256u * 1024);
}

// Several threads insert the same ascending keys. Each key has one winner, and all threads agree on
// it.
TYPED_TEST(BTreeStressTest, EachKeyHasOneWinner) {
  using Key = typename TestFixture::Key;
  const uint64_t keys = scaled(20000);
  std::vector<std::vector<Handle>> seen(4);
  std::atomic<uint64_t> wins{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Inside inside(this->arena);
      typename TestFixture::Hint hint;
      for (uint64_t n = 0; n < keys; ++n) {
        const InsertResult result = this->tree.get_or_insert(*inside, nth_key<Key>(n), handle_of(n, t), hint);
        wins += result.inserted ? 1 : 0;
        seen[t].push_back(result.handle);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wins, keys);
  for (uint64_t t = 1; t < 4; ++t) EXPECT_EQ(seen[t], seen[0]);
  const Status status = this->tree.verify();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(this->tree.size(), keys);
}

}  // namespace
}  // namespace elider::index::test
