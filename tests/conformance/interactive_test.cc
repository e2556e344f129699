// begin, commit, rollback: transactions outside procedures, several in one thread, used by others.
#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class InteractiveTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(account_schema(GetParam().key_index));
    for (Key key = 1; key <= 8; ++key) insert(accounts_, key, Account{key, 0, 0, 0});
  }
  Status bump(Transaction& txn, Key key) {
    return txn.update(accounts_, key, {}, [](Account& a) { ++a.balance; });
  }

  Table<Account> accounts_;
};
ELIDER_ON_EVERY(InteractiveTest);

class SeveralOpenTest : public InteractiveTest {};
ELIDER_ON_CONCURRENT(SeveralOpenTest);

TEST_P(InteractiveTest, ACommitTakesEffect) {
  ActiveTransaction txn = begin(db_);
  EXPECT_FALSE(txn->read_only());
  EXPECT_EQ(txn->attempt(), 1u);
  ASSERT_OK(bump(*txn, 1));
  EXPECT_OK(txn.commit());
  EXPECT_EQ(row(accounts_, 1).balance, 1);
}

TEST_P(InteractiveTest, AnEndedTransactionIsFinished) {
  ActiveTransaction txn = begin(db_);
  ASSERT_OK(bump(*txn, 1));
  EXPECT_OK(txn.commit());
  EXPECT_CODE(Code::kFinished, txn.commit());
  txn.rollback();  // does nothing
  EXPECT_EQ(row(accounts_, 1).balance, 1);
  ActiveTransaction undone = begin(db_);
  ASSERT_OK(bump(*undone, 1));
  undone.rollback();
  EXPECT_CODE(Code::kFinished, undone.commit());
  EXPECT_EQ(row(accounts_, 1).balance, 1);
}

TEST_P(InteractiveTest, AnEmptyTransactionCommits) {
  EXPECT_OK(begin(db_).commit());
  EXPECT_OK(begin_read_only(db_).commit());
}

TEST_P(InteractiveTest, ManyTransactionsOneAfterTheOther) {
  for (int i = 0; i < 2000; ++i) {  // more than there are workers: each is given back
    ActiveTransaction txn = begin(db_);
    ASSERT_OK(bump(*txn, 1));
    if (i % 2 == 0) ASSERT_OK(txn.commit());
    else txn.rollback();
  }
  EXPECT_EQ(row(accounts_, 1).balance, 1000);
}

TEST_P(SeveralOpenTest, TransactionsThatDoNotTouchEachOtherAllCommit) {
  std::vector<ActiveTransaction> open;
  for (Key key = 1; key <= 8; ++key) {
    open.push_back(begin(db_));
    ASSERT_OK(bump(*open.back(), key));
  }
  for (Key key = 8; key >= 1; --key) EXPECT_OK(open[key - 1].commit());
  for (Key key = 1; key <= 8; ++key) EXPECT_EQ(row(accounts_, key).balance, 1);
}

TEST_P(SeveralOpenTest, TheSecondToCommitTheSameRowConflictsAndSaysWhere) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_writes());
  ActiveTransaction first = begin(db_), second = begin(db_);
  ASSERT_OK(bump(*first, 3));
  ASSERT_OK(bump(*second, 3));
  EXPECT_OK(first.commit());
  const Status status = second.commit();
  EXPECT_CODE(Code::kConflict, status);
  EXPECT_TRUE(status.retryable());
  EXPECT_NE(status.cause(), Cause::kNone);
  EXPECT_EQ(status.table(), "accounts");
  EXPECT_TRUE(status.has_key());
  EXPECT_EQ(status.key(), 3u);
  EXPECT_NE(status.message().find("accounts"), std::string::npos);
  EXPECT_NE(status.message().find("3"), std::string::npos);
  EXPECT_EQ(row(accounts_, 3).balance, 1);
}

TEST_P(SeveralOpenTest, NothingOfAConflictedTransactionTookEffect) {
  ActiveTransaction txn = begin(db_);
  ASSERT_OK(txn->get(accounts_, 1));
  ASSERT_OK(bump(*txn, 2));
  ASSERT_OK(txn->insert(accounts_, 99, Account{}));
  ASSERT_OK(txn->remove(accounts_, 4));
  transact(db_, [&](Transaction& other) { ASSERT_OK(bump(other, 1)); });
  EXPECT_CODE(Code::kConflict, txn.commit());
  EXPECT_EQ(row(accounts_, 2).balance, 0);
  EXPECT_FALSE(has(accounts_, 99));
  EXPECT_TRUE(has(accounts_, 4));
}

TEST_P(SeveralOpenTest, WriteSkewIsRefused) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_reads());
  ActiveTransaction first = begin(db_), second = begin(db_);
  ASSERT_OK(first->get(accounts_, 1));
  ASSERT_OK(bump(*first, 2));
  ASSERT_OK(second->get(accounts_, 2));
  ASSERT_OK(bump(*second, 1));
  EXPECT_OK(first.commit());
  EXPECT_CODE(Code::kConflict, second.commit());
}

