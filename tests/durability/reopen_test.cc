// A database with a data folder. When it is opened again, every commit is there, whatever kind of
// write it was. After a crash, a prefix of the commits is there, which contains everything that was
// acknowledged.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <random>
#include <thread>

#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

class ReopenTest : public testing::TestWithParam<Combination> {
 protected:
  void SetUp() override {
    options_ = options_of(GetParam());
    options_.data_folders = {folder_ / "data"};
  }

  Database open() {
    auto database = Database::open(options_);
    EXPECT_OK(database);
    return std::move(database).value();
  }
  template <class Row>
  std::map<Key, Row> rows(Database& database, const Table<Row>& table) {
    std::map<Key, Row> found;
    EXPECT_OK(database.run_read_only([&](Transaction& txn) -> Status {
      found.clear();
      return txn.scan(table, KeyRange{}, ScanOptions{}, [&](Key key, const View<Row>& view) {
        found[key] = *view;
        return true;
      });
    }));
    return found;
  }

  const TemporaryFolder temporary_{"elider_data"};
  const std::filesystem::path folder_ = temporary_.path();
  Options options_;
};

// The folder is copied right after a number was given, which is what a crash at that moment would
// leave. The copy does not give any of the earlier numbers again. The same holds after closing.
TEST_P(ReopenTest, ASequenceGivesNoNumberAgain) {
  uint64_t last = 0;
  for (int run = 0; run < 3; ++run) {
    Database database = open();
    auto ids = database.sequence("ids", 4);
    ASSERT_OK(ids);
    for (int i = 0; i < 6; ++i) {
      auto number = ids->next();
      ASSERT_OK(number);
      EXPECT_GT(*number, last);
      last = *number;
    }
    const std::filesystem::path crashed = folder_ / ("crashed" + std::to_string(run));
    std::filesystem::copy(folder_ / "data", crashed, std::filesystem::copy_options::recursive);
    Options options = options_;
    options.data_folders = {crashed};
    auto left = Database::open(options);
    ASSERT_OK(left);
    auto again = left->sequence("ids", 4);
    ASSERT_OK(again);
    auto number = again->next();
    ASSERT_OK(number);
    EXPECT_GT(*number, last) << "run " << run;
  }
}

// Random writes of all kinds, in several runs, compared with a model.
TEST_P(ReopenTest, EveryKindOfWriteComesBack) {
  std::map<Key, Account> model;
  std::mt19937_64 random(42);
  for (int run = 0; run < 4; ++run) {
    Database database = open();
    auto made = database.create_table(grouped_account_schema(KeyIndex::kOrdered));
    ASSERT_OK(made);
    const Table<Account> table = *made;
    ASSERT_EQ(rows(database, table), model) << "run " << run;
    const auto balance = table.columns(&Account::balance);
    const auto owner = table.columns(&Account::owner);
    for (int i = 0; i < 300; ++i) {
      auto changed = model;
      transact(database, [&](Transaction& txn) {
        changed = model;
        for (int step = 0; step < 3; ++step) {
          const Key key = random() % 40;
          const auto value = static_cast<int64_t>(random() % 1000);
          const auto it = changed.find(key);
          switch (random() % 6) {
            case 0: {
              const Account account{key, value, static_cast<uint32_t>(value), 1};
              ASSERT_OK(txn.put(table, key, account));
              changed[key] = account;
              break;
            }
            case 1:
              if (it == changed.end()) break;
              ASSERT_OK(txn.remove(table, key));
              changed.erase(key);
              break;
            case 2:
              if (it == changed.end()) break;
              ASSERT_OK(txn.update(table, key, balance, [&](Account& account) { account.balance = value; }));
              it->second.balance = value;
              break;
            case 3:
              if (it == changed.end()) break;
              ASSERT_OK(txn.add(table, key, &Account::balance, value));
              it->second.balance += value;
              break;
            case 4:
              if (it == changed.end()) break;
              ASSERT_OK(txn.update(table, key, owner, [&](Account& account) { account.owner = static_cast<uint64_t>(value); }));
              it->second.owner = static_cast<uint64_t>(value);
              break;
            case 5:
              if (it == changed.end()) break;
              ASSERT_OK(txn.add(table, key, &Account::flags, uint32_t{3}));
              it->second.flags += 3;
              break;
          }
        }
      });
      model = changed;
    }
  }
  Database database = open();
  EXPECT_EQ(database.recovery().rows, model.size());
  EXPECT_TRUE(database.recovery().cuts.empty());
  auto table = database.table<Account>("accounts");
  ASSERT_OK(table) << "the table is there without its struct's schema";
  EXPECT_EQ(rows(database, *table), model);
  EXPECT_OK(database.verify());
}

