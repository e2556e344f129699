// A database that its memory limit has filled is closed and opened again with the same options: all
// of it is there, whatever the index, the size of rows, and whether a checkpoint or the log brings
// it in. Writes that need memory are refused until less is in use.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <ostream>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"
#include "tests/support/temporary_folder.h"

namespace elider::test {
namespace {

struct Shape {
  const char* name;
  uint32_t row_bytes;
  bool sized;          // then rows have up to row_bytes
  bool indexed;        // by a secondary index
  uint64_t limit_bytes;
  friend void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }
};

// Below 64 MiB memory is taken in chunks of 64 KiB, from there on of 2 MiB.
constexpr Shape kShapes[] = {
    {"small", 16, false, false, 4u << 20},    {"small_indexed", 16, false, true, 4u << 20}, {"middle", 1000, false, true, 64u << 20},
    {"block", 4000, false, false, 16u << 20}, {"sized", 30'000, true, true, 64u << 20},
};

class FullDatabaseTest : public testing::TestWithParam<std::tuple<KeyIndex, Shape, bool>> {
 protected:
  static constexpr uint32_t kRowsATransaction = 64;

  KeyIndex key_index() const { return std::get<0>(GetParam()); }
  const Shape& shape() const { return std::get<1>(GetParam()); }
  bool takes_checkpoint() const { return std::get<2>(GetParam()); }

  void SetUp() override {
    options_.data_folders = {folder_.path() / "data"};
    options_.memory_limit_bytes = shape().limit_bytes;
    options_.huge_pages = false;
    options_.recovery_threads = 4;
    options_.checkpoint_threads = 4;  // so that several threads load what it has
    options_.checkpoint_log_bytes = 0;
    options_.log_segment_bytes = 1u << 20;
    options_.schemas = {schema()};
  }
  Schema schema() const {
    Schema schema;
    schema.name = "rows";
    schema.key_index = key_index();
    schema.row_bytes = shape().row_bytes;
    schema.sized_rows = shape().sized;
    schema.columns = {{"n", ColumnType::kUInt64, 0, 8, 0}};
    if (shape().indexed)
      schema.indexes = {{"by_n", false, {"n"}, [](const void* row) {
                           uint64_t n;
                           std::memcpy(&n, row, sizeof n);
                           return n;
                         }}};
    return schema;
  }
  // Rows that come one after the other are not neighbours by key, so index nodes are as full as
  // splits leave them.
  static Key key_of(uint64_t i) { return i * 0x9e3779b97f4a7c15u >> 20; }
  std::vector<std::byte> row_of(uint64_t i) const {
    const size_t bytes = shape().sized ? 8 + i * 7919 % (shape().row_bytes - 7) : shape().row_bytes;
    std::vector<std::byte> row(bytes, static_cast<std::byte>(i));
    const uint64_t n = i % 1000;
    std::memcpy(row.data(), &n, sizeof n);
    return row;
  }
  Status insert(Database& db, uint64_t begin, uint64_t end) {
    const TableRef table = *db.table("rows");
    return db.run([&](Transaction& txn) -> Status {
      for (uint64_t i = begin; i < end; ++i)
        if (Status status = txn.insert(table, key_of(i), row_of(i)); !status.ok()) return status;
      return {};
    });
  }
  // Until a single row is refused; how many are there then.
  uint64_t fill(Database& db, uint64_t count, Status* refusal) {
    for (uint32_t at_once = kRowsATransaction;;) {
      *refusal = insert(db, count, count + at_once);
      if (refusal->ok()) count += at_once;
      else if (refusal->code() != Code::kMemoryLimit || at_once == 1) return count;
      else at_once = 1;
    }
  }
  void expect_rows(Database& db, uint64_t count) {
    EXPECT_EQ(db.statistics().tables.front().rows, count);
    const TableRef table = *db.table("rows");
    read(db, [&](Transaction& txn) {
      for (uint64_t i = 0; i < count; ++i) {
        RawView view;
        ASSERT_OK(txn.get(table, key_of(i), {}, &view)) << "row " << i;
        const std::vector<std::byte> expected = row_of(i);
        ASSERT_EQ(view.size(), expected.size());
        ASSERT_EQ(std::memcmp(view.bytes(), expected.data(), expected.size()), 0) << "row " << i;
      }
    });
    EXPECT_OK(db.verify());
  }
  static uint64_t used(const Database& db) {
    const Statistics::Memory memory = db.statistics().memory;
    return memory.rows + memory.versions + memory.blocks + memory.indexes;
  }

  const TemporaryFolder folder_{"elider_full"};
  Options options_;
};

INSTANTIATE_TEST_SUITE_P(EveryIndexAndRow, FullDatabaseTest,
                         testing::Combine(testing::ValuesIn(kKeyIndexes), testing::ValuesIn(kShapes), testing::Bool()),
                         [](const auto& info) {
                           std::string name(name_of(std::get<0>(info.param)));
                           return name + "_" + std::get<1>(info.param).name + (std::get<2>(info.param) ? "_checkpoint" : "_log");
                         });

TEST_P(FullDatabaseTest, IsOpenedAgainAndTakesWritesWhenThereIsRoom) {
  uint64_t count = 0;
  {
    auto db = Database::open(options_);
    ASSERT_OK(db);
    Status refusal;
    count = fill(*db, 0, &refusal);
    ASSERT_CODE(Code::kMemoryLimit, refusal);
    ASSERT_GT(used(*db), shape().limit_bytes / 2);
    if (takes_checkpoint()) {
      ASSERT_OK(db->checkpoint());
    }
  }
  for (int round = 0; round < 2; ++round) {
    auto db = Database::open(options_);
    ASSERT_OK(db) << count << " rows, opening " << round;
    expect_rows(*db, count);
    db->collect_garbage();  // what recovery itself has replaced, such as smaller hash directories
    if (used(*db) > shape().limit_bytes) {
      // No more than what its worker has at hand: a run of objects of each class.
      Status refusal;
      EXPECT_LT(fill(*db, count, &refusal) - count, count / 50 + 2 * kRowsATransaction);
      EXPECT_CODE(Code::kMemoryLimit, refusal);
      count = db->statistics().tables.front().rows;
    }
    // Rows go until there is room: tree nodes that become partly empty take as much as before.
    const TableRef table = *db->table("rows");
    do {
      const uint64_t fewer = count - std::max<uint64_t>(count / 4, 1);
      for (; count > fewer; --count)
        ASSERT_OK(db->run([&](Transaction& txn) { return txn.remove(table, key_of(count - 1)); }));
      db->collect_garbage();
    } while (used(*db) > shape().limit_bytes);
    ASSERT_GT(count, 0u);
    ASSERT_OK(insert(*db, count, count + 1));
    ++count;
    Status refusal;
    count = fill(*db, count, &refusal);
    EXPECT_CODE(Code::kMemoryLimit, refusal);
  }
}

}  // namespace
}  // namespace elider::test
