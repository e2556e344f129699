// Database::run: what it retries, how often and until when, and what it tells the procedure.
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/test_points.h"
#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class RunTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(account_schema(GetParam().key_index));
    insert(accounts_, 1, Account{1, 0, 0, 0});
    insert(accounts_, 2, Account{2, 0, 0, 0});
  }
  // Another transaction changes the row of this key and commits.
  void interfere(Key key) {
    ActiveTransaction other = begin(db_);
    EXPECT_OK(other->update(accounts_, key, {}, [](Account& a) { ++a.balance; }));
    EXPECT_OK(other.commit());
  }
  // Reads row 1 and writes row 2: conflicts whenever row 1 changes meanwhile.
  Status copy(Transaction& txn, bool disturbed) {
    auto view = txn.get(accounts_, 1);
    if (!view.ok()) return view.status();
    if (disturbed) interfere(1);
    return txn.update(accounts_, 2, {}, [&](Account& a) { a.balance = (*view)->balance; });
  }

  // Under timestamp ordering, the inner transaction waits 10 ms for the outer one.
  static bool each_conflict_waits() { return GetParam().protocol == Protocol::kTimestamp; }

  Table<Account> accounts_;
};
ELIDER_ON_CONCURRENT(RunTest);

class RunOnceTest : public RunTest {};
ELIDER_ON_EVERY(RunOnceTest);

TEST_P(RunOnceTest, WithoutConflictTheProcedureRunsOnce) {
  std::vector<uint32_t> attempts;
  EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
    attempts.push_back(txn.attempt());
    EXPECT_FALSE(txn.read_only());
    return copy(txn, false);
  }));
  EXPECT_EQ(attempts, (std::vector<uint32_t>{1}));
}

// Destroyed after the thread's resources in the database, because it was constructed earlier.
struct LastWords {
  Database* db = nullptr;
  Table<Account> accounts;
  ~LastWords() {
    for (int i = 0; i < 2 && db != nullptr; ++i)
      EXPECT_OK(db->run([&](Transaction& txn) { return txn.update(accounts, 1, {}, [](Account& a) { a.balance += 10; }); }));
  }
};

TEST_P(RunOnceTest, AThreadThatIsEndingStillRunsTransactions) {
  for (int round = 0; round < 3; ++round)
    std::thread([&] {
      thread_local LastWords last;
      last.db = &db_;
      last.accounts = accounts_;
      transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.update(accounts_, 1, {}, [](Account& a) { ++a.balance; })); });
    }).join();
  read(db_, [&](Transaction& txn) { EXPECT_EQ((*txn.get(accounts_, 1))->balance, 3 * 21); });
}

TEST_P(RunOnceTest, AReadOnlyProcedureIsToldSo) {
  EXPECT_OK(db_.run_read_only([&](Transaction& txn) -> Status {
    EXPECT_TRUE(txn.read_only());
    EXPECT_EQ(txn.attempt(), 1u);
    return {};
  }));
}

TEST_P(RunOnceTest, AProcedureThatDoesNothingCommits) {
  EXPECT_OK(db_.run([](Transaction&) -> Status { return {}; }));
  EXPECT_OK(db_.run_read_only([](Transaction&) -> Status { return {}; }));
}

TEST_P(RunOnceTest, ANotFoundThatTheProcedureReturnsIsNotRetried) {
  int runs = 0;
  const Status status = db_.run([&](Transaction& txn) -> Status {
    ++runs;
    return txn.get(accounts_, 999).status();
  });
  EXPECT_CODE(Code::kNotFound, status);
  EXPECT_EQ(status.key(), 999u);
  EXPECT_EQ(runs, 1);
}