TEST_P(ReopenTest, LargeRowsAndSecondaryIndexesComeBack) {
  const auto schema = indexed_account_schema(KeyIndex::kOrdered);
  options_.log_threads = 2;
  options_.log_segment_bytes = 65536;
  {
    Database database = open();
    auto accounts = database.create_table(schema);
    auto documents = database.create_table(document_schema(KeyIndex::kOrdered));
    ASSERT_OK(accounts);
    ASSERT_OK(documents);
    for (uint64_t i = 0; i < 60; ++i)
      transact(database, [&](Transaction& txn) {
        ASSERT_OK(txn.insert(*accounts, i, Account{1000 + i, 0, static_cast<uint32_t>(i % 5), 0}));
        ASSERT_OK(txn.insert(*documents, i, document_of(i)));
      });
  }
  EXPECT_CODE(Code::kSchemaMismatch, Database::open(options_));
  options_.schemas = {schema.schema()};
  Database database = open();
  EXPECT_OK(database.verify());
  auto accounts = database.table<Account>("accounts");
  auto documents = database.table<Document>("documents");
  ASSERT_OK(accounts);
  ASSERT_OK(documents);
  auto by_branch = database.index(*accounts, "by_branch");
  ASSERT_OK(by_branch);
  read(database, [&](Transaction& txn) {
    int found = 0;
    ASSERT_OK(txn.scan(*by_branch, KeyRange{3, 3}, ScanOptions{}, [&](Key, const View<Account>&) { return ++found, true; }));
    EXPECT_EQ(found, 12);
  });
  for (const auto& [key, document] : rows(database, *documents)) EXPECT_EQ(document, document_of(key));
}

TEST_P(ReopenTest, AsFewContextsAsCanBeRecoverIndexes) {
  const auto schema = indexed_account_schema(KeyIndex::kHashed);
  options_.workers_max = 1;
  options_.schemas = {schema.schema()};
  for (Key run = 0; run < 2; ++run) {
    Database database = open();
    auto accounts = database.create_table(schema);
    ASSERT_OK(accounts);
    transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*accounts, run, Account{run, 0, 0, 0})); });
  }
}

// The rows are there, but two of them have the same value in the unique index.
TEST_P(ReopenTest, AUniqueIndexWithAnotherKeyFunctionIsRefused) {
  const auto schema_of = [](uint64_t divisor) {
    return account_schema(KeyIndex::kHashed).unique_index("by_owner", {"owner"}, [divisor](const Account& account) {
      return account.owner / divisor;
    });
  };
  {
    Database database = open();
    auto accounts = database.create_table(schema_of(1));
    ASSERT_OK(accounts);
    for (uint64_t i = 0; i < 100; ++i)
      transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*accounts, i, Account{2 * i, 0, 0, 0})); });
  }
  options_.schemas = {schema_of(3).schema()};
  auto refused = Database::open(options_);
  EXPECT_CODE(Code::kSchemaMismatch, refused);
  EXPECT_NE(refused.status().message().find("'by_owner'"), std::string::npos) << refused.status().message();
  options_.schemas = {schema_of(2).schema()};
  EXPECT_OK(open().verify());
}

