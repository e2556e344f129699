// Zoned tables (SchemaOf::zoned, storage/zones.h): all operations of a table, and scans over its
// rows in memory, on a snapshot, while others write.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "base/test_points.h"
#include "elider/elider.h"
#include "tests/support/database_test.h"
#include "tests/support/temporary_folder.h"

namespace elider::test {
namespace {

class ZonedTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(schema());
  }
  static SchemaOf<Account> schema(uint32_t zones = 4) { return account_schema(GetParam().key_index).zoned(zones); }
  void put(Key key, int64_t balance) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(accounts_, key, Account{key, balance, 0, 0})); });
  }
  static std::map<Key, int64_t> rows_in(Transaction& txn, const Table<Account>& table, unsigned threads = 1) {
    std::map<Key, int64_t> rows;
    std::mutex mutex;
    EXPECT_OK(txn.scan_rows(table, {.threads = threads}, [&](Key key, const View<Account>& row) {
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(rows.emplace(key, row->balance).second) << key << " is visited twice";
    }));
    return rows;
  }
  std::map<Key, int64_t> rows(unsigned threads = 1) {
    std::map<Key, int64_t> found;
    read(db_, [&](Transaction& txn) { found = rows_in(txn, accounts_, threads); });
    return found;
  }

  // Inserts rows into the empty table. Each time the insertion reaches the point, another thread
  // scans the table, which must be empty.
  void insert_while_scanned(const char* point) {
    int scans = 0;
    TestPoints::on(point, [&] {
      ++scans;
      std::thread([&] { EXPECT_EQ(rows(), (std::map<Key, int64_t>{})); }).join();
    });
    transact(db_, [&](Transaction& txn) {
      for (Key key = 100; key < 110; ++key) ASSERT_OK(txn.insert(accounts_, key, Account{key, 1, 0, 0}));
    });
    TestPoints::clear();
    EXPECT_GE(scans, 10);
  }

  Table<Account> accounts_;
};
ELIDER_ON_EVERY(ZonedTest);

TEST_P(ZonedTest, AnEmptyTableHasNoRows) { EXPECT_EQ(rows(), (std::map<Key, int64_t>{})); }

TEST_P(ZonedTest, EachRowIsVisitedOnceAsItIs) {
  std::map<Key, int64_t> model;
  for (Key key = 1; key <= 300; ++key) put(key * 7, static_cast<int64_t>(key)), model[key * 7] = static_cast<int64_t>(key);
  for (Key key = 1; key <= 300; key += 3) put(key * 7, -1), model[key * 7] = -1;
  for (Key key = 2; key <= 300; key += 3) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, key * 7)); });
    model.erase(key * 7);
  }
  EXPECT_EQ(rows(), model);
  EXPECT_EQ(rows(3), model);
  for (const auto& [key, balance] : model) EXPECT_EQ(row(accounts_, key).balance, balance);
}

TEST_P(ZonedTest, WhatRollsBackIsNotVisited) {
  put(1, 1);
  EXPECT_CODE(Code::kRolledBack, db_.run([&](Transaction& txn) -> Status {
    if (Status status = txn.insert(accounts_, 2, Account{2, 2, 0, 0}); !status.ok()) return status;
    return Status::rollback();
  }));
  EXPECT_EQ(rows(), (std::map<Key, int64_t>{{1, 1}}));
}

TEST_P(ZonedTest, SlotsAreUsedAgain) {
  uint64_t early = 0;
  for (int round = 0; round < 60; ++round) {
    for (Key key = 0; key < 200; ++key) put(key, round);
    transact(db_, [&](Transaction& txn) {
      for (Key key = 0; key < 200; ++key) ASSERT_OK(txn.remove(accounts_, key));
    });
    db_.collect_garbage();
    if (round == 20) early = db_.statistics().memory.rows;
  }
  put(1, 1);
  EXPECT_EQ(rows(), (std::map<Key, int64_t>{{1, 1}}));
  EXPECT_LE(db_.statistics().memory.rows, early + early / 2) << "later rounds do not need more memory";
}

