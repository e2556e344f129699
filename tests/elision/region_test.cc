// Commits and reads of rows as regions, step by step in one thread: what a region writes, when it
// only sets lock bits, when it declines, and what happens if a row moves between the look and the
// region. The backend begins and commits regions, but does not isolate them, which is not needed
// with one thread.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "elider/elider.h"
#include "elider/laboratory.h"
#include "engine/engine_of.h"
#include "index/art/art_batch.h"
#include "index/art/art_find.h"
#include "index/art/art_insert.h"
#include "index/art/art_remove.h"
#include "index/art/art_scan.h"
#include "index/art/art_verify.h"
#include "index/btree/btree_batch.h"
#include "index/btree/btree_find.h"
#include "index/btree/btree_insert.h"
#include "index/btree/btree_remove.h"
#include "index/btree/btree_scan.h"
#include "index/btree/btree_verify.h"
#include "index/hash/hash_grow.h"
#include "index/hash/hash_operations.h"
#include "index/hash/hash_read.h"
#include "index/hash/hash_verify.h"
#include "sync/elided.h"
#include "txn/occ/occ.h"
#include "tests/support/rows.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace elider::test {
namespace {

struct OneThread {
  static constexpr std::string_view kName = "one-thread";
  static constexpr bool kRunsRegions = true;
  inline static std::function<void()> before_next;  // runs once, when the next region begins
  inline static unsigned status_of_next = htm::kStarted;
  inline static bool inside = false;

  static unsigned begin() {
    if (before_next) std::exchange(before_next, nullptr)();
    if (const unsigned status = std::exchange(status_of_next, htm::kStarted); status != htm::kStarted) return status;
    EXPECT_FALSE(inside) << "a region within a region";
    inside = true;
    return htm::kStarted;
  }
  static void commit() {
    EXPECT_TRUE(inside);
    inside = false;
  }
  template <uint8_t Code>
  static void abort() {
    ADD_FAILURE() << "aborted with code " << int{Code};
  }
  static bool active() { return false; }
};
using Sync = sync::Elided<OneThread>;

class RegionTest : public testing::Test {
 protected:
  void SetUp() override { open({}); }
  void TearDown() override {
    EXPECT_FALSE(OneThread::inside);
    if (engine_) {
      EXPECT_OK(engine_->verify());
    }
  }

  void open(const Options& options) {
    OneThread::before_next = nullptr;
    OneThread::status_of_next = htm::kStarted;
    engine_ = std::make_unique<detail::EngineOf<Sync, txn::Occ>>(options, SyncPolicy::kElided, HtmBackend::kNone);
    bool may_skip = false;
    ASSERT_OK(engine_->open_data({}, &may_skip));
    accounts_ = create(account_schema(KeyIndex::kOrdered));
    documents_ = create(document_schema(KeyIndex::kHashed));
    indexed_ = create(indexed_account_schema(KeyIndex::kHashed, "indexed"));
    for (Key key = 0; key < 100; ++key) put(accounts_, key, Account{key, 0, 0, 0});
    put(documents_, 1, document_of(1));
  }
  template <class Row>
  Table<Row> create(const SchemaOf<Row>& schema) {
    auto table = engine_->create_table(schema.schema());
    EXPECT_OK(table);
    return Table<Row>(table->base());
  }
  Status run(FunctionRef<Status(Transaction&)> procedure, bool read_only = false) {
    return engine_->run(procedure, {.attempts_max = 1}, read_only);
  }
  template <class Row>
  void put(const Table<Row>& table, Key key, const Row& row) {
    EXPECT_OK(run([&](Transaction& txn) { return txn.put(table, key, row); }));
  }
  Status bump(Transaction& txn, Key key) {
    return txn.update(accounts_, key, {}, [](Account& a) { ++a.balance; });
  }
  int64_t balance(Key key) {
    int64_t found = -1;
    EXPECT_OK(run([&](Transaction& txn) -> Status {
      auto view = txn.get(accounts_, key);
      if (!view.ok()) return view.status();
      found = (*view)->balance;
      return {};
    }));
    return found;
  }
  Statistics::Elision site(const std::string& name) {
    Statistics::Elision sum;
    for (const Statistics::Elision& site : engine_->statistics().elision) {
      if (site.site != name) continue;
      sum.commits += site.commits;
      sum.in_vain += site.in_vain;
      sum.fallbacks += site.fallbacks;
      sum.direct += site.direct;
    }
    return sum;
  }

