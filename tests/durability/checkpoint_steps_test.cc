// The steps of a checkpoint. It takes its number before it reads the list of tables, and waits for
// tables that are being created. If only one thread may access the rows, that thread takes a
// checkpoint that is due.
#include <chrono>
#include <optional>
#include <thread>

#include "base/test_points.h"
#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

class CheckpointStepsTest : public DataFolderTest {
 protected:
  void TearDown() override { TestPoints::clear(); }

  // Checks that the table and its row are recovered.
  void expect_table() {
    auto database = Database::open(options_);
    ASSERT_OK(database);
    auto table = database->table<Account>("accounts");
    ASSERT_OK(table) << "the checkpoint says that the log up to its number is not needed";
    read(*database, [&](Transaction& txn) { EXPECT_OK(txn.get(*table, 1)); });
  }
};

TEST_P(CheckpointStepsTest, ATableThatIsMadeBeforeItsNumberIsInIt) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  if (!GetParam().races()) GTEST_SKIP() << "one thread at a time";
  {
    Database database = open();
    TestStop stop("checkpoint.before_number");
    std::thread taker([&] { EXPECT_OK(database.checkpoint()); });
    stop.wait_until_reached();
    auto table = database.create_table(account_schema(KeyIndex::kOrdered));
    EXPECT_OK(table);
    transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, 1, Account{})); });
    stop.go();
    taker.join();
  }
  expect_table();
}

// A table is in the log, with a number below the checkpoint's, but it is not in the list of tables
// yet. The checkpoint waits for it. A checkpoint that does not wait has read the list by now.
TEST_P(CheckpointStepsTest, ATableThatIsBeingMadeIsInIt) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  if (!GetParam().races()) GTEST_SKIP() << "one thread at a time";
  {
    Database database = open();
    TestStop stop("catalog.table_logged");
    std::thread maker([&] { EXPECT_OK(database.create_table(account_schema(KeyIndex::kOrdered))); });
    stop.wait_until_reached();
    TestPoints::on("checkpoint.awaits_table", [] {});
    TestPoints::on("checkpoint.tables_listed", [] {});
    std::thread taker([&] { EXPECT_OK(database.checkpoint()); });
    while (TestPoints::reached("checkpoint.awaits_table") + TestPoints::reached("checkpoint.tables_listed") == 0)
      std::this_thread::yield();
    stop.go();
    maker.join();
    taker.join();
    auto table = database.table<Account>("accounts");
    ASSERT_OK(table);
    transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, 1, Account{})); });
  }
  expect_table();
}

// Each way to run transactions writes enough log for a checkpoint, and takes the checkpoint if no
// other thread may.
TEST_P(CheckpointStepsTest, OneThatIsDueIsTakenByRunCommitAndCall) {
  options_.checkpoint_log_bytes = 65536;
  for (const char* const how : {"run", "commit", "commit beside open ones", "call"}) {
    SCOPED_TRACE(how);
    std::filesystem::remove_all(folder_ / "data");
    Database database = open();
    auto table = database.create_table(account_schema(KeyIndex::kOrdered));
    ASSERT_OK(table);
    ASSERT_OK(install(database, Procedure<Values>("put").parameter("key", ValueType::kUInt64).body([&](Transaction& txn, Values& call) {
      return txn.put(*table, std::get<uint64_t>(call.arguments[0]), Account{});
    })));
    const auto put = [&](Key key) -> Status {
      if (how == std::string("run")) return database.run([&](Transaction& txn) { return txn.put(*table, key, Account{}); });
      if (how == std::string("call")) return database.call("put", std::vector<Value>{key}, nullptr);
      auto active = database.begin();
      if (!active.ok()) return active.status();
      if (Status status = (*active)->put(*table, key, Account{}); !status.ok()) return status;
      return active->commit();
    };
    std::optional<ActiveTransaction> reader, writer;
    if (how == std::string("commit beside open ones")) {
      transact(database, [&](Transaction& txn) { ASSERT_OK(txn.put(*table, 5000, Account{5, 0, 0, 0})); });
      reader = begin_read_only(database);
      writer = begin(database);
      ASSERT_OK((*writer)->put(*table, 5000, Account{6, 0, 0, 0}));
    }
    // The database checks several times per second whether a checkpoint is due.
    const auto until = std::chrono::steady_clock::now() + TestStop::kTimeout;
    for (Key key = 0; database.statistics().checkpoints.taken == 0 && std::chrono::steady_clock::now() < until; ++key)
      ASSERT_OK(put(key % 1000));
    EXPECT_GT(database.statistics().checkpoints.taken, 0u);
    EXPECT_EQ(database.statistics().checkpoints.failure, "");
    if (reader.has_value()) {
      EXPECT_EQ((**(*reader)->get(*table, 5000)).owner, 5u);
      EXPECT_CODE(Code::kNotFound, (*reader)->get(*table, 0)) << "it came later";
      EXPECT_OK(reader->commit());
      EXPECT_OK(writer->commit());
    }
    const auto before = rows(database, *table);
    database = Database();
    database = open();
    EXPECT_NE(database.recovery().checkpoint, 0u);
    EXPECT_EQ(rows(database, *database.table<Account>("accounts")), before);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, CheckpointStepsTest, durable_combinations(), combination_name);

}  // namespace
}  // namespace elider::test
