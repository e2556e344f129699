// Checkpoints of a database. Every commit is there when the database is opened again, whether it is
// in a checkpoint or in the log after it. What happens while a checkpoint is taken is not lost, and
// is not applied twice.
#include <fstream>
#include <optional>
#include <random>
#include <thread>

#include "base/checksum.h"
#include "base/test_points.h"
#include "tests/support/memory_files.h"
#include "tests/durability/faulty_files.h"
#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

class CheckpointTest : public DataFolderTest {
 protected:
  // Makes changes of all kinds to some of 60 rows.
  static void change(Database& database, const Table<Account>& table, std::map<Key, Account>* model, std::mt19937_64& random) {
    const auto balance = table.columns(&Account::balance);
    auto changed = *model;
    transact(database, [&](Transaction& txn) {
      changed = *model;
      for (int step = 0; step < 3; ++step) {
        const Key key = random() % 60;
        const auto value = static_cast<int64_t>(random() % 1000);
        const auto it = changed.find(key);
        if (it == changed.end() || random() % 4 == 0) {
          changed[key] = Account{key, value, static_cast<uint32_t>(value % 7), 1};
          ASSERT_OK(txn.put(table, key, changed[key]));
        } else if (random() % 3 == 0) {
          ASSERT_OK(txn.remove(table, key));
          changed.erase(it);
        } else if (random() % 2 == 0) {
          ASSERT_OK(txn.update(table, key, balance, [&](Account& account) { account.balance = value; }));
          it->second.balance = value;
        } else {
          ASSERT_OK(txn.add(table, key, &Account::flags, uint32_t{3}));
          it->second.flags += 3;
        }
      }
    });
    *model = changed;
  }
};

