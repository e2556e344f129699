// Two-phase locking: a transaction takes a leaf's lock after it has looked at the leaf. A commit in
// between must not be seen partly.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "tests/race/race_test.h"

namespace elider::test {
namespace {

class LeafLockRaceTest : public RaceTest {
 protected:
  void SetUp() override {
    RaceTest::SetUp();
    if (IsSkipped()) return;
    accounts_ = create(account_schema(GetParam().key_index));
    insert(accounts_, 1, Account{1, 0, 0, 0});
  }
  // look(txn): whether key 5 is there. A transaction that inserts it, and says so in row 1, commits
  // between the look and the lock.
  void expect_no_half(const std::function<Result<bool>(Transaction&)>& look) {
    TestStop between("locks.leaf_looked_at");
    std::atomic<int> halves{0};
    Background reader([&] {
      EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
        auto there = look(txn);
        if (!there.ok()) return there.status();
        auto one = txn.get(accounts_, 1);
        if (!one.ok()) return one.status();
        if (((*one)->balance == 5) != *there) ++halves;
        return txn.update(accounts_, 1, {}, [](Account& account) { ++account.flags; });
      }));
    });
    between.wait_until_reached();
    EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
      if (Status status = txn.insert(accounts_, 5, Account{5, 0, 0, 0}); !status.ok()) return status;
      return txn.update(accounts_, 1, {}, [](Account& account) { account.balance = 5; });
    }));
    between.go();
    reader.join();
    EXPECT_EQ(halves, 0);
    EXPECT_EQ(row(accounts_, 1).flags, 1u);
  }

  Table<Account> accounts_;
};

std::vector<Combination> locking_combinations() {
  std::vector<Combination> chosen = combinations(false, false);
  std::erase_if(chosen, [](const Combination& combination) { return !combination.locks(); });
  return chosen;
}
INSTANTIATE_TEST_SUITE_P(On, LeafLockRaceTest, testing::ValuesIn(locking_combinations()), combination_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LeafLockRaceTest);

TEST_P(LeafLockRaceTest, AnAbsentKeyThatIsInsertedMeanwhile) {
  expect_no_half([&](Transaction& txn) -> Result<bool> {
    auto five = txn.get(accounts_, 5);
    if (!five.ok() && !five.status().not_found()) return five.status();
    return five.ok();
  });
}

TEST_P(LeafLockRaceTest, ARangeInWhichAKeyIsInsertedMeanwhile) {
  if (!GetParam().ordered()) return;  // scans are of ordered tables
  expect_no_half([&](Transaction& txn) -> Result<bool> {
    bool there = false;
    if (Status status = txn.scan(accounts_, {2, 9}, {}, [&](Key, const View<Account>&) { there = true; }); !status.ok()) return status;
    return there;
  });
}

}  // namespace
}  // namespace elider::test
