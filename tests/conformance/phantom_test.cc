// Phantoms: rows that appear in, leave, or move into a range after it was scanned make the scanning
// transaction's commit fail; rows outside the part that was visited do not.
#include <gtest/gtest.h>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class PhantomTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(indexed_account_schema(GetParam().key_index));
    by_branch_ = *db_.index(accounts_, "by_branch");
    transact(db_, [&](Transaction& txn) {  // enough for many leaves
      for (Key key = 100; key <= 20'000; key += 100) ASSERT_OK(txn.insert(accounts_, key, account(key)));
    });
    other_ = create(account_schema(GetParam().key_index, "others"));
    insert(other_, 1, Account{});
  }
  static Account account(Key key) { return {key, 0, static_cast<uint32_t>(key), 0}; }
  static bool visit(Key, const View<Account>&) { return true; }

  // A transaction that did `observe`, then writes elsewhere; meanwhile another one commits `change`.
  template <class Observe, class Change>
  void expect_commit(Code code, Observe&& observe, Change&& change) {
    ActiveTransaction observer = begin(db_);
    observe(*observer);
    ASSERT_OK(observer->update(other_, 1, {}, [](Account& a) { ++a.balance; }));
    transact(db_, change);
    EXPECT_CODE(code, observer.commit());
  }

  Table<Account> accounts_, other_;
  Index<Account> by_branch_;
};

class KeyPhantomTest : public PhantomTest {
 protected:
  auto scanning(KeyRange range, ScanOptions options = {}) {
    return [=, this](Transaction& txn) { EXPECT_OK(txn.scan(accounts_, range, options, visit)); };
  }
  auto inserting(Key key) {
    return [=, this](Transaction& txn) { ASSERT_OK(txn.insert(accounts_, key, account(key))); };
  }
};
ELIDER_ON_CONCURRENT_ORDERED(KeyPhantomTest);

TEST_P(KeyPhantomTest, AnInsertIntoAScannedRangeConflicts) {
  expect_commit(Code::kConflict, scanning({1000, 2000}), inserting(1501));
  expect_commit(Code::kConflict, scanning({1000, 2000}, {.reverse = true}), inserting(1502));
  expect_commit(Code::kConflict, scanning({1001, 2000}), inserting(1001));
  expect_commit(Code::kConflict, scanning({1001, 1999}), inserting(1999));
  expect_commit(Code::kConflict, scanning({1001, 1999}, {.reverse = true}), inserting(1998));
}

