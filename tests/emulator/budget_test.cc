// The region budget (docs/lab/hardware-transactions.md): the lines that each kind of section reads
// and writes. The emulator measures them over many runs. The test prints them as a table and
// compares them with the limits in the document.
//
// The measured section is the last region that the thread committed, so each case ends with its
// section. kOverhead lines are added to each limit for the site's policy, the caller's locals above
// the region's frame, and the transaction's own memory. Addresses are random, so the transaction's
// fields may lie on two more lines in one run than in another.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "elider/laboratory.h"
#include "sync/elided.h"
#include "tests/emulator/support.h"
#include "tests/support/database_test.h"
#include "txn/table.h"

namespace elider::test {
namespace {

using emulator::RegionSize;
using emulator_test::WithOptions;

constexpr uint64_t kOverhead = 10;
// The lines of any commit, independent of its size: S, the workers' slots, the transaction, the
// store, and the tables' layouts.
constexpr uint64_t kCommitFixed = 14;
constexpr uint64_t kLeaf = 8, kInner = 12;  // a B+-tree's nodes
constexpr uint64_t kSplit = kLeaf + 3 * kInner;  // the new leaf, and two inner nodes and their parent
constexpr Key kRows = 3000;

class BudgetTest : public testing::Test {
 protected:
  using TableType = txn::Table<sync::Elided<htm::Emulated>>;

  // Regions succeed whatever they touch, so that all of them are measured.
  BudgetTest() : large_([](auto& options) {
      options.page_faults = false;
      options.sets = 4096;
      options.ways = 32;
      options.read_eviction_abort_rate = 0;
    }) {}

  void open(bool record_reads, KeyIndex key_index) { open(record_reads, account_schema(key_index)); }
  void open(bool record_reads, const SchemaOf<Account>& schema, Options options = {}) {
    change_laboratory(options).elision.record_reads = record_reads;
    change_laboratory(options).elision.window_runs = 0;
    db_ = open_database({SyncPolicy::kElided, HtmBackend::kEmulated}, options);
    auto table = db_.create_table(schema);
    ASSERT_OK(table);
    accounts_ = *table;
    balance_ = accounts_.columns(&Account::balance);
    for (Key key = 0; key < kRows; ++key)
      transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(accounts_, key * 4, Account{key, 1, 0, 0})); });
  }
  TableType& table() { return static_cast<TableType&>(*TableRef(accounts_).base()); }
  static uint64_t height_of(const auto& indexes) {
    return indexes.visit([](const auto& index) -> uint64_t {
      if constexpr (requires { index.height(); }) return index.height();
      else return 0;
    });
  }
  uint64_t height() { return height_of(table().keys()); }
  uint64_t commits_in_regions() {
    for (const Statistics::Elision& site : db_.statistics().elision)
      if (site.site == "commit") return site.commits;
    return 0;
  }

  // The largest and the smallest of the last regions of `rounds` runs. Round 0 warms up and is left
  // out.
  struct Range {
    RegionSize least{~uint64_t{0}, ~uint64_t{0}}, most;
    void add(const RegionSize& size) {
      least.lines_read = std::min(least.lines_read, size.lines_read);
      least.lines_written = std::min(least.lines_written, size.lines_written);
      most.lines_read = std::max(most.lines_read, size.lines_read);
      most.lines_written = std::max(most.lines_written, size.lines_written);
    }
  };
  // Each round is a transaction. The last section of body(txn, round) is measured.
  Range within(const std::function<void(Transaction&, Key)>& body, Key rounds = 200) {
    Range range;
    for (Key round = 0; round <= rounds; ++round)
      transact(db_, [&](Transaction& txn) {
        body(txn, round);
        if (round != 0) range.add(emulator::last_region());
      });
    return range;
  }
  // Measures the last section of the whole transaction.
  Range at_commit(const std::function<void(Transaction&, Key)>& body, Key rounds = 100) {
    Range range;
    for (Key round = 0; round <= rounds; ++round) {
      transact(db_, [&](Transaction& txn) { body(txn, round); });
      if (round != 0) range.add(emulator::last_region());
    }
    return range;
  }

  static void show(const char* section, const Range& range, uint64_t read_max, uint64_t written_max) {
    std::printf("  %-34s read %4llu to %4llu (limit %4llu + %llu)   written %4llu to %4llu (limit %4llu + %llu)\n", section,
                static_cast<unsigned long long>(range.least.lines_read), static_cast<unsigned long long>(range.most.lines_read),
                static_cast<unsigned long long>(read_max), static_cast<unsigned long long>(kOverhead),
                static_cast<unsigned long long>(range.least.lines_written), static_cast<unsigned long long>(range.most.lines_written),
                static_cast<unsigned long long>(written_max), static_cast<unsigned long long>(kOverhead));
    EXPECT_GT(range.most.lines_read + range.most.lines_written, 0u) << section;
    EXPECT_LE(range.most.lines_read, read_max + kOverhead) << section;
    EXPECT_LE(range.most.lines_written, written_max + kOverhead) << section;
  }

  void get(Transaction& txn, Key key) { ASSERT_OK(txn.get(accounts_, key)); }
  void update(Transaction& txn, Key key) {
    ASSERT_OK(txn.update(accounts_, key, balance_, [](Account& account) { ++account.balance; }));
  }
  Range batches() {
    return within([&](Transaction& txn, Key round) {
      Key keys[16];
      View<Account> views[16];
      for (Key i = 0; i < 16; ++i) keys[i] = some(round * 16 + i);
      ASSERT_OK(txn.multi_get(accounts_, std::span<const Key>(keys), std::span<View<Account>>(views)));
    });
  }
  static Key some(Key round) { return round * 1237 % kRows * 4; }

  const WithOptions large_;
  Database db_;
  Table<Account> accounts_;
  Columns<Account> balance_;
};

