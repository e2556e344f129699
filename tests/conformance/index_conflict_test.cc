// Operations that do not overlap in a secondary index do not conflict: entries next to a checked
// value or a scanned range come and go, whether or not they are committed. Operations that overlap
// do conflict, whatever other entries there are.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/test_points.h"
#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class IndexConflictTest : public DatabaseTest {
 protected:
  using Body = std::function<void(Transaction&)>;

  void SetUp() override {
    DatabaseTest::SetUp();
    // Each test also runs with the indexed columns in their own column groups.
    plain_ = create(indexed_account_schema(GetParam().key_index));
    grouped_ = create(indexed_account_schema(GetParam().key_index, "grouped").group({"branch"}).group({"owner"}));
    use(plain_);
  }
  void TearDown() override {
    set_mutant(Mutant::kNone);
    DatabaseTest::TearDown();
  }
  void use(const Table<Account>& table) {
    accounts_ = table;
    by_branch_ = *db_.index(table, "by_branch");
    by_owner_ = *db_.index(table, "by_owner");
    for (Key key = 1; key <= 6; ++key) insert(table, key, account(key, 100 * key));
  }
  static Account account(Key owner, Key branch) { return {owner, 0, static_cast<uint32_t>(branch), 0}; }
  Body inserting(Key key, Key owner, Key branch) {
    return [=, this](Transaction& txn) { ASSERT_OK(txn.insert(accounts_, key, account(owner, branch))); };
  }
  Body scanning(KeyRange range, ScanOptions options = {}) {
    return [=, this](Transaction& txn) {
      EXPECT_OK(txn.scan(by_branch_, range, options, [](Key, const View<Account>&) { return true; }));
    };
  }
  Body moving(Key key, Key branch) {
    return [=, this](Transaction& txn) {
      const auto columns = accounts_.columns(&Account::branch);
      ASSERT_OK(txn.update(accounts_, key, columns, [&](Account& a) { a.branch = static_cast<uint32_t>(branch); }));
    };
  }
  Body renaming(Key key, Key owner) {
    return [=, this](Transaction& txn) {
      ASSERT_OK(txn.update(accounts_, key, accounts_.columns(&Account::owner), [&](Account& a) { a.owner = owner; }));
    };
  }
  Body removing(Key key) {
    return [=, this](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, key)); };
  }
  static Body all(std::vector<Body> bodies) {
    return [=](Transaction& txn) {
      for (const Body& body : bodies) body(txn);
    };
  }
  // Both transactions are open at once. The second one began later and commits first.
  void expect_codes(const std::string& what, Code first, Code second, const Body& early, const Body& late) {
    SCOPED_TRACE(what);
    ActiveTransaction one = begin(db_), two = begin(db_);
    early(*one);
    late(*two);
    EXPECT_CODE(second, two.commit());
    EXPECT_CODE(first, one.commit());
    EXPECT_OK(db_.verify());
  }
  void expect_both(const std::string& what, const Body& early, const Body& late) { expect_codes(what, Code::kOk, Code::kOk, early, late); }
  void expect_conflict(const std::string& what, const Body& early, const Body& late) {
    expect_codes(what, Code::kConflict, Code::kOk, early, late);
  }

  Table<Account> plain_, grouped_, accounts_;
  Index<Account> by_branch_, by_owner_;
};
ELIDER_ON_CONCURRENT(IndexConflictTest);

TEST_P(IndexConflictTest, InsertsOfAdjacentUniqueValuesBothCommit) {
  expect_both("ascending", inserting(10, 20, 1), inserting(11, 21, 2));
  expect_both("descending", inserting(13, 23, 3), inserting(12, 22, 4));
  use(grouped_);
  expect_both("in groups", inserting(10, 20, 1), inserting(11, 21, 2));
}

TEST_P(IndexConflictTest, UpdatesToAdjacentUniqueValuesBothCommit) {
  expect_both("updates", renaming(1, 31), renaming(2, 32));
  expect_both("update and insert", renaming(1, 33), inserting(10, 34, 1));
  use(grouped_);
  expect_both("in groups", renaming(1, 31), renaming(2, 32));
  expect_both("a neighbour that frees its value", inserting(10, 35, 1), removing(2));
}

TEST_P(IndexConflictTest, WhatChangesBesideAScannedRangeDoesNotConflict) {
  for (const auto& table : {plain_, grouped_}) {
    if (table.base() != plain_.base()) use(table);
    expect_both("insert", all({scanning({100, 200}), inserting(20, 40, 150)}), inserting(21, 41, 201));
    expect_both("own insert", all({inserting(22, 42, 160), scanning({100, 200})}), inserting(23, 43, 99));
    expect_both("own rows moved", all({scanning({100, 300}), moving(1, 800), moving(2, 250)}), inserting(24, 44, 301));
    expect_both("own rows moved before", all({moving(4, 110), moving(2, 900), scanning({100, 300})}), inserting(25, 45, 302));
    expect_both("own row removed", all({scanning({100, 300}), removing(3)}), inserting(26, 46, 303));
    expect_both("limit", all({scanning({500, 900}, {.limit = 1}), inserting(27, 47, 1)}), inserting(28, 48, 550));
    expect_both("limit, reverse", all({scanning({0, 600}, {.limit = 1, .reverse = true}), inserting(29, 49, 1)}), inserting(30, 50, 550));
    expect_both("moved beside", all({scanning({100, 160}), inserting(31, 51, 1)}), moving(5, 301));
  }
}