// A slot that has never been used is not shown to scans before it is absent. Mutant:
// bound_before_cells.
TEST_P(ZonedTest, AFreshSlotHoldsNoRowYet) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  if (!GetParam().concurrent()) return;
  insert_while_scanned("zones.before_cell");
}

// Scans pass a slot that is used again while its new row block is being made.
TEST_P(ZonedTest, ASlotThatIsTakenAgainHoldsNoRowYet) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  if (!GetParam().concurrent()) return;
  for (Key key = 0; key < 20; ++key) put(key, 7);
  transact(db_, [&](Transaction& txn) {
    for (Key key = 0; key < 20; ++key) ASSERT_OK(txn.remove(accounts_, key));
  });
  db_.collect_garbage();
  insert_while_scanned("row.taken");
}

TEST_P(ZonedTest, AScanEndsWhereTheVisitorSaysSoAndThrowsWhatItThrows) {
  for (Key key = 0; key < 100; ++key) put(key, 1);
  for (const unsigned threads : {1u, 3u}) {
    std::atomic<int> visited{0};
    read(db_, [&](Transaction& txn) {
      ASSERT_OK(txn.scan_rows(accounts_, {.threads = threads}, [&](Key, const View<Account>&) { return ++visited < 5; }));
    });
    EXPECT_GE(visited, 5);
    EXPECT_LT(visited, 5 + static_cast<int>(threads));
    EXPECT_CODE(Code::kProcedureThrew, db_.run_read_only([&](Transaction& txn) {
      return txn.scan_rows(accounts_, {.threads = threads}, [](Key, const View<Account>&) -> bool { throw std::runtime_error("enough"); });
    }));
  }
}

TEST_P(ZonedTest, AVisitorThatEndsTheTransactionEndsTheScan) {
  for (Key key = 0; key < 20; ++key) put(key, 1);
  ActiveTransaction txn = begin_read_only(db_);
  int visited = 0;
  EXPECT_CODE(Code::kFinished, txn->scan_rows(accounts_, {}, [&](Key, const View<Account>&) {
    if (++visited == 3) {
      EXPECT_OK(txn.commit());
    }
  }));
  EXPECT_EQ(visited, 3);
}

TEST_P(ZonedTest, ColumnsThatWereAskedForAreThere) {
  put(1, 9);
  read(db_, [&](Transaction& txn) {
    int64_t sum = 0;
    ASSERT_OK(txn.scan_rows(accounts_, {.columns = accounts_.columns(&Account::balance)}, [&](Key, const View<Account>& row) {
      sum += row->balance;
    }));
    EXPECT_EQ(sum, 9);
  });
}

TEST_P(ZonedTest, WrongCallsAreRefused) {
  const Table<Account> other = create(account_schema(GetParam().key_index, "other"));
  const auto visit = [](Key, const View<Account>&) {};
  read(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.scan_rows(other, {}, visit));
    EXPECT_REFUSED(Code::kInvalidArgument, "threads is 0", txn.scan_rows(accounts_, {.threads = 0}, visit));
    EXPECT_REFUSED(Code::kInvalidArgument, "threads is 257", txn.scan_rows(accounts_, {.threads = 257}, visit));
    EXPECT_REFUSED(Code::kInvalidArgument, "given an empty TableRef", txn.scan_rows(Table<Account>(), {}, visit));
  });
  transact(db_, [&](Transaction& txn) { EXPECT_REFUSED(Code::kInvalidArgument, "read-only", txn.scan_rows(accounts_, {}, visit)); });
  EXPECT_REFUSED(Code::kInvalidArgument, "zones is 1025", db_.create_table(account_schema(GetParam().key_index, "third").zoned(1025)));
  EXPECT_REFUSED(Code::kSchemaMismatch, "not zoned", db_.create_table(account_schema(GetParam().key_index)));
  EXPECT_OK(db_.create_table(schema(7))) << "the number of zones does not belong to the schema";
}