TEST_P(SeveralOpenTest, AReaderOfWhatChangedMeanwhileConflictsOnlyIfItReadTheOldRow) {
  ActiveTransaction early = begin(db_), late = begin(db_);
  ASSERT_OK(early->get(accounts_, 1));
  transact(db_, [&](Transaction& txn) { ASSERT_OK(bump(txn, 1)); });
  auto view = late->get(accounts_, 1);
  ASSERT_OK(view);
  EXPECT_EQ((*view)->balance, 1);  // an ordinary transaction reads the newest row
  ASSERT_OK(bump(*early, 5));
  ASSERT_OK(bump(*late, 6));
  EXPECT_CODE(Code::kConflict, early.commit());
  EXPECT_OK(late.commit());
}

TEST_P(SeveralOpenTest, AnotherThreadMayFinishATransaction) {
  ActiveTransaction txn = begin(db_);
  ASSERT_OK(bump(*txn, 1));
  std::thread([&, moved = std::move(txn)]() mutable {
    EXPECT_OK(bump(*moved, 2));
    EXPECT_OK(moved.commit());
  }).join();
  EXPECT_EQ(row(accounts_, 1).balance, 1);
  EXPECT_EQ(row(accounts_, 2).balance, 1);
}

TEST_P(SeveralOpenTest, ATransactionOutlivesTheThreadThatBeganIt) {
  ActiveTransaction txn;
  std::thread([&] {
    txn = begin(db_);
    EXPECT_OK(bump(*txn, 1));
  }).join();
  EXPECT_OK(bump(*txn, 2));
  EXPECT_OK(txn.commit());
  EXPECT_EQ(row(accounts_, 1).balance, 1);
  EXPECT_EQ(row(accounts_, 2).balance, 1);
}

TEST_P(SeveralOpenTest, WritesToDifferentColumnsOfOneGroupLoseNothing) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_writes());
  // Blind writes of two columns of one row: both must be there, or one transaction must fail.
  ActiveTransaction first = begin(db_), second = begin(db_);
  ASSERT_OK(first->write(accounts_, 1, accounts_.columns(&Account::branch), Account{0, 0, 11, 0}));
  ASSERT_OK(second->write(accounts_, 1, accounts_.columns(&Account::flags), Account{0, 0, 0, 22}));
  EXPECT_OK(first.commit());
  const Status status = second.commit();
  const Account account = row(accounts_, 1);
  EXPECT_EQ(account.branch, 11u);
  if (status.ok()) EXPECT_EQ(account.flags, 22u);
  else EXPECT_CODE(Code::kConflict, status);
}

TEST_P(SeveralOpenTest, BeginAgainRetriesAfterAConflict) {
  ActiveTransaction txn = begin(db_);
  uint32_t attempts = 0;
  for (;;) {
    EXPECT_EQ(txn->attempt(), ++attempts);
    Status status = txn->get(accounts_, 1).status();
    if (attempts < 4) {
      ActiveTransaction other = begin(db_);
      if (bump(*other, 1).ok()) static_cast<void>(other.commit());
    }
    if (status.ok()) status = bump(*txn, 1);
    if (status.ok()) status = txn.commit();
    if (!status.retryable()) {
      EXPECT_OK(status);
      break;
    }
    ASSERT_OK(txn.begin_again());
  }
  EXPECT_GE(attempts, 2u);
  EXPECT_CODE(Code::kFinished, txn.commit());
}

TEST_P(InteractiveTest, BeginAgainRollsBackAndKeepsToItsPolicy) {
  ActiveTransaction txn = begin(db_);
  ASSERT_OK(bump(*txn, 1));
  ASSERT_OK(txn.begin_again());
  EXPECT_EQ(row(accounts_, 1).balance, 0);
  EXPECT_EQ(txn->attempt(), 2u);
  RunPolicy policy;
  policy.attempts_max = 2;
  EXPECT_REFUSED(Code::kDeadline, "given up after 2 attempts", txn.begin_again(policy));
  EXPECT_CODE(Code::kFinished, bump(*txn, 1));
  EXPECT_OK(txn.begin_again());  // another policy allows it
  ASSERT_OK(bump(*txn, 1));
  ActiveTransaction moved = std::move(txn);
  EXPECT_CODE(Code::kFinished, txn.begin_again());
  EXPECT_EQ(moved->attempt(), 3u);
  EXPECT_OK(moved.commit());
  ActiveTransaction snapshot = begin_read_only(db_);
  EXPECT_REFUSED(Code::kInvalidArgument, "read-only", snapshot.begin_again());
  EXPECT_OK(snapshot.commit());
  EXPECT_CODE(Code::kFinished, ActiveTransaction().begin_again());
}

}  // namespace
}  // namespace elider::test