// The log is larger than what recovery holds in memory at a time, and has several streams whose
// numbers overlap. All threads write each row: completely, partly, by additions, and by removal.
TEST_P(ReopenTest, ALongLogOfSeveralStreamsComesBack) {
  const uint32_t threads = GetParam().sync == SyncPolicy::kSingleThreaded ? 1 : 3;
  constexpr int kTransactions = 2500;
  options_.checkpoint_log_bytes = 0;  // so that recovery replays all of it
  options_.log_threads = threads;
  options_.log_segment_bytes = 8 << 20;
  options_.durability = Durability::kAsync;
  std::map<Key, Account> accounts;
  std::map<Key, Document> documents;
  for (int run = 0; run < 2; ++run) {
    Database database = open();
    auto account = database.create_table(grouped_account_schema(KeyIndex::kOrdered));
    auto document = database.create_table(document_schema(KeyIndex::kOrdered));
    ASSERT_OK(account);
    ASSERT_OK(document);
    const auto owner = account->columns(&Account::owner);
    std::vector<std::thread> writers;
    for (uint32_t thread = 0; thread < threads; ++thread)
      writers.emplace_back([&, thread] {
        std::mt19937_64 random(100 * static_cast<uint64_t>(run) + thread);
        for (int i = 0; i < kTransactions; ++i) {
          const Key key = random() % 2000;
          const uint64_t value = random() % 1000;
          // Concurrent transactions may make any of these fail. Then the procedure runs again.
          EXPECT_OK(database.run([&](Transaction& txn) -> Status {
            if (Status put = txn.put(*document, key % 100, document_of(value)); !put.ok()) return put;
            if (!txn.get(*account, key).ok() || value < 100) return txn.put(*account, key, Account{value, 0, 0, 1});
            if (value < 200) return txn.remove(*account, key);
            if (value < 500) return txn.update(*account, key, owner, [&](Account& changed) { changed.owner = value; });
            return txn.add(*account, key, &Account::balance, static_cast<int64_t>(value));
          }));
        }
      });
    for (std::thread& writer : writers) writer.join();
    accounts = rows(database, *account);
    documents = rows(database, *document);
  }
  Database database = open();
  EXPECT_GT(database.recovery().log_bytes, threads == 1 ? 0u : 48u << 20);
  auto account = database.table<Account>("accounts");
  auto document = database.table<Document>("documents");
  ASSERT_OK(account);
  ASSERT_OK(document);
  EXPECT_EQ(rows(database, *account), accounts);
  EXPECT_TRUE(rows(database, *document) == documents);
  EXPECT_OK(database.verify());
}

TEST_P(ReopenTest, AFolderThatIsOpenIsRefused) {
  Database database = open();
  EXPECT_CODE(Code::kInvalidArgument, Database::open(options_));
}

TEST_P(ReopenTest, AWaitMakesWhatWasCommittedDurable) {
  options_.flush_interval_us = 10'000'000;
  Database database = open();
  auto table = database.create_table(account_schema(KeyIndex::kHashed));
  ASSERT_OK(table);
  transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, 1, Account{})); });
  EXPECT_OK(database.wait_durable());
  const Statistics statistics = database.statistics();
  EXPECT_GT(statistics.durable_snapshot, 0u);
  EXPECT_GT(statistics.log_frames, 0u);
  EXPECT_NE(statistics.to_json().find("\"durable_snapshot\""), std::string::npos);
}

TEST_P(ReopenTest, ACommitsNumberIsWaitedForAndTold) {
  options_.flush_interval_us = 10'000'000;
  Database database = open();
  auto table = database.create_table(account_schema(KeyIndex::kHashed));
  ASSERT_OK(table);
  RunPolicy policy;
  uint64_t number = 0, read_number = 0;
  policy.commit_number = &number;
  ASSERT_OK(database.run([&](Transaction& txn) { return txn.insert(*table, 1, Account{}); }, policy));
  EXPECT_GT(number, 0u);
  EXPECT_LT(database.statistics().durable_snapshot, number) << "no thread has waited for it yet";
  std::promise<Status> told;
  database.when_durable(number, [&](const Status& status) { told.set_value(status); });
  EXPECT_OK(told.get_future().get());
  EXPECT_GE(database.statistics().durable_snapshot, number);
  EXPECT_OK(database.wait_durable(number));
  policy.commit_number = &read_number;
  policy.durability = Durability::kGroup;
  ASSERT_OK(database.run_read_only([&](Transaction& txn) { return txn.get(*table, 1).status(); }, policy));
  EXPECT_GE(read_number, number);
  auto active = database.begin();
  ASSERT_OK(active);
  ASSERT_OK((*active)->put(*table, 2, Account{}));
  ASSERT_OK(active->commit(&number));
  EXPECT_GE(number, read_number);
  const Statistics statistics = database.statistics();
  EXPECT_EQ(statistics.log_records, 2u) << "the table and the first commit";
  EXPECT_GE(statistics.log_syncs, statistics.log_frames);
  EXPECT_GT(statistics.durable_lag_max_us, 0u);
}

