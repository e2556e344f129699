// The elided engine in seeded schedules: transfers, rows that are inserted and removed, and audits.
// The schedule may switch threads at any access. A failure names its seed, which reproduces it.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>

#include "lab/emulator/schedule.h"
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

// Two threads fill the same nodes, partly in regions and partly under the lock. An index loses keys
// if its regions do not read the lock.
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

// Rows change their indexed columns, are removed and come back. Meanwhile the entries move between
// leaves, which split, become empty and are unlinked. A scan of an index finds each row exactly
// once.
class IndexScheduleTest : public testing::TestWithParam<KeyIndex> {
 protected:
  static constexpr Key kRows = 14;

  IndexScheduleTest() : db_(open_database({SyncPolicy::kElided, HtmBackend::kEmulated, GetParam()})) {
    auto table = db_.create_table(indexed_account_schema(GetParam()));
    EXPECT_OK(table);
    accounts_ = *table;
    branch_ = accounts_.columns(&Account::branch);
    by_branch_ = *db_.index(accounts_, "by_branch");
    transact(db_, [&](Transaction& txn) {
      for (Key key = 0; key < kRows; ++key) ASSERT_OK(txn.insert(accounts_, key, Account{key, 1, 1, 0}));
    });
  }

  void move(Key first, uint32_t branch) {
    run([&](Transaction& txn) -> Status {
      for (Key key = first; key < kRows; key += 3)
        if (Status status = txn.update(accounts_, key, branch_, [&](Account& a) { a.branch = branch; }); !status.ok()) return status;
      return {};
    });
  }
  // Two owners change places, which the unique index allows only within one transaction.
  void replace(Key one, Key other) {
    run([&](Transaction& txn) -> Status {
      Account rows[2];
      for (const Key key : {one, other}) {
        auto view = txn.get(accounts_, key);
        if (!view.ok()) return view.status();
        rows[key == other] = **view;
        if (Status status = txn.remove(accounts_, key); !status.ok()) return status;
      }
      if (Status status = txn.insert(accounts_, one, rows[1]); !status.ok()) return status;
      return txn.insert(accounts_, other, rows[0]);
    });
  }
  void look(bool snapshot) {
    std::multiset<uint64_t> owners;
    const auto scan = [&](Transaction& txn) {
      owners.clear();
      return txn.scan(by_branch_, {}, {}, [&](Key, const View<Account>& view) {
        owners.insert(view->owner);
        return true;
      });
    };
    expect(snapshot ? db_.run_read_only(scan) : db_.run(scan));
    if (owners != all_owners()) wrong_.fetch_add(1);
  }
  template <class Procedure>
  void run(Procedure&& procedure) {
    expect(db_.run(procedure));
  }
  void expect(const Status& status) {
    if (!status.ok()) failures_.fetch_add(1);
  }
  static std::multiset<uint64_t> all_owners() {
    std::multiset<uint64_t> owners;
    for (Key key = 0; key < kRows; ++key) owners.insert(key);
    return owners;
  }

  Database db_;
  Table<Account> accounts_;
  Columns<Account> branch_;
  Index<Account> by_branch_;
  std::atomic<int> wrong_{0}, failures_{0};
};

TEST_P(IndexScheduleTest, scans_see_each_row_once_in_many_schedules) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const auto branch = static_cast<uint32_t>(seed);
    emulator::run_schedule(seed, {[&] {
                                    move(0, branch + 1);
                                    replace(1, 4);
                                    move(0, branch);
                                  },
                                  [&] {
                                    move(1, branch + 2);
                                    look(false);
                                  },
                                  [&] {
                                    look(true);
                                    look(false);
                                    replace(2, 5);
                                  }});
    ASSERT_EQ(failures_.load(), 0) << "seed " << seed;
    ASSERT_EQ(wrong_.load(), 0) << "seed " << seed;
    if (seed % 8 == 0) db_.collect_garbage();  // outdated entries go, and leaves with them
  }
  EXPECT_OK(db_.verify());
}

// Keys are inserted and removed in pairs across leaf borders, while leaves split and are unlinked.
// No scan sees half a pair, or another number of pairs when it is repeated.
TEST(LeafScheduleTest, scans_see_whole_pairs_in_many_schedules) {
  constexpr Key kPairs = 40;
  Database db = open_database({SyncPolicy::kElided, HtmBackend::kEmulated, KeyIndex::kOrdered});
  const auto table = db.create_table(account_schema(KeyIndex::kOrdered));
  ASSERT_OK(table);
  std::atomic<int> wrong{0}, failures{0};
  const auto expect = [&](const Status& status) { failures.fetch_add(status.ok() ? 0 : 1); };
  const auto put = [&](Key first, Key last) {
    for (Key pair = first; pair < last; ++pair)
      expect(db.run([&](Transaction& txn) -> Status {
        if (Status status = txn.put(*table, pair, Account{pair, 1, 0, 0}); !status.ok()) return status;
        return txn.put(*table, pair + kPairs, Account{pair, 1, 0, 0});
      }));
  };
  const auto remove = [&](Key first, Key last) {
    for (Key pair = first; pair < last; ++pair)
      expect(db.run([&](Transaction& txn) -> Status {
        for (const Key key : {pair, pair + kPairs})
          if (Status status = txn.remove(*table, key); !status.ok() && !status.not_found()) return status;
        return {};
      }));
  };
  const auto look = [&](bool snapshot) {
    uint64_t halves[2] = {}, again = 0;
    const auto procedure = [&](Transaction& txn) -> Status {
      halves[0] = halves[1] = again = 0;
      const auto count = [&](Key key, const View<Account>&) { return ++halves[key / kPairs] != 0; };
      if (Status status = txn.scan(*table, {}, {}, count); !status.ok()) return status;
      return txn.scan(*table, {}, {.reverse = true}, [&](Key, const View<Account>&) { return ++again != 0; });
    };
    expect(snapshot ? db.run_read_only(procedure) : db.run(procedure));
    if (halves[0] != halves[1] || again != 2 * halves[0]) wrong.fetch_add(1);
  };
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    const Key first = seed * 7 % (kPairs - 6);
    emulator::run_schedule(seed, {[&] { put(first, first + 6); }, [&] { remove(first + 2, first + 5); },
                                  [&] {
                                    look(false);
                                    look(true);
                                  }});
    ASSERT_EQ(failures.load(), 0) << "seed " << seed;
    ASSERT_EQ(wrong.load(), 0) << "seed " << seed;
    if (seed % 8 == 0) remove(0, kPairs);
  }
  EXPECT_OK(db.verify());
}

const auto index_name = [](const testing::TestParamInfo<KeyIndex>& info) -> std::string {
  return std::string(name_of(info.param));
};
INSTANTIATE_TEST_SUITE_P(On, IndexScheduleTest, testing::ValuesIn(kKeyIndexes), index_name);
INSTANTIATE_TEST_SUITE_P(On, EngineScheduleTest, testing::ValuesIn(kKeyIndexes), index_name);

}  // namespace
}  // namespace elider::test
