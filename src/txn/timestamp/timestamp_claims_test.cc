// Tests of timestamps and of the claims that use them, without a database. They cover the race for
// the clock, and every interleaving of three small transactions.
#include "txn/timestamp/timestamp_claims.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "base/memory.h"
#include "base/test_points.h"
#include "tests/support/claims_test_support.h"

namespace elider::txn {
namespace {

class TimestampsTest : public testing::Test {
 protected:
  TimestampsTest() : workers_(memory_, kWorkers, 1), timestamps_(workers_) {
    for (Worker*& worker : taken_) worker = workers_.acquire();
  }
  ~TimestampsTest() override {
    TestPoints::clear();
    for (Worker* worker : taken_) workers_.release(worker);
  }

  static constexpr uint32_t kWorkers = 3;
  Memory memory_{64 << 20};
  Workers workers_;
  std::array<Worker*, kWorkers> taken_{};
  Timestamps timestamps_;
};

TEST_F(TimestampsTest, RiseAndAreUnderWayUntilTheyEnd) {
  Timestamp last = 0;
  for (int i = 0; i < 100; ++i) {
    const Timestamp mine = timestamps_.begin(0);
    EXPECT_GT(mine, last);
    EXPECT_TRUE(timestamps_.under_way(mine));
    EXPECT_LT(timestamps_.safe(1), mine);
    timestamps_.end(0);
    EXPECT_FALSE(timestamps_.under_way(mine));
    timestamps_.let_pass(mine);
    EXPECT_GE(timestamps_.safe(1), mine);
    last = mine;
  }
}

TEST_F(TimestampsTest, OneThatIsCommittingIsNotEnded) {
  const Timestamp mine = timestamps_.begin(0);
  ASSERT_TRUE(timestamps_.begin_commit(0, mine));
  EXPECT_FALSE(timestamps_.end_other(mine));
  EXPECT_TRUE(timestamps_.under_way(mine));
  timestamps_.end(0);
  const Timestamp next = timestamps_.begin(0);
  EXPECT_TRUE(timestamps_.end_other(next));
  EXPECT_FALSE(timestamps_.begin_commit(0, next));
}

// Mutant: publish_timestamp_once.
TEST_F(TimestampsTest, NoneIsBelowASafeOneThatSomebodyComputedMeanwhile) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  Timestamp safe = 0;
  bool reached = false;
  TestPoints::on("timestamp.begin.clock_read", [&] {
    if (std::exchange(reached, true)) return;  // called by the other transaction's own begin
    const Timestamp other = timestamps_.begin(1);
    timestamps_.end(1);
    timestamps_.let_pass(other);
    safe = timestamps_.safe(1);
  });
  const Timestamp mine = timestamps_.begin(0);
  ASSERT_NE(safe, 0u);
  EXPECT_GT(mine, safe);
}

// Mutant: slots_before_clock.
TEST_F(TimestampsTest, ASafeOneIsBelowOneThatBeginsWhileItIsComputed) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  Timestamp begun = 0;
  TestPoints::on("timestamp.slots_read", [&] {
    begun = timestamps_.begin(1);
    timestamps_.let_pass(begun);
  });
  const Timestamp safe = timestamps_.safe(0);
  ASSERT_NE(begun, 0u);
  EXPECT_LT(safe, begun);
}

// Mutant: forget_committing.
TEST_F(TimestampsTest, OneThatIsCommittingIsNotSafe) {
  const Timestamp mine = timestamps_.begin(0);
  ASSERT_TRUE(timestamps_.begin_commit(0, mine));
  timestamps_.let_pass(mine);
  EXPECT_LT(timestamps_.safe(1), mine);
  EXPECT_EQ(timestamps_.oldest_up_to(mine, 1), mine);
  timestamps_.end(0);
  EXPECT_GE(timestamps_.safe(1), mine);
  EXPECT_EQ(timestamps_.oldest_up_to(mine, 1), 0u);
}

// -- every interleaving ---------------------------------------------------------------------------

class InterleavingsTest : public TimestampsTest {
 protected:
  template <class Claims>
  std::string run_all() {
    test::Interleavings<Claims> interleavings({Claims(timestamps_, 0, 0), Claims(timestamps_, 1, 0), Claims(timestamps_, 2, 0)});
    std::string wrong = interleavings.run_all();
    committed_ += interleavings.committed();
    return wrong;
  }
  uint64_t committed_ = 0;
};

