// Two-phase locking (lab/baselines/row_locks.h) through the API: which transaction is refused,
// which waits, which is rolled back, and what a lock protects.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/test_points.h"
#include "elider/elider.h"
#include "elider/laboratory.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

std::vector<Combination> locking_combinations(bool ordered_only) {
  std::vector<Combination> chosen = combinations(false, ordered_only);
  std::erase_if(chosen, [](const Combination& combination) { return !combination.locks(); });
  return chosen;
}

class LocksTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    make();
  }
  void TearDown() override { TestPoints::clear(); }
  void make() {
    accounts_ = create(account_schema(GetParam().key_index));
    for (Key key = 1; key <= 4; ++key) insert(accounts_, key, Account{key, 0, 0, 0});
  }
  void reopen_with(uint32_t open_patience_us, uint32_t lock_timeout_us) {
    Options options = options_of(GetParam());
    change_laboratory(options).open_patience_us = open_patience_us;
    change_laboratory(options).lock_timeout_us = lock_timeout_us;
    auto database = Database::open(options);
    ASSERT_OK(database);
    db_ = std::move(database).value();
    make();
  }
  Status add_one(Transaction& txn, Key key) {
    return txn.update(accounts_, key, {}, [](Account& a) { ++a.balance; });
  }
  Status write(Transaction& txn, Key key, int64_t balance) {
    return txn.write(accounts_, key, accounts_.columns(&Account::balance), Account{0, balance, 0, 0});
  }
  int64_t balance(Key key) { return row(accounts_, key).balance; }
  static RunPolicy once() {
    RunPolicy policy;
    policy.attempts_max = 1;
    return policy;
  }

  Table<Account> accounts_;
};
class OrderedLocksTest : public LocksTest {};
INSTANTIATE_TEST_SUITE_P(On, LocksTest, testing::ValuesIn(locking_combinations(false)), combination_name);
INSTANTIATE_TEST_SUITE_P(On, OrderedLocksTest, testing::ValuesIn(locking_combinations(true)), combination_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LocksTest);  // in builds with only other engines
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OrderedLocksTest);

TEST_P(LocksTest, OfTwoOpenWritersTheFirstWins) {
  ActiveTransaction first = begin(db_), second = begin(db_);
  ASSERT_OK(add_one(*first, 1));
  const Status refused = add_one(*second, 1);
  EXPECT_CODE(Code::kConflict, refused);
  EXPECT_EQ(refused.cause(), Cause::kClaimed);
  EXPECT_CODE(Code::kConflict, add_one(*second, 2)) << "it can only be rolled back";
  EXPECT_CODE(Code::kConflict, second.commit());
  EXPECT_OK(first.commit());
  EXPECT_EQ(balance(1), 1);
  EXPECT_EQ(balance(2), 0);
}

TEST_P(LocksTest, AReaderKeepsTheRowFromWritersAndNotFromReaders) {
  ActiveTransaction reader = begin(db_), other = begin(db_), writer = begin(db_);
  ASSERT_OK(reader->get(accounts_, 1));
  EXPECT_OK(other->get(accounts_, 1));
  EXPECT_CODE(Code::kConflict, write(*writer, 1, 5));
  EXPECT_OK(other.commit());
  EXPECT_OK(reader.commit());
  EXPECT_EQ(balance(1), 0);
}

TEST_P(LocksTest, ReadOnlyTransactionsNeedNoLocks) {
  ActiveTransaction writer = begin(db_);
  ASSERT_OK(add_one(*writer, 1));
  ActiveTransaction snapshot = begin_read_only(db_);
  auto view = snapshot->get(accounts_, 1);
  ASSERT_OK(view);
  EXPECT_EQ((*view)->balance, 0);
  EXPECT_OK(writer.commit());
  EXPECT_OK(snapshot.commit());
}

TEST_P(LocksTest, ARollbackGivesTheLocksBack) {
  ActiveTransaction first = begin(db_), second = begin(db_);
  ASSERT_OK(add_one(*first, 1));
  ASSERT_OK(first->insert(accounts_, 9, Account{9, 0, 0, 0}));
  ASSERT_OK(first->remove(accounts_, 2));
  first.rollback();
  ASSERT_OK(add_one(*second, 1));
  ASSERT_OK(add_one(*second, 2));
  ASSERT_OK(second->insert(accounts_, 9, Account{9, 7, 0, 0}));
  EXPECT_OK(second.commit());
  EXPECT_EQ(balance(1), 1);
  EXPECT_EQ(balance(2), 1);
  EXPECT_EQ(balance(9), 7);
}