// A transaction from begin() chooses its durability at its commit, as the policy of run() does.
TEST_P(ReopenTest, AnInteractiveCommitChoosesItsDurability) {
  options_.flush_interval_us = 10'000'000;
  Database database = open();
  auto table = database.create_table(account_schema(KeyIndex::kHashed));
  ASSERT_OK(table);
  Key key = 0;
  const auto commit = [&](Durability durability, uint64_t* number) -> Status {
    auto active = database.begin();
    if (!active.ok()) return active.status();
    if (Status status = (*active)->put(*table, ++key, Account{}); !status.ok()) return status;
    return active->commit(durability, number);
  };
  uint64_t number = 0, before = 0;
  for (const Durability early : {Durability::kDefault, Durability::kNone, Durability::kAsync}) {
    ASSERT_OK(commit(early, &number));
    EXPECT_GT(number, 0u);
    EXPECT_LT(database.statistics().durable_snapshot, number) << name_of(early) << ": no thread has waited for it yet";
  }
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK(commit(Durability::kGroup, &number));
    EXPECT_GT(number, before);
    EXPECT_GE(database.statistics().durable_snapshot, number) << "it is on the disk when it returns";
    before = number;
  }
  ASSERT_OK(commit(Durability::kAsync, &number));
  EXPECT_LT(database.statistics().durable_snapshot, number);
  EXPECT_OK(database.wait_durable(number));
  EXPECT_GE(database.statistics().durable_snapshot, number);
  // A transaction that only read waits for what it may have read.
  ASSERT_OK(commit(Durability::kAsync, &before));
  auto reader = database.begin_read_only();
  ASSERT_OK(reader);
  ASSERT_OK((*reader)->get(*table, key));
  ASSERT_OK(reader->commit(Durability::kGroup, &number));
  EXPECT_GE(number, before);
  EXPECT_GE(database.statistics().durable_snapshot, before);
}

// The result is that of run(). Without a data folder, every durability is accepted, and the commit
// does not get a number. If the data folder is only read (Durability::kNone), a commit that asks
// for durability is refused.
TEST_P(ReopenTest, AnInteractiveCommitHasNoMoreDurabilityThanTheDatabase) {
  {
    Database database = open();
    ASSERT_OK(database.create_table(account_schema(KeyIndex::kOrdered)));
  }
  const auto commit = [&](Database& database, Durability durability, uint64_t* number, Status* ran) -> Status {
    auto table = *database.table<Account>("accounts");
    RunPolicy policy;
    policy.durability = durability;
    *ran = database.run([](Transaction&) { return Status(); }, policy);
    auto active = database.begin();
    if (!active.ok()) return active.status();
    if (Status status = (*active)->put(table, 1, Account{}); !status.ok()) return status;
    Status status = active->commit(durability, number);
    EXPECT_CODE(Code::kFinished, active->commit(durability)) << "it has ended, whatever it returned";
    return status;
  };
  Options in_memory = options_;
  in_memory.data_folders.clear();
  for (const Durability of_database : {Durability::kNone, Durability::kAsync}) {
    in_memory.durability = of_database;
    auto opened = Database::open(in_memory);
    ASSERT_OK(opened);
    Database database = std::move(*opened);
    ASSERT_OK(database.create_table(account_schema(KeyIndex::kOrdered)));
    for (const Durability asked : {Durability::kDefault, Durability::kNone, Durability::kAsync}) {
      uint64_t number = 7;
      Status ran;
      EXPECT_OK(commit(database, asked, &number, &ran));
      EXPECT_OK(ran);
      EXPECT_EQ(number, 0u);
    }
  }
  options_.durability = Durability::kNone;
  Database database = open();
  for (const Durability asked : {Durability::kAsync, Durability::kGroup}) {
    uint64_t number = 7;
    Status ran;
    const Status status = commit(database, asked, &number, &ran);
    EXPECT_REFUSED(Code::kInvalidArgument, "RunPolicy::durability", status);
    EXPECT_EQ(status.message(), ran.message());
    EXPECT_EQ(number, 7u);
  }
  EXPECT_TRUE(rows(database, *database.table<Account>("accounts")).empty()) << "nothing of a refused one took effect";
  Status ran;
  EXPECT_OK(commit(database, Durability::kNone, nullptr, &ran));
  EXPECT_EQ(rows(database, *database.table<Account>("accounts")).size(), 1u);
  EXPECT_EQ(database.statistics().workers, 1u) << "the sessions of those that were refused went back";
}

