// Readers against commits. A reader starts at each step of a commit, and is held at each of its own
// steps. It sees all or nothing of the commit, and every commit that had ended.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tests/race/race_test.h"

namespace elider::test {
namespace {

using Rows = std::map<Key, Account>;

class SnapshotRaceTest : public RaceTest {
 protected:
  void SetUp() override {
    RaceTest::SetUp();
    if (IsSkipped()) return;
    reset();
  }
  void reset() {
    TestPoints::clear();
    reopen({});
    accounts_ = create(indexed_account_schema(GetParam().key_index).group({"balance"}));
    by_branch_ = *db_.index(accounts_, "by_branch");
    documents_ = create(document_schema(GetParam().key_index));
    for (const auto& [key, account] : kBefore) insert(accounts_, key, account);
    insert(documents_, 1, document_of(1));
  }

  // Updates, moves in the index, removes, inserts, adds, and swaps a block.
  Status change_everything(Transaction& txn) {
    const Columns<Account> all;
    const auto set = [&](Key key) { return txn.update(accounts_, key, all, [&](Account& a) { a = kAfter.at(key); }); };
    for (Key key : {1, 2})
      if (Status status = set(key); !status.ok()) return status;
    if (Status status = txn.remove(accounts_, 3); !status.ok()) return status;
    if (Status status = txn.insert(accounts_, 4, kAfter.at(4)); !status.ok()) return status;
    if (Status status = txn.add(accounts_, 5, &Account::balance, int64_t{100}); !status.ok()) return status;
    return txn.put(documents_, 1, document_of(2));
  }

  // Everything as the transaction sees it; each way of reading must agree with the others.
  Rows see(Transaction& txn) {
    Rows found;
    for (Key key = 1; key <= 5; ++key) {
      auto view = txn.get(accounts_, key);
      if (view.ok()) found[key] = **view;
      else EXPECT_CODE(Code::kNotFound, view);
    }
    Rows by_branch;
    EXPECT_OK(txn.scan(by_branch_, {}, {}, [&](Key key, const View<Account>& view) { return by_branch.emplace(key, *view).second; }));
    EXPECT_EQ(by_branch, found);
    if (GetParam().ordered()) {
      Rows scanned;
      EXPECT_OK(txn.scan(accounts_, {}, {}, [&](Key key, const View<Account>& view) { return scanned.emplace(key, *view).second; }));
      EXPECT_EQ(scanned, found);
    }
    auto document = txn.get(documents_, 1);
    EXPECT_OK(document);
    EXPECT_EQ(**document, document_of(found == kAfter ? 2 : 1));
    return found;
  }
  void expect_all_or_nothing(const Rows& seen) { EXPECT_TRUE(seen == kBefore || seen == kAfter); }
  Rows see_newest() {
    Rows seen;
    read(db_, [&](Transaction& txn) { seen = see(txn); });
    return seen;
  }

  inline static const Rows kBefore{{1, {10, 1, 1, 0}}, {2, {20, 2, 2, 0}}, {3, {30, 3, 3, 0}}, {5, {50, 5, 5, 0}}};
  inline static const Rows kAfter{{1, {11, -1, 9, 1}}, {2, {21, -2, 1, 1}}, {4, {30, 4, 4, 1}}, {5, {50, 105, 5, 0}}};

  Table<Account> accounts_;
  Index<Account> by_branch_;
  Table<Document> documents_;
};
ELIDER_ON_RACING(SnapshotRaceTest);

TEST_P(SnapshotRaceTest, AReaderThatStartsAtAStepOfACommitSeesAllOrNothing) {
  for (const char* step : kCommitPoints) {
    SCOPED_TRACE(step);
    reset();
    TestStop commit(step);
    Background writer([&] { EXPECT_OK(db_.run([&](Transaction& txn) { return change_everything(txn); })); });
    commit.wait_until_reached();
    std::atomic<bool> started{false};
    Background reader([&] {
      ActiveTransaction txn = begin_read_only(db_);
      started = true;
      started.notify_all();
      const Rows first = see(*txn);  // waits where the commit has locked
      expect_all_or_nothing(first);
      EXPECT_EQ(see(*txn), first);
    });
    started.wait(false);
    commit.go();
    writer.join();
    EXPECT_EQ(see_newest(), kAfter);  // this one began after the commit had ended
  }
}

TEST_P(SnapshotRaceTest, ACommitAtAStepOfAReadersStartIsSeenWholeOrNot) {
  for (const char* reader_step : {"readonly.starting", "readonly.before_publish"})
    for (const char* step : kCommitPoints) {
      SCOPED_TRACE(std::string(reader_step) + " at " + step);
      reset();
      TestStop commit(step);
      TestStop start(reader_step);
      Background writer([&] { EXPECT_OK(db_.run([&](Transaction& txn) { return change_everything(txn); })); });
      commit.wait_until_reached();
      Background reader([&] {
        ActiveTransaction txn = begin_read_only(db_);
        const Rows first = see(*txn);
        expect_all_or_nothing(first);
        EXPECT_EQ(see(*txn), first);
      });
      start.wait_until_reached();
      commit.go();
      writer.join();  // ends while the reader is held between two of its steps
      start.go();
      reader.join();
      EXPECT_EQ(see_newest(), kAfter);
    }
}

TEST_P(SnapshotRaceTest, AWholeCommitBetweenTwoStepsOfAReadersStart) {
  for (const char* reader_step : {"readonly.starting", "readonly.before_publish"}) {
    SCOPED_TRACE(reader_step);
    reset();
    TestStop start(reader_step);
    Rows first;
    Background reader([&] {
      ActiveTransaction txn = begin_read_only(db_);
      first = see(*txn);
      EXPECT_EQ(see(*txn), first);
    });
    start.wait_until_reached();
    EXPECT_OK(db_.run([&](Transaction& txn) { return change_everything(txn); }));
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.update(accounts_, 1, {}, [](Account& a) { a.flags = 1; })); });
    start.go();
    reader.join();
    expect_all_or_nothing(first);
  }
}