  std::unique_ptr<detail::Engine> engine_;
  Table<Account> accounts_;
  Table<Document> documents_;
  Table<Account> indexed_;
};

TEST_F(RegionTest, ASmallCommitIsOneRegion) {
  const uint64_t before = site("commit").commits;
  EXPECT_OK(run([&](Transaction& txn) { return bump(txn, 1); }));
  EXPECT_EQ(balance(1), 1);
  EXPECT_EQ(site("commit").commits, before + 1);
  EXPECT_GT(site("record read").commits, 0u);
  EXPECT_EQ(site("commit").fallbacks, 0u);
}

// Sixty rows have too many lines to be written in a region, but few enough to be locked in one.
TEST_F(RegionTest, ALargerCommitLocksInTheRegionAndWritesOutside) {
  const uint64_t before = site("commit").commits;
  EXPECT_OK(run([&](Transaction& txn) -> Status {
    for (Key key = 0; key < 60; ++key)
      if (Status status = bump(txn, key); !status.ok()) return status;
    return {};
  }));
  EXPECT_EQ(site("commit").commits, before + 1);
  EXPECT_EQ(site("commit").direct, 0u);
  for (Key key = 0; key < 60; ++key) EXPECT_EQ(balance(key), 1);
}

TEST_F(RegionTest, ACommitTooLargeForAnyRegionTakesItsLocks) {
  const uint64_t before = site("commit").commits;
  EXPECT_OK(run([&](Transaction& txn) -> Status {
    for (Key key = 0; key < 100; ++key)
      if (Status status = bump(txn, key); !status.ok()) return status;
    return {};
  }));
  EXPECT_EQ(site("commit").commits, before);
  EXPECT_EQ(site("commit").direct, 1u);
  EXPECT_EQ(balance(99), 1);
}

TEST_F(RegionTest, ARegionThatAbortsFallsBackToLocks) {
  Options options;
  change_laboratory(options).elision.system_aborts_max = 0;
  open(options);
  EXPECT_OK(run([&](Transaction& txn) -> Status {
    Status status = bump(txn, 1);
    OneThread::status_of_next = 0;  // the commit's
    return status;
  }));
  EXPECT_EQ(site("commit").fallbacks, 1u);
  EXPECT_EQ(balance(1), 1);
}

// The region finds the word changed, and commits nothing. The next region sees that the read is
// outdated.
TEST_F(RegionTest, ARowThatChangesBetweenTheLookAndTheRegionFailsTheCommit) {
  const Status status = run([&](Transaction& txn) -> Status {
    if (Status updated = bump(txn, 1); !updated.ok()) return updated;
    OneThread::before_next = [&] { EXPECT_OK(run([&](Transaction& other) { return bump(other, 1); })); };
    return {};
  });
  EXPECT_CODE(Code::kDeadline, status);
  EXPECT_EQ(engine_->statistics().aborts[static_cast<size_t>(Cause::kWriteChanged)], 1u);
  EXPECT_EQ(balance(1), 1);
}

// An addition does not expect a particular word. It is retried, and both take effect.
TEST_F(RegionTest, ABlindWriteOnAMovedRowIsTriedAgain) {
  EXPECT_OK(run([&](Transaction& txn) -> Status {
    Status status = txn.add(accounts_, 1, &Account::balance, 5);
    OneThread::before_next = [&] { EXPECT_OK(run([&](Transaction& other) { return bump(other, 1); })); };
    return status;
  }));
  EXPECT_EQ(balance(1), 6);
  EXPECT_EQ(site("commit").in_vain, 1u);
}

TEST_F(RegionTest, AReadThatChangesBeforeTheRegionFailsTheCommit) {
  const Status status = run([&](Transaction& txn) -> Status {
    auto view = txn.get(accounts_, 1);
    if (!view.ok()) return view.status();
    if (Status updated = bump(txn, 2); !updated.ok()) return updated;
    OneThread::before_next = [&] { EXPECT_OK(run([&](Transaction& other) { return bump(other, 1); })); };
    return {};
  });
  EXPECT_CODE(Code::kDeadline, status);
  EXPECT_EQ(site("commit").in_vain, 0u);  // the verdict of locks would have been the same
  EXPECT_EQ(engine_->statistics().aborts[static_cast<size_t>(Cause::kReadChanged)], 1u);
  EXPECT_EQ(balance(2), 0);
}

TEST_F(RegionTest, ACommitWithoutWritesIsARegion) {
  Options options;
  change_laboratory(options).elision.system_aborts_max = 0;
  open(options);
  const uint64_t before = site("commit").commits;
  const auto read_two = [&](Transaction& txn, auto&& then) -> Status {
    for (Key key : {1, 2})
      if (auto view = txn.get(accounts_, key); !view.ok()) return view.status();
    then();
    return {};
  };
  EXPECT_OK(run([&](Transaction& txn) { return read_two(txn, [] {}); }));
  EXPECT_EQ(site("commit").commits, before + 1);
  EXPECT_OK(run([&](Transaction& txn) { return read_two(txn, [] { OneThread::status_of_next = 0; }); }));
  EXPECT_EQ(site("commit").commits, before + 1);
  EXPECT_EQ(site("commit").fallbacks, 1u) << "and then it looks outside";
  const Status status = run([&](Transaction& txn) {
    return read_two(txn, [&] {
      OneThread::before_next = [&] { EXPECT_OK(run([&](Transaction& other) { return bump(other, 1); })); };
    });
  });
  EXPECT_CODE(Code::kDeadline, status);
  EXPECT_EQ(site("commit").in_vain, 0u);
  EXPECT_EQ(engine_->statistics().aborts[static_cast<size_t>(Cause::kReadChanged)], 1u);
}

TEST_F(RegionTest, ARowOfSeveralColumnGroupsIsReadByOneRegion) {
  Options options;
  change_laboratory(options).elision.system_aborts_max = 0;
  open(options);
  Table<Account> grouped = create(grouped_account_schema(KeyIndex::kHashed, "grouped"));
  for (Key key : {1, 2}) put(grouped, key, Account{1, 2, 3, 4});
  Key read_next = 1;  // a new key each time, because the index is not searched for a key that was just found
  const auto read = [&](Transaction& txn) -> Status {
    auto view = txn.get(grouped, read_next++);
    if (!view.ok()) return view.status();
    EXPECT_EQ((*view)->balance, (Account{1, 2, 3, 4}).balance);
    return {};
  };
  const uint64_t before = site("record read").commits;
  EXPECT_OK(run(read));
  EXPECT_EQ(site("record read").commits, before + 1);
  // The region of the index, and then the row's, which aborts: each of the three groups by itself.
  OneThread::before_next = [] { OneThread::before_next = [] { OneThread::status_of_next = 0; }; };
  EXPECT_OK(run(read));
  EXPECT_EQ(site("record read").fallbacks, 1u);
  EXPECT_EQ(site("record read").commits, before + 4);
  // An update of them all, and one whose other groups are the transaction's own already.
  const uint64_t again = site("record read").commits;
  EXPECT_OK(run([&](Transaction& txn) { return txn.update(grouped, 1, {}, [](Account& a) { ++a.balance, ++a.flags, ++a.owner; }); }));
  EXPECT_EQ(site("record read").commits, again + 1);
  EXPECT_OK(run([&](Transaction& txn) -> Status {
    Status status = txn.update(grouped, 1, grouped.columns(&Account::balance), [](Account& a) { ++a.balance; });  // by a region
    if (!status.ok()) return status;
    auto view = txn.get(grouped, 1);  // the two others by one, and once more its own, of which it was asked for a part before
    if (!view.ok()) return view.status();
    EXPECT_EQ((*view)->owner, 2u);
    EXPECT_EQ((*view)->balance, 4);
    EXPECT_EQ((*view)->flags, 5u);
    return {};
  }));
  EXPECT_EQ(site("record read").commits, again + 4);
  EXPECT_OK(run([&](Transaction& txn) -> Status {
    auto view = txn.get(grouped, 1);
    if (!view.ok()) return view.status();
    EXPECT_EQ((*view)->flags, 5u);
    return {};
  }, true));
  EXPECT_EQ(site("record read").commits, again + 5) << "of a snapshot, too";
}

// The old version needs memory, so the region only sets the lock bits. The reader still finds the
// old version.
TEST_F(RegionTest, ASnapshotReaderKeepsSeeingWhatItSaw) {
  detail::EngineWorker* worker = nullptr;
  Transaction* reader = nullptr;
  ASSERT_OK(engine_->begin({.read_only = true}, nullptr, &worker, &reader));
  EXPECT_OK(run([&](Transaction& txn) { return bump(txn, 1); }));
  EXPECT_OK(run([&](Transaction& txn) { return bump(txn, 1); }));
  EXPECT_OK(run([&](Transaction& txn) { return txn.remove(accounts_, 2); }));
  auto view = reader->get(accounts_, 1);
  ASSERT_OK(view);
  EXPECT_EQ((*view)->balance, 0);
  EXPECT_OK(reader->get(accounts_, 2));
  EXPECT_GT(engine_->statistics().versions_alive, 0u);
  EXPECT_OK(worker->commit_active(Durability::kDefault, nullptr));
  EXPECT_EQ(balance(1), 2);
  EXPECT_EQ(site("commit").fallbacks, 0u);
}

// Reads on a snapshot also follow Algorithm 2 of DBX. They read the newest version, an older one,
// an absent row, and a row without a region.
TEST_F(RegionTest, ASnapshotReadIsARegion) {
  Options options;
  change_laboratory(options).elision.system_aborts_max = 0;
  open(options);
  detail::EngineWorker* worker = nullptr;
  Transaction* reader = nullptr;
  ASSERT_OK(engine_->begin({.read_only = true}, nullptr, &worker, &reader));
  EXPECT_OK(run([&](Transaction& txn) { return bump(txn, 1); }));
  EXPECT_OK(run([&](Transaction& txn) { return txn.remove(accounts_, 2); }));
  const uint64_t before = site("record read").commits;
  const auto expect = [&](Key key, int64_t wanted) {
    auto view = reader->get(accounts_, key);
    ASSERT_OK(view);
    EXPECT_EQ((*view)->balance, wanted) << "key " << key;
  };
  expect(0, 0);
  expect(1, 0);
  expect(2, 0);
  EXPECT_EQ(site("record read").commits, before + 3);
  for (Key key : {0, 1, 2}) {
    OneThread::before_next = [] { OneThread::before_next = [] { OneThread::status_of_next = 0; }; };  // the index's, and then the row's
    expect(key, 0);
  }
  EXPECT_EQ(site("record read").commits, before + 3);
  EXPECT_EQ(site("record read").fallbacks, 3u);
  EXPECT_OK(worker->commit_active(Durability::kDefault, nullptr));
  EXPECT_EQ(balance(1), 1);
}

TEST_F(RegionTest, AReaderThatBeginsBetweenTheLookAndTheRegionSeesTheOldState) {
  detail::EngineWorker* worker = nullptr;
  Transaction* reader = nullptr;
  EXPECT_OK(run([&](Transaction& txn) -> Status {
    Status status = bump(txn, 1);
    OneThread::before_next = [&] { ASSERT_OK(engine_->begin({.read_only = true}, nullptr, &worker, &reader)); };
    return status;
  }));
  ASSERT_NE(reader, nullptr);
  auto view = reader->get(accounts_, 1);
  ASSERT_OK(view);
  EXPECT_EQ((*view)->balance, 0);
  EXPECT_OK(worker->commit_active(Durability::kDefault, nullptr));
  EXPECT_EQ(balance(1), 1);
}

TEST_F(RegionTest, BlocksInsertsRemovalsAndSecondaryEntriesAreCommitted) {
  put(documents_, 1, document_of(7));
  EXPECT_OK(run([&](Transaction& txn) -> Status {
    auto view = txn.get(documents_, 1);
    if (!view.ok()) return view.status();
    EXPECT_EQ(**view, document_of(7));
    return {};
  }));
  for (uint64_t round = 0; round < 3; ++round) {
    for (Key key = 0; key < 50; ++key) put(indexed_, key, Account{key, 0, static_cast<uint32_t>(round), 0});
    for (Key key = 0; key < 50; key += 2) EXPECT_OK(run([&](Transaction& txn) { return txn.remove(indexed_, key); }));
  }
  EXPECT_EQ(site("commit").fallbacks, 0u);
  for (const Statistics::Table& table : engine_->statistics().tables)
    if (table.name == "indexed") {
      EXPECT_EQ(table.rows, 25u);
    }
  engine_->collect_garbage();
}

// The old entry was listed before the region. It is not listed again under the locks.
TEST_F(RegionTest, AnOutdatedEntryIsListedOnceThoughTheRegionAborts) {
  Options options;
  change_laboratory(options).elision.system_aborts_max = 0;
  open(options);
  put(indexed_, 1, Account{1, 0, 7, 0});
  const auto& stale = static_cast<txn::Table<Sync>&>(*TableRef(indexed_).base()).stale();
  const uint64_t before = stale.next_ticket;
  EXPECT_OK(run([&](Transaction& txn) -> Status {
    Status status = txn.update(indexed_, 1, {}, [](Account& a) { a.branch = 8; });
    OneThread::status_of_next = 0;  // the commit's
    return status;
  }));
  EXPECT_EQ(site("commit").fallbacks, 1u);
  EXPECT_EQ(stale.next_ticket, before + 1);
}

class LoggedRegionTest : public RegionTest {
 protected:
  void SetUp() override {
    options_.data_folders = {folder_ / "data"};
    open(options_);
  }
  void TearDown() override {
    RegionTest::TearDown();
    engine_.reset();
  }
  Status bump_many(Transaction& txn, Key count) {
    for (Key key = 0; key < count; ++key)
      if (Status status = bump(txn, key); !status.ok()) return status;
    return {};
  }

