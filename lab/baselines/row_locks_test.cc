// Locks of rows and leaves, without a database: which transactions get a lock and which wait, and
// every interleaving of three small transactions.
#include "lab/baselines/row_locks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/claims_test_support.h"

namespace elider::txn {
namespace {

constexpr uint64_t kLong = 60'000'000'000;

class RowLocksTest : public testing::Test {
 protected:
  using Item = test::ClaimedItem<RowLocks>;

  RowLocksTest() {
    // If both begin at the same instant, the one with the lower worker number is older.
    older_.begin(1);
    younger_.begin(1);
  }
  ~RowLocksTest() override {
    older_.end();
    younger_.end();
    set_mutant(Mutant::kNone);
  }
  static uint64_t word_of(const Item& item) {
    return reinterpret_cast<const LockWord*>(item.before)->load();
  }

  LeafLocks leaves_;
  RowLocks older_{leaves_, 1, kLong}, younger_{leaves_, 2, kLong};
  Item one_, two_;
};

TEST_F(RowLocksTest, ReadersShareAndWritersDoNot) {
  EXPECT_TRUE(older_.read(one_.its_cell()));
  EXPECT_TRUE(younger_.read(one_.its_cell()));
  EXPECT_FALSE(younger_.write(one_.its_cell()));
  EXPECT_TRUE(older_.write(two_.its_cell()));
  EXPECT_FALSE(younger_.read(two_.its_cell()));
  EXPECT_FALSE(younger_.write(two_.its_cell()));
}

TEST_F(RowLocksTest, OnesOwnLockIsNoObstacle) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(older_.read(one_.its_cell()));
    EXPECT_TRUE(older_.write(one_.its_cell()));
    EXPECT_TRUE(older_.write(two_.its_cell()));
    EXPECT_TRUE(older_.read(two_.its_cell()));
  }
  older_.end();
  EXPECT_EQ(word_of(one_), 0u);
  EXPECT_EQ(word_of(two_), 0u);
  EXPECT_TRUE(younger_.write(one_.its_cell()));
}

// Mutant: wait_for_the_older.
TEST_F(RowLocksTest, TheYoungerOneDies) {
  ASSERT_TRUE(older_.read(one_.its_cell()));
  EXPECT_FALSE(younger_.write(one_.its_cell()));
  EXPECT_FALSE(younger_.await());
  EXPECT_EQ(word_of(one_) >> 62 & 1, 0u) << "it has waited";
}

TEST_F(RowLocksTest, TheOlderOneWaits) {
  ASSERT_TRUE(younger_.read(one_.its_cell()));
  std::atomic<bool> granted{false};
  std::thread waits([&] {
    while (!older_.write(one_.its_cell())) ASSERT_TRUE(older_.await());
    granted = true;
  });
  // The waiting transaction sets `wanted`, so no other transaction can share the lock.
  while ((word_of(one_) >> 62 & 1) == 0) std::this_thread::yield();
  RowLocks third(leaves_, 3, kLong);
  third.begin(1);
  EXPECT_FALSE(third.read(one_.its_cell()));
  EXPECT_FALSE(granted);
  third.end();
  younger_.end();
  waits.join();
  EXPECT_TRUE(granted);
}

TEST_F(RowLocksTest, TheWaitOfAnOpenTransactionEnds) {
  RowLocks open(leaves_, 0, 1'000'000);
  open.begin(1);
  open.stays_open();
  ASSERT_TRUE(younger_.write(one_.its_cell()));
  bool older = !open.write(one_.its_cell());
  ASSERT_TRUE(older);
  EXPECT_FALSE(open.await());
  open.end();
}

TEST_F(RowLocksTest, ARetryHasTheAgeOfItsFirstAttempt) {
  younger_.end();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  RowLocks third(leaves_, 3, 0);
  third.begin(1);
  younger_.begin(2);
  ASSERT_TRUE(younger_.write(one_.its_cell()));
  EXPECT_FALSE(third.write(one_.its_cell()));
  EXPECT_FALSE(third.await());  // the younger transaction dies
  third.end();
}

TEST_F(RowLocksTest, OfTwoThatBothWantToWriteWhatTheyReadOneDies) {
  ASSERT_TRUE(older_.read(one_.its_cell()));
  ASSERT_TRUE(younger_.read(one_.its_cell()));
  EXPECT_FALSE(younger_.write(one_.its_cell()));
  EXPECT_FALSE(younger_.await());
  EXPECT_FALSE(older_.write(one_.its_cell()));
  younger_.end();
  EXPECT_TRUE(older_.await());
  EXPECT_TRUE(older_.write(one_.its_cell()));
}

// Overlapping readers keep the age of the first reader in the word. A writer that is older than all
// remaining readers must still get the lock.
TEST_F(RowLocksTest, OverlappingReadersDoNotKeepAWriterOutForEver) {
  RowLocks readers[] = {RowLocks(leaves_, 3, kLong), RowLocks(leaves_, 4, kLong)};
  ASSERT_TRUE(older_.read(one_.its_cell()));
  readers[0].begin(1);
  ASSERT_TRUE(readers[0].read(one_.its_cell()));
  older_.end();
  bool written = false;
  for (uint32_t attempt = 1; attempt < 10 && !written; ++attempt) {
    younger_.begin(attempt);
    written = younger_.write(one_.its_cell());
    younger_.end();
    RowLocks &joins = readers[attempt % 2], &leaves = readers[(attempt + 1) % 2];
    joins.begin(1);
    static_cast<void>(joins.read(one_.its_cell()));
    leaves.end();
  }
  EXPECT_TRUE(written);
  for (RowLocks& reader : readers) reader.end();
}