TEST_P(RunTest, AConflictRunsTheProcedureAgainAndTellsTheAttempt) {
  std::vector<uint32_t> attempts;
  EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
    attempts.push_back(txn.attempt());
    return copy(txn, attempts.size() <= 3);
  }));
  EXPECT_EQ(attempts, (std::vector<uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(row(accounts_, 2).balance, 3);  // the last attempt read the newest value
}

TEST_P(RunTest, TheLastAttemptIsTheLast) {
  int runs = 0;
  RunPolicy policy;
  policy.attempts_max = 3;
  const Status status = db_.run(
      [&](Transaction& txn) -> Status {
        ++runs;
        return copy(txn, true);
      },
      policy);
  EXPECT_CODE(Code::kDeadline, status);
  EXPECT_FALSE(status.retryable());
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(row(accounts_, 2).balance, 0);
}

TEST_P(RunTest, OneAttemptIsEnoughWithoutConflict) {
  RunPolicy policy;
  policy.attempts_max = 1;
  EXPECT_OK(db_.run([&](Transaction& txn) -> Status { return copy(txn, false); }, policy));
}

TEST_P(RunTest, ADeadlineEndsTheAttempts) {
  int runs = 0;
  // A thread that loses its processor in the first attempt may not get a second one. Then the test
  // uses a longer deadline.
  for (const uint64_t deadline_ms : {20, 200, 2000}) {
    RunPolicy policy;
    policy.deadline_us = deadline_ms * 1000;
    runs = 0;
    const auto start = std::chrono::steady_clock::now();
    const Status status = db_.run(
        [&](Transaction& txn) -> Status {
          ++runs;
          return copy(txn, true);
        },
        policy);
    const auto elapsed = std::chrono::steady_clock::now() - start;
    EXPECT_CODE(Code::kDeadline, status);
    EXPECT_GE(elapsed, std::chrono::milliseconds(deadline_ms - 1));
    EXPECT_LT(elapsed, TestStop::kTimeout);  // fails only if it hangs, not on a slow machine
    if (runs > 1) break;
  }
  EXPECT_GT(runs, 1);
}

// A wait does not continue beyond the deadline.
TEST_P(RunTest, ADeadlineCutsAWaitShort) {
  RunPolicy policy;
  policy.deadline_us = 20'000;
  policy.backoff_min_us = policy.backoff_max_us = 1'200'000'000;
  int runs = 0;
  const auto start = std::chrono::steady_clock::now();
  const Status status = db_.run([&](Transaction& txn) -> Status { return copy(txn, ++runs > 0); }, policy);
  EXPECT_CODE(Code::kDeadline, status);
  EXPECT_LE(runs, 3);  // the wait before the third attempt almost never leaves time for a fourth
  EXPECT_EQ(status.cause(), Cause::kDeadline);
  if (!GetParam().claims_reads()) {  // the other transaction has ended this one, and does not name a row
    EXPECT_FALSE(status.table().empty());
    EXPECT_TRUE(status.has_key());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, TestStop::kTimeout);
}

TEST_P(RunTest, ADeadlineThatHasNotPassedIsNotInTheWay) {
  RunPolicy policy;
  policy.deadline_us = 60'000'000;
  int runs = 0;
  EXPECT_OK(db_.run([&](Transaction& txn) -> Status { return copy(txn, ++runs == 1); }, policy));
  EXPECT_EQ(runs, 2);
}

TEST_P(RunTest, TheFirstRetryDoesNotWait) {
  RunPolicy policy;
  policy.deadline_us = 20'000'000;  // 199 of 200 waits would exceed it
  policy.backoff_min_us = policy.backoff_max_us = 4'000'000'000;
  int runs = 0;
  EXPECT_OK(db_.run([&](Transaction& txn) -> Status { return copy(txn, ++runs == 1); }, policy));
  EXPECT_EQ(runs, 2);
}

TEST_P(RunTest, WithoutBackoffConflictsAreRetriedAllTheSame) {
  RunPolicy policy;
  policy.backoff_min_us = policy.backoff_max_us = 0;
  const int conflicts = each_conflict_waits() ? 10 : 100;
  int runs = 0;
  EXPECT_OK(db_.run([&](Transaction& txn) -> Status { return copy(txn, ++runs <= conflicts); }, policy));
  EXPECT_EQ(runs, conflicts + 1);
}

TEST_P(RunTest, BackoffStaysBoundedAfterManyAttempts) {
  RunPolicy policy;
  policy.backoff_min_us = 1;
  policy.backoff_max_us = 2;
  const int conflicts = each_conflict_waits() ? 70 : 100;  // more than a shift by attempt - 3 has bits
  int runs = 0;
  EXPECT_OK(db_.run([&](Transaction& txn) -> Status { return copy(txn, ++runs <= conflicts); }, policy));
  EXPECT_EQ(runs, conflicts + 1);
}

// The error or exception of an inconsistent attempt is discarded. It may result from rows that did
// not exist at the same time.
TEST_P(RunTest, AnErrorOfAnAttemptThatCannotCommitIsDiscarded) {
  int runs = 0;
  EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
    ++runs;
    EXPECT_OK(copy(txn, runs == 1));
    if (runs == 1) return Status::invalid_argument("seen in an inconsistent attempt");
    return {};
  }));
  EXPECT_EQ(runs, 2);
}

