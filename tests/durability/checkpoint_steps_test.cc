// Who takes a checkpoint that is due, where one thread alone may touch the rows.
#include <chrono>
#include <optional>

#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

class CheckpointStepsTest : public DataFolderTest {};

// However transactions are run: each way alone makes enough of log, and takes the checkpoint where nobody else may.
TEST_P(CheckpointStepsTest, OneThatIsDueIsTakenByRunCommitAndCall) {
  options_.checkpoint_log_bytes = 65536;
  for (const char* const how : {"run", "commit", "commit beside open ones", "call"}) {
    SCOPED_TRACE(how);
    std::filesystem::remove_all(folder_ / "data");
    Database database = open();
    auto table = database.create_table(account_schema(KeyIndex::kOrdered));
    ASSERT_OK(table);
    ASSERT_OK(database.register_procedure({"put", {{"key", ValueType::kUInt64}}, [&](Transaction& txn, auto arguments, auto&) {
                                             return txn.put(*table, std::get<uint64_t>(arguments[0]), Account{});
                                           }}));
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
    // The database looks several times a second whether one is due.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
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
