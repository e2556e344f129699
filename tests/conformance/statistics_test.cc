// Statistics: commits and aborts by cause, table and procedure; versions, memory, running time.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

uint64_t count_of(const std::array<uint64_t, kCauseCount>& aborts, Cause cause) { return aborts[static_cast<size_t>(cause)]; }

class StatisticsTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(account_schema(GetParam().key_index));
    for (Key key = 1; key <= 5; ++key) insert(accounts_, key, Account{key, 0, 0, 0});
  }
  Statistics::Table table(const std::string& name) {
    for (const Statistics::Table& table : db_.statistics().tables)
      if (table.name == name) return table;
    ADD_FAILURE() << "no statistics of table " << name;
    return {};
  }
  Statistics::Procedure procedure(const std::string& name) {
    for (const Statistics::Procedure& procedure : db_.statistics().procedures)
      if (procedure.name == name) return procedure;
    ADD_FAILURE() << "no statistics of procedure '" << name << "'";
    return {};
  }
  Status bump(Transaction& txn, Key key) {
    return txn.update(accounts_, key, {}, [](Account& a) { ++a.balance; });
  }

  Table<Account> accounts_;
};

TEST_P(StatisticsTest, RegionsAreCountedBySiteUnderElision) {
  if (GetParam().protocol == Protocol::kChopped) GTEST_SKIP() << "its regions are calls of chopped procedures";
  transact(db_, [&](Transaction& txn) {
    for (Key key = 1; key <= 5; ++key) ASSERT_OK(bump(txn, key));
  });
  const Statistics statistics = db_.statistics();
  EXPECT_EQ(db_.htm(), GetParam().htm);
  if (GetParam().sync != SyncPolicy::kElided) {
    EXPECT_TRUE(statistics.elision.empty());
    EXPECT_EQ(statistics.to_json().find("elision"), std::string::npos);
    return;
  }
  EXPECT_NE(statistics.to_json().find("\"elision\":[{\"site\":\"index "), std::string::npos) << statistics.to_json();
  bool gets = false, commits = false;
  for (const Statistics::Elision& site : statistics.elision) {
    SCOPED_TRACE(site.site);
    gets = gets || (site.site == "index get" && site.table == "accounts");
    commits = commits || site.site == "commit";
    if (GetParam().htm == HtmBackend::kNone) {
      EXPECT_EQ(site.attempts(), 0u);
      EXPECT_GT(site.direct, 0u);
    } else if (GetParam().htm == HtmBackend::kAlwaysAborts) {
      EXPECT_EQ(site.commits, 0u);
      EXPECT_GT(site.fallbacks, 0u);
      EXPECT_EQ(site.aborts_total(), site.aborts[7]);  // system
    } else {
      EXPECT_GT(site.attempts(), 0u);
    }
  }
  EXPECT_TRUE(gets);
  // Without regions, or under a spinlock, rows do not have a lock that could be elided.
  EXPECT_EQ(commits, GetParam().htm != HtmBackend::kNone && GetParam().protocol != Protocol::kSpinlock);
}
ELIDER_ON_EVERY(StatisticsTest);

class ConflictStatisticsTest : public StatisticsTest {};
ELIDER_ON_CONCURRENT(ConflictStatisticsTest);

TEST_P(StatisticsTest, CommitsAreCounted) {
  const Statistics before = db_.statistics();
  EXPECT_EQ(before.commits, 5u);
  EXPECT_EQ(before.read_only_commits, 0u);
  transact(db_, [&](Transaction& txn) { ASSERT_OK(bump(txn, 1)); });
  read(db_, [&](Transaction& txn) { ASSERT_OK(txn.get(accounts_, 1)); });
  EXPECT_OK(begin(db_).commit());
  const Statistics after = db_.statistics();
  EXPECT_EQ(after.commits, 8u);
  EXPECT_EQ(after.read_only_commits, 1u);
  EXPECT_EQ(after.aborts_total(), 0u);
}

