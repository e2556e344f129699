// The elided engine in seeded schedules: transfers, rows that come and go, and audits, a switch of threads
// at any access. A failure names its seed, which replays.
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "htm/emulator/schedule.h"
#include "tests/emulator/support.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

using emulator_test::WithOptions;

constexpr Key kAccounts = 6;
constexpr Key kGuest = 100;  // comes and goes, with money of the others
constexpr int64_t kTotal = 600;

class EngineScheduleTest : public testing::TestWithParam<KeyIndex> {
 protected:
  EngineScheduleTest() : db_(open_database({SyncPolicy::kElided, HtmBackend::kEmulated, GetParam()})) {
    auto table = db_.create_table(account_schema(GetParam()));
    EXPECT_OK(table);
    accounts_ = *table;
    balance_ = accounts_.columns(&Account::balance);
    transact(db_, [&](Transaction& txn) {
      for (Key key = 0; key < kAccounts; ++key) ASSERT_OK(txn.insert(accounts_, key, Account{key, 100, 0, 0}));
    });
  }

  void move(Key from, Key to, int64_t amount) {
    expect(db_.run([&](Transaction& txn) -> Status {
      if (Status status = txn.update(accounts_, from, balance_, [&](Account& a) { a.balance -= amount; }); !status.ok()) return status;
      return txn.update(accounts_, to, balance_, [&](Account& a) { a.balance += amount; });
    }));
  }
  void come(Key from) {
    expect(db_.run([&](Transaction& txn) -> Status {
      if (Status status = txn.update(accounts_, from, balance_, [&](Account& a) { a.balance -= 7; }); !status.ok()) return status;
      return txn.insert(accounts_, kGuest, Account{kGuest, 7, 0, 0});
    }));
  }
  void go(Key to) {
    expect(db_.run([&](Transaction& txn) -> Status {
      if (Status status = txn.remove(accounts_, kGuest); !status.ok()) return status;
      return txn.update(accounts_, to, balance_, [&](Account& a) { a.balance += 7; });
    }));
  }
  int64_t sum(Transaction& txn, Status* status) {
    int64_t total = 0;
    for (Key key = 0; key <= kAccounts && status->ok(); ++key) {
      auto view = txn.get(accounts_, key == kAccounts ? kGuest : key);
      if (view.ok()) {
        total += (*view)->balance;
      } else if (key < kAccounts || !view.not_found()) {
        *status = view.status();
      }
    }
    return total;
  }
  void audit(bool snapshot) {
    int64_t total = 0;
    const auto look = [&](Transaction& txn) {
      Status status;
      total = sum(txn, &status);
      return status;
    };
    expect(snapshot ? db_.run_read_only(look) : db_.run(look));
    if (total != kTotal) wrong_sums_.fetch_add(1);
  }
  void expect(const Status& status) {
    if (!status.ok()) failures_.fetch_add(1);
  }

  // Three threads, a few transactions each.
  void run(uint64_t seed) {
    emulator::run_schedule(seed, {[&] {
                                    move(0, 1, 5);
                                    come(2);
                                    go(3);
                                    move(1, 2, 3);
                                  },
                                  [&] {
                                    move(1, 0, 4);
                                    move(2, 3, 1);
                                    audit(false);
                                  },
                                  [&] {
                                    audit(true);
                                    move(3, 1, 2);
                                    audit(false);
                                    audit(true);
                                  }});
    ASSERT_EQ(failures_.load(), 0) << "seed " << seed;
    ASSERT_EQ(wrong_sums_.load(), 0) << "seed " << seed;
  }

  void run_seeds(uint64_t first, uint64_t count) {
    for (uint64_t seed = first; seed < first + count; ++seed) ASSERT_NO_FATAL_FAILURE(run(seed));
    audit(true);
    EXPECT_EQ(wrong_sums_.load(), 0);
    EXPECT_OK(db_.verify());
  }

  Database db_;
  Table<Account> accounts_;
  Columns<Account> balance_;
  std::atomic<int> wrong_sums_{0};
  std::atomic<int> failures_{0};
};

TEST_P(EngineScheduleTest, sums_hold_in_many_schedules) {
  emulator::reset_counters();
  run_seeds(1, 300);
  EXPECT_GT(emulator::counters().committed, 1'000u);
  EXPECT_GT(emulator::counters().conflict_aborts, 100u);
}

TEST_P(EngineScheduleTest, sums_hold_where_half_of_the_regions_abort) {
  const WithOptions half([](auto& options) { options.spurious_abort_rate = 0.5; });
  run_seeds(1000, 100);
}

TEST_P(EngineScheduleTest, sums_hold_with_a_cache_of_one_line) {
  const WithOptions one_line([](auto& options) { options.sets = options.ways = 1; });
  run_seeds(2000, 100);
}

// Two threads fill the same nodes, some of them in regions and some under the lock: what an index loses if its
// regions do not look at the lock.
TEST_P(EngineScheduleTest, inserts_into_one_node_are_all_there) {
  const WithOptions most([](auto& options) { options.spurious_abort_rate = 0.8; });
  constexpr Key kEach = 6;
  const auto insert = [&](Key first) {
    for (Key i = 0; i < kEach; ++i)
      expect(db_.run([&](Transaction& txn) { return txn.insert(accounts_, first + 2 * i, Account{1, 0, 0, 0}); }));
  };
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const Key first = 1000 + seed * 2 * kEach;
    emulator::run_schedule(seed, {[&] { insert(first); }, [&] { insert(first + 1); }});
    ASSERT_EQ(failures_.load(), 0) << "seed " << seed;
    for (Key key = first; key < first + 2 * kEach; ++key)
      read(db_, [&](Transaction& txn) { ASSERT_OK(txn.get(accounts_, key)) << "seed " << seed; });
  }
  EXPECT_OK(db_.verify());
}

INSTANTIATE_TEST_SUITE_P(On, EngineScheduleTest, testing::Values(KeyIndex::kOrdered, KeyIndex::kHashed),
                         [](const auto& info) { return std::string(info.param == KeyIndex::kOrdered ? "ordered" : "hashed"); });

}  // namespace
}  // namespace elider::test