TEST_P(ZonedTest, ManyZonesAndOneHoldTheSameRows) {
  for (const uint32_t zones : {1u, 2u, 64u, kZonesAutomatic}) {
    const Table<Account> table = create(account_schema(GetParam().key_index, "of " + std::to_string(zones)).zoned(zones));
    transact(db_, [&](Transaction& txn) {
      for (Key key = 0; key < 500; ++key) ASSERT_OK(txn.insert(table, key, Account{key, 1, 0, 0}));
    });
    read(db_, [&](Transaction& txn) { EXPECT_EQ(rows_in(txn, table, 2).size(), 500u); });
  }
}

TEST_P(ZonedTest, AReadOnlyTransactionSeesItsSnapshot) {
  if (!GetParam().concurrent()) return;
  std::map<Key, int64_t> model;
  for (Key key = 0; key < 50; ++key) put(key, 1), model[key] = 1;
  ActiveTransaction old = begin_read_only(db_);
  for (Key key = 0; key < 50; key += 2) put(key, 2);
  for (Key key = 1; key < 50; key += 4) transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, key)); });
  for (Key key = 100; key < 150; ++key) put(key, 3);
  for (Key key = 1; key < 50; key += 8) put(key, 4);
  EXPECT_EQ(rows_in(*old, accounts_), model);
  EXPECT_EQ(rows_in(*old, accounts_, 4), model);
  EXPECT_OK(old.commit());
  EXPECT_EQ(rows().size(), 50u - 13 + 7 + 50);
}

// Writers move amounts between rows, and insert and remove pairs of rows. In every scan, the sum is
// zero and each key occurs once.
TEST_P(ZonedTest, EveryScanSeesWholeCommitsWhileOthersWrite) {
  if (!GetParam().threads()) return;
  constexpr Key kRows = 64;
  for (Key key = 0; key < kRows; ++key) put(key, 0);
  std::atomic<bool> stop{false};
  std::atomic<int> scans{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; !stop; ++i) {
        const Key one = (i * 7 + t) % kRows, two = (i * 13 + 5) % kRows, pair = 1000 * (t + 1) + 2 * (i % 40);
        EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
          if (one != two) {
            ELIDER_TRY(txn.update(accounts_, one, {}, [](Account& a) { ++a.balance; }));
            ELIDER_TRY(txn.update(accounts_, two, {}, [](Account& a) { --a.balance; }));
          }
          const bool there = txn.get(accounts_, pair).ok();
          if (there) {
            ELIDER_TRY(txn.remove(accounts_, pair));
            return txn.remove(accounts_, pair + 1);
          }
          ELIDER_TRY(txn.insert(accounts_, pair, Account{pair, 5, 0, 0}));
          return txn.insert(accounts_, pair + 1, Account{pair + 1, -5, 0, 0});
        }));
      }
    });
  for (int i = 0; i < 60; ++i) {
    const std::map<Key, int64_t> seen = rows(1 + static_cast<unsigned>(i) % 3);
    int64_t sum = 0;
    for (const auto& [key, balance] : seen) sum += balance;
    EXPECT_EQ(sum, 0);
    for (const auto& [key, balance] : seen) EXPECT_TRUE(key < 1000 || seen.contains(key ^ 1)) << key;
    ++scans;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(scans, 60);
}

TEST_P(ZonedTest, ItComesBackZonedFromItsFolder) {
  const TemporaryFolder folder("elider_zoned");
  Options options;
  options.data_folders = {folder.path() / "data"};
  for (const bool checkpoint : {false, true}) {
    db_ = Database();
    reopen(options);
    accounts_ = create(schema());
    for (Key key = 0; key < 100; ++key) put(key, checkpoint ? 2 : 1);
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 7)); });
    if (checkpoint) {
      EXPECT_OK(db_.checkpoint());
    }
    db_ = Database();
    reopen(options);
    auto table = db_.table<Account>("accounts");
    ASSERT_OK(table);
    accounts_ = *table;
    EXPECT_EQ(accounts_.schema().zones, 4u);
    EXPECT_EQ(rows(2).size(), 99u);
  }
  db_ = Database();
  reopen({});
}

}  // namespace
}  // namespace elider::test
