// Tables of described rows in data folders: the files contain the description.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "elider/described.h"
#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

class DescribedFolderTest : public DataFolderTest {
 protected:
  void SetUp() override {
    DataFolderTest::SetUp();
    options_.durability = Durability::kAsync;  // closing brings it to the disk
  }
  static RowSchema orders() {
    return RowSchema("orders")
        .column("customer", RowType::kText)
        .column("price", RowType::kDecimal, {.scale = 2})
        .column("quantity", RowType::kInt32, {.default_value = 1})
        .column("note", RowType::kText, {.nullable = true})
        .column("state", RowType::kText, {.default_value = "new"});
  }
  // Row `key` has a customer whose name has `key` letters, so rows are stored in all ways.
  static Status fill(Database& db, const DescribedTable<>& table, Key keys) {
    RowBuilder row(table);
    return db.run([&](Transaction& txn) -> Status {
      for (Key key = 0; key < keys; ++key) {
        row.begin().set("customer", std::string(key, 'c')).set("price", Decimal{static_cast<int64_t>(key), 2});
        if (key % 2 == 0) row.set("note", "even");
        if (Status status = txn.put(table, key, row); !status.ok()) return status;
      }
      return {};
    });
  }
  static void expect(Database& db, const DescribedTable<>& table, Key keys) {
    Key seen = 0;
    read(db, [&](Transaction& txn) {
      ASSERT_OK(txn.scan(table, KeyRange{}, {}, [&](Key key, const RowReader& row) {
        EXPECT_EQ(key, seen++);
        EXPECT_EQ(*row.get<std::string_view>("customer"), std::string(key, 'c'));
        EXPECT_EQ(*row.get<Decimal>("price"), (Decimal{static_cast<int64_t>(key), 2}));
        EXPECT_EQ(*row.get<int32_t>("quantity"), 1);
        EXPECT_EQ(*row.get<std::string_view>("state"), "new");
        EXPECT_EQ(row.get<std::optional<std::string_view>>("note")->has_value(), key % 2 == 0);
        return true;
      }));
    });
    EXPECT_EQ(seen, keys);
  }
};

INSTANTIATE_TEST_SUITE_P(Policies, DescribedFolderTest, durable_combinations(), combination_name);

TEST_P(DescribedFolderTest, ADatabaseThatOpensAgainKnowsTheDescription) {
  constexpr Key kRows = 600;
  {
    auto db = open();
    auto table = db.create_table(orders());
    ASSERT_OK(table);
    ASSERT_OK(fill(db, *table, kRows));
  }
  for (const bool checkpointed : {false, true}) {
    auto db = open();
    auto table = db.described_table("orders");
    ASSERT_OK(table);
    EXPECT_TRUE(table->row_schema().same_as(orders().ordered()));
    expect(db, *table, kRows);
    ASSERT_OK(db.create_table(orders()));
    if (!checkpointed) {
      ASSERT_OK(db.checkpoint());
    }
  }
}

TEST_P(DescribedFolderTest, RowsOfSixteenMegabytesAreRecovered) {
  const std::string most(kDescribedRowBytesMax - 20, 'x');
  const auto schema = [] { return RowSchema("files").column("contents", RowType::kBytes).row_bytes_max(kDescribedRowBytesMax); };
  options_.memory_limit_bytes = 400u << 20;
  const auto put = [&](Database& db, Key key, const std::string& contents) {
    auto table = db.create_table(schema());
    ASSERT_OK(table);
    RowBuilder row(*table);
    ASSERT_OK(db.run([&](Transaction& txn) { return txn.put(*table, key, row.begin().set(0, std::as_bytes(std::span(contents)))); }));
  };
  {
    auto db = open();
    for (Key key = 0; key < 3; ++key) put(db, key, most);
    for (Key key = 10; key < 2000; ++key) put(db, key, "small");
    RowBuilder row(schema());
    const std::string more(kDescribedRowBytesMax, 'x');
    row.set(0, std::as_bytes(std::span(more)));
    EXPECT_REFUSED(Code::kInvalidArgument, "maximum is 16777216", row.finish());
  }
  for (const bool checkpointed : {false, true}) {
    auto db = open();
    auto table = db.described_table("files");
    ASSERT_OK(table);
    size_t rows = 0;
    read(db, [&](Transaction& txn) {
      rows = 0;
      ASSERT_OK(txn.scan(*table, KeyRange{}, {}, [&](Key key, const RowReader& row) {
        EXPECT_EQ(row.get<Bytes>(0)->size(), key < 3 ? most.size() : 5u);
        ++rows;
        return true;
      }));
    });
    EXPECT_EQ(rows, 1993u);
    if (!checkpointed) {
      ASSERT_OK(db.checkpoint());
    }
  }
}

