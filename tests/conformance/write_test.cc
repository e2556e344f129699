// insert, put, update, write and remove: what each changes, and what each refuses.
#include <gtest/gtest.h>

#include <cstddef>
#include <span>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class WriteTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(grouped_account_schema(GetParam().key_index));
    insert(accounts_, 1, kFirst);
  }
  static constexpr Account kFirst{100, 1000, 7, 3};

  Table<Account> accounts_;
};
ELIDER_ON_EVERY(WriteTest);

TEST_P(WriteTest, InsertOfAPresentKeyIsRefusedAndChangesNothing) {
  transact(db_, [&](Transaction& txn) {
    const Status status = txn.insert(accounts_, 1, Account{9, 9, 9, 9});
    EXPECT_CODE(Code::kDuplicateKey, status);
    EXPECT_EQ(status.table(), "accounts");
    EXPECT_EQ(status.key(), 1u);
    EXPECT_FALSE(status.retryable());
    EXPECT_OK(txn.insert(accounts_, 2, kFirst));  // the transaction goes on
  });
  EXPECT_EQ(row(accounts_, 1), kFirst);
  EXPECT_EQ(row(accounts_, 2), kFirst);
}

TEST_P(WriteTest, PutReplacesOrMakesTheRow) {
  const Account other{5, 6, 7, 8};
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.put(accounts_, 1, other));
    EXPECT_OK(txn.put(accounts_, 2, other));
  });
  EXPECT_EQ(row(accounts_, 1), other);
  EXPECT_EQ(row(accounts_, 2), other);
}

TEST_P(WriteTest, UpdateByKeyChangesTheNamedColumns) {
  const Columns<Account> balance = accounts_.columns(&Account::balance);
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.update(accounts_, 1, balance, [](Account& a) {
      EXPECT_EQ(a.balance, 1000);
      a.balance += 5;
    }));
  });
  EXPECT_EQ(row(accounts_, 1), (Account{100, 1005, 7, 3}));
}

TEST_P(WriteTest, UpdateOfAllColumnsChangesTheRow) {
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.update(accounts_, 1, {}, [](Account& a) {
      EXPECT_EQ(a, kFirst);
      a = {1, 2, 3, 4};
    }));
  });
  EXPECT_EQ(row(accounts_, 1), (Account{1, 2, 3, 4}));
}

TEST_P(WriteTest, UpdateByViewChangesTheRowItWasReadFrom) {
  const Columns<Account> both = accounts_.columns(&Account::balance, &Account::flags);
  transact(db_, [&](Transaction& txn) {
    auto view = txn.get(accounts_, 1, both);
    ASSERT_OK(view);
    EXPECT_OK(txn.update(accounts_, *view, both, [](Account& a) {
      EXPECT_EQ(a.balance, 1000);
      a.balance = 1;
      a.flags = 2;
    }));
    // Once more through the same view: the first change is seen.
    EXPECT_OK(txn.update(accounts_, *view, both, [](Account& a) {
      EXPECT_EQ(a.balance, 1);
      a.balance += 10;
    }));
  });
  EXPECT_EQ(row(accounts_, 1), (Account{100, 11, 7, 2}));
}

TEST_P(WriteTest, UpdateByViewMayChangeColumnsThatTheViewDidNotRead) {
  transact(db_, [&](Transaction& txn) {
    auto view = txn.get(accounts_, 1, accounts_.columns(&Account::owner));
    ASSERT_OK(view);
    EXPECT_OK(txn.update(accounts_, *view, accounts_.columns(&Account::balance), [](Account& a) {
      EXPECT_EQ(a.balance, 1000);
      a.balance = 4;
    }));
  });
  EXPECT_EQ(row(accounts_, 1), (Account{100, 4, 7, 3}));
}

TEST_P(WriteTest, UpdateByViewsOfAMultiGet) {
  insert(accounts_, 2, Account{200, 2000, 7, 3});
  transact(db_, [&](Transaction& txn) {
    const Key keys[] = {2, 1, 3};
    View<Account> views[3];
    ASSERT_OK(txn.multi_get<Account>(accounts_, keys, views));
    ASSERT_TRUE(views[0] && views[1]);
    for (const View<Account>& view : {views[0], views[1]})
      EXPECT_OK(txn.update(accounts_, view, accounts_.columns(&Account::balance), [](Account& a) { a.balance += 1; }));
  });
  EXPECT_EQ(row(accounts_, 1).balance, 1001);
  EXPECT_EQ(row(accounts_, 2).balance, 2001);
}

TEST_P(WriteTest, TwoUpdatesOfOneRowAddUp) {
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.update(accounts_, 1, accounts_.columns(&Account::balance), [](Account& a) { a.balance += 1; }));
    EXPECT_OK(txn.update(accounts_, 1, accounts_.columns(&Account::flags), [](Account& a) { a.flags += 1; }));
    EXPECT_OK(txn.update(accounts_, 1, {}, [](Account& a) {
      EXPECT_EQ(a.balance, 1001);
      EXPECT_EQ(a.flags, 4u);
      a.owner = 55;
    }));
  });
  EXPECT_EQ(row(accounts_, 1), (Account{55, 1001, 7, 4}));
}

TEST_P(WriteTest, WriteSetsTheNamedColumnsWithoutReading) {
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.write(accounts_, 1, accounts_.columns(&Account::branch, &Account::balance), Account{9, 9, 9, 9}));
  });
  EXPECT_EQ(row(accounts_, 1), (Account{100, 9, 9, 3}));
}

TEST_P(WriteTest, WriteOfAllColumnsIsTheWholeRow) {
  transact(db_, [&](Transaction& txn) { EXPECT_OK(txn.write(accounts_, 1, {}, Account{9, 8, 7, 6})); });
  EXPECT_EQ(row(accounts_, 1), (Account{9, 8, 7, 6}));
}