TEST_F(BudgetTest, sections_of_a_btree) {
  open(false, KeyIndex::kOrdered);
  const uint64_t h = height();
  const uint64_t descent = kLeaf + kInner * (h - 1) + 1;
  std::printf("  a B+-tree of height %llu\n", static_cast<unsigned long long>(h));
  show("get", within([&](Transaction& txn, Key round) { get(txn, some(round)); }), descent, 0);
  show("get by a remembered leaf", within([&](Transaction& txn, Key round) {
         for (const Key beside : {1, 2})  // existing rows may not need a lookup
           ASSERT_TRUE(txn.get(accounts_, some(round) + beside).status().not_found());
       }), kLeaf + 1, 0);
  show("batch of 16", batches(), 16 * descent, 16);
  show("scan, one leaf", within([&](Transaction& txn, Key round) {
         ASSERT_OK(txn.scan(accounts_, {some(round), some(round)}, {}, [](Key, const View<Account>&) { return true; }));
       }), descent, kLeaf + 1);
  const Range inserts = within([&](Transaction& txn, Key round) {
    ASSERT_OK(txn.insert(accounts_, some(round * 7) + 1 + round % 3, Account{}));
  }, 400);
  show("insert, with and without a split", inserts, descent, kSplit);
  EXPECT_LE(inserts.least.lines_written, kLeaf + kOverhead) << "no split";
  show("remove", at_commit([&](Transaction& txn, Key round) { ASSERT_OK(txn.remove(accounts_, 4 * round)); }, 400), descent,
       kLeaf + h + kInner);
}

TEST_F(BudgetTest, sections_of_a_hash_table) {
  open(false, KeyIndex::kHashed);
  constexpr uint64_t kChain = 8;
  show("hash get", within([&](Transaction& txn, Key round) { get(txn, some(round)); }), 3 + kChain, 0);
  show("hash batch of 16", batches(), 16 * (3 + kChain), 16);
  index::Entries entries;
  TableType::KeyIndexType::Hashed* found = nullptr;
  table().keys().visit([&]<class Index>(Index& index) {
    if constexpr (std::is_same_v<Index, TableType::KeyIndexType::Hashed>) found = &index;
  });
  ASSERT_NE(found, nullptr);
  auto& hash = *found;
  show("hash bucket's copy", within([&](Transaction&, Key round) {
         entries.clear();
         hash.read_bucket(round, hash.bucket_count(), &entries);
       }), 3 + kChain, kChain);
  Range inserts, growth;  // growth follows an insert
  for (Key round = 0; round <= 400; ++round)
    transact(db_, [&](Transaction& txn) {
      const size_t buckets = hash.bucket_count();
      ASSERT_OK(txn.insert(accounts_, 4 * kRows + round, Account{}));
      (hash.bucket_count() != buckets ? growth : inserts).add(emulator::last_region());
    });
  show("hash insert", inserts, 3 + kChain, 2);
  show("hash growth by a bucket", growth, 3 + kChain, 2 * kChain + 1);
  show("hash remove", at_commit([&](Transaction& txn, Key round) { ASSERT_OK(txn.remove(accounts_, 4 * round)); }), 3 + kChain, 2);
}

