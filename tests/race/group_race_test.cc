// Groups of transactions against others: what a group has found may change before its calls run.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <vector>

#include "tests/race/race_test.h"

namespace elider::test {
namespace {

class GroupRaceTest : public RaceTest {
 protected:
  void SetUp() override {
    RaceTest::SetUp();
    if (IsSkipped()) return;
    accounts_ = create(account_schema(GetParam().key_index));
    for (Key key = 1; key <= 8; ++key) insert(accounts_, key, Account{key, 1, 0, 0});
  }
  // A group of calls with keys 1 to 8 finds its rows. Then `meanwhile` runs, and then the calls
  // run.
  std::vector<Status> race(const std::function<void()>& meanwhile, const std::function<Status(Key, Transaction&)>& call,
                           const GroupPolicy& policy = {}) {
    std::vector<Status> outcomes(8);
    TestStop found("group.rows_found");
    Background group([&] {
      static_cast<void>(db_.run_group(
          8, [&](size_t i, Touches& touches) { touches.row(accounts_, i + 1); },
          [&](size_t i, Transaction& txn) { return call(i + 1, txn); }, outcomes, policy));
    });
    found.wait_until_reached();
    meanwhile();
    found.go();
    group.join();
    return outcomes;
  }
  void replace(Key key, int64_t balance) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, key)); });
    insert(accounts_, key, Account{key, balance, 0, 0});
  }
  // Removes the row, and inserts others, which take its memory if it is free.
  void remove_and_reuse(Key key) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, key)); });
    for (int i = 0; i < 4; ++i) db_.collect_garbage();  // a row block is reclaimed in steps
    for (Key other = kReusers; other < kReusersEnd; ++other) insert(accounts_, other, Account{other, 1, 0, 0});
  }
  void expect_reusers_unchanged() {
    for (Key other = kReusers; other < kReusersEnd; ++other) EXPECT_EQ(row(accounts_, other).balance, 1) << other;
  }
  Status add(Key key, Transaction& txn) {
    return txn.update(accounts_, key, {}, [](Account& a) { ++a.balance; });
  }
  static constexpr Key kReusers = 1000, kReusersEnd = 1200;

  Table<Account> accounts_;
};
ELIDER_ON_RACING(GroupRaceTest);

TEST_P(GroupRaceTest, ARowThatWasReplacedIsLookedForAgain) {
  const auto outcomes = race([&] { replace(5, 10); }, [&](Key key, Transaction& txn) { return add(key, txn); });
  for (const Status& outcome : outcomes) EXPECT_OK(outcome);
  EXPECT_EQ(row(accounts_, 5).balance, 11);
}

// A snapshot that begins now does not contain a row that has left its index before.
TEST_P(GroupRaceTest, ASnapshotLooksForAReplacedRowAgain) {
  GroupPolicy policy;
  policy.read_only = true;
  int64_t sum = 0;
  const auto add_up = [&](Key key, Transaction& txn) -> Status {
    auto view = txn.get(accounts_, key);
    if (view.ok()) sum += (*view)->balance;
    return view.status();
  };
  for (const Status& outcome : race([&] { replace(5, 10); }, add_up, policy)) EXPECT_OK(outcome);
  EXPECT_EQ(sum, 7 + 10);
}

TEST_P(GroupRaceTest, MultiGetLooksForReplacedAndRemovedRowsAgain) {
  GroupPolicy policy;
  policy.read_only = true;
  int64_t sum = 0;
  const auto outcomes = race(
      [&] {
        replace(5, 10);
        transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 6)); });
      },
      [&](Key key, Transaction& txn) -> Status {
        const std::vector<Key> keys = {key, 9 - key};
        std::vector<View<Account>> rows(keys.size());
        ELIDER_TRY(txn.multi_get(accounts_, std::span(keys), std::span(rows)));
        for (const auto& view : rows)
          if (view) sum += view->balance;
        return {};
      },
      policy);
  for (const Status& outcome : outcomes) EXPECT_OK(outcome);
  EXPECT_EQ(sum, 2 * (6 + 10));
}

TEST_P(GroupRaceTest, ARowThatWasRemovedIsNotFound) {
  const auto outcomes = race(
      [&] { transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 5)); }); },
      [&](Key key, Transaction& txn) { return add(key, txn); });
  for (Key key = 1; key <= 8; ++key) EXPECT_CODE(key == 5 ? Code::kNotFound : Code::kOk, outcomes[key - 1]);
}