TEST_P(SnapshotRaceTest, AReaderThatBeganBeforeACommitSeesNothingOfIt) {
  for (const char* step : kCommitPoints) {
    SCOPED_TRACE(step);
    reset();
    ActiveTransaction early = begin_read_only(db_);
    TestStop commit(step);
    Background writer([&] { EXPECT_OK(db_.run([&](Transaction& txn) { return change_everything(txn); })); });
    commit.wait_until_reached();
    commit.go();
    writer.join();
    EXPECT_EQ(see(*early), kBefore);
    early.rollback();
    EXPECT_EQ(see_newest(), kAfter);
  }
}

// The first transaction read what the second one overwrites: the first is before the second in
// every serial order. A reader must not see the second without the first.
TEST_P(SnapshotRaceTest, SnapshotNumbersAgreeWithAntiDependencies) {
  for (const char* step : kCommitPoints) {
    SCOPED_TRACE(step);
    reset();
    TestStop commit(step);
    std::optional<Status> first_outcome;
    Background first([&] {
      first_outcome = once([&](Transaction& txn) -> Status {
        auto read = txn.get(accounts_, 1);
        if (!read.ok()) return read.status();
        return txn.update(accounts_, 2, {}, [&](Account& a) { a.flags = (*read)->flags + 100; });
      });
    });
    commit.wait_until_reached();
    transact(db_, [&](Transaction& txn) {  // the second transaction, whole
      ASSERT_OK(txn.update(accounts_, 1, {}, [](Account& a) { a.flags = 50; }));
    });
    std::atomic<bool> started{false};
    uint32_t seen_1 = 0, seen_2 = 0;
    Background reader([&] {
      ActiveTransaction txn = begin_read_only(db_);
      started = true;
      started.notify_all();
      auto one = txn->get(accounts_, 1);
      auto two = txn->get(accounts_, 2);
      if (one.ok() && two.ok()) {
        seen_1 = (*one)->flags;
        seen_2 = (*two)->flags;
      }
    });
    started.wait(false);
    commit.go();
    first.join();
    reader.join();
    EXPECT_EQ(seen_1, 50u);  // it had ended before the reader began
    EXPECT_EQ(seen_2, first_outcome->ok() ? 100u : 0u);
  }
}

TEST_P(SnapshotRaceTest, ARowCopiedByAReaderWhileItChangesIsReadAgainAsItWas) {
  ActiveTransaction old = begin_read_only(db_);
  TestStop copied("read.copied");
  Background reader([&] {
    auto view = old->get(accounts_, 1);
    ASSERT_OK(view);
    EXPECT_EQ(**view, kBefore.at(1));
  });
  copied.wait_until_reached();
  EXPECT_OK(db_.run([&](Transaction& txn) { return change_everything(txn); }));
  copied.go();
  reader.join();
  EXPECT_EQ(see(*old), kBefore);
}

TEST_P(SnapshotRaceTest, RemovalAndReinsertionWithinOneSnapshotNumber) {
  ActiveTransaction old = begin_read_only(db_);
  // No reader starts between the two commits, so both have one number.
  const uint64_t number = db_.statistics().snapshot;
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 3)); });
  insert(accounts_, 3, Account{33, 0, 7, 7});
  EXPECT_EQ(db_.statistics().snapshot, number);
  EXPECT_EQ(see(*old), kBefore);
  Rows expected = kBefore;
  expected[3] = {33, 0, 7, 7};
  EXPECT_EQ(see_newest(), expected);
  // And once more, with a reader between them.
  ActiveTransaction older = begin_read_only(db_);
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 3)); });
  ActiveTransaction between = begin_read_only(db_);
  insert(accounts_, 3, Account{34, 0, 8, 8});
  EXPECT_EQ(see(*old), kBefore);
  EXPECT_EQ(see(*older), expected);
  expected.erase(3);
  EXPECT_EQ(see(*between), expected);
}