TEST_P(CheckpointTest, WhatItHoldsAndTheLogBehindItComeBack) {
  std::map<Key, Account> model;
  std::mt19937_64 random(42);
  options_.log_threads = 2;
  options_.log_segment_bytes = 4096;
  options_.checkpoint_threads = 2;
  for (int run = 0; run < 5; ++run) {
    Database database = open();
    auto made = database.create_table(grouped_account_schema(KeyIndex::kOrdered));
    ASSERT_OK(made);
    ASSERT_EQ(rows(database, *made), model) << "run " << run;
    EXPECT_EQ(database.recovery().checkpoint != 0, run != 0);
    EXPECT_EQ(database.recovery().rows, model.size());
    EXPECT_OK(database.verify());
    for (int i = 0; i < 300; ++i) {
      change(database, *made, &model, random);
      if (i % 100 == 60) {
        EXPECT_OK(database.checkpoint());
      }
    }
    const Statistics statistics = database.statistics();
    EXPECT_EQ(statistics.checkpoints.taken, 3u);
    EXPECT_EQ(statistics.checkpoints.failed, 0u);
    EXPECT_GT(statistics.checkpoints.bytes, 0u);
    EXPECT_GT(statistics.checkpoints.time_s, 1'600'000'000u);
    EXPECT_NE(statistics.to_json().find("\"checkpoints\":{\"taken\":3"), std::string::npos);
    EXPECT_EQ(count_checkpoints(), 1u);
    EXPECT_LT(count_files("log-"), 12u) << "the log before it goes";
  }
  Database database = open();
  auto table = database.table<Account>("accounts");
  ASSERT_OK(table) << "the schema is in the checkpoint";
  EXPECT_EQ(rows(database, *table), model);
}

TEST_P(CheckpointTest, LargeRowsIndexesAndHashedTablesComeBack) {
  const auto schema = indexed_account_schema(KeyIndex::kHashed);
  options_.schemas = {schema.schema()};
  {
    Database database = open();
    auto accounts = database.create_table(schema);
    auto documents = database.create_table(document_schema(KeyIndex::kOrdered));
    ASSERT_OK(accounts);
    ASSERT_OK(documents);
    for (uint64_t i = 0; i < 2000; i += 100)
      transact(database, [&](Transaction& txn) {
        for (uint64_t k = i; k < i + 100; ++k) ASSERT_OK(txn.insert(*accounts, k, Account{10'000 + k, 0, static_cast<uint32_t>(k % 5), 0}));
        ASSERT_OK(txn.insert(*documents, i, document_of(i)));
      });
    ASSERT_OK(database.checkpoint());
    EXPECT_EQ(database.statistics().checkpoints.rows, 2020u);
    // After the checkpoint: other index values, a row that is removed, one that is inserted, and a
    // large one that changes.
    transact(database, [&](Transaction& txn) {
      ASSERT_OK(txn.update(*accounts, 3, accounts->columns(&Account::branch), [](Account& a) { a.branch = 77; }));
      ASSERT_OK(txn.remove(*accounts, 4));
      ASSERT_OK(txn.insert(*accounts, 5000, Account{99, 0, 77, 0}));
      ASSERT_OK(txn.put(*documents, 0, document_of(999)));
    });
  }
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
    ASSERT_OK(txn.scan(*by_branch, KeyRange{77, 77}, ScanOptions{}, [&](Key, const View<Account>&) { return ++found, true; }));
    EXPECT_EQ(found, 2);
    EXPECT_FALSE(txn.get(*accounts, 4).ok());
    EXPECT_EQ(**txn.get(*documents, 0), document_of(999));
  });
  EXPECT_EQ(database.statistics().tables[0].rows, 2000u);
}

// -- what goes on meanwhile -----------------------------------------------------------------------

// The checkpoint has its number and is held. Meanwhile, rows are changed, removed, inserted and
// inserted again, and a table is created. The checkpoint, which a backup shows, has the earlier
// state. The folder has the later one.
TEST_P(CheckpointTest, CommitsMeanwhileAreInTheLogAlone) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  if (!GetParam().concurrent()) GTEST_SKIP() << "one thread at a time";
  for (const bool to_backup : {true, false}) {
    for (const KeyIndex kind : {KeyIndex::kOrdered, KeyIndex::kHashed}) {
      std::filesystem::remove_all(folder_ / "data");
      std::filesystem::remove_all(folder_ / "backup");
      Database database = open();
      auto made = database.create_table(grouped_account_schema(kind));
      auto documents = database.create_table(document_schema(kind));
      ASSERT_OK(made);
      ASSERT_OK(documents);
      const auto account = [](Key key) { return Account{key, 10, 1, 1}; };
      transact(database, [&](Transaction& txn) {
        for (Key key = 0; key < 100; ++key) ASSERT_OK(txn.insert(*made, key, account(key)));
        ASSERT_OK(txn.insert(*documents, 1, document_of(1)));
        ASSERT_OK(txn.insert(*documents, 2, document_of(2)));
      });
      TestStop stop("checkpoint.reading");
      std::thread taker([&] { EXPECT_OK(to_backup ? database.backup(folder_ / "backup") : database.checkpoint()); });
      stop.wait_until_reached();
      transact(database, [&](Transaction& txn) {
        ASSERT_OK(txn.remove(*made, 1));
        ASSERT_OK(txn.remove(*made, 2));
        ASSERT_OK(txn.add(*made, 3, &Account::balance, int64_t{5}));
        ASSERT_OK(txn.update(*made, 4, made->columns(&Account::owner), [](Account& a) { a.owner = 44; }));
        ASSERT_OK(txn.put(*documents, 1, document_of(11)));
        ASSERT_OK(txn.remove(*documents, 2));
      });
      transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*made, 2, Account{2, 20, 2, 2})); });
      transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*documents, 2, document_of(22))); });
      // These are enough rows for a hash table to grow meanwhile, bucket by bucket.
      for (Key key = 1000; key < 9000; key += 100)
        transact(database, [&](Transaction& txn) {
          for (Key k = key; k < key + 100; ++k) ASSERT_OK(txn.insert(*made, k, account(k)));
        });
      auto later = database.create_table(account_schema(kind, "later"));
      ASSERT_OK(later);
      transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*later, 1, account(1))); });
      stop.go();
      taker.join();
      database = Database();
      Database again = open(to_backup ? options_for(folder_ / "backup") : options_);
      EXPECT_OK(again.verify());
      auto accounts = again.table<Account>("accounts");
      auto texts = again.table<Document>("documents");
      ASSERT_OK(accounts);
      ASSERT_OK(texts);
      EXPECT_EQ(again.statistics().tables[0].rows, to_backup ? 100u : 8099u);
      EXPECT_EQ(again.recovery().checkpoint_rows, 102u);
      read(again, [&](Transaction& txn) {
        EXPECT_EQ(txn.get(*accounts, 1).ok(), to_backup);
        EXPECT_EQ(**txn.get(*accounts, 2), to_backup ? account(2) : (Account{2, 20, 2, 2}));
        EXPECT_EQ((**txn.get(*accounts, 3)).balance, to_backup ? 10 : 15);
        EXPECT_EQ((**txn.get(*accounts, 4)).owner, to_backup ? 4u : 44u);
        EXPECT_EQ(**txn.get(*texts, 1), document_of(to_backup ? 1 : 11));
        EXPECT_EQ(**txn.get(*texts, 2), document_of(to_backup ? 2 : 22));
      });
      EXPECT_EQ(again.table<Account>("later").ok(), !to_backup);
    }
  }
}

