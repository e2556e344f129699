// The story. Sessions move money with commits that wait for the disk, and at some call the disk fails: it is full, or
// broken, or the folder or the right to use it is gone. From then on nothing is acknowledged, every commit is refused
// with an error that names the file, no call is made again, and what is in memory is whole. Opened again, with a disk
// that works, everything that was acknowledged is there, and no transaction in part.
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

#include "elider/files.h"
#include "log/file.h"
#include "tests/durability/faulty_files.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

constexpr Key kAccounts = 8;
constexpr int64_t kOpening = 100;

// What fails, and how.
struct Case {
  std::string name;
  FileCall call;
  int error;
  size_t written_part = 0;
  std::string words;  // in the error's message
};

Options options_of(LogFailure failure, uint32_t threads = 1) {
  Options options;
  options.sync = SyncPolicy::kOptimistic;
  options.huge_pages = false;
  options.workers_max = 16;
  options.data_folders = {"db"};
  options.log_threads = threads;
  options.flush_interval_us = 200;
  options.log_segment_bytes = 4096;  // so that new files are made soon
  options.log_buffer_bytes = 65536;
  options.log_failure = failure;
  return options;
}

// Moves money and counts transfers of session i in account i's owner.
Status transfer(Database& database, const Table<Account>& table, Key session, uint64_t* count, const RunPolicy& policy) {
  return database.run([&](Transaction& txn) -> Status {
    const Key to = (session + 1) % kAccounts;
    Status status = txn.update(table, session, Columns<Account>(), [&](Account& account) {
      account.balance -= 1;
      *count = ++account.owner;
    });
    if (!status.ok()) return status;
    return txn.update(table, to, table.columns(&Account::balance), [](Account& account) { account.balance += 1; });
  }, policy);
}

struct State {
  int64_t sum = 0;
  std::array<uint64_t, kAccounts> transfers{};
};

Status look(Database& database, const Table<Account>& table, State* state) {
  return database.run_read_only([&](Transaction& txn) -> Status {
    *state = {};
    for (Key key = 0; key < kAccounts; ++key) {
      auto view = txn.get(table, key);
      if (!view.ok()) return view.status();
      state->sum += (*view)->balance;
      state->transfers[key] = (*view)->owner;
    }
    return {};
  });
}

// Opens it and looks at its accounts.
void look_again(const Options& options, State* state) {
  auto database = Database::open(options);
  ASSERT_OK(database);
  auto table = database->table<Account>("accounts");
  ASSERT_OK(table);
  ASSERT_OK(look(*database, *table, state));
}

Table<Account> make_accounts(Database& database) {
  auto table = database.create_table(grouped_account_schema(KeyIndex::kOrdered));
  EXPECT_OK(table);
  transact(database, [&](Transaction& txn) {
    for (Key key = 0; key < kAccounts; ++key) ASSERT_OK(txn.insert(*table, key, Account{0, kOpening, 0, 0}));
  });
  EXPECT_OK(database.wait_durable());
  return *table;
}

// A disk in memory in the place of the system's, which fails as a case says.
struct World {
  // Fails the `number`-th such call from now on, and counts all calls after it.
  void arm(const Case& how, uint32_t number) {
    files.plan([this, how, number, seen = 0u](FileCall call, const std::string& path) mutable -> Fault {
      if (faults != 0) ++later_calls;
      if (faults != 0 || call != how.call || ++seen != number) return {};
      failed_path = path;
      ++faults;
      return {how.error, how.written_part};
    });
  }

  log::MemoryFiles disk;
  FaultyFiles files{disk};
  log::SubstituteFiles substitute{files};
  std::atomic<uint32_t> faults{0}, later_calls{0};
  std::string failed_path;
};

class FaultTest : public testing::TestWithParam<Case> {};

