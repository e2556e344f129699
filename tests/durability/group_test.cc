// Groups of transactions with a data folder. A group waits for the disk once, and all of it is
// recovered.
#include <gtest/gtest.h>

#include <vector>

#include "elider/elider.h"
#include "elider/try.h"
#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

constexpr size_t kCalls = 200;

class DurableGroupTest : public DataFolderTest {
 protected:
  static Status insert_all(Database& db, const Table<Account>& accounts, std::vector<Status>& outcomes, const GroupPolicy& policy) {
    return db.run_group(
        kCalls, [&](size_t i, Touches& touches) { touches.row(accounts, i + 1); },
        [&](size_t i, Transaction& txn) {
          const Account account{i + 1, static_cast<int64_t>(i), 0, 0};
          return txn.insert(accounts, i + 1, account);
        },
        outcomes, policy);
  }
  // run(outcomes, policy) -> Status: a group of kCalls that all succeed, and wait for the disk
  // together.
  template <class Run>
  static void expect_durable(Database& db, Run&& run) {
    std::vector<Status> outcomes(kCalls);
    SnapshotNumber last = 0;
    GroupPolicy policy;
    policy.durability = Durability::kGroup;
    policy.commit_number = &last;
    const uint64_t syncs = db.statistics().log_syncs;
    EXPECT_OK(run(outcomes, policy));
    for (const Status& outcome : outcomes) EXPECT_OK(outcome);
    EXPECT_GT(last, 0u);
    const Statistics after = db.statistics();
    EXPECT_GE(after.durable_snapshot, last);
    EXPECT_LT(after.log_syncs - syncs, kCalls);  // one by one each commit waits for one of its own
  }
};
INSTANTIATE_TEST_SUITE_P(On, DurableGroupTest, durable_combinations(), combination_name);

TEST_P(DurableGroupTest, WhatIsAcknowledgedIsOnTheDisk) {
  {
    Database db = open();
    const Table<Account> accounts = *db.create_table(account_schema(GetParam().key_index));
    expect_durable(db, [&](std::vector<Status>& outcomes, const GroupPolicy& policy) {
      return insert_all(db, accounts, outcomes, policy);
    });
  }
  Database db = open();
  const Table<Account> accounts = *db.table<Account>("accounts");
  EXPECT_EQ(rows(db, accounts).size(), kCalls);
}

// Calls of a chopped procedure in a group.
TEST_P(DurableGroupTest, WhatIsAcknowledgedOfCallsIsOnTheDisk) {
  struct Call {
    Key key;
  };
  {
    Database db = open();
    const Table<Account> accounts = *db.create_table(account_schema(GetParam().key_index));
    Procedures procedures;
    const ProcedureHandle<Call> insert = procedures.add(
        Procedure<Call>("insert")
            .touch([&](const Call& call, Touches& touches) { touches.row(accounts, call.key); })
            .operation(chopping::Operation("account").inserts("accounts"), [&](Transaction& txn, Call& call) {
              return txn.insert(accounts, call.key, Account{call.key, 1, 0, 0});
            }));
    ASSERT_OK(db.install(std::move(procedures)));
    std::vector<Call> its;
    for (Key key = 1; key <= kCalls; ++key) its.push_back({key});
    std::vector<ProcedureCall> calls;
    for (Call& call : its) calls.emplace_back(insert, call);
    expect_durable(db, [&](std::vector<Status>& outcomes, const GroupPolicy& policy) {
      return db.call_group(calls, outcomes, policy);
    });
  }
  Database db = open();
  EXPECT_EQ(rows(db, *db.table<Account>("accounts")).size(), kCalls);
}

// The first call of a group writes, and the second one reads at an older held snapshot, which is
// durable already. Mutant: last_number.
class HeldGroupTest : public DataFolderTest {
 protected:
  void SetUp() override {
    DataFolderTest::SetUp();
    options_.durability = Durability::kAsync;
    options_.flush_interval_us = 10'000'000;  // the log is written when something waits for it
  }
  static Status change(Transaction& txn, const Table<Account>& accounts) {
    return txn.update(accounts, 1, {}, [](Account& a) { ++a.balance; });
  }
  static Status look(Transaction& txn, const Table<Account>& accounts) { return txn.get(accounts, 2).status(); }
  // run(db, accounts, policy) -> Status: the group.
  template <class Run>
  void expect_waits_for_the_write(Run&& run) {
    Database db = open();
    const Table<Account> accounts = *db.create_table(account_schema(GetParam().key_index));
    transact(db, [&](Transaction& txn) {
      for (Key key = 1; key <= 2; ++key) ASSERT_OK(txn.insert(accounts, key, Account{key, 0, 0, 0}));
    });
    auto held = db.hold_snapshot();
    ASSERT_OK(held);
    ASSERT_OK(db.wait_durable(held->number()));
    SnapshotNumber before = 0, number = 0;  // the group's write gets the number of an earlier one, or a larger one
    EXPECT_OK(db.run([&](Transaction& txn) { return change(txn, accounts); }, {.commit_number = &before}));
    ASSERT_GT(before, held->number());
    GroupPolicy policy;
    policy.durability = Durability::kGroup;
    policy.commit_number = &number;
    policy.snapshot = &*held;
    EXPECT_OK(run(db, accounts, policy));
    EXPECT_GE(number, before);
    EXPECT_GE(db.statistics().durable_snapshot, before);
  }
};
INSTANTIATE_TEST_SUITE_P(On, HeldGroupTest, durable_combinations(), combination_name);

TEST_P(HeldGroupTest, ItWaitsForTheLargestNumberOfItsTransactions) {
  expect_waits_for_the_write([](Database& db, const Table<Account>& accounts, const GroupPolicy& policy) {
    return db.run_group(
        2, [](size_t i, Touches& touches) { touches.read_only(i == 1); },
        [&](size_t i, Transaction& txn) { return i == 0 ? change(txn, accounts) : look(txn, accounts); }, {}, policy);
  });
}

TEST_P(HeldGroupTest, ItWaitsForTheLargestNumberOfItsCalls) {
  struct Call {};
  expect_waits_for_the_write([](Database& db, const Table<Account>& accounts, const GroupPolicy& policy) -> Status {
    Procedures procedures;
    const ProcedureHandle<Call> writer = procedures.add(Procedure<Call>("change").operation(
        chopping::Operation("account").writes("accounts"), [&](Transaction& txn, Call&) { return change(txn, accounts); }));
    const ProcedureHandle<Call> reader = procedures.add(Procedure<Call>("look").operation(
        chopping::Operation("account").reads("accounts"), [&](Transaction& txn, Call&) { return look(txn, accounts); }));
    ELIDER_TRY(db.install(std::move(procedures)));
    Call write, read;
    const std::vector<ProcedureCall> calls = {ProcedureCall(writer, write), ProcedureCall(reader, read)};
    return db.call_group(calls, {}, policy);
  });
}

TEST_P(DurableGroupTest, ADurabilityThatTheDatabaseDoesNotHaveIsRefused) {
  Options options = options_of(GetParam());
  Database db = open(options);
  const Table<Account> accounts = *db.create_table(account_schema(GetParam().key_index));
  std::vector<Status> outcomes(kCalls);
  GroupPolicy policy;
  policy.durability = Durability::kGroup;
  EXPECT_CODE(Code::kInvalidArgument, insert_all(db, accounts, outcomes, policy));
  for (const Status& outcome : outcomes) EXPECT_CODE(Code::kInvalidArgument, outcome);
  EXPECT_TRUE(rows(db, accounts).empty());
}

}  // namespace
}  // namespace elider::test