// Removed rows leave a table at once if the checkpoint has read all of it. Otherwise, they stay
// until it has.
TEST_P(CheckpointTest, RowsLeaveATableThatItHasPassed) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  if (!GetParam().concurrent()) GTEST_SKIP() << "one thread at a time";
  constexpr Key kDocuments = 1000;
  for (const KeyIndex kind : {KeyIndex::kOrdered, KeyIndex::kHashed}) {
    std::filesystem::remove_all(folder_ / "data");
    std::filesystem::remove_all(folder_ / "backup");
    Database database = open();
    auto documents = database.create_table(document_schema(KeyIndex::kOrdered));  // the larger one has the smaller id
    auto accounts = database.create_table(account_schema(kind));
    ASSERT_OK(documents);
    ASSERT_OK(accounts);
    for (Key key = 0; key < kDocuments; ++key)
      transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*documents, key, document_of(key))); });
    transact(database, [&](Transaction& txn) {
      for (Key key = 0; key < 10; ++key) ASSERT_OK(txn.insert(*accounts, key, Account{key, 1, 1, 1}));
    });
    TestStop stop("checkpoint.block_written", 1);
    std::thread taker([&] { EXPECT_OK(database.backup(folder_ / "backup")); });
    stop.wait_until_reached();
    TestPoints::on("gc.after_unlink", [] {});
    transact(database, [&](Transaction& txn) { ASSERT_OK(txn.remove(*accounts, 3)); });
    EXPECT_EQ(TestPoints::reached("gc.after_unlink"), 1u) << "the table is passed";
    for (Key key = kDocuments - 10; key < kDocuments; ++key)
      transact(database, [&](Transaction& txn) { ASSERT_OK(txn.remove(*documents, key)); });
    EXPECT_EQ(TestPoints::reached("gc.after_unlink"), 1u) << "the checkpoint has not come to them";
    stop.go();
    taker.join();
    for (int i = 0; i < 2; ++i)
      transact(database, [&](Transaction& txn) { ASSERT_OK(txn.put(*accounts, 1, Account{1, 2, 3, 4})); });
    EXPECT_EQ(TestPoints::reached("gc.after_unlink"), 11u);
    database = Database();
    Database again = open(options_for(folder_ / "backup"));
    EXPECT_EQ(again.statistics().tables[0].rows, kDocuments);
    EXPECT_EQ(again.statistics().tables[1].rows, 10u);
    TestPoints::clear();
  }
}

