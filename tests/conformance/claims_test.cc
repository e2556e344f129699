// Transactions that claim rows when they access them (txn/claims.h): which transaction ends which,
// how long an open transaction keeps its claims, and that procedures make progress.
//
// The tests that must fail under a mutant of the claims (tests/race/mutants.sh) look for results
// that are not serializable. They do not depend on which transaction loses a conflict.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/test_points.h"
#include "elider/elider.h"
#include "elider/laboratory.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class ClaimsTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    make();
  }
  void make() {
    accounts_ = create(account_schema(GetParam().key_index));
    for (Key key = 1; key <= 4; ++key) insert(accounts_, key, Account{key, 0, 0, 0});
  }
  void reopen_with(uint32_t patience_us, uint32_t restarts_max) {
    Options options = options_of(GetParam());
    change_laboratory(options).open_patience_us = patience_us;
    change_laboratory(options).restarts_max = restarts_max;
    auto database = Database::open(options);
    ASSERT_OK(database);
    db_ = std::move(database).value();
    make();
  }
  static Status add_one(Transaction& txn, const Table<Account>& table, Key key) {
    return txn.update(table, key, {}, [](Account& a) { ++a.balance; });
  }
  Status add_one(Transaction& txn, Key key) { return add_one(txn, accounts_, key); }
  int64_t balance(Key key) { return row(accounts_, key).balance; }
  // Returns what the transaction reads, or -1 after a conflict.
  int64_t read_balance(ActiveTransaction& txn, Key key) {
    auto view = txn->get(accounts_, key);
    return view.ok() ? (*view)->balance : -1;
  }

  Table<Account> accounts_;
};
class ReadClaimsTest : public ClaimsTest {};
INSTANTIATE_TEST_SUITE_P(On, ClaimsTest, testing::ValuesIn(claiming_combinations(false)), combination_name);
INSTANTIATE_TEST_SUITE_P(On, ReadClaimsTest, testing::ValuesIn(claiming_combinations(true)), combination_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ClaimsTest);  // in builds with only other engines
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ReadClaimsTest);

TEST_P(ClaimsTest, OfTwoOpenWritersTheLaterOneWins) {
  ActiveTransaction first = begin(db_), second = begin(db_);
  ASSERT_OK(add_one(*first, 1));
  ASSERT_OK(add_one(*second, 1));
  EXPECT_OK(second.commit());
  const Status status = first.commit();
  EXPECT_CODE(Code::kConflict, status);
  EXPECT_EQ(status.cause(), Cause::kClaimed);
  EXPECT_NE(status.message().find("open_patience_us"), std::string::npos) << status.message();
  EXPECT_EQ(balance(1), 1);
}

TEST_P(ClaimsTest, WhatHasBeenEndedStaysUsableUntilItsCommit) {
  ActiveTransaction first = begin(db_), second = begin(db_);
  ASSERT_OK(add_one(*first, 1));
  ASSERT_OK(add_one(*second, 1));
  ASSERT_OK(add_one(*first, 2));
  EXPECT_OK(second.commit());
  EXPECT_CODE(Code::kConflict, first.commit());
  EXPECT_EQ(balance(2), 0);
  transact(db_, [&](Transaction& txn) { ASSERT_OK(add_one(txn, 2)); });
  EXPECT_EQ(balance(2), 1);
}

TEST_P(ClaimsTest, ARollbackGivesTheClaimsBack) {
  reopen_with(1'000'000'000, 20);  // no transaction is ended
  const auto start = std::chrono::steady_clock::now();
  ActiveTransaction first = begin(db_), second = begin(db_);
  ASSERT_OK(add_one(*first, 1));
  first.rollback();
  ASSERT_OK(add_one(*second, 1));
  EXPECT_OK(second.commit());
  EXPECT_EQ(balance(1), 1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, TestStop::kTimeout);
}

TEST_P(ClaimsTest, AnOpenTransactionKeepsItsClaimsForItsPatience) {
  reopen_with(60'000'000, 20);
  ActiveTransaction open = begin(db_);
  ASSERT_OK(add_one(*open, 1));
  RunPolicy policy;
  policy.attempts_max = 1;
  const Status status = db_.run([&](Transaction& txn) { return add_one(txn, 1); }, policy);
  EXPECT_CODE(Code::kDeadline, status);
  EXPECT_OK(open.commit());
  EXPECT_EQ(balance(1), 1);
}

TEST_P(ClaimsTest, AProcedureWaitsForThePatienceOfAnOpenTransactionAndEndsIt) {
  reopen_with(20'000, 20);
  ActiveTransaction open = begin(db_);
  ASSERT_OK(add_one(*open, 1));
  transact(db_, [&](Transaction& txn) { static_cast<void>(add_one(txn, 1)); });
  EXPECT_CODE(Code::kConflict, open.commit());
  EXPECT_EQ(balance(1), 1);
}

// The two would wait for each other, so one of them ends the other.
TEST_P(ClaimsTest, AProcedureWithinAnotherGetsThrough) {
  int outer = 0;
  EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
    if (Status status = add_one(txn, 1); !status.ok()) return status;
    if (++outer > 1) return {};
    return db_.run([&](Transaction& inner) { return add_one(inner, 1); });
  }));
  EXPECT_EQ(outer, 2);
  EXPECT_EQ(balance(1), 2);
}

