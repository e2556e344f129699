// A program that opens its database often and for a short time leaves few files, whether it writes
// something or not, and whether it closes the database or is killed.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

using Clock = std::chrono::steady_clock;

class ShortRunsTest : public DataFolderTest {};
INSTANTIATE_TEST_SUITE_P(Policies, ShortRunsTest, testing::Values(durable_combinations_of_occ().front()), combination_name);

// What a job leaves that opens the database each hour, with or without something to write.
TEST_P(ShortRunsTest, ManyShortRunsLeaveFewFiles) {
  constexpr int kRuns = 100;
  const uint64_t log_files_max = 64 + 2, bytes_of_a_run = 4096;
  for (const bool writes : {false, true}) {
    const std::filesystem::path data = folder_ / (writes ? "writing" : "idle");
    options_.data_folders = {data};
    options_.log_threads = 2;
    options_.checkpoint_bytes_per_second = 1;  // one that open() waits for is not slowed down
    for (int run = 0; run < kRuns; ++run) {
      Database database = open();
      auto table = database.create_table(account_schema(KeyIndex::kOrdered));
      ASSERT_OK(table);
      if (writes) transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, run, Account{})); });
    }
    uint64_t log_files = 0, bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(data)) {
      log_files += entry.path().filename().string().starts_with("log-");
      bytes += entry.file_size();
    }
    EXPECT_LE(log_files, 2 * log_files_max) << "two of a run";
    EXPECT_LE(bytes, 2 * log_files_max * bytes_of_a_run);
    EXPECT_LE(std::filesystem::file_size(data / "MANIFEST"), 4096u);
    Database database = open();
    auto table = database.table<Account>("accounts");
    ASSERT_OK(table);
    EXPECT_EQ(rows(database, *table).size(), writes ? kRuns : 0u);
  }
}

// One that lives longer takes a checkpoint in the background, however little log there is.
TEST_P(ShortRunsTest, AfterSomeALongerOneTakesACheckpoint) {
  for (int run = 0; run <= 20; ++run) {
    Database database = open();
    auto table = database.create_table(account_schema(KeyIndex::kOrdered));
    ASSERT_OK(table);
    transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, run, Account{})); });
    if (run < 20) continue;
    // One of the short ones may have had the time.
    const auto is_taken = [&] { return database.recovery().checkpoint != 0 || database.statistics().checkpoints.taken != 0; };
    for (const auto begin = Clock::now(); !is_taken();) {
      ASSERT_LT(Clock::now() - begin, std::chrono::minutes(5));
      std::this_thread::yield();
    }
  }
  EXPECT_LE(count_files("log-"), 6u) << "those of runs since";
  Database database = open();
  auto table = database.table<Account>("accounts");
  ASSERT_OK(table);
  EXPECT_EQ(rows(database, *table).size(), 21u);
  EXPECT_EQ(database.recovery().checkpoint_rows + database.recovery().records, 21u);
}

// Runs that are killed close nothing.
TEST_P(ShortRunsTest, ManyKilledRunsLeaveFewFiles) {
  for (int run = 0; run < 100; ++run) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto database = Database::open(options_);
      if (!database.ok()) ::_exit(3);
      auto table = database->create_table(account_schema(KeyIndex::kOrdered));
      const Status status = database->run([&](Transaction& txn) { return txn.insert(*table, run, Account{}); });
      ::_exit(status.ok() && database->wait_durable().ok() ? 0 : 4);
    }
    int how = 0;
    ASSERT_EQ(::waitpid(child, &how, 0), child);
    ASSERT_EQ(how, 0);
  }
  size_t log_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "data"))
    log_files += entry.path().filename().string().starts_with("log-");
  EXPECT_LE(log_files, 66u);
  Database database = open();
  auto table = database.table<Account>("accounts");
  ASSERT_OK(table);
  EXPECT_EQ(rows(database, *table).size(), 100u);
}

// A closed file ends with its last frame, so to lose a byte is to lose a frame.
TEST_P(ShortRunsTest, AFileThatWasTrimmedAndIsCutShorterIsDamaged) {
  {
    Database database = open();
    auto table = database.create_table(account_schema(KeyIndex::kOrdered));
    ASSERT_OK(table);
    transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, 1, Account{})); });
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "data")) {
    if (!entry.path().filename().string().starts_with("log-")) continue;
    ASSERT_LT(entry.file_size(), 4096u);
    std::filesystem::resize_file(entry.path(), entry.file_size() - 1);
    const auto refused = Database::open(options_);
    EXPECT_REFUSED(Code::kCorrupt, entry.path().filename().string(), refused);
    return;
  }
  FAIL() << "no file of the log is left";
}

}  // namespace
}  // namespace elider::test