// Transfers, a counter and a growing hash table, while one checkpoint follows the other.
TEST_P(CheckpointTest, TransfersUnderManyCheckpointsLoseNothing) {
  if (!GetParam().concurrent()) GTEST_SKIP() << "one thread at a time";
  options_.log_segment_bytes = 65536;
  options_.checkpoint_log_bytes = 65536;
  constexpr Key kAccounts = 64;
  constexpr int kThreads = 3, kTransfersMax = 30'000, kCheckpoints = 4;
  int counts[kThreads] = {};
  {
    Database database = open();
    auto table = database.create_table(grouped_account_schema(KeyIndex::kHashed));
    auto log = database.create_table(account_schema(KeyIndex::kHashed, "journal"));
    ASSERT_OK(table);
    ASSERT_OK(log);
    transact(database, [&](Transaction& txn) {
      for (Key key = 0; key < kAccounts; ++key) ASSERT_OK(txn.insert(*table, key, Account{}));
    });
    std::vector<std::thread> threads;
    std::atomic<bool> stop{false};
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        std::mt19937_64 random(static_cast<uint64_t>(t));
        for (int& i = counts[t]; i < kTransfersMax && !stop.load(); ++i) {
          const Key from = random() % kAccounts, to = (from + 1 + random() % (kAccounts - 1)) % kAccounts;
          EXPECT_OK(database.run([&](Transaction& txn) -> Status {
            if (Status s = txn.add(*table, from, &Account::balance, int64_t{-1}); !s.ok()) return s;
            if (Status s = txn.update(*table, to, table->columns(&Account::balance), [](Account& a) { ++a.balance; }); !s.ok()) return s;
            return txn.insert(*log, static_cast<Key>(t) * 1'000'000 + static_cast<Key>(i), Account{from, 1, static_cast<uint32_t>(to), 0});
          }));
        }
      });
    for (int i = 0; i < kCheckpoints; ++i) EXPECT_OK(database.checkpoint());
    stop.store(true);
    for (std::thread& thread : threads) thread.join();
  }
  Database database = open();
  EXPECT_OK(database.verify());
  EXPECT_EQ(database.statistics().tables[1].rows, static_cast<uint64_t>(counts[0] + counts[1] + counts[2]));
  auto table = database.table<Account>("accounts");
  auto log = database.table<Account>("journal");
  ASSERT_OK(table);
  ASSERT_OK(log);
  std::map<Key, int64_t> expected;
  read(database, [&](Transaction& txn) {
    for (int t = 0; t < kThreads; ++t)
      for (int i = 0; i < counts[t]; ++i) {
        auto view = txn.get(*log, static_cast<Key>(t) * 1'000'000 + static_cast<Key>(i));
        ASSERT_OK(view);
        --expected[(*view)->owner];
        ++expected[(*view)->branch];
      }
    for (Key key = 0; key < kAccounts; ++key) EXPECT_EQ((**txn.get(*table, key)).balance, expected[key]) << key;
  });
}

// -- by itself, and how fast ----------------------------------------------------------------------

TEST_P(CheckpointTest, ItIsTakenByTheSizeOfTheLogAndByTime) {
  for (const bool by_size : {true, false}) {
    options_.checkpoint_log_bytes = by_size ? 65536 : 0;
    options_.checkpoint_interval_s = by_size ? 0 : 1;
    Database database = open();
    auto table = database.create_table(account_schema(KeyIndex::kOrdered));
    ASSERT_OK(table);
    const auto deadline = std::chrono::steady_clock::now() + TestStop::kTimeout;
    for (Key key = 0; database.statistics().checkpoints.taken == 0 && std::chrono::steady_clock::now() < deadline; ++key)
      transact(database, [&](Transaction& txn) { ASSERT_OK(txn.put(*table, key % 1000, Account{})); });
    EXPECT_GT(database.statistics().checkpoints.taken, 0u);
  }
}

TEST_P(CheckpointTest, ARateIsKept) {
  options_.checkpoint_bytes_per_second = 8u << 20;
  Database database = open();
  auto table = database.create_table(document_schema(KeyIndex::kOrdered));
  ASSERT_OK(table);
  for (Key key = 0; key < 800; key += 100)
    transact(database, [&](Transaction& txn) {
      for (Key k = key; k < key + 100; ++k) ASSERT_OK(txn.put(*table, k, document_of(k)));
    });
  ASSERT_OK(database.checkpoint());
  const Statistics::Checkpoints taken = database.statistics().checkpoints;
  EXPECT_GT(taken.bytes, 3u << 20);
  // The first block is not delayed.
  EXPECT_GT(static_cast<double>(taken.duration_us), 1e6 * static_cast<double>(taken.bytes - (2u << 20)) / (8u << 20));
}