// The memory of a row that a group has found goes to no other row before its calls have run.
TEST_P(GroupRaceTest, ARowThatWasRemovedKeepsItsMemory) {
  const auto outcomes = race([&] { remove_and_reuse(5); }, [&](Key key, Transaction& txn) { return add(key, txn); });
  for (Key key = 1; key <= 8; ++key) EXPECT_CODE(key == 5 ? Code::kNotFound : Code::kOk, outcomes[key - 1]);
  expect_reusers_unchanged();
}

TEST_P(GroupRaceTest, ARowThatWasChangedIsReadAsItIs) {
  const auto outcomes = race(
      [&] {
        for (Key key = 1; key <= 8; ++key) transact(db_, [&](Transaction& txn) { ASSERT_OK(add(key, txn)); });
      },
      [&](Key key, Transaction& txn) { return add(key, txn); });
  for (const Status& outcome : outcomes) EXPECT_OK(outcome);
  for (Key key = 1; key <= 8; ++key) EXPECT_EQ(row(accounts_, key).balance, 3);
}

TEST_P(GroupRaceTest, ARowThatWasInsertedIsFound) {
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 5)); });
  db_.collect_garbage();
  const auto outcomes =
      race([&] { insert(accounts_, 5, Account{5, 20, 0, 0}); }, [&](Key key, Transaction& txn) { return add(key, txn); });
  for (const Status& outcome : outcomes) EXPECT_OK(outcome);
  EXPECT_EQ(row(accounts_, 5).balance, 21);
}

// Calls of declared procedures also get the rows that their group has found.
class CallGroupRaceTest : public GroupRaceTest {
 protected:
  struct Call {
    Key key;
    int64_t balance = 0;
  };
  void SetUp() override {
    GroupRaceTest::SetUp();
    if (IsSkipped()) return;
    const auto touch = [&](const Call& call, Touches& touches) { touches.row(accounts_, call.key); };
    Procedures procedures;
    add_one_ = procedures.add(Procedure<Call>("add_one").touch(touch).operation(
        chopping::Operation("add").writes("accounts"), [&](Transaction& txn, Call& call) { return add(call.key, txn); }));
    look_ = procedures.add(Procedure<Call>("look").touch(touch).operation(
        chopping::Operation("look").reads("accounts"), [&](Transaction& txn, Call& call) -> Status {
          auto view = txn.get(accounts_, call.key);
          if (view.ok()) call.balance = (*view)->balance;
          return view.status();
        }));
    ASSERT_OK(db_.install(std::move(procedures)));
  }
  // Calls with keys 5, 6 and 7 find their rows. Then `meanwhile` runs, which removes row 6. Then
  // the calls run.
  std::array<Call, 3> race(ProcedureHandle<Call> procedure, const std::function<void()>& meanwhile) {
    std::array<Call, 3> its{{{5}, {6}, {7}}};
    std::vector<ProcedureCall> calls;
    for (Call& call : its) calls.emplace_back(procedure, call);
    std::vector<Status> outcomes(calls.size());
    TestStop found("group.rows_found");
    Background group([&] { static_cast<void>(db_.call_group(calls, outcomes)); });
    found.wait_until_reached();
    meanwhile();
    found.go();
    group.join();
    EXPECT_OK(outcomes[0]);
    EXPECT_CODE(Code::kNotFound, outcomes[1]);
    EXPECT_OK(outcomes[2]);
    return its;
  }
  void replace_and_remove() {
    replace(5, 10);
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 6)); });
  }

  ProcedureHandle<Call> add_one_, look_;
};
ELIDER_ON_RACING(CallGroupRaceTest);

TEST_P(CallGroupRaceTest, ACallThatWritesLooksForReplacedAndRemovedRowsAgain) {
  race(add_one_, [&] { replace_and_remove(); });
  EXPECT_EQ(row(accounts_, 5).balance, 11);
  EXPECT_EQ(row(accounts_, 7).balance, 2);
}

TEST_P(CallGroupRaceTest, ACallOnASnapshotLooksForReplacedAndRemovedRowsAgain) {
  const auto its = race(look_, [&] { replace_and_remove(); });
  EXPECT_EQ(its[0].balance, 10);
  EXPECT_EQ(its[2].balance, 1);
}

TEST_P(CallGroupRaceTest, ARowThatWasRemovedKeepsItsMemory) {
  race(add_one_, [&] { remove_and_reuse(6); });
  expect_reusers_unchanged();
}

}  // namespace
}  // namespace elider::test
