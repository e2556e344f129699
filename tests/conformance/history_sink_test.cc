// The history sink: every transaction that has ended, with the versions that it read and wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/test_points.h"
#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class CollectingSink : public HistorySink {
 public:
  void on_table(uint32_t position, const Schema& schema) override {
    EXPECT_EQ(position, tables.size());
    tables.push_back(schema.name);
  }
  void on_transaction(const HistoryTransaction& transaction) override {
    const std::lock_guard lock(mutex_);
    transactions.push_back(transaction);
  }
  std::vector<std::string> tables;
  std::vector<HistoryTransaction> transactions;

 private:
  std::mutex mutex_;  // guards transactions
};

using Kind = HistoryOperation::Kind;

class HistorySinkTest : public DatabaseTest {
 protected:
  void SetUp() override {
    Options options;
    options.history = &sink_;
    reopen(options);
    accounts_ = create(grouped_account_schema(GetParam().key_index));
    insert(accounts_, 1, Account{1, 10, 0, 0});
  }
  void TearDown() override {
    DatabaseTest::TearDown();
    db_ = Database();  // before the sink
  }
  const HistoryTransaction& last() { return sink_.transactions.back(); }
  static const HistoryOperation* find(const HistoryTransaction& txn, Kind kind, Key key, uint32_t group) {
    for (const HistoryOperation& operation : txn.operations)
      if (operation.kind == kind && operation.key == key && operation.group == group) return &operation;
    return nullptr;
  }

  CollectingSink sink_;
  Table<Account> accounts_;
};
ELIDER_ON_EVERY(HistorySinkTest);

TEST_P(HistorySinkTest, TablesAndCommitsAreTold) {
  EXPECT_EQ(sink_.tables, (std::vector<std::string>{"accounts"}));
  ASSERT_EQ(sink_.transactions.size(), 1u);
  EXPECT_TRUE(last().committed);
  EXPECT_FALSE(last().read_only);
  EXPECT_EQ(last().attempt, 1u);
  EXPECT_LE(last().begin_ns, last().end_ns);
  for (uint32_t group = 0; group < 3; ++group) EXPECT_NE(find(last(), Kind::kWrite, 1, group), nullptr) << "group " << group;
}

TEST_P(HistorySinkTest, AReadHasTheVersionThatWasWritten) {
  const HistoryOperation written = *find(last(), Kind::kWrite, 1, 0);
  read(db_, [&](Transaction& txn) { ASSERT_OK(txn.get(accounts_, 1)); });
  EXPECT_TRUE(last().read_only);
  const HistoryOperation* seen = find(last(), Kind::kRead, 1, 0);
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->version, written.version);
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.update(accounts_, 1, accounts_.columns(&Account::owner), [](Account& a) { ++a.owner; }));
  });
  seen = find(last(), Kind::kRead, 1, 0);
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->version, written.version);
  const HistoryOperation* rewritten = find(last(), Kind::kWrite, 1, 0);
  ASSERT_NE(rewritten, nullptr);
  EXPECT_GT(rewritten->version, written.version);
  EXPECT_EQ(find(last(), Kind::kWrite, 1, 1), nullptr);  // another group
}

TEST_P(HistorySinkTest, VersionsRiseAcrossRemovalAndInsertion) {
  uint64_t version = find(last(), Kind::kWrite, 1, 0)->version;
  for (int round = 0; round < 10; ++round) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 1)); });
    const HistoryOperation* removed = find(last(), Kind::kRemove, 1, 0);
    ASSERT_NE(removed, nullptr);
    EXPECT_GT(removed->version, version);
    if (round % 2 == 0) db_.collect_garbage();
    insert(accounts_, 1, Account{});
    const HistoryOperation* written = find(last(), Kind::kWrite, 1, 0);
    ASSERT_NE(written, nullptr);
    EXPECT_GT(written->version, removed->version);
    version = written->version;
  }
}

TEST_P(HistorySinkTest, AbsenceAddsAndScansAreTold) {
  transact(db_, [&](Transaction& txn) {
    EXPECT_CODE(Code::kNotFound, txn.get(accounts_, 2));
    ASSERT_OK(txn.add(accounts_, 1, &Account::balance, int64_t{1}));
  });
  EXPECT_NE(find(last(), Kind::kReadAbsent, 2, 0), nullptr);
  EXPECT_NE(find(last(), Kind::kAdd, 1, 1), nullptr);
  EXPECT_EQ(find(last(), Kind::kRead, 1, 1), nullptr);
  if (!GetParam().ordered()) return;  // scans are of ordered tables
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.scan(accounts_, {0, 9}, {}, [](Key, const View<Account>&) { return true; }));
  });
  const auto scan = std::find_if(last().operations.begin(), last().operations.end(),
                                 [](const HistoryOperation& operation) { return operation.kind == Kind::kScan; });
  ASSERT_NE(scan, last().operations.end());
  EXPECT_EQ(scan->range.first, 0u);
  EXPECT_EQ(scan->range.last, 9u);
  ASSERT_EQ(scan->rows.size(), 1u);
  EXPECT_EQ(scan->rows[0].first, 1u);
}