TEST_P(RunTest, AnExceptionOfAnAttemptThatCannotCommitIsDiscarded) {
  int runs = 0;
  EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
    ++runs;
    EXPECT_OK(copy(txn, runs == 1));
    if (runs == 1) throw std::runtime_error("seen in an inconsistent attempt");
    return {};
  }));
  EXPECT_EQ(runs, 2);
}

// A procedure may run others. Each is a separate transaction.
TEST_P(RunTest, AProcedureMayRunAnotherTransaction) {
  EXPECT_CODE(Code::kRolledBack, db_.run([&](Transaction& txn) -> Status {
    EXPECT_OK(txn.update(accounts_, 1, {}, [](Account& a) { a.balance = 100; }));
    EXPECT_OK(db_.run([&](Transaction& inner) -> Status {
      return inner.update(accounts_, 2, {}, [](Account& a) { a.balance = 200; });
    }));
    EXPECT_OK(db_.run_read_only([&](Transaction& inner) -> Status {
      auto view = inner.get(accounts_, 2);
      EXPECT_OK(view);
      EXPECT_EQ((*view)->balance, 200);
      return {};
    }));
    EXPECT_OK(txn.get(accounts_, 1));
    return Status::rollback();
  }));
  EXPECT_EQ(row(accounts_, 1).balance, 0);
  EXPECT_EQ(row(accounts_, 2).balance, 200);
}

// This deadline exceeds 64 bits in nanoseconds. It must not become a short one.
TEST_P(RunTest, AHugeDeadlineNeverPasses) {
  for (uint64_t deadline_us : {~uint64_t{0} / 1000 + 1, ~uint64_t{0} / 1000 * 3, ~uint64_t{0}}) {
    RunPolicy policy;
    policy.deadline_us = deadline_us;
    int runs = 0;
    EXPECT_OK(db_.run([&](Transaction& txn) -> Status { return copy(txn, ++runs <= 3); }, policy));
    EXPECT_EQ(runs, 4);
  }
}

// What a failed attempt has read is not valid. Its status names what changed, as the status of a
// commit would.
class DiscardedAttemptTest : public RunTest {
 protected:
  // Runs `reads`, lets another transaction do `change`, and fails. There is one attempt, so its
  // conflict is reported.
  template <class Reads, class Change>
  void expect_conflict(Cause cause, Key key, Reads&& reads, Change&& change) {
    const Status status = db_.run(
        [&](Transaction& txn) -> Status {
          reads(txn);
          ActiveTransaction other = begin(db_);
          change(*other);
          EXPECT_OK(other.commit());
          return Status::invalid_argument("seen in an inconsistent attempt");
        },
        RunPolicy{.attempts_max = 1});
    EXPECT_REFUSED(Code::kDeadline, std::string(name_of(cause)), status);
    EXPECT_REFUSED(Code::kDeadline, "table 'accounts', key " + std::to_string(key), status);
    const Statistics statistics = db_.statistics();
    EXPECT_EQ(statistics.aborts[static_cast<size_t>(cause)], 1u);
    EXPECT_EQ(statistics.tables[0].aborts[static_cast<size_t>(cause)], 1u);
  }
  static void change(Transaction& txn, const Table<Account>& accounts, Key key) {
    EXPECT_OK(txn.update(accounts, key, {}, [](Account& a) { ++a.balance; }));
  }
};
ELIDER_ON_CONCURRENT(DiscardedAttemptTest);

TEST_P(DiscardedAttemptTest, AReadRowThatChangedIsNamed) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_reads());
  expect_conflict(
      Cause::kReadChanged, 2,
      [&](Transaction& txn) {
        EXPECT_OK(txn.get(accounts_, 1));
        EXPECT_OK(txn.get(accounts_, 2));
      },
      [&](Transaction& other) { change(other, accounts_, 2); });
}

TEST_P(DiscardedAttemptTest, ARowThatAnUpdateReadAndThatChangedIsNamed) {
  ELIDER_SKIP_IF_CLAIMED(GetParam().claims_writes());
  expect_conflict(
      Cause::kWriteChanged, 2, [&](Transaction& txn) { change(txn, accounts_, 2); },
      [&](Transaction& other) { change(other, accounts_, 2); });
}

TEST_P(DiscardedAttemptTest, AnAbsentKeyThatCameIsNamed) {
  expect_conflict(
      Cause::kPhantom, 3, [&](Transaction& txn) { EXPECT_CODE(Code::kNotFound, txn.get(accounts_, 3)); },
      [&](Transaction& other) { EXPECT_OK(other.insert(accounts_, 3, Account{})); });
}

}  // namespace
}  // namespace elider::test
