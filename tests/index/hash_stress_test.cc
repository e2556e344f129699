// The hash table under many threads while it grows, and its races, forced by test points.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "base/test_points.h"
#include "tests/index/index_combinations.h"

namespace elider::index::test {
namespace {

template <class Sync>
struct HashStressTest : testing::Test {
  using Table = HashTable<Sync>;
  static constexpr uint64_t kPermanent = 500;

  // Keys below kPermanent are always present. Above that, key n belongs to writer n % 4, except
  // that all writers share those with n % 4 == 3.
  void write(uint64_t me, uint64_t operations, uint64_t seed) {
    Random random(seed);
    Inside inside(arena);
    std::map<uint64_t, Handle> mine;
    for (uint64_t i = 0; i < operations; ++i) {
      if (random.one_in(16)) inside.pass();
      const uint64_t block = kPermanent + 4 * random.below(operations / 2);
      if (random.one_in(3)) {
        const InsertResult result = table.get_or_insert(*inside, block + 3, handle_of(block + 3, i));
        EXPECT_EQ(number_of_handle(result.handle), block + 3);
        left += result.inserted ? 1 : 0;
        if (random.one_in(2) && table.remove(*inside, block + 3, result.handle)) --left;
        continue;
      }
      const uint64_t n = block + me;
      const auto entry = mine.find(n);
      Witness witness;
      EXPECT_EQ(table.get(n, witness), entry == mine.end() ? kNoHandle : entry->second);
      if (entry == mine.end()) {
        mine[n] = handle_of(n, i);
        EXPECT_TRUE(table.get_or_insert(*inside, n, mine[n]).inserted);
        EXPECT_FALSE(witness.holds());
      } else if (random.one_in(4)) {
        EXPECT_TRUE(table.remove(*inside, n, entry->second));
        EXPECT_FALSE(witness.holds());
        mine.erase(entry);
      }
    }
    left += static_cast<int64_t>(mine.size());
  }
  void read_until_done(uint64_t seed) {
    Random random(seed);
    while (!done.load()) {
      Inside inside(arena);
      uint64_t keys[40];
      Handle handles[40];
      Witness witnesses[40];
      for (uint64_t& key : keys) key = random.below(2 * kPermanent);
      table.multi_get(keys, 40, handles, witnesses);
      for (size_t i = 0; i < 40; ++i) {
        if (keys[i] < kPermanent) {
          ASSERT_EQ(handles[i], handle_of(keys[i]));
        }
        if (handles[i] != kNoHandle) {
          ASSERT_EQ(number_of_handle(handles[i]), keys[i]);
        }
        Witness witness;
        const Handle again = table.get(keys[i], witness);
        if (witnesses[i].holds() && witness.holds()) {
          ASSERT_EQ(again, handles[i]);
        }
      }
    }
  }

  Arena arena;
  Table table;
  std::atomic<bool> done{false};
  std::atomic<int64_t> left{0};
};
TYPED_TEST_SUITE(HashStressTest, test::ConcurrentTablePolicies);

TYPED_TEST(HashStressTest, GrowsUnderWritersAndReaders) {
  const uint64_t seed = seed_of_test();
  {
    Inside inside(this->arena);
    for (uint64_t n = 0; n < this->kPermanent; ++n) ASSERT_TRUE(this->table.get_or_insert(*inside, n, handle_of(n)).inserted);
  }
  const size_t buckets_at_first = this->table.bucket_count();
  std::vector<std::thread> writers, readers;
  for (uint64_t t = 0; t < 3; ++t) writers.emplace_back([this, t, seed] { this->write(t, scaled(60000), seed + t); });
  for (uint64_t t = 0; t < 2; ++t) readers.emplace_back([this, t, seed] { this->read_until_done(seed + 100 + t); });
  for (std::thread& writer : writers) writer.join();
  this->done = true;
  for (std::thread& reader : readers) reader.join();
  const Status status = this->table.verify();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(this->table.size(), this->kPermanent + static_cast<uint64_t>(this->left.load()));
  EXPECT_GT(this->table.bucket_count(), 4 * buckets_at_first);
}

#if ELIDER_TEST_POINTS
struct HashRaceTest : testing::Test {
  Arena arena;
  Inside inside{arena};
  HashTable<sync::Optimistic> table;
  uint64_t next = 0;