// The values that a row has in an index after a commit, and the range and the results of an index
// scan.
TEST_P(HistorySinkTest, IndexValuesAndIndexScansAreTold) {
  const Table<Account> indexed = create(indexed_account_schema(GetParam().key_index, "indexed"));
  const Index<Account> by_branch = *db_.index(indexed, "by_branch");
  const auto values = [&](Key key) {
    std::vector<std::pair<uint32_t, uint64_t>> found;
    for (const HistoryOperation& operation : last().operations)
      if (operation.kind == Kind::kIndexValue && operation.table == 1 && operation.key == key)
        found.emplace_back(operation.index, operation.value);
    return found;
  };
  using Values = std::vector<std::pair<uint32_t, uint64_t>>;
  insert(indexed, 5, Account{50, 1, 7, 0});
  EXPECT_EQ(values(5), (Values{{0, 7}, {1, 50}}));
  insert(indexed, 6, Account{60, 1, 7, 0});
  transact(db_, [&](Transaction& txn) {
    for (uint32_t branch : {8, 9})
      ASSERT_OK(txn.update(indexed, 5, indexed.columns(&Account::branch), [&](Account& a) { a.branch = branch; }));
    ASSERT_OK(txn.update(indexed, 6, indexed.columns(&Account::balance), [](Account& a) { a.balance = 2; }));
  });
  EXPECT_EQ(values(5), (Values{{0, 9}})) << "the last value alone";
  EXPECT_EQ(values(6), Values()) << "no indexed column";
  const auto expect_range = [](const HistoryOperation& scan, IndexPosition first, IndexPosition last) {
    EXPECT_EQ(scan.range.first, first.value);
    EXPECT_EQ(scan.first_key, first.key);
    EXPECT_EQ(scan.range.last, last.value);
    EXPECT_EQ(scan.last_key, last.key);
  };
  const auto expect_scans = [&] {
    std::vector<const HistoryOperation*> scans;
    for (const HistoryOperation& operation : last().operations)
      if (operation.kind == Kind::kIndexScan) scans.push_back(&operation);
    ASSERT_EQ(scans.size(), 4u);
    EXPECT_EQ(scans[0]->index, 0u);
    EXPECT_EQ(scans[0]->range.first, 0u);
    EXPECT_EQ(scans[0]->range.last, 20u);
    EXPECT_EQ(scans[0]->first_key, 0u);
    EXPECT_EQ(scans[0]->last_key, kKeyMax);
    EXPECT_FALSE(scans[0]->stopped);
    EXPECT_EQ(scans[0]->rows, (std::vector<std::pair<Key, uint64_t>>{{7, 6}, {9, 5}}));
    EXPECT_TRUE(scans[1]->reverse);
    EXPECT_TRUE(scans[1]->stopped);
    EXPECT_EQ(scans[1]->rows, (std::vector<std::pair<Key, uint64_t>>{{9, 5}}));
    expect_range(*scans[2], {7, 4}, {9, 4});
    EXPECT_EQ(scans[2]->rows, (std::vector<std::pair<Key, uint64_t>>{{7, 6}}));
    expect_range(*scans[3], {0, 0}, {8, kKeyMax});
    EXPECT_EQ(scans[3]->rows, (std::vector<std::pair<Key, uint64_t>>{{7, 6}}));
  };
  const auto scan = [&](Transaction& txn) {
    const auto all = [](Key, const View<Account>&) { return true; };
    ASSERT_OK(txn.scan(by_branch, {0, 20}, {}, all));
    ASSERT_OK(txn.scan(by_branch, {0, 20}, {.limit = 1, .reverse = true}, all));
    ASSERT_OK(txn.scan(by_branch, IndexRange(0, 20).after({7, 3}).before({9, 5}), {}, all));
    ASSERT_OK(txn.scan(by_branch, IndexRange().before({9, 0}), {}, all));
  };
  transact(db_, scan);
  expect_scans();
  read(db_, scan);
  expect_scans();
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(indexed, 6)); });
  EXPECT_EQ(values(6), Values());
}