TEST_P(CheckpointTest, WithoutADataFolderItIsRefused) {
  options_.data_folders.clear();
  Database database = open();
  EXPECT_CODE(Code::kInvalidArgument, database.checkpoint());
  options_.checkpoints_kept = 0;
  EXPECT_CODE(Code::kInvalidArgument, Database::open(options_));
}

// -- faults ---------------------------------------------------------------------------------------

// Every call that a checkpoint makes fails once. The database continues, and the folder is
// complete.
TEST_P(CheckpointTest, AFailureLeavesTheOldOneAndTheDatabaseGoesOn) {
  io::MemoryFiles files;
  const io::SubstituteFiles substitute(files);
  options_.data_folders = {"db"};
  options_.checkpoint_log_bytes = 0;
  std::map<Key, Account> model;
  std::mt19937_64 random(3);
  const auto names = [&] {
    std::vector<std::string> all;
    for (const auto& [path, bytes] : files.contents())
      if (path.find("/log-") == std::string::npos) all.push_back(path);
    return all;
  };
  size_t refused = 0, folders_failed = 0;
  bool done = false;
  for (size_t call = 0; !done; ++call) {
    Database database = open();
    auto table = database.create_table(grouped_account_schema(KeyIndex::kOrdered));
    ASSERT_OK(table);
    ASSERT_EQ(rows(database, *table), model) << "call " << call;
    for (int i = 0; i < 5; ++i) change(database, *table, &model, random);
    ASSERT_OK(database.wait_durable());
    using Kind = io::MemoryFiles::Call::Kind;
    const auto files_before = names();
    size_t made = 0;
    Kind failed = Kind::kRemove;
    files.refuse_with([&](const io::MemoryFiles::Call& asked) {
      const bool of_log = asked.path.find("/log-") != std::string::npos && asked.kind != Kind::kRemove;
      if (of_log || made++ != call) return Status();
      failed = asked.kind;
      return io::file_error("write", asked.path, call % 2 == 0 ? ENOSPC : EIO);
    });
    const Status status = database.checkpoint();
    files.refuse_with(nullptr);
    done = status.ok() && made <= call;  // a failure to remove a file after an error is not reported
    if (!status.ok()) {
      ++refused;
      EXPECT_CODE(Code::kIoError, status);
      EXPECT_EQ(database.statistics().checkpoints.failure, status.message());
      if (failed != Kind::kRename && failed != Kind::kSyncFolder && failed != Kind::kRemove) {
        EXPECT_EQ(names(), files_before) << "nothing of it is left";
      }
    }
    if (failed == Kind::kSyncFolder) {
      ++folders_failed;
      EXPECT_CODE(Code::kIoError, database.create_table(document_schema(KeyIndex::kOrdered))) << "the log is in that folder, too";
      EXPECT_EQ(database.statistics().log_failure, status.message());
      continue;
    }
    for (int i = 0; i < 5; ++i) change(database, *table, &model, random);
    EXPECT_OK(database.wait_durable());
    if (call % 3 == 0) {
      EXPECT_OK(database.checkpoint());
    }
  }
  EXPECT_GT(refused, 6u);
  EXPECT_EQ(folders_failed, 2u) << "before the manifest is renamed, and after it";
}