TEST_P(ClaimsTest, AddsOfOpenTransactionsConflict) {
  ActiveTransaction first = begin(db_), second = begin(db_);
  ASSERT_OK(first->add(accounts_, 1, &Account::balance, int64_t{5}));
  ASSERT_OK(second->add(accounts_, 1, &Account::balance, int64_t{7}));
  EXPECT_OK(second.commit());
  EXPECT_CODE(Code::kConflict, first.commit());
  EXPECT_EQ(balance(1), 7);
}

TEST_P(ClaimsTest, InsertsAndRemovesOfOneKeyConflict) {
  ActiveTransaction first = begin(db_), second = begin(db_);
  ASSERT_OK(first->insert(accounts_, 9, Account{9, 0, 0, 0}));
  ASSERT_OK(second->insert(accounts_, 9, Account{9, 1, 0, 0}));
  ASSERT_OK(first->remove(accounts_, 2));
  ASSERT_OK(second->remove(accounts_, 2));
  EXPECT_OK(second.commit());
  EXPECT_CODE(Code::kConflict, first.commit());
  EXPECT_EQ(balance(9), 1);
}

TEST_P(ClaimsTest, ClaimsThatStoodAgainstOneAreCounted) {
  reopen_with(60'000'000, 20);
  {
    ActiveTransaction open = begin(db_);
    ASSERT_OK(add_one(*open, 1));
    RunPolicy policy;
    policy.attempts_max = 1;
    EXPECT_CODE(Code::kDeadline, db_.run([&](Transaction& txn) { return add_one(txn, 1); }, policy));
  }
  EXPECT_EQ(db_.statistics().aborts[static_cast<size_t>(Cause::kClaimed)], 1u);
}

// Many threads change a few rows. A transaction runs alone after no, one or 20 restarts.
TEST_P(ClaimsTest, ContendedProceduresAllGetThrough) {
  constexpr int kThreads = 4, kEach = 300;
  for (const uint32_t restarts_max : {0u, 1u, 20u}) {
    reopen_with(0, restarts_max);
    std::vector<std::thread> threads;
    std::atomic<int> failed{0};
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          const Key one = 1 + static_cast<Key>((t + i) % 2), two = 3 - one;
          const Status status = db_.run([&](Transaction& txn) -> Status {
            if (Status first = add_one(txn, one); !first.ok()) return first;
            if (i % 7 == 0) std::this_thread::yield();
            return add_one(txn, two);
          });
          failed += !status.ok();
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(balance(1), kThreads * kEach);
    EXPECT_EQ(balance(2), kThreads * kEach);
  }
}

// A procedure that takes longer than others wait is ended repeatedly. Once it runs alone, it gets
// the time that it needs.
TEST_P(ClaimsTest, AProcedureThatTakesItsTimeGetsThroughAmongShortOnes) {
  reopen_with(0, 1);
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      while (!done) EXPECT_OK(db_.run([&](Transaction& txn) { return add_one(txn, 1); }));
    });
  int attempts = 0;
  EXPECT_OK(db_.run(
      [&](Transaction& txn) -> Status {
        ++attempts;
        if (Status status = add_one(txn, 1); !status.ok()) return status;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));  // others wait 10 ms, at first
        return add_one(txn, 2);
      },
      RunPolicy{.attempts_max = 100}));
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(balance(2), 1) << "in " << attempts << " attempts";
}

