// A disk that fails while a database is opened or closed. An opening is refused and changes
// nothing. A closing leaves what a crash would have left.
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <span>

#include "io/file.h"
#include "tests/durability/fault_world.h"

namespace elider::test {
namespace {

// Each call of each kind that opening makes fails once. Opening is refused, and the message names a
// file. Existing data is not lost, and the next opening has all of it.
TEST(FaultAtOpening, IsRefusedAndChangesNothing) {
  io::MemoryFiles disk;
  FaultyFiles files(disk);
  const io::SubstituteFiles substitute(files);
  {
    auto database = Database::open(options_of(LogFailure::kReadOnly, 2));
    ASSERT_OK(database);
    const Table<Account> table = make_accounts(*database);
    uint64_t count = 0;
    for (int i = 0; i < 200; ++i) ASSERT_OK(transfer(*database, table, static_cast<Key>(i) % kAccounts, &count, {}));
  }
  // The errors of a broken disk, of a full one, and of an exceeded quota.
  for (const int error : {EIO, ENOSPC, EDQUOT}) {
    int refused = 0;
    for (const FileCall call :
         {FileCall::kOpenFolder, FileCall::kOpen, FileCall::kCreate, FileCall::kRead, FileCall::kWrite, FileCall::kSync, FileCall::kList,
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
        if (path.empty()) break;  // every such call has failed once
        Balances state;
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

// While a database opens or takes a checkpoint, something disappears that was there a moment ago.
// The result must not be taken for an empty database, or for a complete checkpoint.
TEST(FaultAtOpening, WhatVanishesMeanwhileIsAnError) {
  io::MemoryFiles disk;
  FaultyFiles files(disk);
  const io::SubstituteFiles substitute(files);
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
    for (const FileCall call : {FileCall::kOpenFolder, FileCall::kOpen, FileCall::kList})
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
        if (path.empty()) break;  // every such call has failed once
        if (!database.ok()) {
          ++refused;
          EXPECT_NE(database.status().message().find("'db"), std::string::npos) << database.status().message();
          continue;
        }
        auto table = database->table<Account>("accounts");
        ASSERT_OK(table);
        Balances state;
        ASSERT_OK(look(*database, *table, &state));
        EXPECT_EQ(state.transfers[0], 1u);
      }
  EXPECT_GT(refused, 10);
}

// Each call of each kind that closing makes fails, and all later ones of this kind. The database is
// left as by a crash, and is complete.
TEST(FaultAtClosing, LosesNothing) {
  int failed = 0;
  for (const FileCall call : {FileCall::kOpen, FileCall::kCreate, FileCall::kRead, FileCall::kWrite, FileCall::kSync, FileCall::kRename,
                              FileCall::kSyncFolder}) {
    for (uint32_t number = 1;; ++number) {
      SCOPED_TRACE("kind " + std::to_string(static_cast<int>(call)) + ", call " + std::to_string(number));
      FaultyWorld world;
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
      if (world.faults == 0) break;  // every such call has failed once
      ++failed;
      Balances state;
      look_again(options_of(LogFailure::kReadOnly, 2), &state);
      EXPECT_EQ(state.transfers[0], count);
      EXPECT_EQ(state.sum, kOpening * static_cast<int64_t>(kAccounts));
    }
  }
  EXPECT_GE(failed, 7);
}

// While the database was open, the folder was emptied, and another program wrote a file into it.
TEST(FaultAtClosing, AFolderThatIsAnothersByThenIsLeftAsItIs) {
  io::MemoryFiles disk;
  const io::SubstituteFiles substitute(disk);
  {
    auto database = Database::open(options_of(LogFailure::kReadOnly));
    ASSERT_OK(database);
    make_accounts(*database);
    for (const auto& [path, bytes] : disk.contents()) ASSERT_OK(disk.remove(path));
    std::unique_ptr<io::File> file;
    ASSERT_OK(disk.open("db/MANIFEST", io::OpenMode::kCreateNew, &file));
    ASSERT_OK(file->write_and_sync(0, std::as_bytes(std::span("not ours", 8))));
  }
  const auto left = disk.contents();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left.begin()->first, "db/MANIFEST");
  EXPECT_EQ(left.begin()->second.size(), 8u);
}

}  // namespace
}  // namespace elider::test