TEST_P(LocksTest, InsertsAndRemovesOfOneKeyConflict) {
  ActiveTransaction first = begin(db_), second = begin(db_), third = begin(db_);
  ASSERT_OK(first->insert(accounts_, 9, Account{9, 0, 0, 0}));
  ASSERT_OK(first->remove(accounts_, 2));
  EXPECT_CODE(Code::kConflict, second->insert(accounts_, 9, Account{9, 1, 0, 0}));
  EXPECT_CODE(Code::kConflict, third->remove(accounts_, 2));
  EXPECT_OK(first.commit());
  EXPECT_EQ(balance(9), 0);
}

TEST_P(LocksTest, WriteSkewIsRefused) {
  ActiveTransaction first = begin(db_), second = begin(db_);
  ASSERT_OK(first->get(accounts_, 1));
  ASSERT_OK(second->get(accounts_, 2));
  const bool one = write(*first, 2, 10).ok() && first.commit().ok(), two = write(*second, 1, 10).ok() && second.commit().ok();
  EXPECT_FALSE(one && two);
}

// What a transaction has read must not change. A read that cannot get its lock is therefore
// refused.
TEST_P(OrderedLocksTest, AReadOfALeafThatAnotherInsertsIntoIsRefusedAtOnce) {
  Key next = 50;  // a new one each time: a rollback leaves its key in the leaf for a while
  const auto expect_refused = [&](const char* what, auto&& read) {
    ActiveTransaction writer = begin(db_), reader = begin(db_);
    ASSERT_OK(writer->insert(accounts_, next++, Account{}));
    const Status refused = read(*reader);
    EXPECT_CODE(Code::kConflict, refused) << what;
    EXPECT_EQ(refused.cause(), Cause::kClaimed) << what;
    EXPECT_CODE(Code::kConflict, reader.commit()) << what;
    writer.rollback();
  };
  const auto nothing_seen = [](Key, const View<Account>&) {
    ADD_FAILURE() << "a row was shown";
    return true;
  };
  const ScanOptions backward{.reverse = true};
  expect_refused("get", [&](Transaction& txn) { return txn.get(accounts_, 70).status(); });
  expect_refused("multi_get", [&](Transaction& txn) {
    const Key keys[] = {1, 70, 2};
    std::array<View<Account>, 3> views;
    return txn.multi_get<Account>(accounts_, keys, views);
  });
  expect_refused("scan", [&](Transaction& txn) { return txn.scan(accounts_, KeyRange{1, 100}, {}, nothing_seen); });
  expect_refused("scan backward", [&](Transaction& txn) { return txn.scan(accounts_, KeyRange{1, 100}, backward, nothing_seen); });
  expect_refused("scan of no rows", [&](Transaction& txn) { return txn.scan(accounts_, KeyRange{70, 100}, {}, nothing_seen); });
  expect_refused("update", [&](Transaction& txn) { return add_one(txn, 70); });
  expect_refused("write", [&](Transaction& txn) { return write(txn, 70, 1); });
  expect_refused("add", [&](Transaction& txn) { return txn.add(accounts_, 70, &Account::balance, int64_t{1}); });
  expect_refused("remove", [&](Transaction& txn) { return txn.remove(accounts_, 70); });
}

TEST_P(OrderedLocksTest, AScanKeepsOthersFromInsertingThere) {
  ActiveTransaction reader = begin(db_), writer = begin(db_);
  int rows = 0;
  ASSERT_OK(reader->scan(accounts_, KeyRange{1, 100}, {}, [&](Key, const View<Account>&) { return ++rows, true; }));
  EXPECT_EQ(rows, 4);
  EXPECT_CODE(Code::kConflict, writer->insert(accounts_, 50, Account{50, 0, 0, 0}));
  writer.rollback();
  EXPECT_OK(add_one(*reader, 1));
  EXPECT_OK(reader.commit());
}

TEST_P(LocksTest, AnAbsentKeyStaysAbsentForWhoHasSoughtIt) {
  ActiveTransaction reader = begin(db_), writer = begin(db_);
  EXPECT_CODE(Code::kNotFound, reader->get(accounts_, 50).status());
  EXPECT_CODE(Code::kConflict, writer->insert(accounts_, 50, Account{50, 0, 0, 0}));
  writer.rollback();
  EXPECT_OK(reader->insert(accounts_, 50, Account{50, 1, 0, 0}));
  EXPECT_OK(reader.commit());
  EXPECT_EQ(balance(50), 1);
}

