// A transaction sees its own writes, in every operation; and only it does before the commit.
#include <gtest/gtest.h>

#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class OwnWritesTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(grouped_account_schema(GetParam().key_index));
    balance_ = accounts_.columns(&Account::balance);
    transact(db_, [&](Transaction& txn) {
      for (Key key = 10; key <= 100; key += 10) ASSERT_OK(txn.insert(accounts_, key, Account{key, 1, 1, 1}));
    });
  }
  void expect_row(Transaction& txn, Key key, const Account& expected) {
    auto single = txn.get(accounts_, key);
    ASSERT_OK(single);
    EXPECT_EQ(**single, expected);
    const Key keys[] = {key};
    View<Account> views[1];
    ASSERT_OK(txn.multi_get<Account>(accounts_, keys, views));
    ASSERT_TRUE(views[0]);
    EXPECT_EQ(*views[0], expected);
    if (!GetParam().ordered()) return;
    int visits = 0;
    ASSERT_OK(txn.scan(accounts_, {key, key}, {}, [&](Key, const View<Account>& view) {
      EXPECT_EQ(*view, expected);
      return ++visits > 0;
    }));
    EXPECT_EQ(visits, 1);
  }
  void expect_no_row(Transaction& txn, Key key) {
    EXPECT_CODE(Code::kNotFound, txn.get(accounts_, key));
    const Key keys[] = {key};
    View<Account> views[1];
    ASSERT_OK(txn.multi_get<Account>(accounts_, keys, views));
    EXPECT_FALSE(views[0]);
    if (!GetParam().ordered()) return;
    ASSERT_OK(txn.scan(accounts_, {key, key}, {}, [&](Key, const View<Account>&) {
      ADD_FAILURE() << "a row that is not there was visited";
      return true;
    }));
  }

  Table<Account> accounts_;
  Columns<Account> balance_;
};
ELIDER_ON_EVERY(OwnWritesTest);

TEST_P(OwnWritesTest, AnInsertIsReadBack) {
  transact(db_, [&](Transaction& txn) {
    expect_no_row(txn, 15);
    ASSERT_OK(txn.insert(accounts_, 15, Account{15, 2, 3, 4}));
    expect_row(txn, 15, {15, 2, 3, 4});
    EXPECT_CODE(Code::kDuplicateKey, txn.insert(accounts_, 15, Account{}));
    ASSERT_OK(txn.update(accounts_, 15, balance_, [](Account& a) { a.balance += 5; }));
    expect_row(txn, 15, {15, 7, 3, 4});
    ASSERT_OK(txn.write(accounts_, 15, balance_, Account{0, 8, 0, 0}));
    expect_row(txn, 15, {15, 8, 3, 4});
    ASSERT_OK(txn.put(accounts_, 15, Account{1, 1, 1, 1}));
    expect_row(txn, 15, {1, 1, 1, 1});
  });
  EXPECT_EQ(row(accounts_, 15), (Account{1, 1, 1, 1}));
}

TEST_P(OwnWritesTest, AWriteOfSomeColumnsIsMergedWithTheRow) {
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.write(accounts_, 20, balance_, Account{0, 77, 0, 0}));
    expect_row(txn, 20, {20, 77, 1, 1});
    ASSERT_OK(txn.write(accounts_, 20, accounts_.columns(&Account::flags), Account{0, 0, 0, 9}));
    expect_row(txn, 20, {20, 77, 1, 9});
    ASSERT_OK(txn.update(accounts_, 20, accounts_.columns(&Account::branch, &Account::balance), [](Account& a) {
      EXPECT_EQ(a.balance, 77);
      EXPECT_EQ(a.branch, 1u);
      a.branch = 2;
    }));
    expect_row(txn, 20, {20, 77, 2, 9});
  });
  EXPECT_EQ(row(accounts_, 20), (Account{20, 77, 2, 9}));
}

TEST_P(OwnWritesTest, ARemoveIsReadBack) {
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.remove(accounts_, 20));
    expect_no_row(txn, 20);
    EXPECT_CODE(Code::kNotFound, txn.remove(accounts_, 20));
    EXPECT_CODE(Code::kNotFound, txn.update(accounts_, 20, balance_, [](Account&) {}));
    EXPECT_CODE(Code::kNotFound, txn.write(accounts_, 20, balance_, Account{}));
  });
  EXPECT_FALSE(has(accounts_, 20));
}

TEST_P(OwnWritesTest, RemoveThenInsertIsANewRow) {
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.update(accounts_, 20, balance_, [](Account& a) { a.balance = 5; }));
    ASSERT_OK(txn.remove(accounts_, 20));
    ASSERT_OK(txn.insert(accounts_, 20, Account{2, 2, 2, 2}));
    expect_row(txn, 20, {2, 2, 2, 2});
    EXPECT_CODE(Code::kDuplicateKey, txn.insert(accounts_, 20, Account{}));
  });
  EXPECT_EQ(row(accounts_, 20), (Account{2, 2, 2, 2}));
}

TEST_P(OwnWritesTest, InsertThenRemoveLeavesNothing) {
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.insert(accounts_, 25, Account{2, 2, 2, 2}));
    ASSERT_OK(txn.remove(accounts_, 25));
    expect_no_row(txn, 25);
  });
  EXPECT_FALSE(has(accounts_, 25));
  insert(accounts_, 25, Account{3, 3, 3, 3});
  EXPECT_EQ(row(accounts_, 25), (Account{3, 3, 3, 3}));
}