TEST_P(FaultTest, EndsAcknowledgementAndLosesNothingAcknowledged) {
  for (uint32_t number = 1; number <= 4; ++number) {
    SCOPED_TRACE("call " + std::to_string(number));
    World world;
    constexpr Key kSessions = 3;
    std::array<uint64_t, kSessions> told{};
    std::array<std::vector<uint64_t>, kSessions> numbers;  // of all commits, acknowledged or not
    uint64_t said_durable = 0;
    {
      auto opened = Database::open(options_of(LogFailure::kReadOnly));
      ASSERT_OK(opened);
      Database database = std::move(*opened);
      const Table<Account> table = make_accounts(database);
      world.arm(GetParam(), number);
      std::array<Status, kSessions> ended;
      std::vector<std::thread> sessions;
      for (Key session = 0; session < kSessions; ++session)
        sessions.emplace_back([&, session] {
          RunPolicy policy;
          policy.durability = Durability::kGroup;
          uint64_t commit = 0;
          policy.commit_number = &commit;
          while (ended[session].ok()) {
            uint64_t count = 0;
            ended[session] = transfer(database, table, session, &count, policy);
            if (ended[session].ok()) told[session] = count;
            numbers[session].push_back(commit);
          }
        });
      for (std::thread& thread : sessions) thread.join();
      EXPECT_EQ(world.faults, 1u);
      for (const Status& status : ended) {
        EXPECT_CODE(Code::kIoError, status);
        EXPECT_NE(status.message().find("'" + world.failed_path + "'"), std::string::npos) << status.message();
        EXPECT_NE(status.message().find(GetParam().words), std::string::npos) << status.message();
      }
      State state;
      EXPECT_OK(look(database, table, &state)) << "reads go on";
      EXPECT_EQ(state.sum, kOpening * static_cast<int64_t>(kAccounts));
      for (Key session = 0; session < kSessions; ++session) EXPECT_GE(state.transfers[session], told[session]);
      uint64_t count = 0;
      for (const Durability durability : {Durability::kNone, Durability::kAsync, Durability::kGroup}) {
        RunPolicy policy;
        policy.durability = durability;
        EXPECT_CODE(Code::kIoError, transfer(database, table, 0, &count, policy));
      }
      EXPECT_CODE(Code::kIoError, database.create_table(document_schema(KeyIndex::kHashed)));
      EXPECT_CODE(Code::kIoError, database.wait_durable());
      State again;
      EXPECT_OK(look(database, table, &again));
      EXPECT_EQ(again.transfers, state.transfers) << "refused commits left nothing";
      const Statistics statistics = database.statistics();
      said_durable = statistics.durable_snapshot;
      EXPECT_EQ(statistics.log_failure, ended[0].message());
      EXPECT_NE(statistics.to_json().find("\"log_failure\""), std::string::npos);
      EXPECT_OK(database.verify());
    }
    EXPECT_EQ(world.later_calls, 0u) << "nothing is tried again, not even when the database closes";
    world.files.plan(nullptr);
    auto database = Database::open(options_of(LogFailure::kReadOnly));
    ASSERT_OK(database);
    // A number that nothing was committed with is durable without a frame that says so.
    for (const auto& of_session : numbers)
      for (const uint64_t commit : of_session)
        if (commit <= said_durable) {
          EXPECT_LE(commit, database->recovery().snapshot);
        }
    auto table = database->table<Account>("accounts");
    ASSERT_OK(table);
    State state;
    ASSERT_OK(look(*database, *table, &state));
    EXPECT_EQ(state.sum, kOpening * static_cast<int64_t>(kAccounts)) << "a transaction came back in part";
    for (Key session = 0; session < kSessions; ++session) EXPECT_GE(state.transfers[session], told[session]) << "session " << session;
    uint64_t count = 0;
    EXPECT_OK(transfer(*database, *table, 0, &count, {}));
    EXPECT_OK(database->wait_durable());
  }
}