TEST_P(StatisticsTest, AbortsAreCountedByCause) {
  EXPECT_FALSE(db_.run([&](Transaction& txn) -> Status {
    EXPECT_OK(bump(txn, 1));
    return Status::rollback();
  }).ok());
  EXPECT_FALSE(db_.run([&](Transaction& txn) { return txn.get(accounts_, 99).status(); }).ok());
  EXPECT_FALSE(db_.run([&](Transaction&) -> Status { throw std::runtime_error("x"); }).ok());
  ActiveTransaction txn = begin(db_);
  EXPECT_OK(bump(*txn, 1));
  txn.rollback();
  const Statistics statistics = db_.statistics();
  EXPECT_EQ(count_of(statistics.aborts, Cause::kUser), 3u);
  EXPECT_EQ(count_of(statistics.aborts, Cause::kException), 1u);
  EXPECT_EQ(statistics.aborts_total(), 4u);
  EXPECT_EQ(statistics.conflicts_total(), 0u) << "no other transaction ran";
  EXPECT_NE(statistics.to_json().find("\"conflicts\":0"), std::string::npos);
  EXPECT_EQ(statistics.commits, 5u);
}

TEST_P(StatisticsTest, RowsOfATableAreCounted) {
  EXPECT_EQ(table("accounts").rows, 5u);
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.remove(accounts_, 1));
    ASSERT_OK(txn.remove(accounts_, 2));
    ASSERT_OK(txn.insert(accounts_, 2, Account{}));
    ASSERT_OK(txn.put(accounts_, 3, Account{}));
    ASSERT_OK(txn.put(accounts_, 7, Account{}));
    ASSERT_OK(txn.insert(accounts_, 8, Account{}));
    ASSERT_OK(txn.remove(accounts_, 8));
  });
  EXPECT_EQ(table("accounts").rows, 5u);  // less 1, plus 7
  EXPECT_FALSE(db_.run([&](Transaction& txn) -> Status {
    EXPECT_OK(txn.insert(accounts_, 9, Account{}));
    return Status::rollback();
  }).ok());
  EXPECT_EQ(table("accounts").rows, 5u);
  EXPECT_GE(table("accounts").row_bytes, 5 * sizeof(Account));
}

TEST_P(StatisticsTest, CommitsOfATableAreThoseThatWroteToIt) {
  const Table<Account> others = create(account_schema(GetParam().key_index, "others"));
  const uint64_t before = table("accounts").commits;
  EXPECT_EQ(before, 5u);  // the inserts of SetUp
  transact(db_, [&](Transaction& txn) {  // many rows of one commit count once
    for (Key key = 1; key <= 3; ++key) ASSERT_OK(bump(txn, key));
    ASSERT_OK(txn.add(accounts_, 4, &Account::balance, int64_t{1}));
  });
  transact(db_, [&](Transaction& txn) {  // it only reads one of the tables
    ASSERT_OK(txn.get(accounts_, 1));
    ASSERT_OK(txn.insert(others, 1, Account{}));
  });
  read(db_, [&](Transaction& txn) { ASSERT_OK(txn.get(accounts_, 1)); });
  EXPECT_FALSE(db_.run([&](Transaction& txn) -> Status {
    EXPECT_OK(bump(txn, 1));
    return Status::rollback();
  }).ok());
  EXPECT_EQ(table("accounts").commits, before + 1);
  EXPECT_EQ(table("others").commits, 1u);
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.remove(accounts_, 5));
    ASSERT_OK(txn.remove(others, 1));
  });
  EXPECT_EQ(table("accounts").commits, before + 2);
  EXPECT_EQ(table("others").commits, 2u);
}

// A transaction records the first 63 tables that it writes as bits of a word. One more bit is for
// all other tables.
TEST_P(StatisticsTest, CommitsAreCountedForEachOfMoreTablesThanAWordHasBits) {
  constexpr size_t kTables = 140;
  std::vector<Table<Account>> many;
  for (size_t i = 0; i < kTables; ++i) many.push_back(create(account_schema(GetParam().key_index, "many" + std::to_string(i))));
  transact(db_, [&](Transaction& txn) {
    for (const Table<Account>& one : many)
      for (Key key = 1; key <= 2; ++key) ASSERT_OK(txn.insert(one, key, Account{}));
  });
  transact(db_, [&](Transaction& txn) { ASSERT_OK(bump(txn, 1)); });  // the records of the previous transaction are cleared
  transact(db_, [&](Transaction& txn) {
    for (size_t i = 0; i < kTables; i += 2) ASSERT_OK(txn.put(many[i], 1, Account{1, 0, 0, 0}));
  });
  const Statistics statistics = db_.statistics();
  ASSERT_EQ(statistics.tables.size(), kTables + 1);
  for (size_t i = 0; i < kTables; ++i) {
    const Statistics::Table& found = statistics.tables[i + 1];
    ASSERT_EQ(found.name, "many" + std::to_string(i));
    EXPECT_EQ(found.commits, i % 2 == 0 ? 2u : 1u) << found.name;
    EXPECT_EQ(found.rows, 2u) << found.name;
  }
  EXPECT_EQ(table("accounts").commits, 6u);
}