TEST_P(HistorySinkTest, RolledBackAttemptsAreToldAsSuch) {
  EXPECT_FALSE(db_.run([&](Transaction& txn) -> Status {
    EXPECT_OK(txn.put(accounts_, 1, Account{}));
    return Status::rollback();
  }).ok());
  EXPECT_FALSE(last().committed);
  EXPECT_EQ(last().cause, Cause::kUser);
}

// The reader finds a record without a row. The record gets a row, which is gone again when the
// reader commits. The reader commits because the key is absent again. Its history must not contain
// the version that it saw first, which would order it before the row.
TEST_P(HistorySinkTest, AnAbsenceThatWasLookedForAgainHasNoVersion) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_reads());
  if (!GetParam().concurrent()) return;  // needs three transactions at once
  insert(accounts_, 8, Account{});
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 8)); });  // versions of 8 begin above 0
  db_.collect_garbage();
  ActiveTransaction inserting = begin(db_), reading = begin(db_);
  ASSERT_OK(inserting->insert(accounts_, 8, Account{}));
  EXPECT_CODE(Code::kNotFound, reading->get(accounts_, 8));
  ASSERT_OK(reading->get(accounts_, 1));
  ASSERT_OK(inserting.commit());
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 8)); });
  db_.collect_garbage();
  ASSERT_OK(reading.commit());
  const HistoryOperation* const seen = find(last(), Kind::kReadAbsent, 8, 0);
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->version, 0u);
}

TEST_P(HistorySinkTest, ProceduresAndAttemptsAreTold) {
  if (!GetParam().concurrent()) return;  // needs a conflict
  RunPolicy policy;
  policy.procedure_id = db_.procedure_id("contended");
  int runs = 0;
  ASSERT_OK(db_.run(
      [&](Transaction& txn) -> Status {
        auto view = txn.get(accounts_, 1);
        if (!view.ok()) return view.status();
        if (++runs == 1) {
          ActiveTransaction other = begin(db_);
          EXPECT_OK(other->put(accounts_, 1, Account{5, 5, 5, 5}));
          EXPECT_OK(other.commit());
        }
        return txn.update(accounts_, *view, {}, [](Account& a) { ++a.balance; });
      },
      policy));
  ASSERT_GE(sink_.transactions.size(), 4u);
  const HistoryTransaction& lost = sink_.transactions[sink_.transactions.size() - 2];
  EXPECT_FALSE(lost.committed);
  EXPECT_EQ(lost.procedure, "contended");
  EXPECT_EQ(lost.attempt, 1u);
  EXPECT_TRUE(last().committed);
  EXPECT_EQ(last().attempt, 2u);
  EXPECT_EQ(last().procedure, "contended");
}

// The sink is the caller's code. It is not called under a lock of the catalog.
class CuriousSink : public HistorySink {
 public:
  void on_table(uint32_t, const Schema& schema) override {
    if (database == nullptr) return;
    looked = std::async(std::launch::async, [this, name = schema.name] { return database->table(name).status(); });
    answered = looked.wait_for(TestStop::kTimeout) == std::future_status::ready;
  }
  void on_transaction(const HistoryTransaction&) override {
    if (angry) throw std::runtime_error("no more");
  }
  Database* database = nullptr;
  std::future<Status> looked;
  bool answered = false;
  bool angry = false;
};

TEST(CuriousSinkTest, TheCatalogCanBeAskedWhileATableIsMade) {
  CuriousSink sink;
  Options options;
  options.history = &sink;
  Database database = open_database({}, options);
  sink.database = &database;
  EXPECT_OK(database.create_table(account_schema(KeyIndex::kOrdered)));
  EXPECT_TRUE(sink.answered);
  EXPECT_CODE(Code::kNotFound, sink.looked.get());  // it is not found before the sink has been called
  EXPECT_OK(database.table<Account>("accounts"));
}

TEST(CuriousSinkTest, WhatTheSinkThrowsDoesNotChangeTheOutcome) {
  CuriousSink sink;
  Options options;
  options.history = &sink;
  Database database = open_database({}, options);
  const Table<Account> accounts = *database.create_table(account_schema(KeyIndex::kOrdered));
  sink.angry = true;
  transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(accounts, 1, Account{1, 2, 3, 4})); });
  read(database, [&](Transaction& txn) { ASSERT_OK(txn.get(accounts, 1)); });
  EXPECT_CODE(Code::kRolledBack, database.run([](Transaction&) { return Status::rollback(); }));
  EXPECT_OK(database.verify());
}

}  // namespace
}  // namespace elider::test