TEST_P(FaultTest, StopsEverythingWhereThatIsAskedFor) {
  World world;
  auto opened = Database::open(options_of(LogFailure::kStop));
  ASSERT_OK(opened);
  Database database = std::move(*opened);
  const Table<Account> table = make_accounts(database);
  world.arm(GetParam(), 1);
  Status status;
  uint64_t count = 0;
  while (status.ok()) status = transfer(database, table, 0, &count, {});
  EXPECT_CODE(Code::kIoError, status);
  State state;
  EXPECT_CODE(Code::kIoError, look(database, table, &state));
  EXPECT_CODE(Code::kIoError, database.run([](Transaction&) { return Status(); }));
  EXPECT_CODE(Code::kIoError, database.begin());
  EXPECT_CODE(Code::kIoError, database.begin_read_only());
  EXPECT_REFUSED(Code::kIoError, "'" + world.failed_path + "'", database.wait_durable());
  std::promise<Status> told;
  database.when_durable(~uint64_t{0}, [&](const Status& why) { told.set_value(why); });
  EXPECT_CODE(Code::kIoError, told.get_future().get());
  EXPECT_FALSE(database.statistics().log_failure.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Disk, FaultTest,
    testing::Values(Case{"full", FileCall::kWrite, ENOSPC, 0, "No space left on device"},
                    Case{"full_in_the_midst", FileCall::kWrite, ENOSPC, 70, "No space left on device"},
                    Case{"broken_write", FileCall::kWrite, EIO, 300, "Input/output error"},
                    Case{"broken_sync", FileCall::kSync, EIO, 0, "Input/output error"},
                    Case{"over_quota_sync", FileCall::kSync, EDQUOT, 0, "Disk quota exceeded"},
                    Case{"folder_vanished", FileCall::kCreate, ENOENT, 0, "No such file or directory"},
                    Case{"permission_lost", FileCall::kCreate, EACCES, 0, "Permission denied"},
                    Case{"no_descriptors", FileCall::kCreate, EMFILE, 0, "Too many open files"},
                    Case{"broken_folder_sync", FileCall::kSyncFolder, EIO, 0, "Input/output error"}),
    [](const auto& info) { return info.param.name; });

// Calls make() with the `number`-th call of this kind failing. Its status must be ok, or name the call's path and the
// system's words for the errno. The path of the call that failed; empty: there was none.
template <class Make>
std::string fail_one(FaultyFiles& files, FileCall kind, uint32_t number, const Fault& fault, Make&& make) {
  std::string path;
  files.plan([&, seen = 0u](FileCall call, const std::string& of) mutable -> Fault {
    if (call != kind || ++seen != number) return {};
    path = of;
    return fault;
  });
  const Status status = make();
  files.plan(nullptr);
  if (!status.ok()) {
    EXPECT_REFUSED(Code::kIoError, "'" + path + "'", status);
    EXPECT_REFUSED(Code::kIoError, std::generic_category().message(fault.error), status);
  }
  return path;
}

// Opening: each call of each kind fails once. It is refused, the message names a file, nothing that was there is lost, and
// the next opening has all of it.
TEST(FaultAtOpening, IsRefusedAndChangesNothing) {
  log::MemoryFiles disk;
  FaultyFiles files(disk);
  const log::SubstituteFiles substitute(files);
  {
    auto database = Database::open(options_of(LogFailure::kReadOnly, 2));
    ASSERT_OK(database);
    const Table<Account> table = make_accounts(*database);
    uint64_t count = 0;
    for (int i = 0; i < 200; ++i) ASSERT_OK(transfer(*database, table, static_cast<Key>(i) % kAccounts, &count, {}));
  }
  // An errno for every call: what a broken disk, a full one, and one with a quota say.
  for (const int error : {EIO, ENOSPC, EDQUOT}) {
    int refused = 0;
    for (const FileCall call : {FileCall::kOpen, FileCall::kCreate, FileCall::kRead, FileCall::kWrite, FileCall::kSync, FileCall::kList,
                                FileCall::kRename, FileCall::kRemove, FileCall::kSyncFolder}) {
      for (uint32_t number = 1;; ++number) {
        SCOPED_TRACE("errno " + std::to_string(error) + ", kind " + std::to_string(static_cast<int>(call)) + ", call " +
                     std::to_string(number));
        const std::string path = fail_one(files, call, number, {error, 10}, [&] {
          auto database = Database::open(options_of(LogFailure::kReadOnly, 2));
          if (database.ok()) return Status();
          ++refused;
          return database.status();
        });
        if (path.empty()) break;  // there is no such call any more
        State state;
        look_again(options_of(LogFailure::kReadOnly, 2), &state);
        EXPECT_EQ(state.sum, kOpening * static_cast<int64_t>(kAccounts));
        uint64_t transfers = 0;
        for (const uint64_t of_one : state.transfers) transfers += of_one;
        EXPECT_EQ(transfers, 200u);
      }
    }
    EXPECT_GT(refused, 20);
  }
}

// Closing: each call of each kind fails once, for good. The database is left as by a crash, and has all of it.
TEST(FaultAtClosing, LosesNothing) {
  int failed = 0;
  for (const FileCall call : {FileCall::kOpen, FileCall::kCreate, FileCall::kRead, FileCall::kWrite, FileCall::kSync, FileCall::kRename,
                              FileCall::kSyncFolder}) {
    for (uint32_t number = 1;; ++number) {
      SCOPED_TRACE("kind " + std::to_string(static_cast<int>(call)) + ", call " + std::to_string(number));
      World world;
      uint64_t count = 0;
      {
        auto database = Database::open(options_of(LogFailure::kReadOnly, 2));
        ASSERT_OK(database);
        const Table<Account> table = make_accounts(*database);
        RunPolicy policy;
        policy.durability = Durability::kGroup;
        for (int i = 0; i < 20; ++i) ASSERT_OK(transfer(*database, table, 0, &count, policy));
        world.files.plan([&, seen = 0u](FileCall made, const std::string&) mutable -> Fault {
          if (made == call && ++seen == number) ++world.faults;
          return {made == call && seen >= number ? EIO : 0, 10};
        });
      }
      world.files.plan(nullptr);
      if (world.faults == 0) break;  // there is no such call any more
      ++failed;
      State state;
      look_again(options_of(LogFailure::kReadOnly, 2), &state);
      EXPECT_EQ(state.transfers[0], count);
      EXPECT_EQ(state.sum, kOpening * static_cast<int64_t>(kAccounts));
    }
  }
  EXPECT_GE(failed, 7);
}

// The folder was emptied and given to somebody else while the database was open.
TEST(FaultAtClosing, AFolderThatIsAnothersByThenIsLeftAsItIs) {
  log::MemoryFiles disk;
  const log::SubstituteFiles substitute(disk);
  {
    auto database = Database::open(options_of(LogFailure::kReadOnly));
    ASSERT_OK(database);
    make_accounts(*database);
    for (const auto& [path, bytes] : disk.contents()) ASSERT_OK(disk.remove(path));
    std::unique_ptr<log::File> file;
    ASSERT_OK(disk.open("db/MANIFEST", log::OpenMode::kCreateNew, &file));
    ASSERT_OK(file->write_and_sync(0, std::as_bytes(std::span("not ours", 8))));
  }
  const auto left = disk.contents();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left.begin()->first, "db/MANIFEST");
  EXPECT_EQ(left.begin()->second.size(), 8u);
}