TEST_P(IndexConflictTest, WhatComesIntoAScannedRangeConflicts) {
  for (const auto& table : {plain_, grouped_}) {
    if (table.base() != plain_.base()) use(table);
    const Body writing = moving(1, 100);
    expect_conflict("insert", all({scanning({400, 500}), writing}), inserting(20, 40, 450));
    expect_conflict("at its ends", all({scanning({410, 490}), writing}), all({inserting(21, 41, 410), inserting(22, 42, 490)}));
    expect_conflict("moved in", all({scanning({400, 460}), writing}), moving(6, 455));
    expect_conflict("moved out", all({scanning({400, 460}), writing}), moving(6, 600));
    expect_conflict("removed", all({scanning({500, 560}), writing}), removing(5));
    expect_conflict("before its limit", all({scanning({400, 900}, {.limit = 2}), writing}), inserting(23, 43, 401));
    expect_conflict("and an own insert", all({scanning({700, 800}), inserting(24, 44, 710)}), inserting(25, 45, 720));
  }
}

// The scan finds an entry that is not committed. It is committed before the scanning transaction
// commits.
TEST_P(IndexConflictTest, AnEntryThatWasMetUncommittedConflictsOnceItIsCommitted) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_reads());
  ActiveTransaction inserter = begin(db_);
  inserting(20, 40, 150)(*inserter);
  ActiveTransaction scanner = begin(db_);
  all({scanning({100, 200}), moving(6, 601)})(*scanner);
  EXPECT_OK(inserter.commit());
  EXPECT_CODE(Code::kConflict, scanner.commit());
}

TEST_P(IndexConflictTest, OneUniqueValueHasOneWinner) {
  expect_conflict("inserts", inserting(10, 20, 1), inserting(11, 20, 2));
  expect_conflict("updates", renaming(1, 30), renaming(2, 30));
  expect_conflict("update and insert", renaming(1, 31), inserting(12, 31, 3));
  use(grouped_);
  expect_conflict("inserts in groups", inserting(10, 20, 1), inserting(11, 20, 2));
  expect_conflict("updates in groups", renaming(1, 30), renaming(2, 30));
}

TEST_P(IndexConflictTest, WhoGivesUpItsValueHoldsNobodyUp) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_reads());
  ActiveTransaction winner = begin(db_), loser = begin(db_);
  inserting(10, 20, 1)(*winner);
  inserting(11, 20, 2)(*loser);
  loser.rollback();
  EXPECT_OK(winner.commit());
}

// A transaction has checked and scanned a leaf of ten entries. Its own inserts split the leaf
// several times.
TEST_P(IndexConflictTest, OwnInsertsThatSplitALeafKeepItsRanges) {
  const Body filling = [&](Transaction& txn) {
    for (Key i = 0; i < 60; ++i) ASSERT_OK(txn.insert(accounts_, 100 + i, account(100 + i, 110 + i)));
  };
  expect_both("beside", all({scanning({200, 240}), filling}), inserting(20, 40, 241));
  use(grouped_);
  expect_conflict("within", all({scanning({200, 240}), filling}), inserting(20, 40, 230));
}

TEST_P(IndexConflictTest, TheTestsCanTellThatTheSecondLookIsLeftOut) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_reads());
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without mutants";
  set_mutant(Mutant::kSkipSecondLook);
  ActiveTransaction one = begin(db_), two = begin(db_);
  inserting(10, 20, 1)(*one);
  inserting(11, 20, 2)(*two);
  EXPECT_OK(two.commit());
  EXPECT_OK(one.commit()) << "OneUniqueValueHasOneWinner could not tell";
}

// A procedure's own error is returned only if what the procedure read is still valid.
TEST_P(IndexConflictTest, AnErrorOfItsOwnBesideNeighboursIsTheProceduresAnswer) {
  const auto attempts_of = [&](const Body& reads, const Body& meanwhile) {
    int attempts = 0;
    const Status status = db_.run([&](Transaction& txn) -> Status {
      reads(txn);
      if (++attempts == 1) transact(db_, meanwhile);
      return Status(Code::kNotFound, "an answer");
    });
    EXPECT_CODE(Code::kNotFound, status);
    return attempts;
  };
  const Body missing = [&](Transaction& txn) { EXPECT_CODE(Code::kNotFound, txn.get(accounts_, 50)); };
  EXPECT_EQ(1, attempts_of(missing, inserting(51, 51, 51)));
  EXPECT_EQ(1, attempts_of(scanning({100, 150}), inserting(52, 52, 151)));
  EXPECT_EQ(1, attempts_of(all({scanning({100, 150}), inserting(53, 53, 120)}), inserting(54, 54, 152)));
  EXPECT_EQ(2, attempts_of(scanning({100, 150}), inserting(55, 55, 130)));
  const Body also_missing = [&](Transaction& txn) { static_cast<void>(txn.get(accounts_, 56)); };
  EXPECT_EQ(2, attempts_of(also_missing, inserting(56, 56, 56)));
}

}  // namespace
}  // namespace elider::test
