// The second look of a commit (src/txn/read_write/repair.h), with other transactions held at its
// steps. Changes during the look count, a unique value has one winner, and what the commit saw is
// true at its number.
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "tests/race/race_test.h"

namespace elider::test {
namespace {

constexpr std::array<const char*, 2> kLooks{"occ.repair", "occ.repaired"};

class SecondLookRaceTest : public RaceTest {
 protected:
  void reset() {
    TestPoints::clear();
    reopen({});
    accounts_ = create(indexed_account_schema(GetParam().key_index));
    by_branch_ = *db_.index(accounts_, "by_branch");
    for (Key key = 1; key <= 5; ++key) insert(accounts_, key, account(key, key));
  }
  static Account account(Key owner, Key branch) { return {owner * 10, 0, static_cast<uint32_t>(branch), 0}; }
  Status raise_balance(Transaction& txn, Key key) {
    return txn.update(accounts_, key, accounts_.columns(&Account::balance), [](Account& a) { ++a.balance; });
  }
  // Returns the outcome of txn's commit. `meanwhile` runs while the commit is held at the step.
  Status commit_beside(const char* step, ActiveTransaction& txn, const std::function<void()>& meanwhile) {
    TestStop stop(step);
    Status outcome;
    Background committing([&] { outcome = txn.commit(); });
    stop.wait_until_reached();
    meanwhile();
    stop.go();
    committing.join();
    return outcome;
  }

  Table<Account> accounts_;
  Index<Account> by_branch_;
};
ELIDER_ON_RACING(SecondLookRaceTest);

TEST_P(SecondLookRaceTest, OneUniqueValueHasOneWinner) {
  for (const char* step : kLooks) {
    SCOPED_TRACE(step);
    reset();
    ActiveTransaction first = begin(db_), second = begin(db_);
    ASSERT_OK(first->insert(accounts_, 15, account(77, 100)));
    ASSERT_OK(second->insert(accounts_, 16, account(77, 200)));  // its entry makes the first one look again
    Status late;
    EXPECT_OK(commit_beside(step, first, [&] { late = second.commit(); }));
    EXPECT_CODE(Code::kConflict, late);
    EXPECT_OK(db_.verify());
  }
}

TEST_P(SecondLookRaceTest, ARowThatComesIntoAScannedRangeOfValuesIsFound) {
  for (const char* step : kLooks) {
    SCOPED_TRACE(step);
    reset();
    ActiveTransaction scanner = begin(db_), inserter = begin(db_);
    ASSERT_OK(scanner->scan(by_branch_, {10, 20}, {}, [](Key, const View<Account>&) { return true; }));
    ASSERT_OK(raise_balance(*scanner, 1));
    ASSERT_OK(inserter->insert(accounts_, 15, account(15, 15)));
    // The entry is there when the second look is taken. The row comes before the end of the look,
    // or after it.
    EXPECT_CODE(Code::kConflict, commit_beside(step, scanner, [&] { EXPECT_OK(inserter.commit()); }));
  }
}

TEST_P(SecondLookRaceTest, ARowMovedIntoAScannedRangeOfValuesIsFound) {
  for (const char* step : kLooks) {
    SCOPED_TRACE(step);
    reset();
    ActiveTransaction scanner = begin(db_), mover = begin(db_);
    ASSERT_OK(scanner->scan(by_branch_, {10, 20}, {}, [](Key, const View<Account>&) { return true; }));
    ASSERT_OK(raise_balance(*scanner, 1));
    ASSERT_OK(mover->update(accounts_, 5, accounts_.columns(&Account::branch), [](Account& a) { a.branch = 15; }));
    EXPECT_CODE(Code::kConflict, commit_beside(step, scanner, [&] { EXPECT_OK(mover.commit()); }));
  }
}

// A commit scanned a range before a row was inserted there, and looks again after the row was
// removed. The commit is after the removal, and so must be its number. A reader that sees the row
// must not see the commit.
TEST_P(SecondLookRaceTest, ACommitHasANumberBehindWhatItsSecondLookSaw) {
  for (const bool by_key : {false, true}) {
    if (by_key && !GetParam().ordered()) continue;  // scans are of ordered tables
    SCOPED_TRACE(by_key);
    reset();
    ActiveTransaction early = begin(db_);
    const auto visit = [](Key, const View<Account>&) { return true; };
    ASSERT_OK(by_key ? early->scan(accounts_, {10, 20}, {}, visit) : early->scan(by_branch_, {10, 20}, {}, visit));
    ASSERT_OK(once([&](Transaction& txn) -> Status {
      if (Status status = txn.insert(accounts_, 15, account(15, 15)); !status.ok()) return status;
      return raise_balance(txn, 1);
    }));
    ASSERT_OK(early->get(accounts_, 1));  // what came with the row
    ASSERT_OK(raise_balance(*early, 2));
    ActiveTransaction reader;
    ASSERT_OK(commit_beside("occ.commit.after_slots", early, [&] {
      reader = begin_read_only(db_);
      EXPECT_OK(once([&](Transaction& txn) { return txn.remove(accounts_, 15); }));
    }));
    EXPECT_OK(reader->get(accounts_, 15));
    auto view = reader->get(accounts_, 2);
    ASSERT_OK(view);
    EXPECT_EQ((*view)->balance, 0);
    EXPECT_OK(reader.commit());
  }
}

}  // namespace
}  // namespace elider::test
