// What the tests of faults share: sessions that move money between accounts, and a disk in memory
// that fails as a case says.
#pragma once

#include <array>
#include <atomic>
#include <string>
#include <system_error>

#include "tests/durability/faulty_files.h"
#include "tests/support/database_test.h"

namespace elider::test {

inline constexpr Key kAccounts = 8;
inline constexpr int64_t kOpening = 100;

// What fails, and how.
struct FaultCase {
  std::string name;
  FileCall call;
  int error;
  size_t written_part = 0;
  std::string words;  // in the error's message
};

inline Options options_of(LogFailure failure, uint32_t threads = 1) {
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
inline Status transfer(Database& database, const Table<Account>& table, Key session, uint64_t* count, const RunPolicy& policy) {
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

struct Balances {
  int64_t sum = 0;
  std::array<uint64_t, kAccounts> transfers{};
};

inline Status look(Database& database, const Table<Account>& table, Balances* state) {
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
inline void look_again(const Options& options, Balances* state) {
  auto database = Database::open(options);
  ASSERT_OK(database);
  auto table = database->table<Account>("accounts");
  ASSERT_OK(table);
  ASSERT_OK(look(*database, *table, state));
}

inline Table<Account> make_accounts(Database& database) {
  auto table = database.create_table(grouped_account_schema(KeyIndex::kOrdered));
  EXPECT_OK(table);
  transact(database, [&](Transaction& txn) {
    for (Key key = 0; key < kAccounts; ++key) ASSERT_OK(txn.insert(*table, key, Account{0, kOpening, 0, 0}));
  });
  EXPECT_OK(database.wait_durable());
  return *table;
}

// A disk in memory in the place of the system's, which fails as a case says.
struct FaultyWorld {
  // Fails the `number`-th such call from now on, and counts all calls after it.
  void arm(const FaultCase& how, uint32_t number) {
    files.plan([this, how, number, seen = 0u](FileCall call, const std::string& path) mutable -> Fault {
      if (faults != 0) ++later_calls;
      if (faults != 0 || call != how.call || ++seen != number) return {};
      failed_path = path;
      ++faults;
      return {how.error, how.written_part};
    });
  }

  io::MemoryFiles disk;
  FaultyFiles files{disk};
  io::SubstituteFiles substitute{files};
  std::atomic<uint32_t> faults{0}, later_calls{0};
  std::string failed_path;
};

// Calls make() with the `number`-th call of this kind failing. Its status must be ok, or
// name the call's path and the system's words for the errno. The path of the call that
// failed; empty: there was none.
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

}  // namespace elider::test
