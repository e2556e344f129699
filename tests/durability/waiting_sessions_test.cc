// If there are more threads than Options::threads_at_once, a thread that waits for the disk gives
// its turn back. The others commit meanwhile, and share its sync or the next one.
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "base/test_points.h"
#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

class WaitingSessionsTest : public DataFolderTest {
 protected:
  static constexpr Key kSessions = 16;

  void SetUp() override {
    DataFolderTest::SetUp();
    if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
    if (!GetParam().concurrent()) GTEST_SKIP() << "one commit at a time";
    options_.threads_at_once = 1;
    options_.flush_interval_us = 10'000'000;  // a group begins only when a commit waits for it
    options_.durability = Durability::kAsync;
  }
  void TearDown() override { TestPoints::clear(); }

  static Status change(Transaction& txn, const Table<Account>& accounts, Key key) {
    return txn.put(accounts, key, Account{key, 1, 0, 0});
  }

  // commit(database, accounts, key) -> Status: changes the row and waits for the disk. The first
  // session has the only turn until all others wait for one. Then the log stays at its first write
  // until all of them wait for the disk.
  template <class Commit>
  void expect_turns_pass_on(Commit&& commit) {
    Database database = open();
    const Table<Account> accounts = *database.create_table(account_schema(GetParam().key_index));
    transact(database, [&](Transaction& txn) {
      for (Key key = 1; key <= kSessions; ++key) ASSERT_OK(txn.insert(accounts, key, Account{}));
    });
    ASSERT_OK(database.wait_durable());
    const Statistics before = database.statistics();
    TestPoints::on("turns.taken_over", [] {});
    TestPoints::on("log.wait", [] {});
    TestStop disk("log.before_write");

    std::atomic<bool> inside{false}, go{false};
    std::vector<std::thread> sessions;
    sessions.emplace_back([&] {
      RunPolicy policy;
      policy.durability = Durability::kGroup;
      EXPECT_OK(database.run(
          [&](Transaction& txn) {
            inside = true;
            while (!go) std::this_thread::yield();
            return change(txn, accounts, 1);
          },
          policy));
    });
    while (!inside) std::this_thread::yield();
    for (Key key = 2; key <= kSessions; ++key)
      sessions.emplace_back([&, key] { EXPECT_OK(commit(database, accounts, key)); });
    while (database.statistics().turn_waits - before.turn_waits < kSessions - 1) std::this_thread::yield();
    go = true;
    while (TestPoints::reached("log.wait") < kSessions) std::this_thread::yield();
    disk.go();
    for (std::thread& session : sessions) session.join();

    EXPECT_EQ(TestPoints::reached("turns.taken_over"), 0u) << "threads that waited for the disk had a turn";
    EXPECT_LE(database.statistics().log_frames - before.log_frames, 2u) << "commits did not share a sync";
    for (const auto& [key, account] : rows(database, accounts)) EXPECT_EQ(account.balance, 1) << key;
  }
};
INSTANTIATE_TEST_SUITE_P(Policies, WaitingSessionsTest, durable_combinations(), combination_name);

TEST_P(WaitingSessionsTest, ShareASync) {
  expect_turns_pass_on([](Database& database, const Table<Account>& accounts, Key key) {
    RunPolicy policy;
    policy.durability = Durability::kGroup;
    return database.run([&](Transaction& txn) { return change(txn, accounts, key); }, policy);
  });
}

TEST_P(WaitingSessionsTest, ShareASyncAfterGroups) {
  expect_turns_pass_on([](Database& database, const Table<Account>& accounts, Key key) {
    GroupPolicy policy;
    policy.durability = Durability::kGroup;
    return database.run_group(
        1, [&](size_t, Touches& touches) { touches.row(accounts, key); },
        [&](size_t, Transaction& txn) { return change(txn, accounts, key); }, {}, policy);
  });
}

}  // namespace
}  // namespace elider::test
