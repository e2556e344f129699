// A commit announces itself to the log, reads its number, and withdraws the announcement once its
// record is in the log. Each of these tests holds a commit between two of these steps, while others
// make the log write groups. Commits that only read wait for what they may have read.
#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "base/test_points.h"
#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

class AnnouncementTest : public DataFolderTest {
 protected:
  void SetUp() override {
    DataFolderTest::SetUp();
    options_.flush_interval_us = 10'000'000;  // a group begins only when a thread waits for one
    options_.durability = Durability::kAsync;
  }
  void TearDown() override { TestPoints::clear(); }

  // Inserts rows 1 and 2, and waits until they are on the disk.
  Table<Account> make_rows(Database& database) {
    auto table = database.create_table(account_schema(KeyIndex::kHashed));
    EXPECT_OK(table);
    transact(database, [&](Transaction& txn) {
      for (Key key = 1; key <= 2; ++key) ASSERT_OK(txn.insert(*table, key, Account{}));
    });
    EXPECT_OK(database.wait_durable());
    return *table;
  }
  // Returns the commit's number.
  static uint64_t set_owner(Database& database, const Table<Account>& table, Key key, uint64_t owner, Durability durability) {
    uint64_t number = 0;
    RunPolicy policy;
    policy.durability = durability;
    policy.commit_number = &number;
    EXPECT_OK(database.run([&](Transaction& txn) { return txn.put(table, key, Account{owner, 0, 0, 0}); }, policy));
    return number;
  }
  void expect_owners(uint64_t first, uint64_t second) {
    auto database = Database::open(options_);
    ASSERT_OK(database);
    auto table = database->table<Account>("accounts");
    ASSERT_OK(table);
    read(*database, [&](Transaction& txn) {
      EXPECT_EQ((**txn.get(*table, 1)).owner, first);
      EXPECT_EQ((**txn.get(*table, 2)).owner, second);
    });
  }
};

TEST_P(AnnouncementTest, StandsUntilTheRecordIsThere) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  if (!GetParam().races()) GTEST_SKIP() << "one commit at a time";
  {
    Database database = open();
    const Table<Account> table = make_rows(database);
    uint64_t held = 0;
    TestStop stop("occ.commit.before_record");
    std::thread writer([&] { held = set_owner(database, table, 1, 11, Durability::kAsync); });
    stop.wait_until_reached();
    const uint64_t other = set_owner(database, table, 2, 22, Durability::kAsync);
    // The log repeatedly tries to close that number. The test waits for some rounds, each of which
    // looks at up to three buffers.
    TestPoints::on("log.before_look", [] {});
    std::promise<Status> told;
    database.when_durable(other, [&](const Status& status) { told.set_value(status); });
    while (TestPoints::reached("log.before_look") < 16 && database.statistics().durable_snapshot < other) std::this_thread::yield();
    EXPECT_LT(database.statistics().durable_snapshot, other) << "a commit with a number up to it is under way";
    stop.go();
    writer.join();
    EXPECT_LE(held, other);
    EXPECT_OK(told.get_future().get());
  }
  expect_owners(11, 22);
}

TEST_P(AnnouncementTest, ComesBeforeTheNumber) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  if (!GetParam().races()) GTEST_SKIP() << "one commit at a time";
  {
    Database database = open();
    const Table<Account> table = make_rows(database);
    uint64_t held = 0;
    TestStop stop("occ.commit.before_announcement");
    std::thread writer([&] { held = set_owner(database, table, 1, 11, Durability::kGroup); });
    stop.wait_until_reached();
    const uint64_t durable = set_owner(database, table, 2, 22, Durability::kGroup);
    EXPECT_GE(database.statistics().durable_snapshot, durable);
    stop.go();
    writer.join();
    EXPECT_GT(held, durable) << "all commits up to this number are on the disk already";
  }
  expect_owners(11, 22);
}

// A transaction that reads data that is not yet durable is acknowledged once the data is durable,
// however the transaction is run.
TEST_P(AnnouncementTest, ACommitThatOnlyReadWaitsForWhatItRead) {
  Database database = open();
  const Table<Account> table = make_rows(database);
  uint64_t number = 0;
  RunPolicy policy;
  policy.durability = Durability::kGroup;
  policy.commit_number = &number;
  const auto look = [&](Transaction& txn) { return txn.get(table, 1).status(); };
  const auto end = [&](Result<ActiveTransaction> active) -> Status {
    if (!active.ok()) return active.status();
    if (Status status = look(**active); !status.ok()) return status;
    return active->commit(Durability::kGroup, &number);
  };
  const std::function<Status()> readers[] = {
      [&] { return database.run(look, policy); },
      [&] { return database.run_read_only(look, policy); },
      [&] { return end(database.begin()); },
      [&] { return end(database.begin_read_only()); },
  };
  for (size_t i = 0; i < std::size(readers); ++i) {
    const uint64_t written = set_owner(database, table, 1, i, Durability::kAsync);
    ASSERT_LT(database.statistics().durable_snapshot, written) << "no thread has waited for it yet";
    EXPECT_OK(readers[i]());
    EXPECT_GE(number, written) << i;
    EXPECT_GE(database.statistics().durable_snapshot, written) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, AnnouncementTest, durable_combinations(), combination_name);

}  // namespace
}  // namespace elider::test