TEST_P(ReopenTest, WithoutDurabilityTheFolderIsReadAndNotWritten) {
  const auto count = [&](Database& database) { return rows(database, *database.table<Account>("accounts")).size(); };
  options_.durability = Durability::kNone;
  {
    Database database = open();
    EXPECT_TRUE(database.tables().empty());
    EXPECT_FALSE(std::filesystem::exists(folder_ / "data")) << "not even the folder is made";
  }
  options_.durability = Durability::kAsync;
  {
    Database database = open();
    auto table = database.create_table(account_schema(KeyIndex::kOrdered));
    ASSERT_OK(table);
    transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, 1, Account{})); });
    // A single commit with "none" is as good as one with "async": it is in the log.
    RunPolicy policy;
    policy.durability = Durability::kNone;
    ASSERT_OK(database.run([&](Transaction& txn) { return txn.insert(*table, 2, Account{}); }, policy));
  }
  options_.durability = Durability::kNone;
  for (int run = 0; run < 2; ++run) {
    Database database = open();
    EXPECT_EQ(count(database), 2u) << "what the run before wrote is gone";
    auto table = database.table<Account>("accounts");
    ASSERT_OK(table);
    transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, 3, Account{})); });
    EXPECT_EQ(count(database), 3u);
    EXPECT_OK(database.wait_durable());
    uint64_t number = 1;
    for (const Durability asked : {Durability::kAsync, Durability::kGroup}) {
      RunPolicy policy;
      policy.durability = asked;
      policy.commit_number = &number;
      EXPECT_REFUSED(Code::kInvalidArgument, "RunPolicy::durability", database.run([](Transaction&) { return Status(); }, policy));
    }
    EXPECT_CODE(Code::kInvalidArgument, Database::open(options_)) << "the folder is held all the same";
  }
  options_.durability = Durability::kDefault;
  EXPECT_REFUSED(Code::kInvalidArgument, "Options::durability", Database::open(options_));
}

TEST_P(ReopenTest, DamageIsRefusedAndNamed) {
  {
    Database database = open();
    auto table = database.create_table(account_schema(KeyIndex::kHashed));
    ASSERT_OK(table);
    for (Key key = 0; key < 10; ++key) {
      transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, key, Account{})); });
      ASSERT_OK(database.wait_durable());
    }
  }
  const std::filesystem::path file = folder_ / "data" / "log-00000001-00-00000000";
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(200);
  stream.put('!');
  stream.close();
  auto refused = Database::open(options_);
  EXPECT_CODE(Code::kCorrupt, refused);
  EXPECT_NE(refused.status().message().find(file.filename().string()), std::string::npos) << refused.status().message();
}

