// Read-only transactions: the newest snapshot at their begin, whatever commits later; no writes.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class SnapshotTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(indexed_account_schema(GetParam().key_index));
    by_branch_ = *db_.index(accounts_, "by_branch");
    for (Key key = 10; key <= 50; key += 10) insert(accounts_, key, account(key));
  }
  static Account account(Key key) { return {key, static_cast<int64_t>(key), static_cast<uint32_t>(key / 20), 0}; }

  using Rows = std::map<Key, Account>;
  // Everything, found in each way there is; the ways must agree.
  Rows everything(Transaction& txn) {
    Rows found;
    std::vector<Key> keys;
    for (Key key = 0; key <= 100; ++key) {
      auto view = txn.get(accounts_, key);
      if (view.ok()) found[key] = **view;
      else EXPECT_CODE(Code::kNotFound, view);
      keys.push_back(key);
    }
    std::vector<View<Account>> views(keys.size());
    EXPECT_OK(txn.multi_get<Account>(accounts_, keys, views));
    Rows batched, by_branch, scanned;
    for (size_t i = 0; i < keys.size(); ++i)
      if (views[i]) batched[keys[i]] = *views[i];
    EXPECT_EQ(batched, found);
    const auto collect_into = [](Rows& rows) {
      return [&rows](Key key, const View<Account>& view) { return rows.emplace(key, *view).second; };
    };
    EXPECT_OK(txn.scan(by_branch_, {}, {}, collect_into(by_branch)));
    EXPECT_EQ(by_branch, found);
    if (GetParam().ordered()) {
      EXPECT_OK(txn.scan(accounts_, {}, {.reverse = true}, collect_into(scanned)));
      EXPECT_EQ(scanned, found);
    }
    return found;
  }

  Table<Account> accounts_;
  Index<Account> by_branch_;
};
ELIDER_ON_EVERY(SnapshotTest);

class OldSnapshotTest : public SnapshotTest {};
ELIDER_ON_CONCURRENT(OldSnapshotTest);

TEST_P(SnapshotTest, EveryEarlierCommitIsSeen) {
  for (int64_t round = 1; round <= 100; ++round) {
    transact(db_, [&](Transaction& txn) {
      ASSERT_OK(txn.update(accounts_, 10, accounts_.columns(&Account::balance), [&](Account& a) { a.balance = round; }));
    });
    ASSERT_EQ(row(accounts_, 10).balance, round);
  }
}

TEST_P(SnapshotTest, WritesAreRefused) {
  read(db_, [&](Transaction& txn) {
    EXPECT_CODE(Code::kInvalidArgument, txn.insert(accounts_, 1, account(1)));
    EXPECT_CODE(Code::kInvalidArgument, txn.put(accounts_, 10, account(1)));
    EXPECT_CODE(Code::kInvalidArgument, txn.update(accounts_, 10, {}, [](Account& a) { a.balance = 0; }));
    EXPECT_CODE(Code::kInvalidArgument, txn.write(accounts_, 10, {}, account(1)));
    EXPECT_CODE(Code::kInvalidArgument, txn.add(accounts_, 10, &Account::balance, int64_t{1}));
    EXPECT_CODE(Code::kInvalidArgument, txn.remove(accounts_, 10));
    auto view = txn.get(accounts_, 10);
    ASSERT_OK(view);
    EXPECT_CODE(Code::kInvalidArgument, txn.update(accounts_, *view, {}, [](Account& a) { a.balance = 0; }));
  });
  EXPECT_EQ(row(accounts_, 10), account(10));
}

TEST_P(OldSnapshotTest, LaterCommitsAreNotSeen) {
  ActiveTransaction old = begin_read_only(db_);
  EXPECT_TRUE(old->read_only());
  const Rows before{{10, account(10)}, {20, account(20)}, {30, account(30)}, {40, account(40)}, {50, account(50)}};
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.insert(accounts_, 15, account(15)));
    ASSERT_OK(txn.remove(accounts_, 20));
    ASSERT_OK(txn.update(accounts_, 30, accounts_.columns(&Account::branch), [](Account& a) { a.branch = 99; }));
    ASSERT_OK(txn.put(accounts_, 40, Account{40, -40, 0, 7}));
    ASSERT_OK(txn.add(accounts_, 50, &Account::balance, int64_t{1}));
  });
  EXPECT_EQ(everything(*old), before);
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.insert(accounts_, 20, Account{21, 0, 50, 0}));
    ASSERT_OK(txn.remove(accounts_, 15));
  });
  db_.statistics();
  EXPECT_EQ(everything(*old), before);
  EXPECT_OK(old.commit());
  const Rows after{{10, account(10)}, {20, {21, 0, 50, 0}}, {30, {30, 30, 99, 0}}, {40, {40, -40, 0, 7}}, {50, {50, 51, 2, 0}}};
  read(db_, [&](Transaction& txn) { EXPECT_EQ(everything(txn), after); });
}

