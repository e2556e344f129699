// Groups of transactions with a data folder: one wait for all of a group, and all of it is there
// again.
#include <gtest/gtest.h>

#include <vector>

#include "elider/elider.h"
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

// The same of calls of a chopped procedure.
TEST_P(DurableGroupTest, WhatIsAcknowledgedOfCallsIsOnTheDisk) {
  struct Call {
    Key key;
  };
  {
    Database db = open();
    const Table<Account> accounts = *db.create_table(account_schema(GetParam().key_index));
    ChoppedProcedures procedures;
    const Chopped<Call> insert = procedures.add(
        ChoppedProcedure<Call>("insert")
            .touches([&](const Call& call, Touches& touches) { touches.row(accounts, call.key); })
            .operation(chopping::Operation("account").inserts("accounts"), [&](Transaction& txn, Call& call) {
              return txn.insert(accounts, call.key, Account{call.key, 1, 0, 0});
            }));
    ASSERT_OK(db.install(std::move(procedures)));
    std::vector<Call> its;
    for (Key key = 1; key <= kCalls; ++key) its.push_back({key});
    std::vector<ChoppedCall> calls;
    for (Call& call : its) calls.emplace_back(insert, call);
    expect_durable(db, [&](std::vector<Status>& outcomes, const GroupPolicy& policy) {
      return db.run_chopped_group(calls, outcomes, policy);
    });
  }
  Database db = open();
  EXPECT_EQ(rows(db, *db.table<Account>("accounts")).size(), kCalls);
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
