// Rows that a worker finds often, so that it no longer looks them up (txn/hot_rows.h).
#include <gtest/gtest.h>

#include <thread>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

constexpr Key kHot = 1, kHotRows = 8;
constexpr int kOften = 200;  // until rows are kept, in builds with test points

class HotRowsTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(account_schema(GetParam().key_index));
    for (Key key = 1; key <= kHotRows; ++key) insert(accounts_, key, Account{key, 1, 0, 0});
  }
  // This thread's worker finds the row often, in ordinary and in read-only transactions.
  void find_often(Key key) {
    for (int i = 0; i < kOften; ++i) {
      transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.get(accounts_, key)); });
      read(db_, [&](Transaction& txn) { ASSERT_OK(txn.get(accounts_, key)); });
    }
  }
  void remove(Key key) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, key)); });
  }
  void expect_balance(Key key, int64_t balance) {
    transact(db_, [&](Transaction& txn) {
      auto view = txn.get(accounts_, key);
      ASSERT_OK(view);
      EXPECT_EQ((*view)->balance, balance);
    });
    read(db_, [&](Transaction& txn) {
      auto view = txn.get(accounts_, key);
      ASSERT_OK(view);
      EXPECT_EQ((*view)->balance, balance);
    });
  }
  void expect_absent(Key key) {
    transact(db_, [&](Transaction& txn) { EXPECT_CODE(Code::kNotFound, txn.get(accounts_, key)); });
    read(db_, [&](Transaction& txn) { EXPECT_CODE(Code::kNotFound, txn.get(accounts_, key)); });
  }

  Table<Account> accounts_;
};
ELIDER_ON_EVERY(HotRowsTest);

TEST_P(HotRowsTest, ItsOwnRemovalAndANewRowOfTheKeyAreSeen) {
  for (int64_t balance = 2; balance <= 5; ++balance) {
    find_often(kHot);
    remove(kHot);
    expect_absent(kHot);
    insert(accounts_, kHot, Account{kHot, balance, 0, 0});
    expect_balance(kHot, balance);
  }
}

TEST_P(HotRowsTest, TwoTablesWithTheSameKeysAreToldApart) {
  const Table<Account> others = create(SchemaOf<Account>("others").key_index(GetParam().key_index).column("balance", &Account::balance));
  insert(others, kHot, Account{kHot, 77, 0, 0});
  for (int i = 0; i < kOften; ++i)
    transact(db_, [&](Transaction& txn) {
      ASSERT_EQ((*txn.get(accounts_, kHot))->balance, 1);
      ASSERT_EQ((*txn.get(others, kHot))->balance, 77);
    });
}

class HotRowsOfSeveralTest : public HotRowsTest {};
ELIDER_ON_CONCURRENT(HotRowsOfSeveralTest);

// The memory of the row is reclaimed meanwhile, and is used for another key's row.
TEST_P(HotRowsOfSeveralTest, ARowThatAnotherWorkerRemovedIsGone) {
  find_often(kHot);
  std::thread other([&] {
    remove(kHot);
    for (int i = 0; i < 3000; ++i) {
      insert(accounts_, 1000, Account{1000, 1, 0, 0});
      remove(1000);
    }
    for (Key key = 2000; key < 2300; ++key) insert(accounts_, key, Account{key, 1, 0, 0});
  });
  other.join();
  expect_absent(kHot);
  insert(accounts_, kHot, Account{kHot, 9, 0, 0});
  expect_balance(kHot, 9);
}

}  // namespace
}  // namespace elider::test