TEST_P(OldSnapshotTest, SnapshotsOfManyMomentsLiveSideBySide) {
  std::vector<ActiveTransaction> snapshots;
  std::vector<Rows> expected;
  Rows model;
  for (Key key = 10; key <= 50; key += 10) model[key] = account(key);
  for (uint32_t round = 0; round < 40; ++round) {
    snapshots.push_back(begin_read_only(db_));
    expected.push_back(model);
    const Key key = 10 + round * 7 % 50;
    const bool present = model.count(key) != 0;
    const Account changed{1000 + round, round, round % 5, round};
    transact(db_, [&](Transaction& txn) {
      if (present && round % 3 == 0) ASSERT_OK(txn.remove(accounts_, key));
      else ASSERT_OK(txn.put(accounts_, key, changed));
    });
    if (present && round % 3 == 0) model.erase(key);
    else model[key] = changed;
  }
  // Ended out of order, so that versions are reclaimed between those still needed.
  for (size_t step = 0; step < snapshots.size(); ++step) {
    const size_t i = step * 17 % snapshots.size();
    ASSERT_EQ(everything(*snapshots[i]), expected[i]) << "snapshot " << i;
    ASSERT_OK(snapshots[i].commit());
  }
  read(db_, [&](Transaction& txn) { EXPECT_EQ(everything(txn), model); });
}

TEST_P(OldSnapshotTest, OneRowChangedManyTimesIsReadAsItWas) {
  ActiveTransaction old = begin_read_only(db_);
  for (int round = 0; round < 500; ++round)
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.add(accounts_, 10, &Account::balance, int64_t{1})); });
  auto view = old->get(accounts_, 10);
  ASSERT_OK(view);
  EXPECT_EQ(**view, account(10));
  old.rollback();
  EXPECT_EQ(row(accounts_, 10).balance, 510);
}

TEST_P(OldSnapshotTest, ARowRemovedAndReinsertedManyTimesIsReadAsItWas) {
  ActiveTransaction old = begin_read_only(db_);
  for (uint32_t round = 0; round < 100; ++round) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 30)); });
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(accounts_, 30, Account{30, 0, round % 7, round})); });
    if (round % 10 == 0) {
      ActiveTransaction passing = begin_read_only(db_);
      EXPECT_OK(passing->get(accounts_, 30));
      EXPECT_OK(passing.commit());
    }
  }
  EXPECT_EQ(everything(*old).at(30), account(30));
}

TEST_P(OldSnapshotTest, AnOldSnapshotNeverConflicts) {
  ActiveTransaction old = begin_read_only(db_);
  EXPECT_OK(old->get(accounts_, 10));
  EXPECT_CODE(Code::kNotFound, old->get(accounts_, 11));
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.remove(accounts_, 10));
    ASSERT_OK(txn.insert(accounts_, 11, account(11)));
  });
  EXPECT_OK(old.commit());
}

TEST_P(OldSnapshotTest, AReaderDoesNotStandInAWritersWay) {
  ActiveTransaction old = begin_read_only(db_);
  ActiveTransaction writer = begin(db_);
  ASSERT_OK(writer->update(accounts_, 10, {}, [](Account& a) { a.balance = 3; }));
  EXPECT_OK(old->get(accounts_, 10));
  EXPECT_OK(writer.commit());
  EXPECT_OK(old.commit());
}

TEST_P(OldSnapshotTest, ViewsOfAnOldSnapshotStayValid) {
  ActiveTransaction old = begin_read_only(db_);
  auto view = old->get(accounts_, 10);
  ASSERT_OK(view);
  for (int round = 0; round < 50; ++round) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 10)); });
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(accounts_, 10, Account{10, 7, 7, 7})); });
  }
  EXPECT_EQ(**view, account(10));
}

}  // namespace
}  // namespace elider::test
