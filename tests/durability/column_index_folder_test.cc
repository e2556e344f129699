// Indexes by columns in data folders: the files describe them, so a program that knows neither the
// schema nor a key function opens, verifies and writes the database.
#include <string>

#include "elider/described.h"
#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

struct Crate {
  uint32_t shelf = 0;
  int32_t weight = 0;
  char label[8] = {};
};

class ColumnIndexFolderTest : public DataFolderTest {
 protected:
  static RowSchema people() {
    return RowSchema("people")
        .column("name", RowType::kText)
        .column("born", RowType::kTimestamp, {.nullable = true})
        .unique_index("by_name", {"name"})
        .index("by_born", {descending("born"), "name"});
  }
  static SchemaOf<Crate> crates(bool descending_weight = true) {
    SchemaOf<Crate> schema("crates");
    schema.column("shelf", &Crate::shelf).column("weight", &Crate::weight).column("label", &Crate::label);
    schema.index("by_shelf", {"shelf", descending_weight ? descending("weight") : IndexColumn("weight")});
    schema.unique_index("by_label", {"label"});
    return schema;
  }
  static void fill(Database& db) {
    auto people_table = db.create_table(people());
    auto crate_table = db.create_table(crates());
    ASSERT_OK(people_table);
    ASSERT_OK(crate_table);
    RowBuilder row(*people_table);
    for (Key begin = 0; begin < kRows; begin += 500)
      transact(db, [&](Transaction& txn) {
        for (Key key = begin; key < begin + 500; ++key) {
          ASSERT_OK(txn.insert(*people_table, key, row.begin().set("name", "n" + std::to_string(key))));
          Crate crate{static_cast<uint32_t>(key % 7), -static_cast<int32_t>(key), {}};
          std::snprintf(crate.label, sizeof crate.label, "%05u", static_cast<unsigned>(key));
          ASSERT_OK(txn.insert(*crate_table, key, crate));
        }
      });
  }
  // Looks at the database without its schemas.
  static void expect(Database& db) {
    EXPECT_OK(db.verify());
    auto people_table = db.described_table("people");
    ASSERT_OK(people_table);
    EXPECT_TRUE(people_table->row_schema().indexes().size() == 2 && people_table->row_schema().indexes()[1].is_descending(0));
    auto by_name = db.index(*people_table, "by_name");
    auto crate_table = db.table<Crate>("crates");
    ASSERT_OK(by_name);
    ASSERT_OK(crate_table);
    auto by_shelf = db.index(*crate_table, "by_shelf");
    ASSERT_OK(by_shelf);
    read(db, [&](Transaction& txn) {
      EXPECT_EQ(*txn.count(*by_name, prefix()), kRows);
      std::vector<Key> found;
      ASSERT_OK(txn.scan(*by_shelf, prefix(3u), {.limit = 3}, [&](Key key, const View<Crate>&) { found.push_back(key); }));
      EXPECT_EQ(found, (std::vector<Key>{3, 10, 17}));
    });
    RowBuilder row(*people_table);
    EXPECT_CODE(Code::kDuplicateKey, db.run([&](Transaction& txn) {
      return txn.insert(*people_table, kRows + 1, row.begin().set("name", "n17"));
    }));
    transact(db, [&](Transaction& txn) {  // a write, which is undone
      ASSERT_OK(txn.insert(*people_table, kRows + 1, row.begin().set("name", "new")));
    });
    transact(db, [&](Transaction& txn) { ASSERT_OK(txn.remove(*people_table, kRows + 1)); });
    EXPECT_OK(db.verify());
  }
  static constexpr Key kRows = 5000;
};

INSTANTIATE_TEST_SUITE_P(Policies, ColumnIndexFolderTest, durable_combinations(), combination_name);

TEST_P(ColumnIndexFolderTest, AProgramWithoutSchemasOpensTheDatabase) {
  options_.durability = Durability::kAsync;
  {
    auto db = open();
    fill(db);
  }
  for (const uint32_t threads : {1u, 3u}) {
    options_.recovery_threads = threads;
    auto db = open();
    EXPECT_TRUE(db.recovery().indexes_left_out.empty());
    expect(db);
    ASSERT_OK(db.checkpoint()) << "the next opening loads it";
  }
  options_.schemas = {crates().schema()};
  {
    auto db = open();
    expect(db);
  }
  options_.schemas = {crates(false).schema()};
  EXPECT_REFUSED(Code::kSchemaMismatch, "'weight' descending in the table, but ascending in the program's description",
                 Database::open(options_));
  options_.schemas.clear();
  options_.leave_out_indexes = true;
  auto db = open();
  expect(db);
  const auto sum = [](const Crate& c) { return uint64_t{c.shelf} + static_cast<uint64_t>(c.weight); };
  SchemaOf<Crate> other("crates");
  other.column("shelf", &Crate::shelf).column("weight", &Crate::weight).column("label", &Crate::label);
  other.index("by_shelf", {"shelf", "weight"}, sum).unique_index("by_label", {"label"});
  EXPECT_REFUSED(Code::kSchemaMismatch, "is by columns in the table, but has a key function in the program's description",
                 db.create_table(other));
}

// A table with both kinds of indexes lacks all of them if a key function is missing.
TEST_P(ColumnIndexFolderTest, ATableWithBothKindsNeedsTheFunctions) {
  options_.durability = Durability::kAsync;
  const auto both = crates().index("by_weight", {"weight"}, [](const Crate& c) { return static_cast<uint64_t>(c.weight); });
  {
    auto db = open();
    auto table = db.create_table(both);
    ASSERT_OK(table);
    transact(db, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, 1, Crate{1, 2, "a"})); });
  }
  EXPECT_REFUSED(Code::kSchemaMismatch, "leave_out_indexes", Database::open(options_));
  options_.leave_out_indexes = true;
  {
    auto db = open();
    EXPECT_EQ(db.recovery().indexes_left_out.size(), 3u);
    EXPECT_CODE(Code::kNotFound, db.index(*db.table<Crate>("crates"), "by_shelf"));
  }
  options_.schemas = {both.schema()};
  auto db = open();
  EXPECT_OK(db.verify());
  EXPECT_OK(db.index(*db.table<Crate>("crates"), "by_shelf"));
}

}  // namespace
}  // namespace elider::test