  const TemporaryFolder temporary_{"elider_data"};
  const std::filesystem::path folder_ = temporary_.path();
  Options options_;
};

TEST_F(LoggedRegionTest, CommitsAreRegionsWithALogToo) {
  const uint64_t before = site("commit").commits;
  EXPECT_OK(run([&](Transaction& txn) { return bump(txn, 99); }));
  EXPECT_OK(run([&](Transaction& txn) { return bump_many(txn, 60); }));  // more than a region writes: the lock bits alone
  put(documents_, 1, document_of(7));                                    // a row kept as a block
  EXPECT_OK(run([&](Transaction& txn) { return txn.remove(accounts_, 98); }));
  EXPECT_EQ(site("commit").commits, before + 4);
  EXPECT_EQ(site("commit").fallbacks, 0u);
  engine_.reset();
  options_.sync = SyncPolicy::kOptimistic;
  options_.schemas = {indexed_account_schema(KeyIndex::kHashed, "indexed").schema()};  // key functions are in no file
  auto db = Database::open(options_);
  ASSERT_OK(db);
  EXPECT_OK(db->run_read_only([&](Transaction& txn) -> Status {
    const Table<Account> accounts = *db->table<Account>("accounts");
    for (Key key = 0; key < 60; ++key) EXPECT_EQ((*txn.get(accounts, key))->balance, 1) << key;
    EXPECT_EQ((*txn.get(accounts, 99))->balance, 1);
    EXPECT_TRUE(txn.get(accounts, 98).not_found());
    EXPECT_EQ(**txn.get(*db->table<Document>("documents"), 1), document_of(7));
    return {};
  }));
}

// While a commit's rows are visible and its record is not in the log yet, its number and later ones
// do not become durable. This includes the number of a transaction that has read the rows, even if
// its own record is on the disk.
TEST_F(LoggedRegionTest, NothingIsDurableBeforeTheRecordThatItBuildsOn) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  std::atomic<int> durable = 0;
  uint64_t later = 0;
  const auto commit = [&](Key key, uint64_t* number) {
    EXPECT_OK(engine_->run([&](Transaction& txn) { return bump(txn, key); }, {.attempts_max = 1, .commit_number = number}, false));
  };
  ASSERT_OK(engine_->wait_durable(detail::Engine::kEverything));
  TestPoints::on("occ.commit.before_record", [&] {
    TestPoints::off("occ.commit.before_record");
    for (int round = 0; round < 3; ++round) {
      const uint64_t records = engine_->statistics().log_records;
      std::thread([&] { commit(1, &later); }).join();  // the row that the first commit has written
      engine_->when_durable(later, [&](const Status& status) { durable += status.ok() ? 1 : 0; });
      while (engine_->statistics().log_records == records) std::this_thread::yield();
    }
    EXPECT_EQ(durable.load(), 0);
  });
  uint64_t first = 0;
  commit(1, &first);
  EXPECT_LE(first, later);
  EXPECT_OK(engine_->wait_durable(later));
  ASSERT_OK(engine_->wait_durable(detail::Engine::kEverything));
  EXPECT_EQ(balance(1), 4);
  EXPECT_EQ(durable.load(), 3);
}

TEST_F(RegionTest, RecordReadsInRegionsCanBeTurnedOff) {
  Options options;
  change_laboratory(options).elision.record_reads = false;
  open(options);
  EXPECT_EQ(balance(1), 0);
  EXPECT_EQ(site("record read").commits, 0u);
}

}  // namespace
}  // namespace elider::test
