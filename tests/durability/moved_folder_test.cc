// Folders that change their names, and processes that change their working directory, while a
// database, a backup or a tool has a folder open. A folder is opened once, so no call reaches the
// files of another one. When the path leads elsewhere, the log fails, because a program that opens
// the path would miss what is written from then on.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>

#include "elider/files.h"
#include "log/directory.h"
#include "io/system_files.h"
#include "tests/durability/faulty_files.h"
#include "tests/support/database_test.h"
#include "tests/support/temporary_folder.h"

namespace elider::test {
namespace {

namespace fs = std::filesystem;

// Files of small segments, so that a new one is made every few commits.
Options small_segments(const fs::path& folder) {
  Options options;
  options.sync = SyncPolicy::kOptimistic;
  options.huge_pages = false;
  options.workers_max = 4;
  options.memory_limit_bytes = 32u << 20;
  options.data_folders = {folder.string()};
  options.flush_interval_us = 200;
  options.log_segment_bytes = 4096;
  return options;
}

// A database with one table, whose rows are counted.
struct Counted {
  explicit Counted(const Options& options) {
    auto opened = Database::open(options);
    EXPECT_OK(opened);
    if (!opened.ok()) return;
    database = std::move(*opened);
    auto made = database.table<Account>("accounts");
    if (!made.ok()) made = database.create_table(grouped_account_schema(KeyIndex::kOrdered));
    EXPECT_OK(made);
    table = *made;
  }
  Status commit() {
    RunPolicy policy;
    policy.durability = Durability::kGroup;
    Status status = database.run([&](Transaction& txn) { return txn.put(table, acknowledged, Account{}); }, policy);
    if (status.ok()) ++acknowledged;
    return status;
  }
  void commit_times(int times) {
    for (int i = 0; i < times; ++i) ASSERT_OK(commit());
  }
  uint64_t rows() {
    uint64_t count = 0;
    EXPECT_OK(database.run_read_only([&](Transaction& txn) -> Status {
      count = 0;
      return txn.scan(table, KeyRange{}, ScanOptions{}, [&](Key, const View<Account>&) { return ++count != 0; });
    }));
    return count;
  }

  Database database;
  Table<Account> table;
  uint64_t acknowledged = 0;
};

uint64_t rows_in(const fs::path& folder) { return Counted(small_segments(folder)).rows(); }

// The working directory is changed back at the end.
class MovedFolder : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(home_ / "one");
    fs::create_directories(home_ / "two");
    fs::current_path(home_ / "one");
  }
  void TearDown() override { fs::current_path(before_); }

  // Moves a folder away, and puts an empty one in its place.
  static void replace(const fs::path& folder) {
    fs::rename(folder, folder.string() + ".old");
    fs::create_directory(folder);
  }
  // Calls change() at the first call of this kind on a path that has `word` in it.
  void at_call(FileCall wanted, const std::string& word, std::function<void()> change) {
    files_.plan([wanted, word, change = std::move(change), done = false](FileCall call, const std::string& path) mutable -> Fault {
      if (done || call != wanted || path.find(word) == std::string::npos) return {};
      done = true;
      change();
      return {};
    });
  }
  void expect_moved(const Status& status, const fs::path& folder) {
    EXPECT_REFUSED(Code::kIoError, "the folder '" + folder.string() + "' was moved or replaced while it was open", status);
  }

  const TemporaryFolder temporary_{"elider_moved"};
  const fs::path home_ = fs::canonical(temporary_.path());
  const fs::path before_ = fs::current_path();
  FaultyFiles files_{io::system_files()};
};

// -- another working directory --------------------------------------------------------------------

TEST_F(MovedFolder, ADatabaseStaysInTheFolderThatItsRelativePathLedTo) {
  uint64_t of_one = 0, of_two = 0;
  {
    Counted two(small_segments(home_ / "two" / "data"));
    two.commit_times(50);
    Counted one(small_segments("data"));  // in home/one
    one.commit_times(50);
    fs::current_path(home_ / "two");
    ASSERT_OK(one.database.checkpoint());
    one.commit_times(100);  // several segments
    ASSERT_OK(one.database.checkpoint());
    two.commit_times(100);
    ASSERT_OK(two.database.wait_durable());
    ASSERT_OK(one.database.backup("copy"));  // the working directory of the call
    of_one = one.acknowledged;
    of_two = two.acknowledged;
  }
  EXPECT_EQ(rows_in(home_ / "one" / "data"), of_one);
  EXPECT_EQ(rows_in(home_ / "two" / "data"), of_two);
  EXPECT_EQ(rows_in(home_ / "two" / "copy"), of_one);
}