// -- backups and restores ----------------------------------------------------------------------------------------

// What of a database is in the folder.
std::vector<std::string> left_in(const log::MemoryFiles& disk, const std::string& folder) {
  std::vector<std::string> left;
  for (const auto& [path, bytes] : disk.contents())
    if (path.starts_with(folder + "/") && !path.ends_with("/LOCK")) left.push_back(path);
  return left;
}

constexpr FileCall kCallsOfWriting[] = {FileCall::kCreate, FileCall::kWrite,  FileCall::kSync,
                                        FileCall::kList,   FileCall::kRename, FileCall::kSyncFolder};

// Calls make() with each call of each kind failing once, until there is no such call any more: it is refused, nothing of it
// stays, and made once more into the same folder it is there.
template <class Make>
void expect_nothing_stays(const log::MemoryFiles& disk, FaultyFiles& files, const std::string& folder, int refused_min, Make&& make) {
  int refused = 0, made = 0;
  for (const int error : {EIO, ENOSPC})
    for (const FileCall call : kCallsOfWriting)
      for (uint32_t number = 1;; ++number) {
        SCOPED_TRACE("errno " + std::to_string(error) + ", kind " + std::to_string(static_cast<int>(call)) + ", call " +
                     std::to_string(number));
        const std::string to = folder + std::to_string(++made);
        Status ended;
        const std::string path = fail_one(files, call, number, {error, 10}, [&] { return ended = make(to); });
        if (path.empty()) {
          ASSERT_OK(ended);
          break;
        }
        if (!ended.ok()) {
          ++refused;
          EXPECT_EQ(left_in(disk, to), std::vector<std::string>());
          ASSERT_OK(make(to));
        }
        Options options = options_of(LogFailure::kReadOnly);
        options.data_folders = {to};
        State state;
        look_again(options, &state);
        EXPECT_EQ(state.sum, kOpening * static_cast<int64_t>(kAccounts));
        EXPECT_EQ(state.transfers[0], 20u);
      }
  EXPECT_GE(refused, refused_min);
}