// The transaction that wanted the lock may have ended. Then a reader must be able to share the
// lock, whether or not the reader can be retried.
TEST_F(RowLocksTest, WhatNobodyWantsAnyMoreCanBeShared) {
  ASSERT_TRUE(younger_.read(one_.its_cell()));
  RowLocks gone(leaves_, 0, 0), open(leaves_, 3, 0), again(leaves_, 4, 0);
  gone.begin(5);
  ASSERT_FALSE(gone.write(one_.its_cell()));
  gone.end();
  EXPECT_EQ(word_of(one_) >> 62 & 1, 1u);
  open.begin(1);
  open.stays_open();
  EXPECT_TRUE(open.read(one_.its_cell()));
  bool joined = false;
  for (uint32_t attempt = 1; attempt < 20 && !joined; ++attempt) {
    again.begin(attempt);
    joined = again.read(one_.its_cell());
    EXPECT_TRUE(attempt != 1 || !joined);
    again.end();
  }
  EXPECT_TRUE(joined);
  open.end();
}

TEST_F(RowLocksTest, ALeafIsSharedByReadersOrByWhoInserts) {
  const int leaf = 0, other = 0;
  EXPECT_TRUE(older_.write_leaf(&leaf));
  EXPECT_TRUE(younger_.write_leaf(&leaf));
  EXPECT_FALSE(younger_.read_leaf(&leaf));
  EXPECT_FALSE(older_.read_leaf(&leaf));
  EXPECT_FALSE(older_.await());  // a transaction that has already read the leaf does not wait
  younger_.end();
  EXPECT_TRUE(older_.read_leaf(&leaf));
  younger_.begin(1);
  EXPECT_FALSE(younger_.write_leaf(&leaf));
  EXPECT_TRUE(&leaves_.of(&leaf) == &leaves_.of(&other) || younger_.read_leaf(&other));
}

TEST_F(RowLocksTest, ALockThatIsKeptForLongIsSeenAcrossAttempts) {
  ASSERT_TRUE(older_.write(one_.its_cell()));
  ASSERT_TRUE(older_.write(two_.its_cell()));
  ASSERT_FALSE(younger_.write(one_.its_cell()));
  EXPECT_FALSE(younger_.stuck_for(1'000'000));
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_TRUE(younger_.stuck_for(1'000'000));
  ASSERT_FALSE(younger_.read(two_.its_cell()));
  EXPECT_FALSE(younger_.stuck_for(1'000'000)) << "another lock";
}

// Two transactions that lock two groups in opposite orders.
TEST_F(RowLocksTest, NobodyWaitsInACircle) {
  ASSERT_TRUE(older_.write(one_.its_cell()));
  ASSERT_TRUE(younger_.write(two_.its_cell()));
  EXPECT_FALSE(younger_.write(one_.its_cell()));
  EXPECT_FALSE(younger_.await());
  EXPECT_FALSE(older_.write(two_.its_cell()));
  younger_.end();
  EXPECT_TRUE(older_.await());
  EXPECT_TRUE(older_.write(two_.its_cell()));
}

// Counters that each transaction first reads and then writes. No update may be lost.
TEST_F(RowLocksTest, ThreadsThatWaitAndDieLoseNothing) {
  constexpr int kThreads = 4, kEach = 20'000, kItems = 3;
  Item items[kItems];
  int64_t counts[kItems] = {};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      RowLocks locks(leaves_, 10 + t, kLong);
      const auto lock = [&](int item, bool writes) {
        while (!(writes ? locks.write(items[item].its_cell()) : locks.read(items[item].its_cell())))
          if (!locks.await()) return false;
        return true;
      };
      for (int i = 0; i < kEach; ++i) {
        const int first = static_cast<int>((t + static_cast<uint32_t>(i)) % kItems), second = (first + 1 + i % 2) % kItems;
        for (uint32_t attempt = 1;; ++attempt) {
          locks.begin(attempt);
          const bool both = lock(first, false) && lock(second, true) && lock(first, true);
          if (both) ++counts[first], ++counts[second];
          locks.end();
          if (both) break;
          std::this_thread::yield();
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts[0] + counts[1] + counts[2], int64_t{2} * kThreads * kEach);
  for (const Item& item : items) EXPECT_EQ(word_of(item), 0u);
}

// -- every interleaving ---------------------------------------------------------------------------

class LockInterleavingsTest : public testing::Test {
 protected:
  std::string run_all() {
    test::Interleavings<RowLocks> interleavings({RowLocks(leaves_, 0, 0), RowLocks(leaves_, 1, 0), RowLocks(leaves_, 2, 0)});
    std::string wrong = interleavings.run_all();
    committed_ += interleavings.committed();
    return wrong;
  }
  LeafLocks leaves_;
  uint64_t committed_ = 0;
};

TEST_F(LockInterleavingsTest, WhatIsLockedStaysAsItIs) {
  EXPECT_EQ(run_all(), "");
  EXPECT_GT(committed_, 1'000'000u);
}

TEST_F(LockInterleavingsTest, TheModelTellsMutants) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "this build has no mutants";
  for (const Mutant mutant : {Mutant::kSkipSharedLock, Mutant::kUpgradeAtOnce}) {
    set_mutant(mutant);
    EXPECT_NE(run_all(), "") << name_of(mutant);
  }
  set_mutant(Mutant::kNone);
}

}  // namespace
}  // namespace elider::txn