TEST_P(WriteTest, ChangesOfAnAbsentKeyAreNotFound) {
  transact(db_, [&](Transaction& txn) {
    bool called = false;
    EXPECT_CODE(Code::kNotFound, txn.update(accounts_, 2, {}, [&](Account&) { called = true; }));
    EXPECT_FALSE(called);
    EXPECT_CODE(Code::kNotFound, txn.write(accounts_, 2, {}, Account{}));
    EXPECT_CODE(Code::kNotFound, txn.remove(accounts_, 2));
    EXPECT_OK(txn.insert(accounts_, 3, kFirst));
  });
  EXPECT_FALSE(has(accounts_, 2));
  EXPECT_TRUE(has(accounts_, 3));
}

TEST_P(WriteTest, RemoveTakesTheRowAway) {
  transact(db_, [&](Transaction& txn) { EXPECT_OK(txn.remove(accounts_, 1)); });
  EXPECT_FALSE(has(accounts_, 1));
  transact(db_, [&](Transaction& txn) { EXPECT_CODE(Code::kNotFound, txn.remove(accounts_, 1)); });
}

TEST_P(WriteTest, ARemovedKeyCanBeInsertedAgain) {
  for (int round = 0; round < 50; ++round) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 1)); });
    ASSERT_FALSE(has(accounts_, 1));
    if (round % 3 == 0) db_.collect_garbage();  // by then the key may be out of the index, or not
    insert(accounts_, 1, Account{uint64_t(round), round, 0, 0});
    ASSERT_EQ(row(accounts_, 1), (Account{uint64_t(round), round, 0, 0}));
  }
}

TEST_P(WriteTest, TheUntypedCallsWriteTheSameBytes) {
  const TableRef table = *db_.table("accounts");
  const Account other{5, 6, 7, 8};
  const auto bytes = std::as_bytes(std::span(&other, 1));
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.put(table, 1, bytes));
    EXPECT_OK(txn.insert(table, 2, bytes));
    void* image = nullptr;
    ASSERT_OK(txn.edit(table, 2, accounts_.columns(&Account::balance), &image));
    static_cast<Account*>(image)->balance = 66;
    EXPECT_OK(txn.edited(table, image));
    EXPECT_OK(txn.write(table, 1, accounts_.columns(&Account::flags), &kFirst));
    const int64_t delta = 4;
    EXPECT_OK(txn.add(table, 2, offset_of(&Account::balance), ColumnType::kInt64, &delta));
  });
  EXPECT_EQ(row(accounts_, 1), (Account{5, 6, 7, 3}));
  EXPECT_EQ(row(accounts_, 2), (Account{5, 70, 7, 8}));
}

TEST_P(WriteTest, ARowOfTheWrongSizeIsRefused) {
  const TableRef table = *db_.table("accounts");
  std::byte bytes[sizeof(Account) + 1]{};
  transact(db_, [&](Transaction& txn) {
    for (size_t size : {size_t{0}, sizeof(Account) - 1, sizeof(Account) + 1}) {
      EXPECT_REFUSED(Code::kInvalidArgument, "accounts", txn.insert(table, 2, std::span<const std::byte>(bytes, size)));
      EXPECT_REFUSED(Code::kInvalidArgument, "accounts", txn.put(table, 1, std::span<const std::byte>(bytes, size)));
    }
  });
  EXPECT_EQ(row(accounts_, 1), kFirst);
  EXPECT_FALSE(has(accounts_, 2));
}

TEST_P(WriteTest, InsertManyInsertsAllRowsInTheirOrder) {
  std::vector<Key> keys;
  std::vector<Account> rows;
  for (Key key = 1000; key < 1100; ++key) {
    keys.push_back(key);
    rows.push_back(Account{key, static_cast<int64_t>(key), 0, 0});
  }
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert_many(accounts_, keys, rows)); });
  for (const Key key : keys) EXPECT_EQ(row(accounts_, key).balance, static_cast<int64_t>(key));
  transact(db_, [&](Transaction& txn) {
    EXPECT_REFUSED(Code::kInvalidArgument, "insert_many: 100 rows were given for 99 keys",
                   txn.insert_many(accounts_, std::span(keys).first(99), rows));
    EXPECT_EQ(*txn.version(accounts_, 4711), 0u);
    for (Key& key : keys) key += 50;
    EXPECT_REFUSED(Code::kDuplicateKey, "key 1050", txn.insert_many(accounts_, keys, rows));
  });
}

TEST_P(WriteTest, AVersionRisesWithEveryWriteAndIsZeroForAnAbsentKey) {
  const auto version = [&] {
    uint64_t seen = 0, on_snapshot = 0;
    transact(db_, [&](Transaction& txn) { seen = *txn.version(accounts_, 4711); });
    read(db_, [&](Transaction& txn) { on_snapshot = *txn.version(accounts_, 4711); });
    EXPECT_EQ(seen, on_snapshot);
    return seen;
  };
  EXPECT_EQ(version(), 0u);
  uint64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(accounts_, 4711, Account{4711, 1, 1, 1})); });
    EXPECT_GT(version(), last);
    last = version();
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.update(accounts_, 4711, {}, [](Account&) {})); });
    EXPECT_GT(version(), last);
    last = version();
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 4711)); });
    EXPECT_EQ(version(), 0u);
  }
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.insert(accounts_, 4711, Account{4711, 1, 1, 1}));
    EXPECT_REFUSED(Code::kInvalidArgument, "has written the row", txn.version(accounts_, 4711).status());
  });
}

}  // namespace
}  // namespace elider::test
