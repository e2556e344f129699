// Paths of folders that the system cannot take, or takes only just; and what a failed copy leaves
// at its path.
#include <gtest/gtest.h>
#include <limits.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>

#include "elider/files.h"
#include "elider/heap.h"
#include "io/system_files.h"
#include "tests/durability/faulty_files.h"
#include "tests/support/database_test.h"
#include "tests/support/temporary_folder.h"

namespace elider::test {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

Options options_at(const std::string& folder) {
  Options options;
  options.sync = SyncPolicy::kOptimistic;
  options.huge_pages = false;
  options.workers_max = 4;
  options.memory_limit_bytes = 32u << 20;
  options.data_folders = {folder};
  return options;
}

class FolderPath : public testing::Test {
 protected:
  void SetUp() override { fs::current_path(home_); }
  void TearDown() override { fs::current_path(before_); }
  bool home_is_empty() const { return fs::is_empty(home_); }

  // A path of this many bytes below the home, none of it there.
  std::string path_of_bytes(size_t bytes) const {
    std::string path = home_.string();
    while (path.size() + 101 < bytes) path += "/" + std::string(99, 'f');
    return path + "/" + std::string(bytes - path.size() - 1, 'l');
  }
  static void make_parents(const std::string& path) {
    for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
      ::mkdir(path.substr(0, slash).c_str(), 0755);
  }