void transfer_times(Database& database, const Table<Account>& table, int times) {
  uint64_t count = 0;
  for (int i = 0; i < times; ++i) ASSERT_OK(transfer(database, table, 0, &count, {}));
  ASSERT_OK(database.wait_durable());
}

TEST(FaultOfABackup, LeavesNothingAndTheDatabaseGoesOn) {
  log::MemoryFiles disk;
  FaultyFiles files(disk);
  const log::SubstituteFiles substitute(files);
  for (const bool in_memory : {false, true}) {
    Options options = options_of(LogFailure::kReadOnly);
    if (in_memory) options.data_folders.clear();
    auto database = Database::open(options);
    ASSERT_OK(database);
    const Table<Account> table = make_accounts(*database);
    transfer_times(*database, table, 20);
    expect_nothing_stays(disk, files, in_memory ? "other" : "copy", 12, [&](const std::string& to) { return database->backup(to); });
    transfer_times(*database, table, 1);
    EXPECT_EQ(database->statistics().log_failure, "") << "it is no fault of the log";
  }
}

// The folder's sync fails, and then nothing can be removed. What is there opens whole, or it does not open.
TEST(FaultOfABackup, WhatCannotBeTakenBackIsNoPart) {
  log::MemoryFiles disk;
  FaultyFiles files(disk);
  const log::SubstituteFiles substitute(files);
  auto database = Database::open(options_of(LogFailure::kReadOnly));
  ASSERT_OK(database);
  const Table<Account> table = make_accounts(*database);
  transfer_times(*database, table, 20);
  int whole = 0, refused = 0;
  for (uint32_t number = 1;; ++number) {
    const std::string to = "copy" + std::to_string(number);
    bool failed = false;
    files.plan([&, seen = 0u](FileCall call, const std::string&) mutable -> Fault {
      failed |= call == FileCall::kSyncFolder && ++seen == number;
      return {failed && (call == FileCall::kSyncFolder || call == FileCall::kRemove) ? EIO : 0};
    });
    const Status status = database->backup(to);
    files.plan(nullptr);
    if (!failed) {
      EXPECT_OK(status);
      break;
    }
    EXPECT_REFUSED(Code::kIoError, "cannot sync the folder '", status);
    if (left_in(disk, to).empty()) continue;
    Options options = options_of(LogFailure::kReadOnly);
    options.data_folders = {to};
    auto copy = Database::open(options);
    if (!copy.ok()) {
      ++refused;
      EXPECT_NE(copy.status().message().find("'" + to), std::string::npos) << copy.status().message();
      continue;
    }
    ++whole;
    auto accounts = copy->table<Account>("accounts");
    ASSERT_OK(accounts);
    State state;
    ASSERT_OK(look(*copy, *accounts, &state));
    EXPECT_EQ(state.transfers[0], 20u);
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(refused, 0);
}

TEST(FaultOfABackup, ItWorksAfterTheLogHasFailed) {
  World world;
  {
    auto database = Database::open(options_of(LogFailure::kReadOnly));
    ASSERT_OK(database);
    const Table<Account> table = make_accounts(*database);
    transfer_times(*database, table, 20);
    world.arm({"broken", FileCall::kSync, EIO, 0, ""}, 1);
    RunPolicy policy;
    policy.durability = Durability::kGroup;
    uint64_t count = 0;
    ASSERT_CODE(Code::kIoError, transfer(*database, table, 1, &count, policy));
    ASSERT_EQ(world.faults, 1u);
    EXPECT_CODE(Code::kIoError, database->checkpoint());
    ASSERT_OK(database->backup("copy"));
    EXPECT_CODE(Code::kIoError, transfer(*database, table, 1, &count, policy)) << "a backup mends nothing";
  }
  world.files.plan(nullptr);
  Options options = options_of(LogFailure::kReadOnly);
  options.data_folders = {"copy"};
  State state;
  look_again(options, &state);
  EXPECT_EQ(state.sum, kOpening * static_cast<int64_t>(kAccounts));
  EXPECT_EQ(state.transfers[0], 20u);
}

TEST(FaultOfARestore, LeavesNothingAndWorksTheNextTime) {
  log::MemoryFiles disk;
  FaultyFiles files(disk);
  const log::SubstituteFiles substitute(files);
  {
    auto database = Database::open(options_of(LogFailure::kReadOnly, 2));
    ASSERT_OK(database);
    const Table<Account> table = make_accounts(*database);
    transfer_times(*database, table, 10);
    ASSERT_OK(database->checkpoint());
    transfer_times(*database, table, 10);
  }
  expect_nothing_stays(disk, files, "copy", 12, [&](const std::string& to) {
    elider::files::Copied copied;
    return elider::files::restore({"db"}, to, &copied);
  });
}

// Something that was there a moment ago is there no more, while a database opens or takes a checkpoint. Nobody takes that
// for a database that has nothing, nor for a checkpoint that has.
TEST(FaultAtOpening, WhatVanishesMeanwhileIsAnError) {
  log::MemoryFiles disk;
  FaultyFiles files(disk);
  const log::SubstituteFiles substitute(files);
  Options options = options_of(LogFailure::kReadOnly, 2);
  options.data_folders = {"db", "db2"};
  {
    auto database = Database::open(options);
    ASSERT_OK(database);
    const Table<Account> table = make_accounts(*database);
    for (uint32_t number = 1; number <= 2; ++number) {
      files.plan([seen = 0u, number](FileCall made, const std::string&) mutable -> Fault {
        return {made == FileCall::kList && ++seen == number ? ENOENT : 0};
      });
      EXPECT_REFUSED(Code::kIoError, number == 1 ? "'db'" : "'db2'", database->checkpoint());
    }
    files.plan(nullptr);
    ASSERT_OK(database->checkpoint());
    uint64_t count = 0;
    ASSERT_OK(transfer(*database, table, 0, &count, {}));
  }
  int refused = 0;
  for (const Durability durability : {Durability::kNone, Durability::kAsync})
    for (const FileCall call : {FileCall::kOpen, FileCall::kList})
      for (uint32_t number = 1;; ++number) {
        SCOPED_TRACE("kind " + std::to_string(static_cast<int>(call)) + ", call " + std::to_string(number));
        std::string path;
        files.plan([&, seen = 0u](FileCall made, const std::string& of) mutable -> Fault {
          if (made != call || ++seen != number) return {};
          path = of;
          return {ENOENT};
        });
        options.durability = durability;
        auto database = Database::open(options);
        files.plan(nullptr);
        if (path.empty()) break;  // there is no such call any more
        if (!database.ok()) {
          ++refused;
          EXPECT_NE(database.status().message().find("'db"), std::string::npos) << database.status().message();
          continue;
        }
        auto table = database->table<Account>("accounts");
        ASSERT_OK(table);
        State state;
        ASSERT_OK(look(*database, *table, &state));
        EXPECT_EQ(state.transfers[0], 1u);
      }
  EXPECT_GT(refused, 10);
}

// With the system's own files, written each way.
class FaultOfTheSystem : public testing::TestWithParam<LogIo> {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    options_ = options_of(LogFailure::kReadOnly);
    options_.data_folders = {folder_ + "/db"};
    options_.log_segment_bytes = 1u << 20;
    options_.log_io = GetParam();
    policy_.durability = Durability::kGroup;
    const auto database = Database::open(options_);
    if (GetParam() == LogIo::kIoUring && !database.ok() && database.status().code() == Code::kUnsupported)
      GTEST_SKIP() << database.status().message();
    ASSERT_OK(database);
    ASSERT_EQ(database->statistics().log_io, name_of(GetParam()));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_ = (std::filesystem::temp_directory_path() / "elider_fault_XXXXXX").string();
  Options options_;
  RunPolicy policy_;
};

TEST_P(FaultOfTheSystem, AFolderThatVanishesEndsAcknowledgement) {
  auto database = Database::open(options_);
  ASSERT_OK(database);
  const Table<Account> table = make_accounts(*database);
  std::filesystem::remove_all(folder_ + "/db");
  uint64_t count = 0;
  EXPECT_REFUSED(Code::kIoError, folder_ + "/db/log-", transfer(*database, table, 0, &count, policy_));
  EXPECT_CODE(Code::kIoError, transfer(*database, table, 0, &count, {}));
}

// Where it was there is a copy of it by then, made while it was open: that has less, and opens.
TEST_P(FaultOfTheSystem, AFolderThatWasReplacedIsLeftAsItIs) {
  namespace fs = std::filesystem;
  const std::string folder = options_.data_folders[0];
  {
    auto database = Database::open(options_);
    ASSERT_OK(database);
    const Table<Account> table = make_accounts(*database);
    uint64_t count = 0;
    ASSERT_OK(transfer(*database, table, 0, &count, policy_));
    fs::copy(folder, folder + ".copy");
    ASSERT_OK(transfer(*database, table, 0, &count, policy_));
    fs::rename(folder, folder + ".open");
    fs::rename(folder + ".copy", folder);
  }
  for (const uint64_t transfers : {1, 2}) {
    {
      State state;
      look_again(options_, &state);
      EXPECT_EQ(state.transfers[0], transfers);
    }
    fs::remove_all(folder);
    if (transfers == 1) fs::rename(folder + ".open", folder);
  }
}

// No file of the process may become larger than this while it lives: a write across it is a short one, the next fails.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(uint64_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit less{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &less), 0);
  }
  ~FileSizeLimit() {
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0);
    ::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*const handler_)(int);
};

