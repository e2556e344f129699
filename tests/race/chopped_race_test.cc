// Calls of chopped procedures against snapshots, ordinary commits, each other, and the log. Each
// call is held between its core and its tail, or within its head.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "tests/race/race_test.h"
#include "tests/support/chopped_bank.h"
#include "tests/support/temporary_folder.h"

namespace elider::test {
namespace {

using chopping::Operation;

class ChoppedRaceTest : public RaceTest {
 protected:
  void SetUp() override {
    RaceTest::SetUp();
    if (!IsSkipped()) begin_with({});
  }
  void begin_with(const Options& options) {
    reopen(options);
    ASSERT_OK(bank_.create_tables(db_));
    ASSERT_OK(bank_.fill(db_));
    ASSERT_OK(bank_.install(db_, true));
  }
  // Opens another database with these procedures and the bank's tables.
  void install(Procedures procedures) {
    reopen({});
    ASSERT_OK(bank_.create_tables(db_));
    ASSERT_OK(bank_.fill(db_));
    InstallOptions options;
    options.always_in_pieces = true;
    ASSERT_OK(db_.install(std::move(procedures), options));
  }
  Status transfer(Key from, Key to) {
    ChoppedBank::Transfer call;
    call.from = from, call.to = to, call.amount = 5, call.entry = bank_.next_entry.fetch_add(1);
    return db_.call(bank_.transfer, call);
  }

