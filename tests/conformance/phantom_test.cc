// Phantoms: if rows appear in, leave, or move into a range after it was scanned, the commit of the
// scanning transaction fails. Rows outside the visited part do not matter.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>

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

  // A transaction does `observe`, then writes elsewhere. Meanwhile another one commits `change`.
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

// The following changes affect the leaf that was scanned, but not the result of the scan.
TEST_P(KeyPhantomTest, AnInsertBesideTheRangeDoesNotConflict) {
  expect_commit(Code::kOk, scanning({1000, 1100}), inserting(1101));
  expect_commit(Code::kOk, scanning({1200, 1300}, {.reverse = true}), inserting(1199));
  expect_commit(Code::kOk, scanning({2001, 2099}), inserting(2099 + 2));
  expect_commit(Code::kOk, scanning({3000, 4000}, {.limit = 2}), inserting(3101));
  expect_commit(Code::kOk, scanning({3000, 4000}, {.limit = 2, .reverse = true}), inserting(3899));
}

TEST_P(KeyPhantomTest, ASplitOfAScannedLeafDoesNotConflict) {
  const auto fill_beside = [&](Transaction& txn) {
    for (Key key = 1101; key < 1150; ++key) ASSERT_OK(txn.insert(accounts_, key, account(key)));
    for (Key key = 951; key < 999; ++key) ASSERT_OK(txn.insert(accounts_, key, account(key)));
  };
  expect_commit(Code::kOk, scanning({1000, 1100}), fill_beside);
}

TEST_P(KeyPhantomTest, ARowThatCameAndWentDoesNotConflict) {
  expect_commit(Code::kOk, scanning({1000, 2000}), [&](Transaction&) {
    transact(db_, inserting(1501));
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 1501)); });
  });
}

TEST_P(KeyPhantomTest, ARowThatWentAndCameConflicts) {
  expect_commit(Code::kConflict, scanning({1000, 2000}), [&](Transaction&) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 1500)); });
    transact(db_, inserting(1500));
  });
  expect_commit(Code::kConflict, scanning({2001, 3000}), [&](Transaction&) {  // as many rows as before
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 2500)); });
    transact(db_, inserting(2501));
  });
}

TEST_P(KeyPhantomTest, AForeignInsertThatWasReadLaterConflicts) {
  for (const bool scanned : {false, true}) {
    ActiveTransaction observer = begin(db_);
    scanning({1000, 2000})(*observer);
    const Key key = scanned ? 1501 : 1502;
    transact(db_, inserting(key));
    if (scanned) scanning({1000, 2000})(*observer);
    else ASSERT_OK(observer->get(accounts_, key));
    ASSERT_OK(observer->update(other_, 1, {}, [](Account& a) { ++a.balance; }));
    EXPECT_CODE(Code::kConflict, observer.commit());
  }
}

TEST_P(KeyPhantomTest, AForeignInsertThatWasWrittenLaterConflicts) {
  using Write = std::function<Status(Transaction&, Key)>;
  const Write writes[] = {
      [&](Transaction& txn, Key key) { return txn.put(accounts_, key, account(key)); },
      [&](Transaction& txn, Key key) { return txn.remove(accounts_, key); },
      [&](Transaction& txn, Key key) { return txn.add(accounts_, key, &Account::balance, 1); },
      [&](Transaction& txn, Key key) { return txn.update(accounts_, key, {}, [](Account& a) { ++a.balance; }); },
      [&](Transaction& txn, Key key) { return txn.write(accounts_, key, accounts_.columns(&Account::balance), account(key)); },
  };
  Key key = 1500;
  for (const Write& write : writes) {
    ActiveTransaction observer = begin(db_);
    scanning({1000, 2000})(*observer);
    transact(db_, inserting(++key));
    ASSERT_OK(write(*observer, key));
    EXPECT_CODE(Code::kConflict, observer.commit());
  }
}

TEST_P(KeyPhantomTest, OwnWritesOfScannedRowsDoNotHideAForeignInsert) {
  for (const bool foreign : {false, true}) {
    ActiveTransaction observer = begin(db_);
    ASSERT_OK(observer->insert(accounts_, foreign ? 1601 : 1602, account(foreign ? 1601 : 1602)));
    scanning({1000, 2000})(*observer);
    ASSERT_OK(observer->remove(accounts_, foreign ? 1100 : 1200));
    ASSERT_OK(observer->update(accounts_, 1300, accounts_.columns(&Account::balance), [](Account& a) { ++a.balance; }));
    transact(db_, inserting(foreign ? 1501 : 901));
    EXPECT_CODE(foreign ? Code::kConflict : Code::kOk, observer.commit());
  }
}

TEST_P(KeyPhantomTest, OwnWritesAloneNeverConflict) {
  ActiveTransaction alone = begin(db_);
  ASSERT_OK(alone->add(accounts_, 1500, &Account::balance, 1));  // a blind write: a second look cannot recognise it
  for (int i = 0; i < 3; ++i) scanning({1400, 1600})(*alone);
  for (Key key = 1501; key < 1540; ++key) ASSERT_OK(alone->insert(accounts_, key, account(key)));
  scanning({1400, 1600})(*alone);
  for (Key key = 1541; key < 1560; ++key) ASSERT_OK(alone->insert(accounts_, key, account(key)));
  EXPECT_OK(alone.commit());
}

TEST_P(KeyPhantomTest, TheUnlinkingOfRemovedRowsDoesNotConflict) {
  Key key = 100;
  // A removed row is unlinked some garbage collections after the commit. One of these rounds covers
  // it.
  for (int before = 0; before < 6; ++before) {
    for (const bool reinserted : {false, true}) {
      SCOPED_TRACE(std::to_string(before) + (reinserted ? " reinserted" : ""));
      key += 1000;
      transact(db_, [&](Transaction& txn) {
        for (Key gone = key; gone < key + 900; gone += 100) ASSERT_OK(txn.remove(accounts_, gone));
      });
      for (int i = 0; i < before; ++i) db_.collect_garbage();
      ActiveTransaction observer = begin(db_);
      scanning({key, key + 900}, {.limit = 1})(*observer);
      EXPECT_CODE(Code::kNotFound, observer->get(accounts_, key + 100));
      ASSERT_OK(observer->update(other_, 1, {}, [](Account& a) { ++a.balance; }));
      std::thread([&] {
        for (int i = 0; i < 10; ++i) db_.collect_garbage();
        if (reinserted) transact(db_, inserting(key + 100));
      }).join();
      EXPECT_CODE(reinserted ? Code::kConflict : Code::kOk, observer.commit());
    }
  }
}

TEST_P(KeyPhantomTest, OwnInsertsAreNoPhantoms) {
  // Scans a range, inserts into it, which splits leaves, and scans it again.
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
  // The transaction's own insert changes the leaf that it scanned. An insert of another transaction
  // into the same leaf must still be detected.
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
  // Two transactions each count the rows of a branch. If they find fewer than two, they add one. At
  // most one of them may commit.
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