// Keys of 8 bytes, of which the first six are the same: a root and two levels.
TEST_F(BudgetTest, sections_of_a_radix_tree) {
  open(false, KeyIndex::kRadix);
  const uint64_t levels = 3, descent = 3 * levels;
  show("radix get", within([&](Transaction& txn, Key round) { get(txn, some(round)); }), descent, 0);
  show("radix batch of 16", batches(), 16 * descent, 16);
  const uint64_t entries = 32, nodes = 8;
  show("radix scan, one part", within([&](Transaction& txn, Key round) {
         ASSERT_OK(txn.scan(accounts_, {some(round), some(round) + 100}, {.limit = 1}, [](Key, const View<Account>&) { return true; }));
       }), descent + 2 * nodes + entries, 24);
  // An insert may replace a full node by a larger one, at most from 48 entries to 256.
  const Range inserts = within([&](Transaction& txn, Key round) {
    ASSERT_OK(txn.insert(accounts_, (Key{1} << 40) + round, Account{}));
  }, 600);
  show("radix insert, with and without a new node", inserts, descent + 18, 4 + 50 + 2);
  EXPECT_LE(inserts.least.lines_written, 4 + kOverhead) << "no new node";
  // A Node256 with 37 entries is replaced by a Node48.
  show("radix remove", at_commit([&](Transaction& txn, Key round) { ASSERT_OK(txn.remove(accounts_, 4 * round)); }, 400), descent + 37,
       4 + 16 + 2);
}

TEST_F(BudgetTest, sections_of_rows) {
  open(true, KeyIndex::kOrdered);
  const uint64_t row = 2;  // of 48 bytes with its header, anywhere in its first line
  show("read of a row", within([&](Transaction& txn, Key round) { get(txn, some(round)); }), row, row);
  for (const Key count : {1u, 4u, 16u}) {
    const std::string writes = "commit, whole, " + std::to_string(count) + " rows written";
    show(writes.c_str(), at_commit([&](Transaction& txn, Key round) {
           for (Key i = 0; i < count; ++i) update(txn, some(round * count + i));
         }), 4 * count + kCommitFixed, row * count);
    const std::string reads = "commit, whole, as many read besides";
    show(reads.c_str(), at_commit([&](Transaction& txn, Key round) {
           for (Key i = 0; i < count; ++i) get(txn, some(round * count + i + 1000)), update(txn, some(round * count + i));
         }), 4 * count + 2 * count + kCommitFixed, row * count);
  }
  show("commit without writes, 16 rows read", at_commit([&](Transaction& txn, Key round) {
         for (Key i = 0; i < 16; ++i) get(txn, some(round * 16 + i));
       }), 2 * 16 + kCommitFixed, 0);
  show("commit, lock bits, 90 rows written", at_commit([&](Transaction& txn, Key round) {
         for (Key i = 0; i < 90; ++i) update(txn, some(round * 90 + i));
       }), 4 * 90 + kCommitFixed, 90);
}

TEST_F(BudgetTest, sections_of_rows_of_several_column_groups) {
  open(true, grouped_account_schema(KeyIndex::kOrdered));
  const uint64_t groups = 2 * 3;
  show("read of 3 column groups", within([&](Transaction& txn, Key round) { get(txn, some(round)); }), groups, groups);
  Range range;
  for (Key round = 0; round <= 200; ++round) {
    ASSERT_OK(db_.run_read_only([&](Transaction& txn) -> Status {
      auto view = txn.get(accounts_, some(round));
      if (view.ok() && round != 0) range.add(emulator::last_region());
      return view.status();
    }));
  }
  show("the same of a snapshot", range, groups, groups);
}