// Makes claims as a transaction does if it has regions: in one step, or, if that is refused,
// outside of the region.
struct ClaimsOfRegions : TimestampClaims<true> {
  using TimestampClaims<true>::TimestampClaims;
  bool read(storage::Cell& cell) { return read_in_region(cell) || TimestampClaims<true>::read(cell); }
  bool write(storage::Cell& cell) { return write_in_region(cell) || TimestampClaims<true>::write(cell); }
};

TEST_F(InterleavingsTest, WhatIsClaimedStaysAsItIs) {
  EXPECT_EQ(run_all<TimestampClaims<true>>(), "");
  EXPECT_GT(committed_, 1'000'000u);
}

TEST_F(InterleavingsTest, WhatRegionsClaimStaysAsItIs) {
  EXPECT_EQ(run_all<ClaimsOfRegions>(), "");
  EXPECT_GT(committed_, 1'000'000u);
}

// If another transaction ends a transaction in the middle of a claim, the ended transaction takes
// back only its own claim, and not the claim of the other transaction.
TEST_F(InterleavingsTest, AClaimThatIsTakenBackIsItsOwn) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  using Claims = TimestampClaims<true>;
  test::ClaimedItem<Claims> item;
  Claims ended(timestamps_, 0, 0), ending(timestamps_, 1, 0), reader(timestamps_, 2, 0);
  Timestamp claimed = 0;
  const auto write_timestamp = [&] {
    Timestamp now;
    std::memcpy(&now, item.before + sizeof now, sizeof now);
    return now;
  };
  ended.begin(1);
  ending.begin(1);
  TestPoints::on("timestamp.write.claimed", [&] {
    if (claimed != 0) return;
    claimed = write_timestamp();
    ASSERT_TRUE(timestamps_.end_other(claimed));
    EXPECT_TRUE(ending.write(item.its_cell()));
    claimed = write_timestamp();
    reader.begin(1);
    EXPECT_FALSE(reader.read(item.its_cell()));
  });
  EXPECT_FALSE(ended.write(item.its_cell()));
  EXPECT_EQ(write_timestamp(), claimed);
  ended.end();
  ending.end();
  reader.end();
}

// Another transaction makes a claim before the first step of a claim, or between its two steps. If
// one of them reads and the other writes, at least one claim is refused. Mutant: look_before_claim.
TEST_F(InterleavingsTest, AClaimWithinTheStepsOfAnotherIsSeenOrSees) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  using Claims = TimestampClaims<true>;
  const auto claim = [](Claims& claims, storage::Cell& cell, bool reads, bool in_region) {
    if (in_region) return reads ? claims.read_in_region(cell) : claims.write_in_region(cell);
    return reads ? claims.read(cell) : claims.write(cell);
  };
  for (const std::string point :
       {"timestamp.read.before_claim", "timestamp.read.claimed", "timestamp.write.before_claim", "timestamp.write.claimed"})
    for (const bool in_region : {true, false})
      for (const bool other_is_older : {true, false}) {
        SCOPED_TRACE(point + (in_region ? ", a region" : ", two steps") + (other_is_older ? ", older" : ", younger"));
        const bool reads = point.starts_with("timestamp.read");
        test::ClaimedItem<Claims> item;
        Claims mine(timestamps_, 0, 0), other(timestamps_, 1, 0);
        (other_is_older ? other : mine).begin(1);
        (other_is_older ? mine : other).begin(1);
        bool other_passed = false, reached = false;
        TestPoints::on(point, [&] {
          reached = true;
          other_passed = claim(other, item.its_cell(), !reads, in_region);
        });
        const bool passed = claim(mine, item.its_cell(), reads, false);
        TestPoints::clear();
        EXPECT_TRUE(reached);
        EXPECT_FALSE(passed && other_passed);
        EXPECT_TRUE(passed || other_passed || !in_region) << "what a region claims is claimed in one step";
        mine.end();
        other.end();
      }
}

// The published rule, and variants that leave out one claim each. The test catches all of them.
TEST_F(InterleavingsTest, TheModelTellsMutants) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without mutants";
  for (const Mutant mutant : {Mutant::kSkipReadTimestamp, Mutant::kForgetOtherReaders, Mutant::kPassUnsafeRead, Mutant::kPassUnsafeWrite}) {
    set_mutant(mutant);
    EXPECT_NE(run_all<TimestampClaims<true>>(), "") << name_of(mutant);
    EXPECT_NE(run_all<ClaimsOfRegions>(), "") << name_of(mutant);
  }
  set_mutant(Mutant::kNone);
}

}  // namespace
}  // namespace elider::txn
