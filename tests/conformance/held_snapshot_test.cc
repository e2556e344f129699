// Held snapshots: many transactions read one state, whatever is committed meanwhile.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class HeldSnapshotTest : public DatabaseTest {
 protected:
  static constexpr Key kAccounts = 20;
  static constexpr int64_t kBalance = 100;

  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(account_schema(GetParam().key_index));
    for (Key key = 0; key < kAccounts; ++key) insert(accounts_, key, Account{key, kBalance, 0, 0});
  }
  HeldSnapshot hold() {
    auto held = db_.hold_snapshot();
    EXPECT_OK(held);
    return held.ok() ? std::move(*held) : HeldSnapshot();
  }
  using Balances = std::map<Key, int64_t>;
  Balances balances(Transaction& txn) {
    Balances found;
    for (Key key = 0; key < kAccounts; ++key) {
      auto view = txn.get(accounts_, key);
      if (view.ok())
        found[key] = (*view)->balance;
      else
        EXPECT_CODE(Code::kNotFound, view);
    }
    return found;
  }
  Balances balances_at(const HeldSnapshot* held) {
    Balances found;
    EXPECT_OK(db_.run_read_only([&](Transaction& txn) { found = balances(txn); }, {.snapshot = held}));
    return found;
  }
  void add(Key key, int64_t amount) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.add(accounts_, key, &Account::balance, amount)); });
  }
  // Updates a row, removes one, and replaces one by a new row.
  void change(int64_t by) {
    add(1, by);
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 2)); });
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 3)); });
    insert(accounts_, 2, Account{2, by, 0, 0});
    insert(accounts_, 3, Account{3, by, 0, 0});
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 4)); });
    insert(accounts_, 4, Account{4, kBalance, 0, 0});
  }

  Table<Account> accounts_;
};
ELIDER_ON_EVERY(HeldSnapshotTest);

class HeldByThreadsTest : public HeldSnapshotTest {};
ELIDER_ON_CONCURRENT(HeldByThreadsTest);

TEST_P(HeldSnapshotTest, EveryTransactionSeesTheSameUntilItIsAdvanced) {
  HeldSnapshot held = hold();
  const Balances first = balances_at(nullptr);
  const SnapshotNumber number = held.number();
  for (int64_t round = 1; round <= 3; ++round) {
    change(round);
    db_.collect_garbage();
    EXPECT_EQ(balances_at(&held), first) << round;
    EXPECT_EQ(held.number(), number);
    EXPECT_NE(balances_at(nullptr), first);
  }
  EXPECT_TRUE(held.advance());
  EXPECT_GT(held.number(), number);
  EXPECT_EQ(balances_at(&held), balances_at(nullptr));
}

TEST_P(HeldSnapshotTest, AnActiveTransactionKeepsTheStateThatItBeganAt) {
  HeldSnapshot held = hold();
  const Balances first = balances_at(nullptr);
  change(5);
  auto reader = db_.begin_read_only(held);
  ASSERT_OK(reader);
  EXPECT_TRUE(held.advance());
  held = {};
  EXPECT_FALSE(held);
  change(6);
  EXPECT_EQ(balances(**reader), first);
  EXPECT_OK(reader->commit());
  EXPECT_NE(balances_at(nullptr), first) << "the worker's next transaction is at the newest";
  auto newest = db_.begin_read_only();
  ASSERT_OK(newest);
  EXPECT_EQ(balances(**newest), balances_at(nullptr));
}

TEST_P(HeldSnapshotTest, AProcedureThatIsRunAgainReadsTheSameAgain) {
  const HeldSnapshot held = hold();
  const Balances first = balances_at(nullptr);
  change(1);
  int runs = 0;
  EXPECT_OK(db_.run_read_only(
      [&](Transaction& txn) -> Status {
        EXPECT_EQ(balances(txn), first);
        return ++runs < 3 ? Status(Code::kConflict, Cause::kUser) : Status();
      },
      {.snapshot = &held}));
  EXPECT_EQ(runs, 3);
}

TEST_P(HeldSnapshotTest, GroupsReadThere) {
  const HeldSnapshot held = hold();
  change(7);
  GroupPolicy policy;
  policy.snapshot = &held;
  Balances found;
  // The last call writes, and therefore reads the newest state.
  EXPECT_OK(db_.run_group(
      kAccounts,
      [&](size_t i, Touches& touches) {
        touches.row(accounts_, i);
        touches.read_only(i + 1 != kAccounts);
      },
      [&](size_t i, Transaction& txn) -> Status {
        if (i + 1 == kAccounts) return txn.update(accounts_, 1, {}, [](Account& a) { a.balance *= 2; });
        auto view = txn.get(accounts_, i);
        if (view.ok()) found[i] = (*view)->balance;
        return view.status();
      },
      {}, policy));
  Balances expected = balances_at(&held);
  expected.erase(kAccounts - 1);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(balances_at(nullptr)[1], 2 * (kBalance + 7));
}