TEST_P(OwnWritesTest, OneKeyTurnedOverManyTimesEndsAsTheLastWriteSays) {
  transact(db_, [&](Transaction& txn) {
    for (int round = 0; round < 20; ++round) {
      ASSERT_OK(txn.remove(accounts_, 20));
      ASSERT_OK(txn.insert(accounts_, 20, Account{uint64_t(round), 0, 0, 0}));
    }
    expect_row(txn, 20, {19, 0, 0, 0});
    ASSERT_OK(txn.remove(accounts_, 20));
    expect_no_row(txn, 20);
  });
  EXPECT_FALSE(has(accounts_, 20));
}

TEST_P(OwnWritesTest, AnUpdateThroughAnOldViewAfterARemoveIsRefused) {
  transact(db_, [&](Transaction& txn) {
    auto view = txn.get(accounts_, 20);
    ASSERT_OK(view);
    ASSERT_OK(txn.remove(accounts_, 20));
    EXPECT_CODE(Code::kNotFound, txn.update(accounts_, *view, balance_, [](Account& a) { a.balance = 99; }));
  });
  EXPECT_FALSE(has(accounts_, 20));
}

TEST_P(OwnWritesTest, AnUpdateThroughAnOldViewAfterReinsertionChangesTheNewRow) {
  transact(db_, [&](Transaction& txn) {
    auto view = txn.get(accounts_, 20);
    ASSERT_OK(view);
    ASSERT_OK(txn.remove(accounts_, 20));
    ASSERT_OK(txn.insert(accounts_, 20, Account{2, 2, 2, 2}));
    EXPECT_OK(txn.update(accounts_, *view, balance_, [](Account& a) {
      EXPECT_EQ(a.balance, 2);
      a.balance = 3;
    }));
  });
  EXPECT_EQ(row(accounts_, 20), (Account{2, 3, 2, 2}));
}

TEST_P(OwnWritesTest, AViewOfAnOwnInsertCanBeUpdated) {
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.insert(accounts_, 25, Account{2, 2, 2, 2}));
    auto view = txn.get(accounts_, 25);
    ASSERT_OK(view);
    EXPECT_OK(txn.update(accounts_, *view, balance_, [](Account& a) { a.balance += 1; }));
    expect_row(txn, 25, {2, 3, 2, 2});
  });
  EXPECT_EQ(row(accounts_, 25), (Account{2, 3, 2, 2}));
}

TEST_P(OwnWritesTest, ScansMergeOwnWritesInOrder) {
  if (!GetParam().ordered()) return;  // scans are of ordered tables
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.insert(accounts_, 15, Account{15, 0, 0, 0}));
    ASSERT_OK(txn.insert(accounts_, 5, Account{5, 0, 0, 0}));
    ASSERT_OK(txn.insert(accounts_, 105, Account{105, 0, 0, 0}));
    ASSERT_OK(txn.remove(accounts_, 30));
    ASSERT_OK(txn.update(accounts_, 40, balance_, [](Account& a) { a.balance = 4; }));
    const std::vector<Key> expected{5, 10, 15, 20, 40, 50, 60, 70, 80, 90, 100, 105};
    for (bool reverse : {false, true}) {
      std::vector<Key> keys;
      EXPECT_OK(txn.scan(accounts_, {}, {.reverse = reverse}, [&](Key key, const View<Account>& view) {
        EXPECT_EQ(view->balance, key == 40 ? 4 : key % 10 == 5 ? 0 : 1);
        keys.push_back(key);
        return true;
      }));
      EXPECT_EQ(keys, reverse ? std::vector<Key>(expected.rbegin(), expected.rend()) : expected);
    }
    std::vector<Key> limited;
    EXPECT_OK(txn.scan(accounts_, {12, 45}, {.limit = 3}, [&](Key key, const View<Account>&) {
      limited.push_back(key);
      return true;
    }));
    EXPECT_EQ(limited, (std::vector<Key>{15, 20, 40}));
  });
}

TEST_P(OwnWritesTest, OnlyTheWriterSeesThemBeforeTheCommit) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_reads());
  if (!GetParam().concurrent()) return;  // needs two open transactions
  ActiveTransaction writer = begin(db_);
  ASSERT_OK(writer->insert(accounts_, 15, Account{15, 0, 0, 0}));
  ASSERT_OK(writer->remove(accounts_, 20));
  ASSERT_OK(writer->update(accounts_, 30, balance_, [](Account& a) { a.balance = -3; }));
  const auto others_see = [&](Transaction& txn) {
    expect_no_row(txn, 15);
    expect_row(txn, 20, {20, 1, 1, 1});
    expect_row(txn, 30, {30, 1, 1, 1});
  };
  read(db_, others_see);
  ActiveTransaction reader = begin(db_);
  others_see(*reader);
  reader.rollback();
  EXPECT_OK(writer.commit());
  EXPECT_TRUE(has(accounts_, 15));
  EXPECT_FALSE(has(accounts_, 20));
}

}  // namespace
}  // namespace elider::test