  ChoppedBank bank_;
};

INSTANTIATE_TEST_SUITE_P(On, ChoppedRaceTest, testing::ValuesIn(combinations_in_pieces()), combination_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ChoppedRaceTest);

TEST_P(ChoppedRaceTest, ASnapshotWaitsForTheCallsThatItSees) {
  TestPoints::on("snapshots.awaits_call", [] {});
  TestStop between("chopped.core_committed");
  Background call([&] { EXPECT_OK(transfer(1, 2)); });
  between.wait_until_reached();
  ChoppedBank::Audit found;
  std::atomic<bool> done{false};
  Background reader([&] {
    EXPECT_OK(db_.call(bank_.audit, found));
    done = true;
  });
  until_reached("snapshots.awaits_call", done);
  between.go();
  reader.join();
  EXPECT_EQ(bank_.damage(found), "");
}

// The snapshot does not advance, and its reads do not wait.
TEST_P(ChoppedRaceTest, AHeldSnapshotDoesNotAdvanceToHalfACall) {
  auto held = db_.hold_snapshot();
  ASSERT_OK(held);
  const SnapshotNumber number = held->number();
  TestStop between("chopped.core_committed");
  Background call([&] { EXPECT_OK(transfer(1, 2)); });
  between.wait_until_reached();
  EXPECT_FALSE(held->advance());
  EXPECT_EQ(held->number(), number);
  ChoppedBank::Audit found;
  EXPECT_OK(db_.call(bank_.audit, found, {.snapshot = &*held}));
  EXPECT_EQ(bank_.damage(found), "");
  EXPECT_EQ(found.transfers, 0u);
  between.go();
  call.join();
  EXPECT_OK(db_.call(bank_.audit, found, {.snapshot = &*held}));
  EXPECT_EQ(found.transfers, 0u);
  // Another call is half done, so the snapshot advances to where it could not advance before.
  TestStop again("chopped.core_committed");
  Background second([&] { EXPECT_OK(transfer(3, 4)); });
  again.wait_until_reached();
  EXPECT_TRUE(held->advance());
  EXPECT_GT(held->number(), number);
  EXPECT_OK(db_.call(bank_.audit, found, {.snapshot = &*held}));
  EXPECT_EQ(bank_.damage(found), "");
  EXPECT_EQ(found.transfers, 1u);
  again.go();
  second.join();
  EXPECT_TRUE(held->advance());
  EXPECT_OK(db_.call(bank_.audit, found, {.snapshot = &*held}));
  EXPECT_EQ(bank_.damage(found), "");
  EXPECT_EQ(found.transfers, 2u);
}

TEST_P(ChoppedRaceTest, ASnapshotThatBeganBeforeACallSeesNothingOfIt) {
  ActiveTransaction reader = begin_read_only(db_);
  ASSERT_OK(transfer(1, 2));
  ChoppedBank::Audit found;
  ASSERT_OK(bank_.read_all(*reader, &found));
  EXPECT_EQ(bank_.damage(found), "");
  EXPECT_EQ(found.transfers, 0u);
}

TEST_P(ChoppedRaceTest, AnOrdinaryCommitWaitsForCallsThatAreHalfDone) {
  TestPoints::on("rooms.commit_waits", [] {});
  TestStop between("chopped.core_committed");
  Background call([&] { EXPECT_OK(transfer(1, 2)); });
  between.wait_until_reached();
  ChoppedBank::Audit found;
  std::atomic<bool> done{false};
  Background ordinary([&] {
    EXPECT_OK(db_.run([&](Transaction& txn) { return bank_.read_all(txn, &found); }));
    done = true;
  });
  until_reached("rooms.commit_waits", done);
  between.go();
  ordinary.join();
  EXPECT_EQ(bank_.damage(found), "");
}

// A head reads two rows, and an ordinary transaction changes both: before the first read, or after
// the second.
class HeadRaceTest : public ChoppedRaceTest {
 protected:
  struct Compare {
    std::function<void()> between;
    uint64_t first = 0, second = 0;
  };
  void SetUp() override {
    RaceTest::SetUp();
    if (IsSkipped()) return;
    Procedures procedures;
    compare_ = procedures.add(
        Procedure<Compare>("compare")
            .operation(Operation("branches").reads("accounts", {"branch"}),
                       [&](Transaction& txn, Compare& call) -> Status {
                         const auto branch = bank_.accounts.columns(&ChoppedBank::Account::branch);
                         auto first = txn.get(bank_.accounts, 1, branch);
                         if (!first.ok()) return first.status();
                         call.first = (*first)->branch;
                         call.between();
                         auto second = txn.get(bank_.accounts, 3, branch);
                         if (!second.ok()) return second.status();
                         call.second = (*second)->branch;
                         return {};
                       })
            .operation(Operation("count").writes("accounts", {"deposits"}).needs({"branches"}), [&](Transaction& txn, Compare&) {
              return txn.update(bank_.accounts, 5, bank_.accounts.columns(&ChoppedBank::Account::deposits),
                                [](ChoppedBank::Account& a) { ++a.deposits; });
            }));
    install(std::move(procedures));
  }
  Status move_both() {
    return db_.run([&](Transaction& txn) -> Status {
      const auto branch = bank_.accounts.columns(&ChoppedBank::Account::branch);
      for (const Key key : {1, 3}) ELIDER_TRY(txn.update(bank_.accounts, key, branch, [](ChoppedBank::Account& a) { a.branch += 10; }));
      return {};
    });
  }
  ProcedureHandle<Compare> compare_;
};
INSTANTIATE_TEST_SUITE_P(On, HeadRaceTest, testing::ValuesIn(combinations_in_pieces()), combination_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(HeadRaceTest);

TEST_P(HeadRaceTest, NoOrdinaryCommitComesBetween) {
  TestPoints::on("rooms.commit_waits", [] {});
  std::atomic<bool> done{false};
  std::optional<Background> ordinary;
  Compare call;
  call.between = [&] {
    ordinary.emplace([&] {
      EXPECT_OK(move_both());
      done = true;
    });
    until_reached("rooms.commit_waits", done);
  };
  EXPECT_OK(db_.call(compare_, call));
  ordinary->join();
  EXPECT_EQ(call.first, call.second);
}

TEST_P(HeadRaceTest, NoCallBeginsWhileAnOrdinaryTransactionCommits) {
  TestPoints::on("rooms.call_waits", [] {});
  TestStop commit("occ.commit.before_lock");
  Background ordinary([&] { EXPECT_OK(move_both()); });
  commit.wait_until_reached();
  std::atomic<bool> looked{false};
  Compare call;
  call.between = [&] {
    looked = true;
    commit.go();
    ordinary.join();
  };
  Background caller([&] { EXPECT_OK(db_.call(compare_, call)); });
  until_reached("rooms.call_waits", looked);
  commit.go();
  caller.join();
  EXPECT_EQ(call.first, call.second);
}

// A call with a smaller number has not added yet. Later additions wait; otherwise, the row's
// versions would not be in the order of their numbers.
TEST_P(ChoppedRaceTest, CallsAddInTheOrderOfTheirNumbers) {
  TestStop between("chopped.core_committed");
  Background early([&] { EXPECT_OK(transfer(1, 2)); });
  between.wait_until_reached();
  static thread_local bool is_late = false;
  std::atomic<bool> late_waits{false}, late_done{false};
  TestPoints::on("snapshots.awaits_call", [&] {  // where the reader waits, too
    if (is_late) late_waits = true;
  });
  ChoppedBank::Audit found;
  std::atomic<bool> done{false};
  Background reader([&] {
    EXPECT_OK(db_.call(bank_.audit, found));
    done = true;
  });
  until_reached("snapshots.awaits_call", done);  // so that the next call has a larger number
  Background late([&] {
    is_late = true;
    EXPECT_OK(transfer(3, 4));
    late_done = true;
  });
  while (!late_waits && !late_done) std::this_thread::yield();
  between.go();
  early.join();
  late.join();
  reader.join();
  EXPECT_EQ(bank_.damage(found), "");
  EXPECT_EQ(found.transfers, 1u);
}

TEST_P(ChoppedRaceTest, NothingOfACallIsDurableBeforeAllOfItIs) {
  TemporaryFolder folder("chopped_race");
  Options options;
  options.data_folders = {folder.path()};
  options.durability = Durability::kAsync;
  options.flush_interval_us = 10'000'000;  // the log begins a number when something waits for it
  begin_with(options);
  ASSERT_OK(db_.wait_durable());
  for (const char* point : {"snapshots.awaits_call", "log.before_look"}) TestPoints::on(point, [] {});
  // If the log has begun a new number in between, the second call waits for the first one, and the
  // test shows nothing.
  bool waited = true;
  for (int round = 0; waited && round < 100; ++round) {
    TestStop between("chopped.core_committed");
    Background early([&] { EXPECT_OK(transfer(1, 2)); });
    between.wait_until_reached();
    const uint64_t waits = TestPoints::reached("snapshots.awaits_call");
    ChoppedBank::Deposit other{3, 1, 1};
    SnapshotNumber number = 0;
    RunPolicy policy;
    policy.commit_number = &number;
    std::atomic<bool> done{false}, durable{false};
    Background late([&] {
      EXPECT_OK(db_.call(bank_.deposit, other, policy));
      done = true;
    });
    while (!done && TestPoints::reached("snapshots.awaits_call") == waits) std::this_thread::yield();
    waited = !done;
    if (!waited) {
      // The log repeatedly tries to close that number.
      const uint64_t looks = TestPoints::reached("log.before_look");
      db_.when_durable(number, [&](const Status&) { durable = true; });
      while (!durable && TestPoints::reached("log.before_look") < looks + 16) std::this_thread::yield();
      EXPECT_FALSE(durable);
    }
    between.go();
    early.join();
    late.join();
    EXPECT_OK(db_.wait_durable(number));
    if (!waited) {
      EXPECT_TRUE(durable);
    }
  }
  EXPECT_FALSE(waited);
  TestPoints::clear();
  reopen({});
}

// A call that fails after its core is half done. It does not become durable, and neither does what
// depends on it.
TEST_P(ChoppedRaceTest, WhatACallLeavesHalfDoneIsNotThereWhenTheFoldersAreOpenedAgain) {
  TemporaryFolder folder("chopped_race");
  Options options;
  options.data_folders = {folder.path()};
  begin_with(options);
  ASSERT_OK(transfer(1, 2));
  ASSERT_OK(db_.wait_durable());
  ChoppedBank::Transfer failing;
  failing.from = 3, failing.to = 4, failing.amount = 5, failing.entry = bank_.next_entry.fetch_add(1), failing.fail = 3;
  const Status failed = db_.call(bank_.transfer, failing);
  EXPECT_EQ(failed.code(), Code::kCorrupt) << failed.message();
  EXPECT_FALSE(transfer(5, 6).ok());
  EXPECT_FALSE(db_.wait_durable().ok());
  EXPECT_FALSE(db_.checkpoint().ok());
  EXPECT_FALSE(db_.backup((folder.path() / "copy").string()).ok());
  db_ = Database();
  reopen(options);
  ASSERT_OK(bank_.create_tables(db_));
  ASSERT_OK(bank_.install(db_, true));
  ChoppedBank::Audit found;
  ASSERT_OK(db_.call(bank_.audit, found));
  EXPECT_EQ(bank_.damage(found), "");
  EXPECT_EQ(found.transfers, 1u);
  reopen({});
}

}  // namespace
}  // namespace elider::test