TEST_P(HeldSnapshotTest, WhatCannotRunThereIsRefused) {
  const HeldSnapshot held = hold(), none;
  const auto nothing = [](Transaction&) { ADD_FAILURE(); };
  EXPECT_CODE(Code::kInvalidArgument, db_.run(nothing, {.snapshot = &held}));
  EXPECT_CODE(Code::kInvalidArgument, db_.run_read_only(nothing, {.snapshot = &none}));
  EXPECT_CODE(Code::kInvalidArgument, db_.begin_read_only(none));
  EXPECT_EQ(none.number(), 0u);
  HeldSnapshot other_none;
  EXPECT_FALSE(other_none.advance());

  auto other = Database::open();
  ASSERT_OK(other);
  EXPECT_CODE(Code::kInvalidArgument, other->run_read_only(nothing, {.snapshot = &held}));

  GroupPolicy policy;
  policy.snapshot = &none;
  std::array<Status, 2> outcomes;
  EXPECT_CODE(Code::kInvalidArgument, db_.run_group(
                                          2, [](size_t, Touches&) {}, [](size_t, Transaction&) { ADD_FAILURE(); }, outcomes, policy));
  for (const Status& outcome : outcomes) EXPECT_CODE(Code::kInvalidArgument, outcome);
}

// A wrong snapshot is refused before a worker is taken: here, all workers are in use.
TEST_P(HeldByThreadsTest, AWrongSnapshotIsRefusedWithoutAWorker) {
  Options options = options_of(GetParam());
  options.workers_max = 1;
  auto full = Database::open(options);
  ASSERT_OK(full);
  ActiveTransaction open = begin(*full);
  const auto nothing = [](Transaction&) {};
  ASSERT_CODE(Code::kMemoryLimit, full->run_read_only(nothing));
  const HeldSnapshot none;
  EXPECT_CODE(Code::kInvalidArgument, full->run_read_only(nothing, {.snapshot = &none}));
  GroupPolicy policy;
  policy.snapshot = &none;
  const auto call = [](size_t, Transaction&) -> Status { return {}; };
  EXPECT_CODE(Code::kInvalidArgument, full->run_group(2, [](size_t, Touches&) {}, call, {}, policy));
}

TEST_P(HeldByThreadsTest, NothingIsKeptForItOnceItIsLetGo) {
  {
    HeldSnapshot held = hold();
    for (int round = 0; round < 50; ++round) change(round);
    EXPECT_GT(db_.statistics().versions_alive, 0u);
    for (int round = 0; round < 50; ++round) {
      EXPECT_TRUE(held.advance());
      change(round);
    }
  }
  for (int i = 0; i < 4; ++i) db_.collect_garbage();
  EXPECT_EQ(db_.statistics().versions_alive, 0u);
}

// Threads transfer amounts. Others read at a snapshot that one of them advances. The sum never
// changes, and each snapshot number shows one state.
TEST_P(HeldByThreadsTest, ManyThreadsAtOneSnapshotBesideWriters) {
  constexpr int kWriters = 2, kReaders = 3;
  HeldSnapshot held = hold();
  std::atomic<bool> done{false};
  std::atomic<int> ended{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kWriters; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i)
        EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
          const Key from = (i * 7 + t) % kAccounts, to = (from + 1 + i % 5) % kAccounts;
          ELIDER_TRY(txn.update(accounts_, from, {}, [](Account& a) { a.balance -= 3, ++a.flags; }));
          return txn.update(accounts_, to, {}, [](Account& a) { a.balance += 3, ++a.flags; });
        }));
      if (++ended == kWriters) done = true;
    });
  for (int t = 0; t < kReaders; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10 || !done; ++i) {
        if (t == 0) held.advance();
        auto reader = db_.begin_read_only(held);
        ASSERT_OK(reader);
        const Balances found = balances(**reader);
        int64_t sum = 0;
        for (const auto& [key, balance] : found) sum += balance;
        EXPECT_EQ(sum, static_cast<int64_t>(kAccounts) * kBalance);
        EXPECT_EQ(balances(**reader), found);
        EXPECT_OK(reader->commit());
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(held.advance());
  EXPECT_EQ(balances_at(&held), balances_at(nullptr));
}

}  // namespace
}  // namespace elider::test
