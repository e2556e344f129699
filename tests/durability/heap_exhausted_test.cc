// The process's heap is exhausted at each allocation of a backup or a restore in turn, once or
// permanently. Story: the call fails and removes what it has made. No file stays open. If a copy is
// there nevertheless, it is complete.
#include <vector>

#include "elider/files.h"
#include "tests/support/data_folder_test.h"
#include "tests/support/limited_heap.h"

namespace elider::test {
namespace {

class HeapExhaustedCopyTest : public DataFolderTest {
 protected:
  static constexpr Key kRows = 50;

  void SetUp() override {
    DataFolderTest::SetUp();
    const auto schema = indexed_account_schema(KeyIndex::kOrdered);
    options_.schemas = {schema.schema()};
    Database database = open();
    auto table = database.create_table(schema);
    ASSERT_OK(table);
    for (Key key = 0; key < kRows; ++key) {
      if (key == kRows / 2) {
        ASSERT_OK(database.checkpoint());  // so that there are files of both kinds
      }
      transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, key, Account{key, 0, 0, 0})); });
    }
  }

  static size_t count_in(const std::filesystem::path& folder) {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
    return count;
  }
  // Returns what a copy left in its folder, except for the lock.
  static std::vector<std::string> names_in(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    if (!std::filesystem::exists(folder)) return names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().filename() != "LOCK") names.push_back(entry.path().filename().string());
    return names;
  }
  void expect_whole(const std::filesystem::path& folder) const {
    Database database = open(options_for(folder));
    auto table = database.table<Account>("accounts");
    ASSERT_OK(table);
    EXPECT_EQ(rows(database, *table).size(), kRows);
  }

  // Runs copy(folder) with a failure at each allocation. Returns how many of the calls failed.
  template <class Copy>
  int expect_whole_or_nothing(Copy&& copy, bool once) {
    int failed = 0;
    bool enough = false;
    for (int64_t allocations = 0; !enough && !HasFailure(); ++allocations) {
      SCOPED_TRACE("allocations: " + std::to_string(allocations) + (once ? ", one fails" : ", then none is possible"));
      const std::string folder = folder_ / "copy";
      const size_t open_before = count_in("/proc/self/fd");
      fails_once = once;
      const Status status = limited(allocations, [&] { return copy(folder); }, &enough);
      fails_once = false;
      EXPECT_EQ(count_in("/proc/self/fd"), open_before) << "a file stays open";
      if (status.ok()) {
        expect_whole(folder);
      } else {
        ++failed;
        EXPECT_CODE(Code::kMemoryLimit, status);
        // If nothing more could be allocated, the removal may also have failed.
        const std::vector<std::string> left = names_in(folder);
        if (once) EXPECT_TRUE(left.empty()) << left.size() << " files, among them " << left.front();
        else if (!left.empty()) expect_whole_or_refused(folder);
      }
      std::filesystem::remove_all(folder);
    }
    return failed;
  }
  void expect_whole_or_refused(const std::filesystem::path& folder) {
    auto database = Database::open(options_for(folder));
    if (database.ok()) EXPECT_EQ(rows(*database, *database->table<Account>("accounts")).size(), kRows);
    else EXPECT_CODE(Code::kCorrupt, database);
  }
};

TEST_P(HeapExhaustedCopyTest, ARestoreIsTakenBack) {
  const auto restore = [&](const std::string& folder) {
    files::Copied copied;
    return files::restore(options_.data_folders, folder, &copied);
  };
  for (const bool once : {true, false}) EXPECT_GT(expect_whole_or_nothing(restore, once), 20);
}

TEST_P(HeapExhaustedCopyTest, ABackupIsTakenBack) {
  Options few = options_;
  few.workers_max = 1;  // a context that is not given back would be missing
  Database database = open(few);
  const auto backup = [&](const std::string& folder) { return database.backup(folder); };
  for (const bool once : {true, false, true, false, true}) EXPECT_GT(expect_whole_or_nothing(backup, once), 20);
}

// Opening the files or looking at them also reports the error.
TEST_P(HeapExhaustedCopyTest, OpeningAndLookingAreRefused) {
  const std::function<Status()> ways[] = {
      [&] {
        files::Checked checked;
        return files::check(options_.data_folders, {}, &checked);
      },
      [&] {
        files::Log log;
        return files::verify_log(options_.data_folders, &log);
      },
      [&] { return Database::open(options_).status(); },
      [&] { return files::dump_log(options_.data_folders, 0, files::kNewest, [](const files::LoggedRecord&) { return true; }); },
  };
  for (const auto& way : ways) {
    bool enough = false;
    int failed = 0;
    for (int64_t allocations = 0; !enough && !HasFailure(); ++allocations) {
      const size_t open_before = count_in("/proc/self/fd");
      const Status status = limited(allocations, way, &enough);
      EXPECT_EQ(count_in("/proc/self/fd"), open_before) << "a file stays open";
      if (status.ok()) continue;
      ++failed;
      EXPECT_CODE(Code::kMemoryLimit, status);
    }
    EXPECT_GT(failed, 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, HeapExhaustedCopyTest, durable_combinations(), combination_name);

}  // namespace
}  // namespace elider::test