// While one procedure runs alone, the deadline of another one applies, even if that one will run
// alone next.
TEST_P(ClaimsTest, ADeadlineCutsTheWaitToRunAloneShort) {
  reopen_with(0, 0);
  std::atomic<bool> holds{false}, go{false};
  std::atomic<int> attempts{0};
  std::thread long_one([&] {
    EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
      if (Status status = add_one(txn, 1); !status.ok()) return status;
      if (++attempts == 1) return Status(Code::kConflict, Cause::kReadChanged);  // so the next attempt runs alone
      holds = true;
      while (!go) std::this_thread::yield();
      return {};
    }));
  });
  while (!holds) std::this_thread::yield();
  RunPolicy policy;
  policy.deadline_us = 1000;
  int tries = 0;
  const Status status = db_.run([&](Transaction&) { return ++tries, Status(Code::kConflict, Cause::kReadChanged); }, policy);
  EXPECT_CODE(Code::kDeadline, status);
  go = true;
  long_one.join();
  EXPECT_EQ(balance(1), 1);
}

// Mutants: skip_read_timestamp, pass_unsafe_read.
TEST_P(ReadClaimsTest, WriteSkewIsRefused) {
  ActiveTransaction first = begin(db_), second = begin(db_);
  ASSERT_OK(first->get(accounts_, 1));
  ASSERT_OK(second->get(accounts_, 2));
  ASSERT_OK(first->write(accounts_, 2, accounts_.columns(&Account::balance), Account{0, 10, 0, 0}));
  const Status wrote = second->write(accounts_, 1, accounts_.columns(&Account::balance), Account{0, 10, 0, 0});
  const bool one = first.commit().ok(), two = wrote.ok() && second.commit().ok();
  EXPECT_TRUE(one != two);
}

// Mutant: pass_unsafe_write.
TEST_P(ReadClaimsTest, NobodySeesHalfOfACommit) {
  ActiveTransaction writer = begin(db_), reader = begin(db_);
  ASSERT_OK(add_one(*writer, 1));
  ASSERT_OK(add_one(*writer, 2));
  const int64_t one = read_balance(reader, 1);
  const bool written = writer.commit().ok();
  const int64_t two = read_balance(reader, 2);
  EXPECT_TRUE(!reader.commit().ok() || one == two) << one << " " << two << " " << written;
}

// Two transactions read a row, in either order. The younger one writes it, and the older one writes
// another row that the younger one has read. Only one of them commits. Mutant:
// forget_other_readers.
class OlderReaderTest : public ReadClaimsTest {
 protected:
  void expect_one_commit(bool older_reads_first) {
    ActiveTransaction older = begin(db_), younger = begin(db_);
    if (older_reads_first) {
      EXPECT_EQ(read_balance(older, 1), 0);
    }
    EXPECT_EQ(read_balance(younger, 1), 0);
    EXPECT_EQ(read_balance(younger, 2), 0);
    if (!older_reads_first) {
      EXPECT_EQ(read_balance(older, 1), 0);
    }
    ASSERT_OK(add_one(*younger, 1));
    const bool one = younger.commit().ok();
    const bool two = older->write(accounts_, 2, accounts_.columns(&Account::balance), Account{0, 5, 0, 0}).ok() && older.commit().ok();
    EXPECT_TRUE(one != two);
  }
};
INSTANTIATE_TEST_SUITE_P(On, OlderReaderTest, testing::ValuesIn(claiming_combinations(true)), combination_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OlderReaderTest);

TEST_P(OlderReaderTest, IsNotForgottenBehindTheWritersOwnRead) { expect_one_commit(true); }
TEST_P(OlderReaderTest, IsNotForgottenIfItReadsLater) { expect_one_commit(false); }

// Mutant: commit_ended.
TEST_P(ReadClaimsTest, WhatHasBeenEndedDoesNotCommit) {
  ActiveTransaction reader = begin(db_), writer = begin(db_);
  EXPECT_EQ(read_balance(reader, 1), 0);
  ASSERT_OK(add_one(*writer, 1));
  ASSERT_OK(add_one(*writer, 2));
  EXPECT_OK(writer.commit());
  EXPECT_NE(read_balance(reader, 2), 0);
  EXPECT_CODE(Code::kConflict, reader.commit());
}

}  // namespace
}  // namespace elider::test
