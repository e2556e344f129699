// Rolling back: by the procedure, by an exception, by destruction; nothing is half-applied.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class RollbackTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(indexed_account_schema(GetParam().key_index));
    by_branch_ = *db_.index(accounts_, "by_branch");
    transact(db_, [&](Transaction& txn) {
      for (Key key = 1; key <= 5; ++key) ASSERT_OK(txn.insert(accounts_, key, account(key)));
    });
  }
  static Account account(Key key) { return {key * 10, 5, static_cast<uint32_t>(key), 0}; }

  // Every kind of write, on rows, columns and index entries.
  void write_everything(Transaction& txn) {
    ASSERT_OK(txn.insert(accounts_, 6, account(6)));
    ASSERT_OK(txn.remove(accounts_, 1));
    ASSERT_OK(txn.put(accounts_, 2, Account{21, 6, 70, 1}));
    ASSERT_OK(txn.put(accounts_, 7, account(7)));
    ASSERT_OK(txn.update(accounts_, 3, accounts_.columns(&Account::branch), [](Account& a) { a.branch = 80; }));
    ASSERT_OK(txn.write(accounts_, 4, accounts_.columns(&Account::owner), Account{41, 0, 0, 0}));
    ASSERT_OK(txn.add(accounts_, 5, &Account::balance, int64_t{9}));
    ASSERT_OK(txn.insert(accounts_, 1, Account{11, 7, 90, 2}));
  }
  void expect_untouched() {
    const auto check = [&](Transaction& txn) {
      for (Key key = 0; key <= 9; ++key) {
        auto view = txn.get(accounts_, key);
        ASSERT_EQ(view.ok(), key >= 1 && key <= 5) << "key " << key;
        if (view.ok()) {
          EXPECT_EQ(**view, account(key));
        }
      }
      Key next = 1;
      EXPECT_OK(txn.scan(by_branch_, {}, {}, [&](Key key, const View<Account>& view) {
        EXPECT_EQ(key, next++);
        EXPECT_EQ(*view, account(key));
        return true;
      }));
      EXPECT_EQ(next, 6u);
    };
    transact(db_, check);
    read(db_, check);
    EXPECT_OK(db_.verify());
  }

  Table<Account> accounts_;
  Index<Account> by_branch_;
};
ELIDER_ON_EVERY(RollbackTest);

TEST_P(RollbackTest, AProcedureThatAsksForItLeavesNothing) {
  const Status status = db_.run([&](Transaction& txn) -> Status {
    write_everything(txn);
    return Status::rollback();
  });
  EXPECT_CODE(Code::kRolledBack, status);
  EXPECT_EQ(status.cause(), Cause::kUser);
  EXPECT_FALSE(status.retryable());
  expect_untouched();
}

TEST_P(RollbackTest, AnErrorThatTheProcedureReturnsIsGivenToTheCaller) {
  const Status status = db_.run([&](Transaction& txn) -> Status {
    write_everything(txn);
    return Status::invalid_argument("no such city: Atlantis");
  });
  EXPECT_REFUSED(Code::kInvalidArgument, "Atlantis", status);
  expect_untouched();
  int runs = 0;
  const Status duplicate = db_.run([&](Transaction& txn) -> Status {
    ++runs;
    write_everything(txn);
    return txn.insert(accounts_, 2, account(2));
  });
  EXPECT_CODE(Code::kDuplicateKey, duplicate);
  EXPECT_EQ(duplicate.table(), "accounts");
  EXPECT_EQ(runs, 1);
  expect_untouched();
}

TEST_P(RollbackTest, AProcedureThatThrowsLeavesNothingAndItsWordsAreKept) {
  const Status status = db_.run([&](Transaction& txn) -> Status {
    write_everything(txn);
    throw std::runtime_error("the sky fell");
  });
  EXPECT_REFUSED(Code::kProcedureThrew, "the sky fell", status);
  EXPECT_FALSE(status.retryable());
  expect_untouched();
  EXPECT_CODE(Code::kProcedureThrew, db_.run([&](Transaction& txn) -> Status {
    write_everything(txn);
    throw 42;  // not a std::exception
  }));
  expect_untouched();
}

TEST_P(RollbackTest, AReadOnlyProcedureThatThrowsIsToldSo) {
  EXPECT_REFUSED(Code::kProcedureThrew, "rain", db_.run_read_only([&](Transaction& txn) -> Status {
    EXPECT_OK(txn.get(accounts_, 1));
    throw std::runtime_error("rain");
  }));
  expect_untouched();
}

TEST_P(RollbackTest, AnExplicitRollbackLeavesNothing) {
  ActiveTransaction txn = begin(db_);
  write_everything(*txn);
  txn.rollback();
  expect_untouched();
}

TEST_P(RollbackTest, DestructionRollsBack) {
  {
    ActiveTransaction txn = begin(db_);
    write_everything(*txn);
  }
  expect_untouched();
}

TEST_P(RollbackTest, AMovedTransactionIsRolledBackOnce) {
  {
    ActiveTransaction first = begin(db_);
    write_everything(*first);
    ActiveTransaction second = std::move(first);
    EXPECT_OK(second->get(accounts_, 6));
  }
  expect_untouched();
}

TEST_P(RollbackTest, AssignmentRollsBackWhatWasThere) {
  ActiveTransaction txn = begin(db_);
  write_everything(*txn);
  txn = ActiveTransaction();
  expect_untouched();
}

TEST_P(RollbackTest, WhatWasRolledBackCanBeDoneAgain) {
  for (int round = 0; round < 30; ++round) {
    ActiveTransaction txn = begin(db_);
    write_everything(*txn);
    if (HasFatalFailure()) return;
    txn.rollback();
    if (round % 10 == 0) db_.collect_garbage();
  }
  expect_untouched();
  transact(db_, [&](Transaction& txn) { write_everything(txn); });
  EXPECT_EQ(row(accounts_, 1), (Account{11, 7, 90, 2}));
  EXPECT_EQ(row(accounts_, 5).balance, 14);
}

TEST_P(RollbackTest, ChangesOfARowThatWasAlsoInsertedAreGone) {
  EXPECT_CODE(Code::kRolledBack, db_.run([&](Transaction& txn) -> Status {
    for (Key key = 100; key < 400; ++key) EXPECT_OK(txn.insert(accounts_, key, account(key)));
    for (Key key = 100; key < 400; key += 2) EXPECT_OK(txn.remove(accounts_, key));
    for (Key key = 101; key < 400; key += 2) EXPECT_OK(txn.add(accounts_, key, &Account::balance, int64_t{1}));
    return Status::rollback();
  }));
  expect_untouched();
}

}  // namespace
}  // namespace elider::test
