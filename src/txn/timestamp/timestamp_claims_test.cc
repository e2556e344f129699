// Timestamps and the claims that are made of them, without a database: the clock's race, and every
// interleaving of three small transactions.
#include "txn/timestamp/timestamp_claims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "base/memory.h"
#include "base/test_points.h"

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
  if (!TestPoints::enabled()) GTEST_SKIP() << "this build has no test points";
  Timestamp safe = 0;
  bool reached = false;
  TestPoints::on("timestamp.begin.clock_read", [&] {
    if (std::exchange(reached, true)) return;  // by the other one's own begin
    const Timestamp other = timestamps_.begin(1);
    timestamps_.end(1);
    timestamps_.let_pass(other);
    safe = timestamps_.safe(1);
  });
  const Timestamp mine = timestamps_.begin(0);
  ASSERT_NE(safe, 0u);
  EXPECT_GT(mine, safe);
}

// -- every interleaving ---------------------------------------------------------------------------

// Two groups, three transactions of two operations each, which read or claim a write; a write takes
// effect at the commit. A claim that is refused ends the transaction. A committed transaction must
// not have read what another one wrote before it committed itself.
class InterleavingsTest : public TimestampsTest {
 protected:
  static constexpr int kTransactions = 3, kOperations = 2, kItems = 2;
  struct alignas(8) Item {
    std::byte before[TimestampClaims<true>::kCellBytes];
    std::byte cell[sizeof(storage::Cell)];
    storage::Cell& its_cell() { return *reinterpret_cast<storage::Cell*>(cell); }
  };
  struct Run {
    int steps = 0;      // done
    bool ended = false;
    unsigned read = 0;  // items
    unsigned wrote = 0;
    bool stale = false; // somebody has committed a write of what it had read
  };

  // Empty, or what went wrong.
  template <class Claims>
  std::string run(const std::array<int, kTransactions * kOperations>& operations, const std::array<int, 9>& order) {
    Item items[kItems];
    std::memset(static_cast<void*>(items), 0, sizeof items);
    Run runs[kTransactions];
    std::array<Claims, kTransactions> claims{Claims(timestamps_, 0, 0), Claims(timestamps_, 1, 0), Claims(timestamps_, 2, 0)};
    std::string wrong;
    for (const int t : order) {
      Run& its = runs[t];
      if (its.ended) continue;
      if (its.steps == 0) claims[t].begin(1);
      if (its.steps < kOperations) {
        const int operation = operations[t * kOperations + its.steps++];
        Item& item = items[operation % kItems];
        const unsigned bit = 1u << (operation % kItems);
        const bool writes = operation >= kItems;
        const bool granted = writes ? claims[t].write(item.its_cell()) : claims[t].read(item.its_cell());
        if (granted) (writes ? its.wrote : its.read) |= bit;
        else its.ended = true;
      } else {
        if (its.stale) wrong = "it had read what another one has written since";
        for (Run& other : runs)
          if (&other != &its && !other.ended && (other.read & its.wrote) != 0) other.stale = true;
        for (const Run& other : runs)
          if (&other != &its && !other.ended && other.steps != 0 && (other.wrote & its.wrote) != 0) wrong = "two wrote one item at a time";
        its.ended = true;
        ++committed_;
      }
      if (its.ended) claims[t].end();
    }
    return wrong;
  }
  template <class Claims>
  std::string run_all() {
    std::array<int, kTransactions * kOperations> operations{};
    for (int program = 0; program < 4 * 4 * 4 * 4 * 4 * 4; ++program) {
      for (size_t i = 0; i < operations.size(); ++i) operations[i] = program >> (2 * i) & 3;
      if (operations[0] % kItems != 0) continue;  // the items are alike
      std::array<int, 9> order{0, 0, 0, 1, 1, 1, 2, 2, 2};
      do {
        if (order[0] != 0) break;  // and so are the transactions
        if (std::string wrong = run<Claims>(operations, order); !wrong.empty()) {
          for (const int t : order) wrong += " " + std::to_string(t);
          wrong += ", operations";
          for (const int operation : operations) wrong += " " + std::string(operation >= kItems ? "w" : "r") + std::to_string(operation % kItems);
          return wrong;
        }
      } while (std::next_permutation(order.begin(), order.end()));
    }
    return "";
  }
  uint64_t committed_ = 0;
};

TEST_F(InterleavingsTest, WhatIsClaimedStaysAsItIs) {
  EXPECT_EQ(run_all<TimestampClaims<true>>(), "");
  EXPECT_GT(committed_, 1'000'000u);
}

// It takes back its own claim alone, and not that of who has ended it in the middle of it.
TEST_F(InterleavingsTest, AClaimThatIsTakenBackIsItsOwn) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "this build has no test points";
  using Claims = TimestampClaims<true>;
  Item item;
  std::memset(static_cast<void*>(&item), 0, sizeof item);
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

// The rule as it was published, and each claim left out: every one of them is caught.
TEST_F(InterleavingsTest, TheModelTellsMutants) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "this build has no mutants";
  for (const Mutant mutant : {Mutant::kSkipReadTimestamp, Mutant::kForgetOtherReaders, Mutant::kPassUnsafeRead, Mutant::kPassUnsafeWrite}) {
    set_mutant(mutant);
    EXPECT_NE(run_all<TimestampClaims<true>>(), "") << name_of(mutant);
  }
  set_mutant(Mutant::kNone);
}

}  // namespace
}  // namespace elider::txn
