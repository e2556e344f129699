// What operations on sized rows cost goes by the row, not by the largest one that the table allows:
// counted in bytes that they ask of the heap.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"
#include "tests/support/heap_bytes.h"

namespace elider::test {
namespace {

class SizedCostsTest : public DatabaseTest {
 protected:
  static constexpr uint32_t kMost = 1u << 20;
  static constexpr uint64_t kAllowed = 16u << 10;  // well below the most that a row may have
  static constexpr Key kRows = 8;

  void SetUp() override {
    DatabaseTest::SetUp();
    Schema schema;
    schema.name = "notes";
    schema.key_index = GetParam().key_index;
    schema.row_bytes = kMost;
    schema.sized_rows = true;
    schema.columns = {{"owner", ColumnType::kUInt64, 0, 8, 0}};
    schema.indexes.push_back({"by_owner", false, {"owner"}, [](const void* row) {
                                uint64_t owner;
                                std::memcpy(&owner, row, sizeof owner);
                                return owner;
                              }});
    auto table = db_.create_table(schema);
    ASSERT_OK(table);
    notes_ = *table;
    by_owner_ = *db_.index(notes_, "by_owner");
    // Whatever is made once is there before anything is counted.
    for (int round = 0; round < 3; ++round) {
      for (Key key = 0; key < kRows; ++key) put(key, key);
      look();
      for (Key key = 0; key < kRows; ++key) remove(key);
      db_.collect_garbage();
    }
    for (Key key = 0; key < kRows; ++key) put(key, key);
  }
  void put(Key key, uint64_t owner) {
    std::vector<std::byte> row(100);
    std::memcpy(row.data(), &owner, sizeof owner);
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(notes_, key, row)); });
  }
  void remove(Key key) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(notes_, key)); });
  }
  // All rows by both indexes, on a snapshot and in a transaction that may write.
  void look() {
    const auto scan = [&](Transaction& txn) {
      uint64_t found = 0;
      const auto count = [&](Key, RawView view) { return (found += view.size()) != 0; };
      ASSERT_OK(txn.scan(by_owner_, KeyRange{}, ScanOptions{}, count));
      if (GetParam().key_index != KeyIndex::kHashed) {
        ASSERT_OK(txn.scan(notes_, KeyRange{}, ScanOptions{}, count));
      }
      ASSERT_GE(found, kRows * 100);
    };
    read(db_, scan);
    transact(db_, scan);
  }
  template <class Operation>
  static uint64_t bytes_of(Operation&& operation) {
    const uint64_t before = heap_bytes;
    operation();
    return heap_bytes - before;
  }

  TableRef notes_;
  IndexRef by_owner_;
};
ELIDER_ON_EVERY(SizedCostsTest);

TEST_P(SizedCostsTest, AChangeOfAnIndexedColumnAsksForNoLargestRow) {
  EXPECT_LT(bytes_of([&] { put(1, 100); }), kAllowed);
  EXPECT_LT(bytes_of([&] { db_.collect_garbage(); }), kAllowed) << "the old entry";
}
TEST_P(SizedCostsTest, ARemovalAndItsReclamationAskForNoLargestRow) {
  EXPECT_LT(bytes_of([&] { remove(1); }), kAllowed);
  EXPECT_LT(bytes_of([&] { db_.collect_garbage(); }), kAllowed);
}
TEST_P(SizedCostsTest, ARowThatComesBackAsksForNoLargestRow) {
  ActiveTransaction reader = begin_read_only(db_);  // it keeps the row block
  remove(1);
  EXPECT_LT(bytes_of([&] { put(1, 200); }), kAllowed);
  reader.rollback();
}
TEST_P(SizedCostsTest, ScansAskForNoLargestRow) { EXPECT_LT(bytes_of([&] { look(); }), kAllowed); }

}  // namespace
}  // namespace elider::test