TEST_F(MovedFolder, MessagesHaveTheAbsolutePath) {
  Counted one(small_segments("./data"));
  fs::current_path(home_ / "two");
  EXPECT_REFUSED(Code::kInvalidArgument, "'" + (home_ / "one" / "data").string() + "' is locked",
                 Database::open(small_segments(home_ / "one" / "data")));
  fs::remove_all(home_ / "one" / "data");
  EXPECT_REFUSED(Code::kIoError, "'" + (home_ / "one" / "data").string(), one.database.checkpoint());
  Options options = small_segments("none");
  options.create_if_missing = false;
  EXPECT_REFUSED(Code::kNotFound, "'" + (home_ / "two" / "none").string() + "'", Database::open(options));
}

// The working directory changes at the first call of each kind that opening makes.
TEST_F(MovedFolder, AnOpeningGoesOnWhereItBegan) {
  { Counted(small_segments("data")).commit_times(20); }
  { Counted(small_segments(home_ / "two" / "data")).commit_times(5); }
  const io::SubstituteFiles substitute(files_);
  for (const FileCall call : {FileCall::kList, FileCall::kSyncFolder, FileCall::kOpen, FileCall::kRead, FileCall::kWrite,
                              FileCall::kRename, FileCall::kCreate}) {
    SCOPED_TRACE(static_cast<int>(call));
    fs::current_path(home_ / "one");
    at_call(call, "", [&] { fs::current_path(home_ / "two"); });
    EXPECT_EQ(rows_in("data"), 20u);
    files_.plan(nullptr);
    EXPECT_EQ(fs::current_path(), home_ / "two");
  }
  EXPECT_EQ(rows_in(home_ / "two" / "data"), 5u);
}

