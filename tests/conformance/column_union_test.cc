// Transactions that write ever new unions of a table's columns: what a union needs goes with the
// transaction, and the rows are right, now and when the log is read again.
#include <malloc.h>

#include <array>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/sanitizer.h"
#include "tests/support/database_test.h"
#include "tests/support/temporary_folder.h"

namespace elider::test {
namespace {

constexpr uint32_t kColumns = 64;
using Wide = std::array<uint64_t, kColumns>;

Schema wide_schema(KeyIndex key_index) {
  Schema schema;
  schema.name = "wide";
  schema.row_bytes = sizeof(Wide);
  schema.key_index = key_index;
  for (uint32_t i = 0; i < kColumns; ++i) schema.columns.push_back({"c" + std::to_string(i), ColumnType::kUInt64, 8 * i, 8, i % 2});
  return schema;
}

class ColumnUnionTest : public DatabaseTest {
 protected:
  // As many transactions, each of which adds 1 to three columns of row 0, no two to the
  // same three; `model` follows.
  void write_unions(Database& db, uint32_t count, Wide* model) {
    auto table = db.table("wide");
    ASSERT_OK(table);
    std::vector<ColumnsRef> columns;
    for (uint32_t i = 0; i < kColumns; ++i) {
      const std::vector<std::string> name{"c" + std::to_string(i)};
      columns.push_back(*db.columns(*table, name));
    }
    uint32_t done = 0;
    for (uint32_t a = 0; a < kColumns; ++a)
      for (uint32_t b = a + 1; b < kColumns; ++b)
        for (uint32_t c = b + 1; c < kColumns && done < count; ++c, ++done) {
          transact(db, [&](Transaction& txn) {
            for (const uint32_t i : {c, a, b}) {
              void* image = nullptr;
              ASSERT_OK(txn.edit(*table, 0, columns[i], &image));
              ++(*static_cast<Wide*>(image))[i];
              ASSERT_OK(txn.edited(*table, image));
            }
          });
          for (const uint32_t i : {a, b, c}) ++(*model)[i];
        }
  }
  void expect_row(Database& db, const Wide& model) {
    auto table = db.table("wide");
    ASSERT_OK(table);
    Wide found{};
    read(db, [&](Transaction& txn) {
      RawView view;
      ASSERT_OK(txn.get(*table, 0, ColumnsRef::all(*table), &view));
      std::memcpy(&found, view.bytes(), sizeof(found));
    });
    EXPECT_EQ(found, model);
  }
  void make_row(Database& db) {
    auto table = db.create_table(wide_schema(GetParam().key_index));
    ASSERT_OK(table);
    const Wide row{};
    transact(db, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, 0, std::as_bytes(std::span(row)))); });
  }
};

TEST_P(ColumnUnionTest, TakeNoMemoryThatStays) {
  make_row(db_);
  Wide model{};
  write_unions(db_, 500, &model);
  const size_t before = mallinfo2().uordblks;
  write_unions(db_, 6000, &model);
  const size_t after = mallinfo2().uordblks;
  expect_row(db_, model);
  if (!ELIDER_ASAN && !ELIDER_TSAN) {
    EXPECT_LT(after, before + (1u << 20));
  }
}

TEST_P(ColumnUnionTest, ComeBackFromTheLog) {
  const TemporaryFolder folder("elider_unions");
  Options options = options_of(GetParam());
  options.data_folders = {folder.path() / "data"};
  Wide model{};
  for (int run = 0; run < 2; ++run) {
    auto db = Database::open(options);
    ASSERT_OK(db);
    if (run == 0) make_row(*db);
    else expect_row(*db, model);
    write_unions(*db, 400, &model);
    expect_row(*db, model);
  }
}

ELIDER_ON_EVERY(ColumnUnionTest);

}  // namespace
}  // namespace elider::test
