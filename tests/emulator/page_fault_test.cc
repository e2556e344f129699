// Page faults of the engine's own memory: no region is the first to touch a page, whatever is new of what it writes:
// rows, nodes and buckets of growing indexes, copies of rows that are read (src/htm/prefault.h). Nor does one call the
// allocator, a lock or the system.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <span>
#include <thread>

#include "tests/emulator/support.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

using emulator_test::WithOptions;

struct Wide {
  std::array<uint64_t, 200> words{};
};

// Nothing else aborts, and no site is off.
class PageFaultTest : public testing::TestWithParam<KeyIndex> {
 protected:
  PageFaultTest()
      : large_([](auto& options) {
          options.sets = 4096;
          options.ways = 32;
          options.read_eviction_abort_rate = 0;
          options.page_faults = true;
        }) {
    static_cast<void>(active_mutant());  // which asks the environment at first, and so calls
    Options options;
    options.elision.window_runs = 0;
    db_ = open_database({SyncPolicy::kElided, HtmBackend::kEmulated, GetParam()}, options);
  }

  // In a thread of its own, whose session is new.
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
  expect_no_fault([&] {
    transact(db_, [&](Transaction& txn) {
      for (Key key = 0; key < kRows; ++key) ASSERT_OK(txn.get(*table, key));
    });
  });
}

// Every operation, in transactions of several, while rows, their entries in secondary indexes and nodes come and go.
TEST_P(PageFaultTest, no_operation_faults_or_calls_in_a_region) {
  constexpr Key kKeys = 3000;
  const auto table = db_.create_table(indexed_account_schema(GetParam()));
  ASSERT_OK(table);
  const auto by_branch = db_.index(*table, "by_branch");
  const auto by_owner = db_.index(*table, "by_owner");
  ASSERT_OK(by_branch);
  ASSERT_OK(by_owner);
  expect_no_fault([&] {
    std::mt19937_64 random(1);
    const auto any = [](Key, const View<Account>&) { return true; };
    const auto fine = [](const Status& status) {
      return status.ok() || status.code() == Code::kNotFound || status.code() == Code::kDuplicateKey;
    };
    const auto one = [&](Transaction& txn) -> Status {
      const Key key = random() % kKeys;
      switch (random() % 9) {
        case 0: return txn.insert(*table, key, Account{key, 1, static_cast<uint32_t>(random() % 50), 0});
        case 1: return txn.remove(*table, key);
        case 2:
          return txn.update(*table, key, table->columns(&Account::branch),
                            [&](Account& a) { a.branch = static_cast<uint32_t>(random() % 50); });
        case 3: return txn.add(*table, key, &Account::balance, int64_t{1});
        case 4: return txn.get(*table, key).status();
        case 5: {
          std::array<Key, 16> keys;
          for (Key& each : keys) each = random() % kKeys;
          std::array<View<Account>, 16> views;
          return txn.multi_get(*table, std::span<const Key>(keys), std::span<View<Account>>(views));
        }
        case 6:
          return GetParam() == KeyIndex::kOrdered ? txn.scan(*table, {key, key + 40}, {.limit = 20, .reverse = random() % 2 == 0}, any)
                                                  : Status();
        case 7: return txn.scan(*by_branch, {random() % 50, 50}, {.limit = 20, .reverse = random() % 2 == 0}, any);
        default: return txn.scan(*by_owner, {key, key}, {}, any);
      }
    };
    for (int round = 0; round < 10'000; ++round) {
      const Status status = db_.run([&](Transaction& txn) -> Status {
        for (int operation = 0; operation < 4; ++operation)
          if (Status done = one(txn); !fine(done)) return done;
        return {};
      });
      ASSERT_TRUE(fine(status)) << status.message();
    }
  });
  EXPECT_OK(db_.verify());
}

INSTANTIATE_TEST_SUITE_P(On, PageFaultTest, testing::Values(KeyIndex::kOrdered, KeyIndex::kHashed),
                         [](const auto& info) { return std::string(info.param == KeyIndex::kOrdered ? "ordered" : "hashed"); });

}  // namespace
}  // namespace elider::test