TEST_P(KeyPhantomTest, AnInsertIntoAScannedEmptyRangeConflicts) {
  expect_commit(Code::kConflict, scanning({1210, 1290}), inserting(1250));
  expect_commit(Code::kConflict, scanning({30'000, kKeyMax}), inserting(kKeyMax));
  expect_commit(Code::kConflict, scanning({0, 50}, {.reverse = true}), inserting(0));
}

TEST_P(KeyPhantomTest, ARemoveFromAScannedRangeConflicts) {
  expect_commit(Code::kConflict, scanning({1000, 2000}), [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 1500)); });
}

TEST_P(KeyPhantomTest, AnUpdateOfAScannedRowConflicts) {
  expect_commit(Code::kConflict, scanning({1000, 2000}), [&](Transaction& txn) {
    ASSERT_OK(txn.update(accounts_, 2000, accounts_.columns(&Account::balance), [](Account& a) { ++a.balance; }));
  });
}

TEST_P(KeyPhantomTest, AnInsertFarOutsideTheRangeDoesNotConflict) {
  expect_commit(Code::kOk, scanning({1000, 2000}), inserting(15'001));
  expect_commit(Code::kOk, scanning({15'000, 16'000}, {.reverse = true}), inserting(1001));
}

TEST_P(KeyPhantomTest, ALimitedScanCoversOnlyWhatItVisited) {
  expect_commit(Code::kOk, scanning({}, {.limit = 3}), inserting(15'002));
  expect_commit(Code::kOk, scanning({}, {.limit = 3, .reverse = true}), inserting(1002));
  expect_commit(Code::kConflict, scanning({}, {.limit = 3}), inserting(250));
  expect_commit(Code::kConflict, scanning({}, {.limit = 3, .reverse = true}), inserting(19'950));
}

TEST_P(KeyPhantomTest, AScanThatItsVisitorEndedCoversOnlyWhatItVisited) {
  const auto two = [&](Transaction& txn) {
    int visits = 0;
    EXPECT_OK(txn.scan(accounts_, {}, {}, [&](Key, const View<Account>&) { return ++visits < 2; }));
  };
  expect_commit(Code::kOk, two, inserting(15'003));
  expect_commit(Code::kConflict, two, inserting(150));
}

TEST_P(KeyPhantomTest, OwnInsertsAreNoPhantoms) {
  // Scans, inserts into what was scanned (splitting leaves), scans again.
  transact(db_, [&](Transaction& txn) {
    int rows = 0;
    const auto count = [&](Key, const View<Account>&) { return ++rows > 0; };
    ASSERT_OK(txn.scan(accounts_, {1000, 3000}, {}, count));
    EXPECT_EQ(rows, 21);
    for (Key key = 1001; key <= 1300; ++key)
      if (key % 100 != 0) {
        ASSERT_OK(txn.insert(accounts_, key, account(key)));
      }
    rows = 0;
    ASSERT_OK(txn.scan(accounts_, {1000, 3000}, {}, count));
    EXPECT_EQ(rows, 21 + 297);
  });
}

TEST_P(KeyPhantomTest, OwnInsertsDoNotHideThoseOfOthers) {
  // The own insert changes the leaf that was scanned; a foreign one in the same leaf must still count.
  expect_commit(
      Code::kConflict,
      [&](Transaction& txn) {
        EXPECT_OK(txn.scan(accounts_, {1000, 1400}, {}, visit));
        EXPECT_OK(txn.insert(accounts_, 1101, account(1101)));
      },
      inserting(1102));
}

TEST_P(KeyPhantomTest, AForeignInsertBeforeTheOwnOneIsNotHidden) {
  ActiveTransaction observer = begin(db_);
  EXPECT_OK(observer->scan(accounts_, {1000, 1400}, {}, visit));
  transact(db_, inserting(1102));
  const Status insert = observer->insert(accounts_, 1101, account(1101));
  EXPECT_CODE(Code::kConflict, insert.ok() ? observer.commit() : insert);
}

class IndexPhantomTest : public PhantomTest {
 protected:
  auto scanning(KeyRange range, ScanOptions options = {}) {
    return [=, this](Transaction& txn) { EXPECT_OK(txn.scan(by_branch_, range, options, visit)); };
  }
};
ELIDER_ON_CONCURRENT(IndexPhantomTest);

TEST_P(IndexPhantomTest, AnInsertOfAScannedValueConflicts) {
  const auto inserting = [&](Key key, uint32_t branch) {
    return [=, this](Transaction& txn) { ASSERT_OK(txn.insert(accounts_, key, Account{key, 0, branch, 0})); };
  };
  expect_commit(Code::kConflict, scanning({1000, 1000}), inserting(50'001, 1000));
  expect_commit(Code::kConflict, scanning({1010, 1090}), inserting(50'002, 1050));
  expect_commit(Code::kConflict, scanning({1000, 2000}, {.reverse = true}), inserting(50'003, 1550));
  expect_commit(Code::kOk, scanning({1000, 2000}), inserting(50'004, 15'000));
  expect_commit(Code::kOk, scanning({}, {.limit = 2}), inserting(50'005, 15'000));
}

TEST_P(IndexPhantomTest, ARowThatMovesIntoTheRangeConflicts) {
  expect_commit(Code::kConflict, scanning({1010, 1090}), [&](Transaction& txn) {
    ASSERT_OK(txn.update(accounts_, 15'000, accounts_.columns(&Account::branch), [](Account& a) { a.branch = 1050; }));
  });
}

TEST_P(IndexPhantomTest, ARowThatMovesOutOfTheRangeConflicts) {
  expect_commit(Code::kConflict, scanning({1000, 1100}), [&](Transaction& txn) {
    ASSERT_OK(txn.update(accounts_, 1000, accounts_.columns(&Account::branch), [](Account& a) { a.branch = 60'000; }));
  });
}

TEST_P(IndexPhantomTest, ARowRemovedFromTheRangeConflicts) {
  expect_commit(Code::kConflict, scanning({1000, 1100}), [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 1100)); });
}

TEST_P(IndexPhantomTest, ACountThroughAnIndexIsExact) {
  // Two transactions each count a branch and, finding fewer than two, add a row to it: at most one may.
  ActiveTransaction first = begin(db_), second = begin(db_);
  for (ActiveTransaction* txn : {&first, &second}) {
    int rows = 0;
    ASSERT_OK((*txn)->scan(by_branch_, {700, 700}, {}, [&](Key, const View<Account>&) { return ++rows > 0; }));
    ASSERT_EQ(rows, 1);
    const Key key = txn == &first ? 60'001 : 60'002;
    ASSERT_OK((*txn)->insert(accounts_, key, Account{key, 0, 700, 0}));
  }
  const Status first_outcome = first.commit(), second_outcome = second.commit();
  EXPECT_NE(first_outcome.ok(), second_outcome.ok());  // which one wins is not promised
  EXPECT_CODE(Code::kConflict, first_outcome.ok() ? second_outcome : first_outcome);
}

}  // namespace
}  // namespace elider::test