TEST_P(StatisticsTest, MemoryOfRowsAndIndexesFollowsThem) {
  const Statistics before = db_.statistics();
  transact(db_, [&](Transaction& txn) {
    for (Key key = 1000; key < 11'000; ++key) ASSERT_OK(txn.insert(accounts_, key, Account{}));
  });
  const Statistics after = db_.statistics();
  EXPECT_GE(after.memory.rows, before.memory.rows + 10'000 * sizeof(Account));
  EXPECT_GE(after.memory.indexes, before.memory.indexes + 10'000 * 8);
  EXPECT_GE(after.memory.reserved, after.memory.rows + after.memory.indexes + after.memory.versions + after.memory.blocks);
  for (Key key = 1000; key < 11'000; ++key) transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, key)); });
  db_.collect_garbage();
  const Statistics emptied = db_.statistics();
  EXPECT_EQ(emptied.retired_objects, 0u);
  EXPECT_LE(emptied.memory.rows, before.memory.rows + 64 * 1024);
  EXPECT_EQ(table("accounts").rows, 5u);
  EXPECT_LE(table("accounts").row_bytes, before.memory.rows + 64 * 1024);
}

TEST_P(StatisticsTest, BlocksAreCountedApart) {
  const Table<Document> documents = create(document_schema(GetParam().key_index));
  const Statistics before = db_.statistics();
  for (Key key = 0; key < 50; ++key) insert(documents, key, document_of(key));
  const Statistics after = db_.statistics();
  EXPECT_GE(after.memory.blocks, before.memory.blocks + 50 * sizeof(Document) - 50 * 16);
  EXPECT_LT(after.memory.rows, before.memory.rows + 50 * 1024);
}

TEST_P(StatisticsTest, ProceduresAreCountedByName) {
  RunPolicy policy;
  policy.procedure_id = db_.procedure_id("payment");
  EXPECT_EQ(db_.procedure_id("payment"), policy.procedure_id);
  EXPECT_NE(db_.procedure_id("delivery"), policy.procedure_id);
  for (int i = 0; i < 4; ++i) ASSERT_OK(db_.run([&](Transaction& txn) { return bump(txn, 1); }, policy));
  EXPECT_FALSE(db_.run([&](Transaction&) { return Status::rollback(); }, policy).ok());
  ASSERT_OK(db_.run_read_only([&](Transaction& txn) { return txn.get(accounts_, 1).status(); }, policy));
  EXPECT_EQ(procedure("payment").commits, 5u);
  EXPECT_EQ(count_of(procedure("payment").aborts, Cause::kUser), 1u);
  EXPECT_EQ(procedure("").commits, 5u);  // the inserts of SetUp
}

TEST_P(StatisticsTest, MoreProcedureNamesThanFitAreCountedUnderNone) {
  for (int i = 0; i < 300; ++i) {
    const std::string name = "p" + std::to_string(i);
    const uint32_t id = db_.procedure_id(name);
    EXPECT_LT(id, 257u);
    EXPECT_EQ(db_.procedure_id(name), id);
  }
  EXPECT_EQ(db_.procedure_id("p299"), 0u);
  RunPolicy policy;
  policy.procedure_id = 123'456;  // procedure_id() did not return this number
  const Status status = db_.run([&](Transaction& txn) { return bump(txn, 1); }, policy);
  if (!status.ok()) {
    EXPECT_CODE(Code::kInvalidArgument, status);
  }
}

TEST_P(StatisticsTest, AnIdleDatabaseRunsNoTransaction) {
  EXPECT_EQ(db_.statistics().longest_active_us, 0u);
}

TEST_P(StatisticsTest, JsonNamesWhatItHolds) {
  transact(db_, [&](Transaction& txn) { ASSERT_OK(bump(txn, 1)); });
  const std::string json = db_.statistics().to_json();
  for (const char* word : {"\"commits\"", "\"aborts\"", "\"tables\"", "\"accounts\"", "\"memory\"", "\"procedures\"", "\"versions_alive\"",
                           "\"longest_active_us\""})
    EXPECT_NE(json.find(word), std::string::npos) << word << " in " << json;
  EXPECT_EQ(json.front(), '{');
  EXPECT_EQ(json.back(), '}');
}

TEST_P(ConflictStatisticsTest, AConflictIsCountedUnderItsTable) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_reads());
  ActiveTransaction loser = begin(db_);
  ASSERT_OK(loser->get(accounts_, 1));
  ASSERT_OK(bump(*loser, 2));
  transact(db_, [&](Transaction& txn) { ASSERT_OK(bump(txn, 1)); });
  const Status status = loser.commit();
  ASSERT_CODE(Code::kConflict, status);
  EXPECT_EQ(count_of(db_.statistics().aborts, status.cause()), 1u);
  EXPECT_EQ(count_of(table("accounts").aborts, status.cause()), 1u);
  EXPECT_EQ(db_.statistics().aborts_total(), 1u);
  EXPECT_EQ(db_.statistics().conflicts_total(), 1u);
  EXPECT_EQ(Statistics::conflicts_of(table("accounts").aborts), 1u);
}

TEST_P(ConflictStatisticsTest, EachAttemptOfARunIsCounted) {
  int runs = 0;
  RunPolicy policy;
  policy.procedure_id = db_.procedure_id("contended");
  ASSERT_OK(db_.run(
      [&](Transaction& txn) -> Status {
        auto view = txn.get(accounts_, 1);
        if (!view.ok()) return view.status();
        if (++runs <= 3) {
          ActiveTransaction other = begin(db_);
          EXPECT_OK(bump(*other, 1));
          EXPECT_OK(other.commit());
        }
        return bump(txn, 2);
      },
      policy));
  uint64_t aborts = 0;
  for (uint64_t count : procedure("contended").aborts) aborts += count;
  EXPECT_EQ(aborts, 3u);
  EXPECT_EQ(procedure("contended").commits, 1u);
}

TEST_P(ConflictStatisticsTest, AStalledReaderShowsInVersionsAndAge) {
  ActiveTransaction reader = begin_read_only(db_);
  ASSERT_OK(reader->get(accounts_, 1));
  for (int i = 0; i < 100; ++i) {
    // Without a new reader in each round, the old versions would not be kept, because no
    // transaction could read them.
    ActiveTransaction passing = begin_read_only(db_);
    ASSERT_OK(passing.commit());
    transact(db_, [&](Transaction& txn) { ASSERT_OK(bump(txn, 1)); });
  }
  const Statistics held = db_.statistics();
  EXPECT_GE(held.versions_alive, 1u);
  EXPECT_GT(held.longest_active_us, 0u);
  EXPECT_GE(held.workers, 1u);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // no race: only the clock has to move on
  EXPECT_GE(db_.statistics().longest_active_us, held.longest_active_us + 10'000);
  ASSERT_OK(reader.commit());
  db_.collect_garbage();
  const Statistics freed = db_.statistics();
  EXPECT_EQ(freed.versions_alive, 0u);
  EXPECT_EQ(freed.longest_active_us, 0u);
  EXPECT_EQ(freed.memory.versions, 0u);
}

TEST_P(ConflictStatisticsTest, AnOpenTransactionTakesAWorkerAndGivesItBack) {
  db_.collect_garbage();
  const uint32_t before = db_.statistics().workers;
  {
    ActiveTransaction first = begin(db_), second = begin(db_);
    EXPECT_GT(db_.statistics().workers, before);
    EXPECT_GE(db_.statistics().workers, 2u);
  }
  EXPECT_LE(db_.statistics().workers, before + 1);
}

}  // namespace
}  // namespace elider::test