  void insert() {
    ASSERT_TRUE(table.get_or_insert(*inside, next, handle_of(next)).inserted);
    ++next;
  }
  // A thread inserts until it is stopped in a step of growth.
  std::thread grow(uint64_t from, uint64_t count) {
    return std::thread([this, from, count] {
      Inside own(arena);
      for (uint64_t n = from; n < from + count; ++n) EXPECT_TRUE(table.get_or_insert(*own, n, handle_of(n)).inserted);
    });
  }
};

TEST_F(HashRaceTest, NobodyWaitsForAGrowingThread) {
  for (int i = 0; i < 100; ++i) insert();
  TestStop stop("hash.before_migrate");
  std::thread grower = grow(1'000'000, 400);
  stop.wait_until_reached();
  for (int i = 0; i < 2000; ++i) insert();
  Witness witness;
  for (uint64_t n = 0; n < next; ++n) ASSERT_EQ(table.get(n, witness), handle_of(n));
  stop.go();
  grower.join();
  for (int i = 0; i < 2000; ++i) insert();
  const Status status = table.verify();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(table.size(), next + 400);
}

TEST_F(HashRaceTest, ALockedBucketsWitnessDoesNotHold) {
  Witness witness;
  ASSERT_EQ(table.get(5, witness), kNoHandle);
  TestStop stop("hash.locked_for_insert");
  std::thread writer = grow(5, 1);
  stop.wait_until_reached();
  EXPECT_FALSE(witness.holds());
  stop.go();
  writer.join();
  EXPECT_FALSE(witness.holds());
}

// A lookup has chosen its bucket. Growth moves the key to another bucket before the lookup gets
// there.
TEST_F(HashRaceTest, ALookupThatGrowthOvertakesFindsTheKey) {
  for (const bool batch : {false, true}) {
    for (int i = 0; i < 100; ++i) insert();
    const size_t buckets = table.bucket_count();
    for (uint64_t key = next - 20; key < next; ++key) {
      TestStop stop(batch ? "hash.buckets_chosen" : "hash.bucket_chosen");
      std::thread reader([this, key, batch] {
        Inside own(arena);
        Handle handle = kNoHandle;
        Witness witness;
        if (batch) {
          table.multi_get(&key, 1, &handle, &witness);
        } else {
          handle = table.get(key, witness);
        }
        EXPECT_EQ(handle, handle_of(key));
        EXPECT_TRUE(witness.holds());
      });
      stop.wait_until_reached();
      // Doubled, so that half of the keys move.
      const size_t wanted = 2 * table.bucket_count();
      while (table.bucket_count() < wanted) insert();
      stop.go();
      reader.join();
      if (table.bucket_count() > 16 * buckets) break;
    }
  }
}

// A step of growth invalidates the witnesses of the bucket that it divides, and no others.
TEST_F(HashRaceTest, AStepEndsTheWitnessesOfOneBucket) {
  std::vector<Witness> before;
  size_t buckets = 0;
  const auto read_all = [&] {
    before.clear();
    buckets = table.bucket_count();
    for (uint64_t n = 0; n < next; ++n) table.get(n, before.emplace_back());
  };
  for (int i = 0; i < 100; ++i) insert();
  TestPoints::on("hash.before_migrate", read_all);
  uint64_t steps = 0;
  TestPoints::on("hash.after_migrate", [&] {
    ++steps;
    EXPECT_EQ(table.bucket_count(), buckets + 1);
    std::map<const void*, bool> ended;
    for (const Witness& witness : before)
      if (!witness.holds()) ended[witness.version] = true;
    EXPECT_LE(ended.size(), 1u);
  });
  for (int i = 0; i < 3000; ++i) insert();
  TestPoints::clear();
  EXPECT_GT(steps, 500u);
}
#endif

}  // namespace
}  // namespace elider::index::test