  const TemporaryFolder temporary_{"elider_folder_path"};
  const fs::path home_ = fs::canonical(temporary_.path());
  const fs::path before_ = fs::current_path();
};

TEST_F(FolderPath, WithAByteZeroIsRefused) {
  const std::string path = home_.string() + "/da\0ta"s, shown = "'" + home_.string() + "/da\\0ta'";
  files::Checked checked;
  files::Copied copied;
  Recovery recovery;
  const auto nothing = [](const files::LoggedRecord&) { return true; };
  EXPECT_REFUSED(Code::kInvalidArgument, shown, Database::open(options_at(path)));
  EXPECT_REFUSED(Code::kInvalidArgument, shown, Database::open(options_at("da\0ta"s)));
  EXPECT_REFUSED(Code::kInvalidArgument, shown, files::check({path}, {}, &checked));
  EXPECT_REFUSED(Code::kInvalidArgument, shown, files::dump_log({path}, 0, 1, nothing));
  EXPECT_REFUSED(Code::kInvalidArgument, shown, Heap::open(path, 1 << 20));
  EXPECT_REFUSED(Code::kInvalidArgument, "log\\0-00000001-00-00000000",
                 files::dump_log({home_.string() + "/log\0-00000001-00-00000000"s}, 0, 1, nothing));
  EXPECT_TRUE(home_is_empty());
  auto database = Database::open(options_at((home_ / "db").string()));
  ASSERT_OK(database);
  EXPECT_REFUSED(Code::kInvalidArgument, shown, database->backup(path));
  database = Database();
  EXPECT_REFUSED(Code::kInvalidArgument, shown, files::restore({(home_ / "db").string()}, path, &copied));
  EXPECT_FALSE(fs::exists(home_ / "da"));
}

// The names of the files make such paths longer than the system takes. They are not used.
TEST_F(FolderPath, UpToTheLongestOneWorks) {
  for (const size_t bytes : {size_t{4062}, size_t{PATH_MAX - 1}}) {
    SCOPED_TRACE(bytes);
    const std::string path = path_of_bytes(bytes), copy = path_of_bytes(bytes - 1), restored = path_of_bytes(bytes - 2);
    ASSERT_EQ(path.size(), bytes);
    make_parents(path);
    for (Key run = 0; run < 2; ++run) {
      auto database = Database::open(options_at(path));
      ASSERT_OK(database);
      auto table = run == 0 ? database->create_table(grouped_account_schema(KeyIndex::kOrdered)) : database->table<Account>("accounts");
      ASSERT_OK(table);
      ASSERT_OK(database->run([&](Transaction& txn) { return txn.insert(*table, run, Account{}); }));
      ASSERT_OK(database->checkpoint());
      if (run == 1) {
        ASSERT_OK(database->backup(copy));
      }
    }
    files::Checked checked;
    ASSERT_OK(files::check({path}, {}, &checked));
    files::Copied copied;
    ASSERT_OK(files::restore({copy}, restored, &copied));
    auto database = Database::open(options_at(restored));
    ASSERT_OK(database);
    auto table = database->table<Account>("accounts");
    ASSERT_OK(table);
    ASSERT_OK(database->run_read_only([&](Transaction& txn) { return txn.get(*table, 1).status(); }));
  }
}

// A relative path that is short enough by itself is refused if the absolute one is too long: it
// could not be compared with the open folder.
TEST_F(FolderPath, ThatIsLongerIsRefusedAtOnce) {
  const std::string path = path_of_bytes(PATH_MAX);
  make_parents(path);
  EXPECT_REFUSED(Code::kInvalidArgument, "has 4096 bytes; at most 4095", Database::open(options_at(path)));
  const std::string parent = path.substr(0, path.find_last_of('/'));
  fs::current_path(parent);
  EXPECT_REFUSED(Code::kInvalidArgument, "has 4096 bytes; at most 4095", Database::open(options_at(path.substr(parent.size() + 1))));
  EXPECT_TRUE(fs::is_empty("."));
}

// A copy that fails removes all that it has made, and nothing else.
TEST_F(FolderPath, OfAFailedCopyIsLeftAsItWas) {
  const std::string data = (home_ / "db").string();
  const fs::path copy = home_ / "copy";
  FaultyFiles files(io::system_files());
  const io::SubstituteFiles substitute(files);
  {
    auto database = Database::open(options_at(data));
    ASSERT_OK(database);
    ASSERT_OK(database->create_table(grouped_account_schema(KeyIndex::kOrdered)));
    ASSERT_OK(database->checkpoint());
  }
  const auto backup = [&] {
    Recovery recovery;
    return files::backup({data}, copy.string(), {}, &recovery);
  };
  const auto restore = [&] {
    files::Copied copied;
    return files::restore({data}, copy.string(), &copied);
  };
  for (const std::function<Status()>& make : {std::function<Status()>(backup), std::function<Status()>(restore)})
    for (const FileCall call : {FileCall::kCreate, FileCall::kWrite, FileCall::kSync, FileCall::kRename, FileCall::kSyncFolder})
      for (const bool was_there : {false, true}) {
        SCOPED_TRACE("call " + std::to_string(static_cast<int>(call)) + (was_there ? ", into an empty folder" : ""));
        if (was_there) fs::create_directory(copy);
        int faults = 0;
        files.plan([&](FileCall made, const std::string& path) -> Fault {
          return {made == call && path.find("/copy") != std::string::npos && faults++ == 0 ? EIO : 0};
        });
        EXPECT_CODE(Code::kIoError, make());
        files.plan(nullptr);
        EXPECT_GT(faults, 0);
        EXPECT_EQ(fs::exists(copy), was_there);
        EXPECT_TRUE(!was_there || fs::is_empty(copy));
        fs::remove_all(copy);
      }
  // Not empty: it is not touched.
  fs::create_directory(copy);
  fs::create_directory(copy / "other");
  EXPECT_REFUSED(Code::kInvalidArgument, "is not empty: it contains 'other'", backup());
  EXPECT_EQ(std::distance(fs::directory_iterator(copy), {}), 1);
  // A database in it, open or closed: likewise.
  Recovery recovery;
  const auto count = std::distance(fs::directory_iterator(data), {});
  EXPECT_CODE(Code::kInvalidArgument, files::backup({data}, data, {}, &recovery));
  fs::remove_all(copy);
  ASSERT_OK(backup());
  EXPECT_REFUSED(Code::kInvalidArgument, "is not empty", files::backup({copy.string()}, data, {}, &recovery));
  EXPECT_EQ(std::distance(fs::directory_iterator(data), {}), count);
}

}  // namespace
}  // namespace elider::test