TEST_P(SnapshotRaceTest, AReaderWhoseRowsAreRemovedAndCollectedStillSeesThem) {
  ActiveTransaction old = begin_read_only(db_);
  transact(db_, [&](Transaction& txn) {
    for (Key key : {1, 2, 3, 5}) ASSERT_OK(txn.remove(accounts_, key));
  });
  // Another thread collects as much as it may while the reader is there.
  Background([&] {
    for (int i = 0; i < 20; ++i) db_.collect_garbage();
  }).join();
  EXPECT_EQ(see(*old), kBefore);
  old.rollback();
  TestPoints::on("gc.after_unlink", [] {});
  Background([&] { db_.collect_garbage(); }).join();
  EXPECT_GE(TestPoints::reached("gc.after_unlink"), 4u);  // now they are gone
}

// The later reader holds the grace period.
TEST_P(SnapshotRaceTest, RemovedRowsLeaveOnceTheirReadersHaveEndedThoughLaterOnesRead) {
  const auto commit = [&] { transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(documents_, 2, document_of(2))); }); };
  ActiveTransaction old = begin_read_only(db_);
  TestPoints::on("gc.after_unlink", [] {});
  transact(db_, [&](Transaction& txn) {
    for (Key key : {1, 2}) ASSERT_OK(txn.remove(accounts_, key));
  });
  const ActiveTransaction later = begin_read_only(db_);
  commit();
  EXPECT_EQ(TestPoints::reached("gc.after_unlink"), 0u) << "a reader needs them";
  EXPECT_EQ(see(*old), kBefore);
  old.rollback();
  commit();
  EXPECT_EQ(TestPoints::reached("gc.after_unlink"), 2u);
  EXPECT_EQ(see(*later), (Rows{{3, kBefore.at(3)}, {5, kBefore.at(5)}}));
}

// The reader already has its number, which is below the commit's, or is about to get one. Other
// threads cannot see which.
TEST_P(SnapshotRaceTest, RemovedRowsStayForAReaderThatIsAboutToTellItsNumber) {
  for (const auto& [point, sees_them] : {std::pair("readonly.starting", false), std::pair("readonly.before_publish", true)}) {
    reset();
    begin_read_only(db_).rollback();  // so that there is a number below the commit's
    TestPoints::on("gc.after_unlink", [] {});
    TestStop stop(point);
    Rows seen;
    Background reader([&] { read(db_, [&](Transaction& txn) { seen = see(txn); }); });
    stop.wait_until_reached();
    transact(db_, [&](Transaction& txn) {
      for (Key key : {1, 2, 3, 5}) ASSERT_OK(txn.remove(accounts_, key));
    });
    for (int i = 0; i < 4; ++i) transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(documents_, 2, document_of(i))); });
    EXPECT_EQ(TestPoints::reached("gc.after_unlink"), 0u) << point;
    stop.go();
    reader.join();
    EXPECT_EQ(seen, sees_them ? kBefore : Rows()) << point;
  }
}

// A collector that looks at the row while an attempt to insert its key holds its lock must come
// again. The attempt fails, and the row is as it was.
TEST_P(SnapshotRaceTest, ARemovedRowLeavesThoughAnAttemptHeldItsLock) {
  ActiveTransaction reader = begin_read_only(db_);
  TestPoints::on("gc.after_unlink", [] {});
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 3)); });
  TestStop stop("occ.commit.before_lock");
  Background attempt([&] {
    ActiveTransaction txn = begin(db_);
    EXPECT_OK(txn->get(accounts_, 5));
    EXPECT_OK(txn->insert(accounts_, 3, Account{33, 3, 3, 0}));
    EXPECT_FALSE(txn.commit().ok());
  });
  stop.wait_until_reached();
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.update(accounts_, 5, {}, [](Account& a) { ++a.flags; })); });
  reader.rollback();
  TestStop locked("occ.commit.after_lock");
  stop.go();
  locked.wait_until_reached();
  const auto commit = [&] { transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(documents_, 2, document_of(2))); }); };
  commit();
  locked.go();
  attempt.join();
  commit();
  EXPECT_EQ(TestPoints::reached("gc.after_unlink"), 1u);
}

// The effect of the mutant with this name: a snapshot is read one number late, so that it shows a
// commit after the reader's begin.
TEST_P(SnapshotRaceTest, TheMutantReadsTheSnapshotOneNumberLate) {
  for (bool mutant : {false, true}) {
    reset();
    if (mutant) set_mutant(Mutant::kLateSnapshotRead);
    ActiveTransaction early = begin_read_only(db_);
    set_mutant(Mutant::kNone);
    const auto change = [&](Transaction& txn) { return txn.update(accounts_, 5, {}, [](Account& a) { ++a.flags; }); };
    const uint32_t flags = kBefore.at(5).flags;
    EXPECT_OK(db_.run(change));  // with the number after the reader's
    begin_read_only(db_).rollback();
    EXPECT_OK(db_.run(change));  // with the number after that
    auto view = early->get(accounts_, 5);
    ASSERT_OK(view);
    EXPECT_EQ((*view)->flags, mutant ? flags + 1 : flags);
  }
}

}  // namespace
}  // namespace elider::test
