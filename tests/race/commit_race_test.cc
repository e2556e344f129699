// Commits against commits: two transactions that each read what the other writes, stopped at each
// step of the first one's commit. Exactly one of them may commit; no step leaves a gap.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "tests/race/race_test.h"

namespace elider::test {
namespace {

class CommitRaceTest : public RaceTest {
 protected:
  void SetUp() override {
    RaceTest::SetUp();
    if (IsSkipped()) return;
    reset();
  }
  void reset() {
    TestPoints::clear();
    reopen({});
    accounts_ = create(indexed_account_schema(GetParam().key_index));
    by_branch_ = *db_.index(accounts_, "by_branch");
    for (Key key = 1; key <= 5; ++key) insert(accounts_, key, account(key));
  }
  static Account account(Key key) { return {key * 10, 0, static_cast<uint32_t>(key), 0}; }

  using Body = std::function<Status(Transaction&)>;
  struct Outcomes {
    Status first, second;
  };
  // `second` runs up to its commit. `first` runs until it reaches the step. Then the second one
  // commits, and the first one continues.
  Outcomes race(const char* step, const Body& first, const Body& second) {
    ActiveTransaction late = begin(db_);
    EXPECT_OK(second(*late));
    TestStop commit(step);
    std::optional<Status> outcome;
    Background early([&] { outcome = once(first); });
    commit.wait_until_reached();
    const Status committed = late.commit();
    commit.go();
    early.join();
    return {*outcome, committed};
  }
  void expect_one_winner(const std::string& what, const Body& first, const Body& second) {
    for (const char* step : kCommitPoints) {
      SCOPED_TRACE(what + " at " + step);
      reset();
      const Outcomes outcomes = race(step, first, second);
      EXPECT_NE(outcomes.first.ok(), outcomes.second.ok())
          << "first: " << outcomes.first.message() << ", second: " << outcomes.second.message();
      EXPECT_OK(db_.verify());
    }
  }
  Body reading(Key read, Key written) {
    return [=, this](Transaction& txn) -> Status {
      if (auto view = txn.get(accounts_, read); !view.ok()) return view.status();
      return txn.update(accounts_, written, accounts_.columns(&Account::balance), [](Account& a) { ++a.balance; });
    };
  }
  Body missing(Key absent, Key inserted) {
    return [=, this](Transaction& txn) -> Status {
      if (auto view = txn.get(accounts_, absent); !view.not_found()) return Status::invalid_argument("the key should be absent");
      return txn.insert(accounts_, inserted, account(inserted));
    };
  }

