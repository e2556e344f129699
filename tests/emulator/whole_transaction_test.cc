// The protocol whole-transaction in the emulator. A transaction that fits is one region and does
// not take the lock. A transaction that does not fit takes it. The results are serializable in many
// schedules.
#include <gtest/gtest.h>

#include <atomic>

#include "elider/laboratory.h"
#include "lab/emulator/schedule.h"
#include "tests/emulator/support.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

using emulator_test::WithOptions;

class WholeTransactionEmulated : public testing::Test {
 protected:
  WholeTransactionEmulated() {
    Options options;
    change_laboratory(options).elision.window_runs = 0;
    Combination combination{SyncPolicy::kElided, HtmBackend::kEmulated, KeyIndex::kOrdered};
    combination.protocol = Protocol::kWholeTransaction;
    db_ = open_database(combination, options);
    auto table = db_.create_table(account_schema(KeyIndex::kOrdered));
    EXPECT_OK(table);
    accounts_ = *table;
    balance_ = accounts_.columns(&Account::balance);
    for (Key key = 0; key < kAccounts; ++key)
      transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(accounts_, key, Account{key, 100, 0, 0})); });
  }
  Statistics::Elision site() const {
    for (const Statistics::Elision& each : db_.statistics().elision)
      if (each.site == "whole transaction") return each;
    return {};
  }
  Status move(Key from, Key to, int64_t amount) {
    return db_.run([&](Transaction& txn) -> Status {
      if (Status status = txn.update(accounts_, from, balance_, [&](Account& a) { a.balance -= amount; }); !status.ok()) return status;
      return txn.update(accounts_, to, balance_, [&](Account& a) { a.balance += amount; });
    });
  }
  int64_t sum(bool snapshot) {
    int64_t total = 0;
    const auto look = [&](Transaction& txn) -> Status {
      total = 0;
      for (Key key = 0; key < kAccounts; ++key) {
        auto view = txn.get(accounts_, key);
        if (!view.ok()) return view.status();
        total += (*view)->balance;
      }
      return {};
    };
    EXPECT_OK(snapshot ? db_.run_read_only(look) : db_.run(look));
    return total;
  }

  static constexpr Key kAccounts = 8;
  static constexpr int64_t kTotal = 800;
  Database db_;
  Table<Account> accounts_;
  Columns<Account> balance_;
};

TEST_F(WholeTransactionEmulated, a_small_transaction_is_one_region) {
  for (int i = 0; i < 10; ++i) ASSERT_OK(move(0, 1, 1));  // the session's memory grows
  const Statistics::Elision before = site();
  const emulator::Counters regions = emulator::thread_counters();
  for (int i = 0; i < 100; ++i) ASSERT_OK(move(0, 1, 1));
  EXPECT_EQ(site().commits - before.commits, 100u);
  EXPECT_EQ(site().fallbacks, before.fallbacks);
  EXPECT_EQ(emulator::thread_counters().committed - regions.committed, 100u);
}

TEST_F(WholeTransactionEmulated, one_that_does_not_fit_takes_the_lock) {
  for (int i = 0; i < 10; ++i) ASSERT_OK(move(0, 1, 1));
  const WithOptions one_line([](auto& options) { options.sets = options.ways = 1; });
  const Statistics::Elision before = site();
  for (int i = 0; i < 10; ++i) ASSERT_OK(move(0, 1, 1));
  EXPECT_EQ(site().fallbacks - before.fallbacks, 10u);
  EXPECT_EQ(sum(true), kTotal);
}

TEST_F(WholeTransactionEmulated, sums_hold_in_many_schedules) {
  std::atomic<int> wrong{0};
  const auto audit = [&](bool snapshot) {
    if (sum(snapshot) != kTotal) wrong.fetch_add(1);
  };
  for (uint64_t seed = 1; seed <= emulator_test::schedules(150); ++seed) {
    emulator::run_schedule(seed, {[&] {
                                    EXPECT_OK(move(0, 1, 5));
                                    EXPECT_OK(move(1, 2, 3));
                                  },
                                  [&] {
                                    EXPECT_OK(move(1, 0, 4));
                                    audit(false);
                                    EXPECT_OK(move(2, 3, 1));
                                  },
                                  [&] {
                                    audit(true);
                                    EXPECT_OK(move(3, 1, 2));
                                    audit(false);
                                  }});
    ASSERT_EQ(wrong.load(), 0) << "seed " << seed;
  }
  EXPECT_OK(db_.verify());
}

}  // namespace
}  // namespace elider::test