TEST_P(CheckpointTest, ADamagedOneIsNamedOrMadeUpFor) {
  std::map<Key, Account> model;
  std::mt19937_64 random(5);
  options_.log_segment_bytes = 4096;  // with a frame per commit, so that there are segments to remove, and some that the older one needs
  options_.durability = Durability::kGroup;
  for (const uint32_t kept : {1u, 2u}) {
    std::filesystem::remove_all(folder_ / "data");
    model.clear();
    options_.checkpoints_kept = kept;
    {
      Database database = open();
      auto table = database.create_table(grouped_account_schema(KeyIndex::kOrdered));
      ASSERT_OK(table);
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 40; ++i) change(database, *table, &model, random);
        ASSERT_OK(database.checkpoint());
      }
      for (int i = 0; i < 40; ++i) change(database, *table, &model, random);
    }
    EXPECT_EQ(count_checkpoints(), kept);
    std::filesystem::path newest;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "data"))
      if (entry.path().filename().string().starts_with("checkpoint-")) newest = std::max(newest, entry.path());
    std::fstream stream(newest, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(300);
    stream.put('!');
    stream.close();
    auto opened = Database::open(options_);
    if (kept == 1) {
      EXPECT_CODE(Code::kCorrupt, opened);
      EXPECT_NE(opened.status().message().find(newest.filename().string() + "' at byte"), std::string::npos) << opened.status().message();
      continue;
    }
    for (int i = 0; i < 2; ++i) {  // it stays until the next one is there
      if (i != 0) opened = Database::open(options_);
      ASSERT_OK(opened);
      ASSERT_EQ(opened->recovery().skipped.size(), 1u);
      EXPECT_NE(opened->recovery().skipped[0].find(newest.filename().string()), std::string::npos);
      EXPECT_EQ(rows(*opened, *opened->table<Account>("accounts")), model);
      EXPECT_TRUE(std::filesystem::exists(newest));
      opened = Status(Code::kFinished, "closed");
    }
    opened = Database::open(options_);
    ASSERT_OK(opened);
    EXPECT_OK(opened->checkpoint());
    EXPECT_FALSE(std::filesystem::exists(newest)) << "nor does it count among those that are kept";
    EXPECT_EQ(count_checkpoints(), kept);
    opened = Status(Code::kFinished, "closed");
    opened = Database::open(options_);
    ASSERT_OK(opened);
    EXPECT_EQ(opened->recovery().skipped.size(), 0u);
    EXPECT_EQ(rows(*opened, *opened->table<Account>("accounts")), model);
  }
}

// A checkpoint that cannot be read at present, or not by this program, is not damaged. The older
// one does not replace it, and nothing is removed.
TEST_P(CheckpointTest, OneThatCannotBeReadIsNoDamagedOne) {
  io::MemoryFiles disk;
  FaultyFiles files(disk);
  std::optional<io::SubstituteFiles> substitute;
  substitute.emplace(files);
  options_.data_folders = {"db"};
  options_.checkpoints_kept = 2;
  {
    Database database = open();
    auto table = database.create_table(account_schema(KeyIndex::kOrdered));
    ASSERT_OK(table);
    for (Key key = 0; key < 2; ++key) {
      transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, key, Account{})); });
      ASSERT_OK(database.checkpoint());
    }
  }
  const io::MemoryFiles::Contents before = disk.contents();
  std::string newest;
  for (const auto& [path, bytes] : before)
    if (path.find("/checkpoint-") != std::string::npos) newest = path;
  for (const FileCall call : {FileCall::kOpen, FileCall::kRead}) {
    files.plan([&](FileCall made, const std::string& path) { return Fault{made == call && path == newest ? EIO : 0, 0}; });
    EXPECT_REFUSED(Code::kIoError, "'" + newest + "'", Database::open(options_));
    files.plan(nullptr);
    EXPECT_TRUE(disk.contents() == before);
  }
  auto later = before;
  later[newest][8] = std::byte{77};  // the version, with a checksum that fits
  const uint64_t sum = checksum(std::span(later[newest]).first(56), 0);
  std::memcpy(later[newest].data() + 56, &sum, sizeof sum);
  io::MemoryFiles of_later(later);
  substitute.emplace(of_later);
  EXPECT_REFUSED(Code::kUnsupported, "'" + newest + "'", Database::open(options_));
  EXPECT_TRUE(of_later.contents() == later);
}