TEST_P(DescribedFolderTest, AnotherDescriptionIsRefused) {
  {
    auto db = open();
    ASSERT_OK(db.create_table(orders()));
  }
  auto db = open();
  const auto refused = [&](const RowSchema& schema) { return db.create_table(schema).status(); };
  EXPECT_REFUSED(Code::kSchemaMismatch, "column 'more', which the table does not have", refused(orders().column("more", RowType::kBool)));
  EXPECT_REFUSED(Code::kSchemaMismatch, "column 0 is 'customer' in the table, but 'client' in the program's description; rename it with "
                 "Database::rename_column()",
                 refused(RowSchema("orders")
                             .column("client", RowType::kText)
                             .column("price", RowType::kDecimal, {.scale = 2})
                             .column("quantity", RowType::kInt32, {.default_value = 1})
                             .column("note", RowType::kText, {.nullable = true})
                             .column("state", RowType::kText, {.default_value = "new"})));
  const auto changed = [&](const std::string& of, const std::function<void(std::vector<RowColumn>&)>& change) {
    Schema schema = *orders().table_schema();
    change(schema.row_columns);
    EXPECT_REFUSED(Code::kSchemaMismatch, of, db.create_table(schema));
  };
  changed("column 0 is 'customer' in the table, but 'note' in the program's description; describe the columns in the order of the table",
          [](auto& columns) { std::swap(columns[0], columns[3]); });
  changed("column 'quantity' has type int32 in the table, but int64 in the program's description; change the description, or add a column",
          [](auto& columns) { columns[2] = {.name = "quantity", .type = RowType::kInt64}; });
  changed("column 'note' is nullable in the table, but not nullable in the program's", [](auto& columns) { columns[3].nullable = false; });
  changed("column 'price' has scale 2 in the table, but 3 in the program's", [](auto& columns) { columns[1].scale = 3; });
  changed("column 'state' has a default in the table, but no default in the program's",
          [](auto& columns) { columns[4].default_bytes.reset(); });
  struct Row {
    uint64_t n;
  };
  EXPECT_REFUSED(Code::kSchemaMismatch, "described rows; use Database::described_table()", db.table<Row>("orders"));
  EXPECT_REFUSED(Code::kSchemaMismatch, "has number keys, but the program asks for byte keys",
                 db.described_table<std::string_view>("orders"));
  ASSERT_OK(db.create_table(SchemaOf<Row>("structs")));
  EXPECT_REFUSED(Code::kSchemaMismatch, "not described", db.described_table("structs"));
  EXPECT_REFUSED(Code::kNotFound, "'nothing'", db.described_table("nothing"));
}

TEST_P(DescribedFolderTest, AMalformedDescriptionIsRefusedBeforeItIsStored) {
  auto db = open();
  Schema schema = *orders().table_schema();
  schema.name = "raw";
  const auto refused = [&](RowColumn column) {
    Schema changed = schema;
    changed.row_columns.push_back(std::move(column));
    return db.create_table(changed).status();
  };
  EXPECT_REFUSED(Code::kInvalidArgument, "type", refused({.name = "odd", .type = static_cast<RowType>(40)}));
  EXPECT_REFUSED(Code::kInvalidArgument, "scale", refused({.name = "odd", .type = RowType::kDecimal, .scale = 200}));
  EXPECT_REFUSED(Code::kInvalidArgument, "another column has this name", refused({.name = "note"}));
  EXPECT_REFUSED(Code::kInvalidArgument, "default", refused({.name = "odd", .type = RowType::kInt32, .default_bytes = "x"}));
  EXPECT_REFUSED(Code::kInvalidArgument, "at least one column", db.create_table(RowSchema("none")));
  EXPECT_REFUSED(Code::kInvalidArgument, "a row of defaults",
                 db.create_table(RowSchema("large").column("text", RowType::kText, {.default_value = std::string(2 << 20, 'x')})));
  ASSERT_OK(db.create_table(schema));
}

}  // namespace
}  // namespace elider::test