TEST_F(MovedFolder, ToolsGoOnWhereTheyBegan) {
  { Counted(small_segments("data")).commit_times(200); }
  { Counted(small_segments(home_ / "two" / "data")).commit_times(5); }
  const io::SubstituteFiles substitute(files_);
  const auto elsewhere = [&](FileCall call, const std::string& word, const std::function<Status()>& work) {
    fs::current_path(home_ / "one");
    at_call(call, word, [&] { fs::current_path(home_ / "two"); });
    EXPECT_OK(work());
    files_.plan(nullptr);
    EXPECT_EQ(fs::current_path(), home_ / "two");
  };
  const files::Folders data = {"data"};
  Recovery recovery;
  elsewhere(FileCall::kRead, "log-", [&] {
    files::Checked checked;
    Status status = files::check(data, {}, &checked);
    EXPECT_GT(checked.recovery.log_bytes, 10'000u);
    return status;
  });
  elsewhere(FileCall::kRead, "log-", [&] {
    files::Log log;
    Status status = files::verify_log(data, &log);
    EXPECT_GT(log.segments.size(), 2u);
    for (const files::Segment& segment : log.segments) EXPECT_TRUE(segment.file.starts_with((home_ / "one").string())) << segment.file;
    return status;
  });
  elsewhere(FileCall::kRead, "log-", [&] {
    uint64_t records = 0;
    Status status = files::dump_log(data, 0, files::kNewest, [&](const files::LoggedRecord&) { return ++records != 0; });
    EXPECT_GT(records, 200u);
    return status;
  });
  elsewhere(FileCall::kWrite, "copy/", [&] { return files::backup(data, "copy", {}, &recovery); });
  elsewhere(FileCall::kWrite, "restored/", [&] {
    files::Copied copied;
    return files::restore(data, "restored", &copied);
  });
  elsewhere(FileCall::kCreate, "checkpoint-", [&] {
    Statistics::Checkpoints taken;
    return files::checkpoint(data, {}, &recovery, &taken);
  });
  elsewhere(FileCall::kRead, "checkpoint-", [&] { return files::recover(data, files::kNewest, false, {}, &recovery); });
  for (const char* const folder : {"data", "copy", "restored"}) EXPECT_EQ(rows_in(home_ / "one" / folder), 200u) << folder;
  EXPECT_EQ(rows_in(home_ / "two" / "data"), 5u);
  EXPECT_FALSE(fs::exists(home_ / "two" / "copy"));
  EXPECT_FALSE(fs::exists(home_ / "two" / "restored"));
}

// -- a folder that is replaced --------------------------------------------------------------------

// Commits until the log needs its next file, and fails. All that was acknowledged is in the folder
// that was moved, and nothing is in its successor.
TEST_F(MovedFolder, ALogFailsBeforeItsNextSegment) {
  for (const fs::path& folder : {home_ / "one" / "absolute", fs::path("relative")}) {
    const fs::path data = fs::absolute(folder);
    uint64_t acknowledged = 0;
    {
      Counted counted(small_segments(folder));
      counted.commit_times(10);
      replace(data);
      Status status;
      while (status.ok() && counted.acknowledged < 10'000) status = counted.commit();
      expect_moved(status, data);
      expect_moved(counted.commit(), data);
      expect_moved(counted.database.checkpoint(), data);
      EXPECT_NE(counted.database.statistics().log_failure.find("was moved or replaced"), std::string::npos);
      acknowledged = counted.acknowledged;
    }
    EXPECT_TRUE(fs::is_empty(data));
    EXPECT_EQ(rows_in(data.string() + ".old"), acknowledged);
  }
}

TEST_F(MovedFolder, ALogFailsBeforeAManifest) {
  const fs::path data = home_ / "one" / "data";
  { Counted(small_segments(home_ / "two" / "data")).commit_times(5); }
  for (const bool to_nothing : {false, true}) {
    uint64_t acknowledged = 0;
    {
      Counted counted(small_segments(data));
      counted.commit_times(10);
      fs::rename(data, data.string() + ".old");
      if (!to_nothing) fs::rename(home_ / "two" / "data", data);  // a database
      const Status status = counted.database.checkpoint();
      expect_moved(status, data);
      EXPECT_TRUE(status.message().ends_with(to_nothing ? "leads nowhere" : "leads to another folder")) << status.message();
      expect_moved(counted.commit(), data);
      acknowledged = counted.acknowledged;
    }
    EXPECT_EQ(rows_in(data.string() + ".old"), acknowledged);
    EXPECT_EQ(to_nothing ? 5u : rows_in(data), 5u);
    fs::remove_all(data);
    fs::remove_all(data.string() + ".old");
  }
}

// Closing also writes a manifest.
TEST_F(MovedFolder, ADatabaseIsClosedWhereItIs) {
  const fs::path data = home_ / "one" / "data";
  uint64_t acknowledged = 0;
  {
    Counted counted(small_segments(data));
    counted.commit_times(10);
    acknowledged = counted.acknowledged;
    replace(data);
  }
  EXPECT_TRUE(fs::is_empty(data));
  EXPECT_EQ(rows_in(data.string() + ".old"), acknowledged);
}

TEST_F(MovedFolder, TheSecondFolderOfADatabaseCountsAsMuch) {
  Options options = small_segments(home_ / "one" / "data");
  options.data_folders.push_back((home_ / "two" / "data").string());
  Counted counted(options);
  counted.commit_times(10);
  replace(home_ / "two" / "data");
  expect_moved(counted.database.checkpoint(), home_ / "two" / "data");
  EXPECT_TRUE(fs::is_empty(home_ / "two" / "data"));
}

TEST_F(MovedFolder, ACopyFailsAndLeavesNothing) {
  const fs::path data = home_ / "one" / "data", copy = home_ / "two" / "copy";
  const io::SubstituteFiles substitute(files_);
  Counted counted(small_segments(data));
  counted.commit_times(50);
  const auto replaced_during = [&](const std::function<Status()>& work) {
    at_call(FileCall::kWrite, copy.string() + "/", [&] { replace(copy); });
    expect_moved(work(), copy);
    files_.plan(nullptr);
    EXPECT_TRUE(fs::is_empty(copy));
    EXPECT_TRUE(fs::is_empty(copy.string() + ".old"));
    fs::remove(copy);
    fs::remove(copy.string() + ".old");
  };
  replaced_during([&] { return counted.database.backup(copy); });
  counted.database = Database();
  replaced_during([&] {
    Recovery recovery;
    return files::backup({data}, copy, {}, &recovery);
  });
  replaced_during([&] {
    files::Copied copied;
    return files::restore({data}, copy, &copied);
  });
}

// -- the lock -------------------------------------------------------------------------------------

TEST_F(MovedFolder, WithoutItsLockFileADatabaseIsStillLocked) {
  const fs::path data = home_ / "one" / "data";
  // The other process is started before this one starts threads.
  int to_child[2];
  ASSERT_EQ(::pipe(to_child), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(to_child[1]);
    char byte = 0;
    if (::read(to_child[0], &byte, 1) != 1) ::_exit(3);
    ::_exit(Database::open(small_segments(data)).status().code() == Code::kInvalidArgument ? 0 : 4);
  }
  ::close(to_child[0]);
  uint64_t acknowledged = 0;
  {
    Counted counted(small_segments(data));
    counted.commit_times(10);
    ASSERT_TRUE(fs::remove(data / "LOCK"));
    EXPECT_REFUSED(Code::kInvalidArgument, "the folder '" + data.string() + "' is locked", Database::open(small_segments(data)));
    files::Checked checked;
    EXPECT_REFUSED(Code::kInvalidArgument, "the folder '" + data.string() + "' is locked", files::check({data}, {}, &checked));
    EXPECT_EQ(::write(to_child[1], "x", 1), 1);
    int how = 0;
    ASSERT_EQ(::waitpid(child, &how, 0), child);
    EXPECT_TRUE(WIFEXITED(how));
    EXPECT_EQ(WEXITSTATUS(how), 0);
    counted.commit_times(140);
    ASSERT_OK(counted.database.checkpoint());
    acknowledged = counted.acknowledged;
  }
  ::close(to_child[1]);
  EXPECT_EQ(rows_in(data), acknowledged);
}

TEST_F(MovedFolder, ACopyWithoutItsLockFileIsStillLocked) {
  const fs::path data = home_ / "one" / "data", copy = home_ / "two" / "copy";
  const io::SubstituteFiles substitute(files_);
  Counted counted(small_segments(data));
  counted.commit_times(50);
  Status second;
  at_call(FileCall::kWrite, copy.string() + "/", [&] {
    ASSERT_TRUE(fs::remove(copy / "LOCK"));
    std::unique_ptr<io::Folder> other;
    second = io::plain_system_files().open_folder(copy, &other);
    if (second.ok()) second = other->hold(io::Hold::kExclusive);
  });
  ASSERT_OK(counted.database.backup(copy));
  files_.plan(nullptr);
  EXPECT_REFUSED(Code::kInvalidArgument, "the folder '" + copy.string() + "' is locked", second);
  EXPECT_EQ(rows_in(copy), counted.acknowledged);
}

// -- readers --------------------------------------------------------------------------------------

TEST_F(MovedFolder, ToolsThatOnlyReadShareAFolder) {
  const fs::path data = home_ / "one" / "data";
  { Counted(small_segments(data)).commit_times(50); }
  files::Checked checked;
  {
    std::unique_ptr<log::Directory> reader;
    ASSERT_OK(log::Directory::open(io::system_files(), {data.string()}, false, &reader));
    ASSERT_OK(files::check({data}, {}, &checked));
    files::Log log;
    ASSERT_OK(files::verify_log({data}, &log));
    Recovery recovery;
    ASSERT_OK(files::recover({data}, files::kNewest, true, {}, &recovery));
    EXPECT_CODE(Code::kInvalidArgument, files::recover({data}, files::kNewest, false, {}, &recovery));
    EXPECT_CODE(Code::kInvalidArgument, Database::open(small_segments(data)));
  }
  Counted counted(small_segments(data));
  EXPECT_CODE(Code::kInvalidArgument, files::check({data}, {}, &checked));
}

}  // namespace
}  // namespace elider::test
