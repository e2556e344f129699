// Each table reports all its memory: the sum over the tables is what the database reports.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"
#include "tests/support/rows.h"

namespace elider::test {
namespace {

class TableMemoryTest : public DatabaseTest {
 protected:
  static constexpr Key kRows = 1500;

  // Creates one table for each way to store rows.
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(indexed_account_schema(GetParam().key_index));
    documents_ = create(document_schema(GetParam().key_index));
    inline_ = create(account_schema(KeyIndex::kHashed, "inline").inline_rows(kRows / 4));  // most rows do not find a place
    zoned_ = create(account_schema(GetParam().key_index, "zoned").zoned());
    Schema sized;
    sized.name = "sized";
    sized.key_index = GetParam().key_index;
    sized.row_bytes = 400'000;
    sized.sized_rows = true;
    sized.columns = {{"n", ColumnType::kUInt64, 0, 8, 0}};
    sized_ = *db_.create_table(sized);
  }
  void put(Key key, uint64_t round) {
    transact(db_, [&](Transaction& txn) {
      const Account account{key + round * kRows, 1, static_cast<uint32_t>(key + round), 0};
      ASSERT_OK(txn.put(accounts_, key, account));
      ASSERT_OK(txn.put(inline_, key, account));
      ASSERT_OK(txn.put(zoned_, key, account));
      if (key % 4 == 0) {
        ASSERT_OK(txn.put(documents_, key, document_of(round)));
      }
      if (key % 16 == 0) {
        ASSERT_OK(txn.put(sized_, key, std::vector<std::byte>(8 + (key * 997 + round * 31'337) % 300'000)));
      }
    });
  }
  void remove(Key key) {
    transact(db_, [&](Transaction& txn) {
      ASSERT_OK(txn.remove(accounts_, key));
      ASSERT_OK(txn.remove(inline_, key));
      ASSERT_OK(txn.remove(zoned_, key));
      if (key % 4 == 0) {
        ASSERT_OK(txn.remove(documents_, key));
      }
      if (key % 16 == 0) {
        ASSERT_OK(txn.remove(sized_, key));
      }
    });
  }
  struct Sums {
    uint64_t rows = 0, versions = 0, indexes = 0;
  };
  static Sums sums(const Statistics& statistics) {
    Sums sums;
    for (const Statistics::Table& table : statistics.tables) {
      sums.rows += table.row_bytes;
      sums.versions += table.version_bytes;
      sums.indexes += table.index_bytes;
    }
    return sums;
  }
  // May be called only while nothing waits for its grace period.
  void expect_all_told() {
    db_.collect_garbage();
    const Statistics statistics = db_.statistics();
    const Sums told = sums(statistics);
    EXPECT_EQ(told.rows, statistics.memory.rows + statistics.memory.blocks);
    EXPECT_EQ(told.versions, statistics.memory.versions);
    // The memory of an empty index is on the process's heap, with its region counters if it has
    // any.
    EXPECT_GE(told.indexes, statistics.memory.indexes);
    EXPECT_LE(told.indexes, statistics.memory.indexes + 20'000 * (statistics.tables.size() + 2));
  }
  const Statistics::Table table(const char* name) const {
    for (const Statistics::Table& table : db_.statistics().tables)
      if (table.name == name) return table;
    ADD_FAILURE() << "no table " << name;
    return {};
  }

  Table<Account> accounts_, inline_, zoned_;
  Table<Document> documents_;
  TableRef sized_;
};
ELIDER_ON_EVERY(TableMemoryTest);

TEST_P(TableMemoryTest, TheTablesAddUpToTheDatabase) {
  expect_all_told();
  for (Key key = 0; key < kRows; ++key) put(key, 0);
  expect_all_told();
  EXPECT_GT(table("documents").row_bytes, kRows / 4 * sizeof(Document));
  EXPECT_GT(table("sized").row_bytes, kRows / 16 * 100'000);
  if (db_.statistics().memory.indexes != 0) {  // the database's own indexes
    EXPECT_GT(table("accounts").index_bytes, 3 * kRows * 16);
  }
  for (Key key = 0; key < kRows; key += 2) put(key, 1);
  expect_all_told();
  for (Key key = 0; key < kRows; key += 3) remove(key);
  expect_all_told();
  for (Key key = 0; key < kRows; ++key) put(key, 2);
  expect_all_told();
  for (Key key = 0; key < kRows; ++key) remove(key);
  expect_all_told();
  EXPECT_EQ(table("documents").row_bytes, 0u);
  EXPECT_EQ(table("sized").row_bytes, 0u);
}

TEST_P(TableMemoryTest, AbortedWritesAreNotCounted) {
  for (Key key = 0; key < 32; ++key) put(key, 0);
  EXPECT_CODE(Code::kRolledBack, db_.run([&](Transaction& txn) -> Status {
    for (Key key = 0; key < 64; ++key) {
      EXPECT_OK(txn.put(documents_, key, document_of(7)));
      EXPECT_OK(txn.put(sized_, key, std::vector<std::byte>(5000)));
    }
    return Status::rollback();
  }));
  expect_all_told();
}

class VersionMemoryTest : public TableMemoryTest {};
ELIDER_ON_CONCURRENT(VersionMemoryTest);

TEST_P(VersionMemoryTest, OldVersionsAreToldByTable) {
  for (Key key = 0; key < kRows; ++key) put(key, 0);
  db_.collect_garbage();
  ActiveTransaction reader = begin_read_only(db_);
  for (Key key = 0; key < kRows; key += 4) put(key, 1);
  const Statistics statistics = db_.statistics();
  EXPECT_GE(statistics.versions_alive, 3 * kRows / 4);
  EXPECT_EQ(sums(statistics).versions, statistics.memory.versions);
  EXPECT_GT(table("accounts").version_bytes, kRows / 4 * sizeof(Account));
  EXPECT_GT(table("zoned").version_bytes, kRows / 4 * sizeof(Account));
  EXPECT_EQ(sums(statistics).rows, statistics.memory.rows + statistics.memory.blocks) << "old blocks count until they are reclaimed";
  reader.rollback();
  expect_all_told();
  EXPECT_EQ(db_.statistics().versions_alive, 0u);
}

}  // namespace
}  // namespace elider::test
