// Page faults in the engine's own memory. No region is the first to touch a page, whatever new
// memory it writes: rows, nodes and buckets of growing indexes, or copies of rows that are read
// (src/htm/prefault.h). A region also does not call the allocator, a lock or the system.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <span>
#include <thread>
#include <type_traits>

#include "base/test_points.h"
#include "elider/laboratory.h"
#include "tests/emulator/support.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

using emulator_test::WithOptions;

struct Wide {
  std::array<uint64_t, 200> words{};
};

// Regions do not abort for other reasons, and no site is turned off.
class PageFaultTest : public testing::TestWithParam<KeyIndex> {
 protected:
  PageFaultTest()
      : large_([](auto& options) {
          options.sets = 4096;
          options.ways = 32;
          options.read_eviction_abort_rate = 0;
          options.page_faults = true;
        }) {
    static_cast<void>(active_mutant());  // the first call reads the environment
    Options options;
    change_laboratory(options).elision.window_runs = 0;
    db_ = open_database({SyncPolicy::kElided, HtmBackend::kEmulated, GetParam()}, options);
  }

  // Runs the body in a new thread with a new session.
  template <class Body>
  void expect_no_fault(Body&& body) {
    emulator::reset_counters();
    std::thread(body).join();
    EXPECT_GT(emulator::counters().committed, 100u);
    EXPECT_EQ(emulator::counters().page_fault_aborts, 0u);
    EXPECT_EQ(emulator::counters().call_aborts, 0u);
  }

  const WithOptions large_;
  Database db_;
};

TEST_P(PageFaultTest, growing_tables_fault_in_no_region) {
  const auto table = db_.create_table(account_schema(GetParam()));
  ASSERT_OK(table);
  expect_no_fault([&] {
    for (Key key = 0; key < 20'000; ++key)
      transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, key * 7919 % 65'536, Account{key, 1, 0, 0})); });
  });
  EXPECT_OK(db_.verify());
}

// More than the first block of a transaction's memory.
TEST_P(PageFaultTest, reads_of_large_rows_fault_in_no_region) {
  constexpr Key kRows = 300;
  const auto table = db_.create_table(SchemaOf<Wide>("wide").key_index(GetParam()).column("words", &Wide::words));
  ASSERT_OK(table);
  for (Key key = 0; key < kRows; ++key) transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, key, Wide{})); });
  const auto read_all = [&](Transaction& txn) -> Status {
    for (Key key = 0; key < kRows; ++key)
      if (auto view = txn.get(*table, key); !view.ok()) return view.status();
    return {};
  };
  expect_no_fault([&] { EXPECT_OK(db_.run(read_all)); });
  expect_no_fault([&] { EXPECT_OK(db_.run_read_only(read_all)); });
}

// An account that is kept as a block (Options::block_threshold_bytes), wherever
// its words are in its group.
struct LargeAccount {
  uint64_t owner = 0;
  int64_t balance = 0;
  uint32_t branch = 0;
  uint32_t flags = 0;
  std::array<uint64_t, 300> words{};
};

// Runs every operation, in transactions of several, while rows, their index entries and nodes are
// inserted and removed.
template <class Row>
class Operations {
 public:
  Operations(Database& db, const SchemaOf<Row>& schema) : db_(db), ordered_(is_ordered(schema.schema().key_index)) {
    const auto table = db.create_table(schema);
    EXPECT_OK(table);
    table_ = *table;
    by_branch_ = *db.index(table_, "by_branch");
    by_owner_ = *db.index(table_, "by_owner");
  }

  static SchemaOf<Row> schema(KeyIndex key_index) {
    SchemaOf<Row> schema("accounts");
    schema.key_index(key_index)
        .column("owner", &Row::owner)
        .column("balance", &Row::balance)
        .column("branch", &Row::branch)
        .column("flags", &Row::flags);
    if constexpr (std::is_same_v<Row, LargeAccount>) schema.column("words", &Row::words);
    return schema.index("by_branch", {"branch"}, [](const Row& row) { return uint64_t{row.branch}; })
        .unique_index("by_owner", {"owner"}, [](const Row& row) { return row.owner; });
  }

  // One transaction in 16 is longer: its region only sets lock bits, or it takes the locks
  // directly.
  void run(int transactions) {
    for (int i = 0; i < transactions; ++i) {
      const int operations = i % 16 == 0 ? 40 : 4;
      const Status status = db_.run([&](Transaction& txn) -> Status {
        for (int operation = 0; operation < operations; ++operation)
          if (Status done = any_operation(txn); !fine(done)) return done;
        return {};
      });
      ASSERT_TRUE(fine(status)) << status.message();
    }
    for (size_t operation = 0; operation < kOperations; ++operation) EXPECT_GT(succeeded_[operation], 10) << "operation " << operation;
  }

 private:
  static constexpr Key kKeys = 1500;
  static constexpr size_t kOperations = 13;

  static bool fine(const Status& status) {
    return status.ok() || status.code() == Code::kNotFound || status.code() == Code::kDuplicateKey;
  }
  uint32_t branch() { return static_cast<uint32_t>(random_() % 50); }
  Row row(uint64_t owner) {
    Row row{};
    row.owner = owner;
    row.branch = branch();
    return row;
  }