// The file is sparse and larger than any memory. It is refused before memory is allocated for it.
TEST_P(CheckpointTest, AFileOfAnEnormousSizeIsRefusedByName) {
  constexpr uintmax_t kEnormous = uintmax_t{1} << 40;
  {
    Database database = open();
    auto table = database.create_table(account_schema(KeyIndex::kOrdered));
    ASSERT_OK(table);
    ASSERT_OK(database.checkpoint());
    transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, 1, Account{})); });
  }
  int refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "data")) {
    const std::string name = entry.path().filename().string();
    if (name == "LOCK") continue;
    const uintmax_t size = entry.file_size();
    std::filesystem::resize_file(entry.path(), kEnormous);
    EXPECT_REFUSED(Code::kCorrupt, name + "'", Database::open(options_));
    std::filesystem::resize_file(entry.path(), size);
    ++refused;
  }
  EXPECT_EQ(refused, 3);
  EXPECT_OK(Database::open(options_));
}

// -- earlier states -------------------------------------------------------------------------------

TEST_P(CheckpointTest, AnEarlierStateComesBackForGood) {
  std::map<Key, Account> model;
  std::map<uint64_t, std::map<Key, Account>> states;
  std::mt19937_64 random(9);
  options_.durability = Durability::kGroup;  // so that each commit has a number of its own
  {
    Database database = open();
    auto table = database.create_table(grouped_account_schema(KeyIndex::kOrdered));
    ASSERT_OK(table);
    for (int i = 0; i < 40; ++i) {
      if (i == 20) {
        ASSERT_OK(database.checkpoint());
        states.clear();
      }
      change(database, *table, &model, random);
      states[database.statistics().snapshot - 1] = model;
    }
  }
  const uint64_t oldest = states.begin()->first;
  Options back = options_;
  back.recover_to = 1;
  EXPECT_CODE(Code::kInvalidArgument, Database::open(back));
  back.recover_to = states.rbegin()->first + 1000;
  auto refused = Database::open(back);
  EXPECT_CODE(Code::kInvalidArgument, refused);
  EXPECT_NE(refused.status().message().find(" to "), std::string::npos) << refused.status().message();
  const auto middle = std::next(states.begin(), 10);
  ASSERT_GT(middle->first, oldest);
  back.recover_to = middle->first;
  model = middle->second;
  {
    Database database = open(back);
    auto table = database.table<Account>("accounts");
    ASSERT_OK(table);
    EXPECT_EQ(rows(database, *table), model);
    for (int i = 0; i < 10; ++i) change(database, *table, &model, random);
  }
  Database database = open();
  EXPECT_EQ(rows(database, *database.table<Account>("accounts")), model) << "what was left out stays out";
}

// -- backups --------------------------------------------------------------------------------------

TEST_P(CheckpointTest, ABackupIsADatabaseOfItsOwn) {
  std::map<Key, Account> model;
  std::mt19937_64 random(11);
  for (const bool in_memory : {true, false}) {
    if (in_memory) options_.data_folders.clear();
    else options_.data_folders = {folder_ / "data", folder_ / "data2"};
    std::filesystem::remove_all(folder_ / "backup");
    model.clear();
    Database database = open();
    auto table = database.create_table(grouped_account_schema(KeyIndex::kOrdered));
    ASSERT_OK(table);
    for (int i = 0; i < 50; ++i) change(database, *table, &model, random);
    const auto before = model;
    ASSERT_OK(database.backup(folder_ / "backup"));
    EXPECT_CODE(Code::kInvalidArgument, database.backup(folder_ / "backup"));
    for (int i = 0; i < 50; ++i) change(database, *table, &model, random);
    Database copy = open(options_for(folder_ / "backup"));
    EXPECT_EQ(rows(copy, *copy.table<Account>("accounts")), before);
    auto changed = before;
    change(copy, *copy.table<Account>("accounts"), &changed, random);
    copy = Database();
    copy = open(options_for(folder_ / "backup"));
    EXPECT_EQ(rows(copy, *copy.table<Account>("accounts")), changed);
    EXPECT_EQ(rows(database, *table), model);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, CheckpointTest, durable_combinations(), combination_name);

}  // namespace
}  // namespace elider::test