TEST_P(LocksTest, TwoMayInsertSideBySide) {
  ActiveTransaction first = begin(db_), second = begin(db_);
  ASSERT_OK(first->insert(accounts_, 50, Account{50, 0, 0, 0}));
  ASSERT_OK(second->insert(accounts_, 51, Account{51, 0, 0, 0}));
  EXPECT_OK(second.commit());
  EXPECT_OK(first.commit());
}

TEST_P(LocksTest, AProcedureIsGivenUpIfAnOpenTransactionKeepsTheLock) {
  reopen_with(0, 20'000);
  ActiveTransaction open = begin(db_);
  ASSERT_OK(add_one(*open, 1));
  const Status status = db_.run([&](Transaction& txn) { return add_one(txn, 1); });
  EXPECT_CODE(Code::kDeadline, status);
  EXPECT_NE(status.message().find("lock_timeout_us"), std::string::npos) << status.message();
  EXPECT_OK(open.commit());
  EXPECT_EQ(balance(1), 1);
}

TEST_P(LocksTest, AProcedureWithinAnotherIsGivenUpAndTheOuterOneCommits) {
  reopen_with(0, 20'000);
  EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
    if (Status status = add_one(txn, 1); !status.ok()) return status;
    EXPECT_CODE(Code::kDeadline, db_.run([&](Transaction& inner) { return add_one(inner, 1); }));
    return {};
  }));
  EXPECT_EQ(balance(1), 1);
}

TEST_P(LocksTest, OfAGroupTheCallsThatAreStuckAreGivenUp) {
  reopen_with(0, 20'000);
  ActiveTransaction open = begin(db_);
  ASSERT_OK(add_one(*open, 2));
  ASSERT_OK(open->get(accounts_, 4));
  std::vector<Status> outcomes(4);
  static_cast<void>(db_.run_group(
      4, [&](size_t i, Touches& touches) { touches.row(accounts_, i + 1); },
      [&](size_t i, Transaction& txn) { return add_one(txn, i + 1); }, outcomes));
  EXPECT_OK(outcomes[0]);
  EXPECT_CODE(Code::kDeadline, outcomes[1]);
  EXPECT_OK(outcomes[2]);
  EXPECT_CODE(Code::kDeadline, outcomes[3]);
  EXPECT_OK(open.commit());
  for (Key key = 1; key <= 3; ++key) EXPECT_EQ(balance(key), 1);
  EXPECT_EQ(balance(4), 0);
}

TEST_P(LocksTest, LocksThatStoodAgainstOneAreCounted) {
  {
    ActiveTransaction open = begin(db_);
    ASSERT_OK(add_one(*open, 1));
    EXPECT_CODE(Code::kDeadline, db_.run([&](Transaction& txn) { return add_one(txn, 1); }, once()));
  }
  EXPECT_EQ(db_.statistics().aborts[static_cast<size_t>(Cause::kClaimed)], 1u);
}

// Mutant: release_early. A transaction that has begun its commit still holds its read locks.
TEST_P(LocksTest, LocksAreKeptUntilTheCommitHasEnded) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  std::atomic<bool> reached{false};
  TestPoints::on("occ.commit.before_lock", [&] {
    if (reached.exchange(true)) return;
    std::thread other([&] {
      EXPECT_CODE(Code::kDeadline, db_.run(
                                       [&](Transaction& txn) -> Status {
                                         if (auto view = txn.get(accounts_, 2); !view.ok()) return view.status();
                                         return write(txn, 1, 10);
                                       },
                                       once()));
    });
    other.join();
  });
  EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
    if (auto view = txn.get(accounts_, 1); !view.ok()) return view.status();
    return write(txn, 2, 10);
  }));
  EXPECT_TRUE(reached);
  EXPECT_EQ(balance(1), 0);
}

// Each procedure locks two of a few rows, half of them in the opposite order. The sum is also read.
TEST_P(LocksTest, ContendedProceduresAllGetThrough) {
  constexpr int kThreads = 4, kEach = 400;
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const Key one = 1 + static_cast<Key>((t + i) % 2), two = 3 - one;
        const Status status = db_.run([&](Transaction& txn) -> Status {
          if (auto view = txn.get(accounts_, two); i % 3 == 0 && !view.ok()) return view.status();
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

}  // namespace
}  // namespace elider::test