  Status any_operation(Transaction& txn) {
    const size_t operation = random_() % kOperations;
    const Status status = operate(txn, operation, random_() % kKeys);
    succeeded_[operation] += status.ok();
    return status;
  }

  Status operate(Transaction& txn, size_t operation, Key key) {
    const ScanOptions some{.limit = 20, .reverse = random_() % 2 == 0};
    const auto visit = [](Key, const View<Row>&) { return true; };
    switch (operation) {
      case 0: return txn.insert(table_, key, row(key));
      case 1: return txn.put(table_, key, row(key));
      case 2: return txn.put(table_, key, row(random_() % kKeys));  // another owner, which is in use or not
      case 3: return txn.remove(table_, key);
      case 4: return txn.update(table_, key, table_.columns(&Row::branch), [&](Row& each) { each.branch = branch(); });
      case 5: return update_several(txn, key);
      case 6: return txn.write(table_, key, table_.columns(&Row::balance, &Row::flags), row(key));
      case 7: return txn.write(table_, key, table_.columns(&Row::balance, &Row::branch, &Row::flags), row(key));
      case 8:
        if (Status status = txn.add(table_, key, &Row::balance, int64_t{1}); !status.ok()) return status;
        return txn.add(table_, key, &Row::flags, 1u);
      case 9:
        if (Status status = txn.get(table_, key, table_.columns(&Row::owner, &Row::flags)).status(); !status.ok()) return status;
        return txn.get(table_, key).status();
      case 10: {
        std::array<Key, 16> keys;
        for (Key& each : keys) each = random_() % kKeys;
        std::array<View<Row>, 16> views;
        return txn.multi_get(table_, std::span<const Key>(keys), std::span<View<Row>>(views));
      }
      case 11: return txn.scan(by_branch_, {random_() % 50, 50}, some, visit);
      default: return ordered_ ? txn.scan(table_, {key, key + 40}, some, visit) : txn.scan(by_owner_, {key, key}, {}, visit);
    }
  }

  // Updates a row through a view that was read, and again by its key.
  Status update_several(Transaction& txn, Key key) {
    const auto change = [](Row& each) {
      ++each.balance;
      ++each.flags;
    };
    const auto view = txn.get(table_, key);
    if (!view.ok()) return view.status();
    if (Status status = txn.update(table_, *view, table_.columns(&Row::balance, &Row::flags), change); !status.ok()) return status;
    return txn.update(table_, key, table_.columns(&Row::balance, &Row::branch, &Row::flags), [&](Row& each) {
      change(each);
      each.branch = branch();
    });
  }

  Database& db_;
  const bool ordered_;
  Table<Row> table_;
  Index<Row> by_branch_, by_owner_;
  std::mt19937_64 random_{1};
  std::array<int, kOperations> succeeded_{};
};

TEST_P(PageFaultTest, no_operation_faults_or_calls_in_a_region) {
  Operations<Account> operations(db_, Operations<Account>::schema(GetParam()));
  expect_no_fault([&] { operations.run(10'000); });
  EXPECT_OK(db_.verify());
}

// A row of three cells, each with a commit word of its own.
TEST_P(PageFaultTest, no_operation_on_column_groups_faults_or_calls_in_a_region) {
  Operations<Account> operations(db_, Operations<Account>::schema(GetParam()).group({"balance"}).group({"flags"}));
  expect_no_fault([&] { operations.run(5'000); });
  EXPECT_OK(db_.verify());
}

TEST_P(PageFaultTest, no_operation_on_rows_kept_as_blocks_faults_or_calls_in_a_region) {
  Operations<LargeAccount> operations(db_, Operations<LargeAccount>::schema(GetParam()));
  expect_no_fault([&] { operations.run(5'000); });
  EXPECT_GT(db_.statistics().memory.blocks, 0u);
  EXPECT_OK(db_.verify());
}

// One group is a block, and the others are in place.
TEST_P(PageFaultTest, no_operation_on_blocks_and_groups_faults_or_calls_in_a_region) {
  Operations<LargeAccount> operations(db_, Operations<LargeAccount>::schema(GetParam()).group({"words"}).group({"balance", "flags"}));
  expect_no_fault([&] { operations.run(5'000); });
  EXPECT_GT(db_.statistics().memory.blocks, 0u);
  EXPECT_OK(db_.verify());
}

// An old reader keeps each row's version from before its first change.
TEST_P(PageFaultTest, no_operation_beside_an_old_snapshot_faults_or_calls_in_a_region) {
  Operations<LargeAccount> operations(db_, Operations<LargeAccount>::schema(GetParam()).group({"balance"}));
  operations.run(500);
  const ActiveTransaction reader = begin_read_only(db_);
  expect_no_fault([&] { operations.run(2'000); });
  EXPECT_GT(db_.statistics().memory.versions, 0u);
}

INSTANTIATE_TEST_SUITE_P(On, PageFaultTest, testing::ValuesIn(kKeyIndexes),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace elider::test