// The sink is called after the region, which only numbers the commit.
TEST_F(BudgetTest, a_commit_while_a_history_is_recorded) {
  struct Nowhere final : HistorySink {
    void on_table(uint32_t, const Schema&) override {}
    void on_transaction(const HistoryTransaction&) override {}
  } nowhere;
  Options options;
  options.history = &nowhere;
  open(true, account_schema(KeyIndex::kOrdered), options);
  const uint64_t before = commits_in_regions();
  show("commit, whole, 4 rows, recorded", at_commit([&](Transaction& txn, Key round) {
         for (Key i = 0; i < 4; ++i) update(txn, some(round * 4 + i));
       }), 4 * 4 + kCommitFixed + 1, 2 * 4 + 1);
  EXPECT_EQ(commits_in_regions(), before + 101);
  db_ = Database();  // before the sink
}

// Their bytes are read and written outside of regions. A commit's region only sets lock bits.
TEST_F(BudgetTest, sections_of_rows_kept_as_blocks) {
  open(true, KeyIndex::kOrdered);
  struct Page {
    uint64_t number;
    std::array<uint64_t, 511> words;
  };
  auto created = db_.create_table(SchemaOf<Page>("pages").column("number", &Page::number).column("words", &Page::words));
  ASSERT_OK(created);
  const Table<Page> pages = *created;
  const Columns<Page> number = pages.columns(&Page::number);
  for (Key key = 0; key < kRows; ++key)
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(pages, key * 4, Page{key, {}})); });
  const auto turn = [&](Transaction& txn, Key key) { ASSERT_OK(txn.update(pages, key, number, [](Page& page) { ++page.number; })); };
  const uint64_t word = 1;
  show("look at a row kept as a block", within([&](Transaction& txn, Key round) { ASSERT_OK(txn.get(pages, some(round))); }), word, 0);
  for (const Key count : {1u, 4u, 16u}) {
    const uint64_t before = commits_in_regions();
    const std::string name = "commit, " + std::to_string(count) + " rows kept as blocks";
    show(name.c_str(), at_commit([&](Transaction& txn, Key round) {
           for (Key i = 0; i < count; ++i) turn(txn, some(round * count + i));
         }), 4 * count + kCommitFixed, count);
    EXPECT_EQ(commits_in_regions(), before + 101) << "each of them a region, the first included";
  }
}

// A row whose indexed column changes gets a new entry while the transaction runs. The commit looks
// at the entry's leaf again. The old entry is removed later.
TEST_F(BudgetTest, sections_of_a_secondary_index) {
  open(false, indexed_account_schema(KeyIndex::kOrdered));
  const Index<Account> by_branch = *db_.index(accounts_, "by_branch");
  const uint64_t h = height_of(table().secondary(0));
  const uint64_t descent = kLeaf + kInner * (h - 1) + 1;
  std::printf("  secondary indexes of height %llu\n", static_cast<unsigned long long>(h));
  uint32_t branch = 0;
  const auto move = [&](Transaction& txn, Key key) {
    ASSERT_OK(txn.update(accounts_, key, accounts_.columns(&Account::branch), [&](Account& account) { account.branch = ++branch % 50; }));
  };
  show("secondary insert", within([&](Transaction& txn, Key round) { move(txn, some(round)); }), descent, kSplit);
  show("secondary scan, one leaf", within([&](Transaction& txn, Key round) {
         const uint64_t value = round % 50;
         ASSERT_OK(txn.scan(by_branch, {value, value}, {.limit = 1}, [](Key, const View<Account>&) { return true; }));
       }), descent, kLeaf + 1);
  for (const Key count : {1u, 4u, 16u}) {
    const uint64_t before = commits_in_regions();
    const std::string name = "commit, " + std::to_string(count) + " indexed columns written";
    show(name.c_str(), at_commit([&](Transaction& txn, Key round) {
           for (Key i = 0; i < count; ++i) move(txn, some(round * count + i));
         }), (4 + 2) * count + kCommitFixed, 2 * count);
    EXPECT_EQ(commits_in_regions(), before + 101) << "each of them a region, the first included";
  }
}

}  // namespace
}  // namespace elider::test
