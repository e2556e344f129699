// A disk that fails while a database is backed up or restored. Nothing of the copy remains, and the
// database continues.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "elider/files.h"
#include "io/file.h"
#include "tests/durability/fault_world.h"

namespace elider::test {
namespace {

// Returns the database's files in the folder.
std::vector<std::string> left_in(const io::MemoryFiles& disk, const std::string& folder) {
  std::vector<std::string> left;
  for (const auto& [path, bytes] : disk.contents())
    if (path.starts_with(folder + "/") && !path.ends_with("/LOCK")) left.push_back(path);
  return left;
}

constexpr FileCall kCallsOfWriting[] = {FileCall::kOpenFolder, FileCall::kCreate, FileCall::kWrite,     FileCall::kSync,
                                        FileCall::kList,       FileCall::kRename, FileCall::kSyncFolder};

// Calls make() repeatedly. Each time, one call of one kind fails, until every call has failed once.
// make() is refused and leaves nothing behind. The next make() on the same folder succeeds.
template <class Make>
void expect_nothing_stays(const io::MemoryFiles& disk, FaultyFiles& files, const std::string& folder, int refused_min, Make&& make) {
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
        Balances state;
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
  io::MemoryFiles disk;
  FaultyFiles files(disk);
  const io::SubstituteFiles substitute(files);
  for (const bool in_memory : {false, true}) {
    Options options = options_of(LogFailure::kReadOnly);
    if (in_memory) options.data_folders.clear();
    auto database = Database::open(options);
    ASSERT_OK(database);
    const Table<Account> table = make_accounts(*database);
    transfer_times(*database, table, 20);
    expect_nothing_stays(disk, files, in_memory ? "other" : "copy", 12, [&](const std::string& to) { return database->backup(to); });
    transfer_times(*database, table, 1);
    EXPECT_EQ(database->statistics().log_failure, "") << "the log has not failed";
  }
}

// The folder's sync fails, and then no file can be removed. What is there opens completely, or does
// not open.
TEST(FaultOfABackup, WhatCannotBeTakenBackIsNoPart) {
  io::MemoryFiles disk;
  FaultyFiles files(disk);
  const io::SubstituteFiles substitute(files);
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
    Balances state;
    ASSERT_OK(look(*copy, *accounts, &state));
    EXPECT_EQ(state.transfers[0], 20u);
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(refused, 0);
}

TEST(FaultOfABackup, ItWorksAfterTheLogHasFailed) {
  FaultyWorld world;
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
    EXPECT_CODE(Code::kIoError, transfer(*database, table, 1, &count, policy)) << "a backup does not repair the log";
  }
  world.files.plan(nullptr);
  Options options = options_of(LogFailure::kReadOnly);
  options.data_folders = {"copy"};
  Balances state;
  look_again(options, &state);
  EXPECT_EQ(state.sum, kOpening * static_cast<int64_t>(kAccounts));
  EXPECT_EQ(state.transfers[0], 20u);
}

TEST(FaultOfARestore, LeavesNothingAndWorksTheNextTime) {
  io::MemoryFiles disk;
  FaultyFiles files(disk);
  const io::SubstituteFiles substitute(files);
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

}  // namespace
}  // namespace elider::test
