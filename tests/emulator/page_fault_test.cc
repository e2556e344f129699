// Page faults of the engine's own memory: no region is the first to touch a page, whatever is new of what it writes:
// rows, nodes and buckets of growing indexes, copies of rows that are read (src/htm/prefault.h).
#include <gtest/gtest.h>

#include <array>
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

INSTANTIATE_TEST_SUITE_P(On, PageFaultTest, testing::Values(KeyIndex::kOrdered, KeyIndex::kHashed),
                         [](const auto& info) { return std::string(info.param == KeyIndex::kOrdered ? "ordered" : "hashed"); });

}  // namespace
}  // namespace elider::test