// A child transfers money between accounts with group commits, and reports each one through a pipe.
// Then it is killed. Everything that it reported is there, and no transfer is incomplete.
TEST_P(ReopenTest, KilledProcessesLoseNothingAcknowledged) {
  constexpr Key kAccounts = 16;
  uint64_t told = 0;
  std::mt19937_64 random(7);
  for (int round = 0; round < 12; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(ends[0]);
      auto database = Database::open(options_);
      if (!database.ok()) ::_exit(3);
      auto table = database->create_table(account_schema(KeyIndex::kOrdered));
      if (!table.ok()) ::_exit(4);
      RunPolicy policy;
      policy.durability = Durability::kGroup;
      for (;;) {
        uint64_t count = 0;
        // Account 0 counts the transfers in its owner.
        const Status status = database->run([&](Transaction& txn) -> Status {
          Account from{}, to{};
          if (auto view = txn.get(*table, 0); view.ok()) from = **view;
          count = ++from.owner;
          const Key other = 1 + count % (kAccounts - 1);
          if (auto view = txn.get(*table, other); view.ok()) to = **view;
          from.balance -= 1;
          to.balance += 1;
          if (Status put = txn.put(*table, 0, from); !put.ok()) return put;
          return txn.put(*table, other, to);
        }, policy);
        if (!status.ok() || ::write(ends[1], &count, sizeof count) != sizeof count) ::_exit(5);
      }
    }
    ::close(ends[1]);
    const uint64_t wanted = random() % 40;
    uint64_t count = 0;
    for (uint64_t i = 0; i < wanted && ::read(ends[0], &count, sizeof count) == sizeof count; ++i) told = count;
    ::kill(child, SIGKILL);
    while (::read(ends[0], &count, sizeof count) == sizeof count) told = count;
    ::close(ends[0]);
    int how = 0;
    ::waitpid(child, &how, 0);
    ASSERT_TRUE(WIFSIGNALED(how)) << "the child ended by itself with " << WEXITSTATUS(how);

    Database database = open();
    auto table = database.create_table(account_schema(KeyIndex::kOrdered));
    ASSERT_OK(table);
    const auto found = rows(database, *table);
    const uint64_t kept = found.contains(0) ? found.at(0).owner : 0;
    ASSERT_GE(kept, told) << "round " << round;
    EXPECT_LE(kept, told + 1) << "round " << round;
    int64_t sum = 0;
    for (const auto& [key, account] : found) sum += account.balance;
    EXPECT_EQ(sum, 0) << "round " << round;
  }
  EXPECT_GT(told, 0u);
}

// A child has four threads and two log files with small segments. Each transaction increases its
// thread's row, adds to a common row, and is reported. Whenever the child is killed, the common row
// is the sum of the others, and nothing that was reported is missing.
TEST_P(ReopenTest, KilledThreadsLeaveWholeTransactions) {
  if (!GetParam().concurrent()) GTEST_SKIP() << "one thread at a time";
  constexpr Key kThreads = 4;
  options_.log_threads = 2;
  options_.log_segment_bytes = 4096;
  struct Told {
    Key thread;
    int64_t count;
  };
  int64_t told[kThreads + 1] = {};
  for (int round = 0; round < 12; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto database = Database::open(options_);
      if (!database.ok()) ::_exit(3);
      auto table = database->create_table(grouped_account_schema(KeyIndex::kOrdered));
      if (!table.ok() || !database->run([&](Transaction& txn) -> Status {
            for (Key key = 0; key <= kThreads; ++key)
              if (Status status = txn.insert(*table, key, Account{}); !status.ok() && status.code() != Code::kDuplicateKey) return status;
            return {};
          }).ok())
        ::_exit(4);
      std::vector<std::thread> threads;
      for (Key thread = 1; thread <= kThreads; ++thread)
        threads.emplace_back([&, thread] {
          RunPolicy policy;
          policy.durability = Durability::kGroup;
          for (;;) {
            Told now{thread, 0};
            const Status status = database->run([&](Transaction& txn) -> Status {
              if (Status added = txn.add(*table, 0, &Account::balance, 1); !added.ok()) return added;
              return txn.update(*table, thread, table->columns(&Account::balance),
                                [&](Account& account) { now.count = ++account.balance; });
            }, policy);
            if (!status.ok() || ::write(ends[1], &now, sizeof now) != sizeof now) ::_exit(5);
          }
        });
      for (std::thread& thread : threads) thread.join();
    }
    ::close(ends[1]);
    Told now{};
    for (int i = 0; i < 20 + round * 10 && ::read(ends[0], &now, sizeof now) == sizeof now; ++i) told[now.thread] = now.count;
    ::kill(child, SIGKILL);
    while (::read(ends[0], &now, sizeof now) == sizeof now) told[now.thread] = now.count;
    ::close(ends[0]);
    int how = 0;
    ::waitpid(child, &how, 0);
    ASSERT_TRUE(WIFSIGNALED(how)) << "the child ended by itself with " << WEXITSTATUS(how);

    Database database = open();
    auto table = database.table<Account>("accounts");
    ASSERT_OK(table);
    const auto found = rows(database, *table);
    int64_t sum = 0;
    for (Key thread = 1; thread <= kThreads; ++thread) {
      ASSERT_GE(found.at(thread).balance, told[thread]) << "round " << round;
      sum += found.at(thread).balance;
    }
    EXPECT_EQ(found.at(0).balance, sum) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, ReopenTest, durable_combinations(), combination_name);

}  // namespace
}  // namespace elider::test