  Table<Account> accounts_;
  Index<Account> by_branch_;
};
ELIDER_ON_RACING(CommitRaceTest);

TEST_P(CommitRaceTest, WriteSkewHasOneWinner) { expect_one_winner("skew", reading(1, 2), reading(2, 1)); }

TEST_P(CommitRaceTest, LostUpdateHasOneWinner) { expect_one_winner("lost update", reading(1, 1), reading(1, 1)); }

TEST_P(CommitRaceTest, AbsentReadsOfEachOthersInsertsHaveOneWinner) { expect_one_winner("absent", missing(8, 9), missing(9, 8)); }

TEST_P(CommitRaceTest, TwoInsertsOfOneKeyHaveOneWinner) { expect_one_winner("insert", missing(9, 9), missing(9, 9)); }

TEST_P(CommitRaceTest, RemovesAgainstReadsHaveOneWinner) {
  const auto removing = [&](Key read, Key removed) -> Body {
    return [=, this](Transaction& txn) -> Status {
      if (auto view = txn.get(accounts_, read); !view.ok()) return view.status();
      return txn.remove(accounts_, removed);
    };
  };
  expect_one_winner("remove", removing(1, 2), removing(2, 1));
}

TEST_P(CommitRaceTest, ScansOfEachOthersInsertsHaveOneWinner) {
  if (!GetParam().ordered()) return;  // scans are of ordered tables
  const auto counting = [&](KeyRange range, Key inserted) -> Body {
    return [=, this](Transaction& txn) -> Status {
      const Status status = txn.scan(accounts_, range, {}, [](Key, const View<Account>&) { return true; });
      return status.ok() ? txn.insert(accounts_, inserted, account(inserted)) : status;
    };
  };
  expect_one_winner("scan", counting({10, 19}, 25), counting({20, 29}, 15));
}

TEST_P(CommitRaceTest, IndexScansOfEachOthersInsertsHaveOneWinner) {
  const auto counting = [&](uint64_t branch, Key inserted, uint32_t inserted_branch) -> Body {
    return [=, this](Transaction& txn) -> Status {
      const Status status = txn.scan(by_branch_, {branch, branch}, {}, [](Key, const View<Account>&) { return true; });
      return status.ok() ? txn.insert(accounts_, inserted, Account{inserted * 10, 0, inserted_branch, 0}) : status;
    };
  };
  expect_one_winner("index scan", counting(50, 15, 60), counting(60, 25, 50));
}

TEST_P(CommitRaceTest, IndexScansOfRowsMovedByTheOtherHaveOneWinner) {
  const auto moving = [&](uint64_t scanned, Key moved, uint32_t to) -> Body {
    return [=, this](Transaction& txn) -> Status {
      const Status status = txn.scan(by_branch_, {scanned, scanned}, {}, [](Key, const View<Account>&) { return true; });
      if (!status.ok()) return status;
      return txn.update(accounts_, moved, accounts_.columns(&Account::branch), [&](Account& a) { a.branch = to; });
    };
  };
  expect_one_winner("move", moving(50, 1, 60), moving(60, 2, 50));
}

// A commit finds that a leaf that it scanned has changed, and looks again. A change during that
// look counts.
TEST_P(CommitRaceTest, APhantomDuringTheSecondLookIsFound) {
  if (!GetParam().ordered()) return;  // scans are of ordered tables
  for (const char* step : {"occ.repair", "occ.repaired"}) {
    SCOPED_TRACE(step);
    reset();
    ActiveTransaction early = begin(db_);
    ASSERT_OK(early->scan(accounts_, {10, 20}, {}, [](Key, const View<Account>&) { return true; }));
    ASSERT_OK(early->update(accounts_, 1, accounts_.columns(&Account::balance), [](Account& a) { ++a.balance; }));
    ASSERT_OK(once([&](Transaction& txn) { return txn.insert(accounts_, 21, account(21)); }));
    TestStop look(step);
    Status outcome;
    Background committing([&] { outcome = early.commit(); });
    look.wait_until_reached();
    ASSERT_OK(once([&](Transaction& txn) { return txn.insert(accounts_, 15, account(15)); }));
    look.go();
    committing.join();
    EXPECT_CODE(Code::kConflict, outcome);
  }
}

TEST_P(CommitRaceTest, OneUniqueValueHasOneWinner) {
  const auto taking = [&](Key inserted) -> Body {
    return [=, this](Transaction& txn) { return txn.insert(accounts_, inserted, Account{777, 0, 1, 0}); };
  };
  expect_one_winner("unique", taking(15), taking(25));
}

TEST_P(CommitRaceTest, AddsOfBothAlwaysCount) {
  for (const char* step : kCommitPoints) {
    SCOPED_TRACE(step);
    reset();
    const Body adding = [&](Transaction& txn) { return txn.add(accounts_, 1, &Account::balance, int64_t{7}); };
    const Outcomes outcomes = race(step, adding, adding);
    EXPECT_OK(outcomes.first);
    int64_t expected = 7;
    if (outcomes.second.ok()) expected += 7;
    else EXPECT_EQ(outcomes.second.cause(), Cause::kWriteLocked);  // the first one was held with its lock
    EXPECT_EQ(row(accounts_, 1).balance, expected);
  }
}

TEST_P(CommitRaceTest, SeveralAddsOfOneTransactionAllCount) {
  transact(db_, [&](Transaction& txn) {
    for (const int64_t delta : {7, 20, 100}) ASSERT_OK(txn.add(accounts_, 1, &Account::balance, delta));
    ASSERT_OK(txn.add(accounts_, 1, &Account::flags, 3u));
  });
  EXPECT_EQ(row(accounts_, 1).balance, 127);
  EXPECT_EQ(row(accounts_, 1).flags, 3u);
}

TEST_P(CommitRaceTest, ARowIsLockedUntilItIsWritten) {
  const Body adding = [&](Transaction& txn) { return txn.add(accounts_, 1, &Account::balance, int64_t{7}); };
  ActiveTransaction late = begin(db_);
  EXPECT_OK(adding(*late));
  TestPoints::on("occ.commit.after_lock", [] {});  // a region that meets it ends: the commit takes locks
  TestStop before_payload("occ.commit.before_payload");
  Background early([&] { EXPECT_OK(once(adding)); });
  before_payload.wait_until_reached();
  const Status committed = late.commit();
  EXPECT_CODE(Code::kConflict, committed);
  before_payload.go();
  early.join();
  EXPECT_EQ(row(accounts_, 1).balance, committed.ok() ? 14 : 7);
}

// It gives back all locks before it locks in the order of the addresses. So two commits that lock
// in opposite orders both succeed.
TEST_P(CommitRaceTest, ACommitThatFindsALockTakenGivesBackWhatItHas) {
  if (GetParam().sync == SyncPolicy::kElided) return;  // which waits before its region, with no lock
  reset();
  const auto add_to = [&](Transaction& txn, Key key) { return txn.add(accounts_, key, &Account::balance, int64_t{7}); };
  const int64_t before = row(accounts_, 1).balance;
  for (const auto& [free, taken] : {std::pair<Key, Key>(1, 2), std::pair<Key, Key>(2, 1)}) {
    TestPoints::clear();
    ActiveTransaction late = begin(db_);
    ASSERT_OK(add_to(*late, free));
    ASSERT_OK(add_to(*late, taken));
    TestStop locked("occ.commit.after_lock"), gave_back("occ.commit.lock_in_order");
    Background locking([&, key = taken] { EXPECT_OK(once([&](Transaction& txn) { return add_to(txn, key); })); });
    locked.wait_until_reached();
    Background waiting([&] { EXPECT_OK(late.commit()); });
    gave_back.wait_until_reached();
    EXPECT_OK(once([&, key = free](Transaction& txn) { return add_to(txn, key); }));
    locked.go();
    locking.join();
    gave_back.go();
    waiting.join();
  }
  EXPECT_EQ(row(accounts_, 1).balance, before + 4 * 7);
}

// Whether the second transaction comes before or after the validation, the first one's absent read
// must hold at its place in the serial order.
TEST_P(CommitRaceTest, AnInsertOfAKeyReadAsAbsentIsBeforeOrAfterTheWholeReader) {
  for (size_t i = 0; i < kCommitPoints.size(); ++i) {
    SCOPED_TRACE(kCommitPoints[i]);
    reset();
    const Table<Account> plain = create(account_schema(GetParam().key_index, "plain"));  // an insert into it reads nothing
    const Outcomes outcomes = race(
        kCommitPoints[i],
        [&](Transaction& txn) -> Status {
          if (auto view = txn.get(plain, 8); !view.not_found()) return Status::invalid_argument("the key should be absent");
          return txn.insert(plain, 9, account(9));
        },
        [&](Transaction& txn) { return txn.insert(plain, 8, account(8)); });
    EXPECT_OK(outcomes.second);
    EXPECT_EQ(outcomes.first.ok(), i >= kValidated) << outcomes.first.message();
  }
}

// Two transactions take one unique value for different keys, and one of them is retried repeatedly.
// Each attempt makes an entry in the other's range. The one that commits first must succeed,
// without depending on luck.
TEST_P(CommitRaceTest, ARetryForAUniqueValueDoesNotAbortTheOther) {
  const auto take = [&](Transaction& txn, Key key) { return txn.insert(accounts_, key, Account{777, 0, 1, 0}); };
  ActiveTransaction first = begin(db_), second = begin(db_);
  ASSERT_OK(take(*first, 15));
  ASSERT_OK(take(*second, 25));
  first.rollback();
  for (int retry = 0; retry < 5; ++retry) {
    ActiveTransaction again = begin(db_);
    ASSERT_OK(take(*again, 15));
  }
  ActiveTransaction last = begin(db_);
  ASSERT_OK(take(*last, 15));
  EXPECT_OK(second.commit());
  EXPECT_CODE(Code::kConflict, last.commit());
}

TEST_P(CommitRaceTest, ThreadsThatFightForUniqueValuesMakeProgress) {
  constexpr uint64_t kRounds = 300;
  std::array<std::atomic<uint64_t>, 2> won{}, attempts{};
  const auto fight = [&](size_t self) {
    for (uint64_t value = 1000; value < 1000 + kRounds; ++value) {
      const Status status = db_.run([&](Transaction& txn) -> Status {
        ++attempts[self];
        return txn.insert(accounts_, value * 10 + self, Account{value, 0, 1, 0});
      });
      if (status.ok()) ++won[self];
      else EXPECT_CODE(Code::kDuplicateKey, status);
    }
  };
  {
    Background other([&] { fight(1); });
    fight(0);
  }
  EXPECT_EQ(won[0] + won[1], kRounds);
  EXPECT_LT(attempts[0] + attempts[1], kRounds * 2 * 20) << "they abort each other again and again";
}

}  // namespace
}  // namespace elider::test