TEST_P(FaultOfTheSystem, AFileThatMayNotGrowEndsAcknowledgementAndLosesNothing) {
  uint64_t told = 0;
  {
    auto database = Database::open(options_);
    ASSERT_OK(database);
    const Table<Account> table = make_accounts(*database);
    const FileSizeLimit limit(32u << 10);
    Status status;
    while (status.ok()) {
      uint64_t count = 0;
      status = transfer(*database, table, 0, &count, policy_);
      if (status.ok()) told = count;
    }
    EXPECT_REFUSED(Code::kIoError, folder_ + "/db/log-", status);
    EXPECT_NE(status.message().find("File too large"), std::string::npos) << status.message();
    EXPECT_OK(database->verify());
  }
  EXPECT_GT(told, 0u);
  State state;
  look_again(options_, &state);
  EXPECT_EQ(state.sum, kOpening * static_cast<int64_t>(kAccounts));
  EXPECT_GE(state.transfers[0], told);
  EXPECT_LE(state.transfers[0], told + 1);
}

INSTANTIATE_TEST_SUITE_P(Log, FaultOfTheSystem, testing::Values(LogIo::kSystemCalls, LogIo::kIoUring),
                         [](const auto& info) { return info.param == LogIo::kIoUring ? "io_uring" : "system_calls"; });

}  // namespace
}  // namespace elider::test
