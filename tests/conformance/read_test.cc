// get and multi_get: whole rows, some columns, absent and repeated keys, how long a view lives.
#include <gtest/gtest.h>

#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"
#include "tests/support/random.h"

namespace elider::test {
namespace {

class ReadTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(grouped_account_schema(GetParam().key_index));
    transact(db_, [&](Transaction& txn) {
      for (Key key = 10; key <= 200; key += 10) ASSERT_OK(txn.insert(accounts_, key, account(key)));
    });
  }
  static Account account(Key key) { return {key, static_cast<int64_t>(key) * 2, static_cast<uint32_t>(key % 7), 1}; }

  Table<Account> accounts_;
};
ELIDER_ON_EVERY(ReadTest);

TEST_P(ReadTest, GetGivesTheWholeRowAndItsKey) {
  transact(db_, [&](Transaction& txn) {
    auto view = txn.get(accounts_, 30);
    ASSERT_OK(view);
    EXPECT_EQ(**view, account(30));
    EXPECT_EQ(view->key(), 30u);
    EXPECT_TRUE(*view);
  });
}

TEST_P(ReadTest, GetOfAnAbsentKeyIsNotFoundAndNamesIt) {
  transact(db_, [&](Transaction& txn) {
    auto view = txn.get(accounts_, 31);
    EXPECT_CODE(Code::kNotFound, view);
    EXPECT_EQ(view.status().table(), "accounts");
    EXPECT_TRUE(view.status().has_key());
    EXPECT_EQ(view.status().key(), 31u);
    EXPECT_OK(txn.get(accounts_, 30));
  });
}

TEST_P(ReadTest, TheEndsOfTheKeyRangeAreKeysLikeOthers) {
  for (Key key : {Key{0}, kKeyMax}) {
    transact(db_, [&](Transaction& txn) {
      EXPECT_CODE(Code::kNotFound, txn.get(accounts_, key));
      EXPECT_OK(txn.insert(accounts_, key, account(77)));
    });
    EXPECT_EQ(row(accounts_, key), account(77));
    transact(db_, [&](Transaction& txn) { EXPECT_OK(txn.remove(accounts_, key)); });
    EXPECT_FALSE(has(accounts_, key));
  }
}

TEST_P(ReadTest, GetOfColumnsFillsThem) {
  const Columns<Account> one = accounts_.columns(&Account::balance);
  const Columns<Account> across_groups = accounts_.columns(&Account::branch, &Account::balance, &Account::flags);
  for (bool snapshot : {false, true}) {
    const auto body = [&](Transaction& txn) -> Status {
      auto view = txn.get(accounts_, 40, one);
      EXPECT_OK(view);
      EXPECT_EQ((*view)->balance, 80);
      view = txn.get(accounts_, 40, across_groups);
      EXPECT_OK(view);
      EXPECT_EQ((*view)->branch, 40u % 7);
      EXPECT_EQ((*view)->balance, 80);
      EXPECT_EQ((*view)->flags, 1u);
      return {};
    };
    EXPECT_OK(snapshot ? db_.run_read_only(body) : db_.run(body));
  }
}

TEST_P(ReadTest, MultiGetGivesEachRowOrNone) {
  const std::vector<Key> keys{10, 11, 200, 10, 0, 199, 50, 50, kKeyMax};
  for (bool snapshot : {false, true}) {
    const auto body = [&](Transaction& txn) -> Status {
      std::vector<View<Account>> views(keys.size());
      EXPECT_OK(txn.multi_get<Account>(accounts_, keys, views));
      for (size_t i = 0; i < keys.size(); ++i) {
        const bool expected = keys[i] >= 10 && keys[i] <= 200 && keys[i] % 10 == 0;
        EXPECT_EQ(static_cast<bool>(views[i]), expected) << "key " << keys[i];
        if (!expected || !views[i]) continue;
        EXPECT_EQ(*views[i], account(keys[i]));
        EXPECT_EQ(views[i].key(), keys[i]);
      }
      return {};
    };
    EXPECT_OK(snapshot ? db_.run_read_only(body) : db_.run(body));
  }
}

TEST_P(ReadTest, MultiGetOfNothingIsNothing) {
  transact(db_, [&](Transaction& txn) { EXPECT_OK(txn.multi_get<Account>(accounts_, {}, {})); });
}

TEST_P(ReadTest, MultiGetRefusesSpansOfTwoSizes) {
  transact(db_, [&](Transaction& txn) {
    const Key keys[] = {10, 20};
    View<Account> views[1];
    EXPECT_REFUSED(Code::kInvalidArgument, "multi_get", txn.multi_get<Account>(accounts_, keys, views));
  });
}

TEST_P(ReadTest, MultiGetOfColumnsFillsThem) {
  const Columns<Account> columns = accounts_.columns(&Account::branch, &Account::balance);
  transact(db_, [&](Transaction& txn) {
    const Key keys[] = {70, 71, 80};
    View<Account> views[3];
    ASSERT_OK(txn.multi_get<Account>(accounts_, keys, views, columns));
    ASSERT_TRUE(views[0] && views[2]);
    EXPECT_FALSE(views[1]);
    EXPECT_EQ(views[0]->balance, 140);
    EXPECT_EQ(views[2]->branch, 80u % 7);
  });
}

TEST_P(ReadTest, MultiGetOfThousandsOfKeysAgreesWithGet) {
  transact(db_, [&](Transaction& txn) {
    for (Key key = 1000; key < 5000; key += 3) ASSERT_OK(txn.insert(accounts_, key, account(key)));
  });
  TestRandom random;
  std::vector<Key> keys(3000);
  for (Key& key : keys) key = random.between(990, 5010);
  transact(db_, [&](Transaction& txn) {
    std::vector<View<Account>> views(keys.size());
    ASSERT_OK(txn.multi_get<Account>(accounts_, keys, views));
    for (size_t i = 0; i < keys.size(); ++i) {
      auto single = txn.get(accounts_, keys[i]);
      ASSERT_EQ(static_cast<bool>(views[i]), single.ok()) << "key " << keys[i];
      if (!single.ok()) continue;
      ASSERT_EQ(*views[i], **single);
    }
  });
}

TEST_P(ReadTest, AViewLivesToTheEndAndDoesNotShowLaterOwnWrites) {
  transact(db_, [&](Transaction& txn) {
    auto before = txn.get(accounts_, 20);
    ASSERT_OK(before);
    ASSERT_OK(txn.update(accounts_, 20, {}, [](Account& a) { a.balance = -1; }));
    // Enough further reads to make the transaction's memory grow.
    for (int round = 0; round < 200; ++round)
      for (Key key = 10; key <= 200; key += 10) ASSERT_OK(txn.get(accounts_, key));
    EXPECT_EQ(**before, account(20));
    auto after = txn.get(accounts_, 20);
    ASSERT_OK(after);
    EXPECT_EQ((*after)->balance, -1);
  });
}

TEST_P(ReadTest, TheUntypedCallsReadTheSameBytes) {
  const TableRef table = *db_.table("accounts");
  transact(db_, [&](Transaction& txn) {
    RawView view;
    ASSERT_OK(txn.get(table, 30, {}, &view));
    EXPECT_EQ(*reinterpret_cast<const Account*>(view.bytes()), account(30));
    EXPECT_EQ(view.key(), 30u);
    const Key keys[] = {30, 31};
    RawView views[2];
    ASSERT_OK(txn.multi_get(table, keys, 2, ColumnsRef::all(table), views));
    EXPECT_TRUE(views[0]);
    EXPECT_FALSE(views[1]);
  });
}

}  // namespace
}  // namespace elider::test
