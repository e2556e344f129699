// Changes of tables and columns in data folders: after opening again, at an earlier number, beside
// checkpoints, and in programs of two versions that take turns.

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/test_points.h"
#include "elider/described.h"
#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

// All tables with their columns and rows: "orders(customer, note): 1 Ada -, 2 Bob x; ".
std::string all_of(Database& db) {
  std::string words;
  for (const TableRef& found : db.tables()) {
    const Schema& schema = found.schema();
    words += schema.name;
    if (schema.row_columns.empty()) {
      const auto table = db.table<Account>(schema.name);
      EXPECT_OK(table);
      words += ":";
      read(db, [&](Transaction& txn) {
        EXPECT_OK(txn.scan(*table, KeyRange{}, {}, [&](Key key, const View<Account>&) { words += ' ' + std::to_string(key); }));
      });
    } else {
      const auto table = db.described_table(schema.name);
      EXPECT_OK(table);
      const RowSchema& rows = table->row_schema();
      words += '(';
      for (size_t i = 0; i < rows.columns(); ++i)
        if (!rows.column(i).dropped) words += rows.column(i).name + ' ';
      words.back() = ')';
      read(db, [&](Transaction& txn) {
        EXPECT_OK(txn.scan(*table, KeyRange{}, {}, [&](Key key, const RowReader& row) {
          words += ' ' + std::to_string(key);
          for (size_t i = 0; i < rows.columns(); ++i)
            if (!rows.column(i).dropped) words += ' ' + row.value(i)->to_text();
          return true;
        }));
      });
    }
    words += "; ";
  }
  return words;
}

RowSchema orders(const std::string& name = "orders") {
  return RowSchema(name).column("customer", RowType::kText).column("note", RowType::kText, {.nullable = true});
}

void put(Database& db, const std::string& table, Key key, const std::string& customer, SnapshotNumber* number = nullptr) {
  const auto found = db.described_table(table);
  ASSERT_OK(found);
  RowBuilder row(*found);
  RunPolicy policy;
  policy.commit_number = number;
  ASSERT_OK(db.run([&](Transaction& txn) { return txn.put(*found, key, row.begin().set(0, customer)); }, policy));
}

class SchemaChangeFolderTest : public DataFolderTest {
 protected:
  void SetUp() override {
    DataFolderTest::SetUp();
    options_.durability = Durability::kAsync;  // closing brings it to the disk
  }
  void TearDown() override { TestPoints::clear(); }
  // Opens a copy of the folder as of this number.
  std::string state_at(SnapshotNumber number) {
    const auto copy = folder_ / "copy";
    std::filesystem::remove_all(copy);
    std::filesystem::copy(folder_ / "data", copy);
    Options options = options_for(copy);
    options.recover_to = number;
    auto db = Database::open(options);
    if (!db.ok()) return db.status().message();
    return all_of(*db);
  }
};
INSTANTIATE_TEST_SUITE_P(Policies, SchemaChangeFolderTest, durable_combinations(), combination_name);

TEST_P(SchemaChangeFolderTest, ChangesAreRecovered) {
  std::string expected;
  {
    Database db = open();
    ASSERT_OK(db.create_table(orders()));
    ASSERT_OK(db.create_table(account_schema(KeyIndex::kOrdered)));
    put(db, "orders", 1, "Ada");
    ASSERT_OK(db.add_column("orders", "state", RowType::kText, {.default_value = "new"}));
    put(db, "orders", 2, "Bob");
    ASSERT_OK(db.drop_column("orders", "note"));
    ASSERT_OK(db.add_column("orders", "note", RowType::kInt64, {.nullable = true}));
    ASSERT_OK(db.rename_column("orders", "customer", "client"));
    ASSERT_OK(db.drop_table("accounts"));
    ASSERT_OK(db.rename_table("orders", "sales"));
    ASSERT_OK(db.create_table(orders()));
    put(db, "orders", 7, "Eve");
    ASSERT_OK(db.create_table(account_schema(KeyIndex::kHashed, "accounts"))) << "of another kind";
    ASSERT_OK(db.drop_table("accounts"));
    ASSERT_OK(db.create_table(account_schema(KeyIndex::kOrdered)));
    expected = all_of(db);
    EXPECT_EQ(expected,
              "sales(client state note) 1 \"Ada\" \"new\" null 2 \"Bob\" \"new\" null; orders(customer note) 7 \"Eve\" null; "
              "accounts:; ");
  }
  for (int round = 0; round < 4; ++round) {
    Database db = open();
    EXPECT_EQ(all_of(db), expected) << round;
    EXPECT_OK(db.verify());
    if (round == 1) {
      ASSERT_OK(db.checkpoint());
    }
    if (round == 2) {
      ASSERT_OK(db.rename_column("sales", "client", "buyer"));
      ASSERT_OK(db.drop_table("orders"));
      put(db, "sales", 3, "Joe");
      expected = all_of(db);
    }
  }
}

TEST_P(SchemaChangeFolderTest, EarlierNumbersHaveEarlierTables) {
  std::vector<std::pair<SnapshotNumber, std::string>> moments;
  {
    Database db = open();
    ASSERT_OK(db.create_table(orders()));
    Key key = 0;
    const auto note = [&](const std::string& table) {
      SnapshotNumber number = 0;
      ++key;
      put(db, table, key, "c" + std::to_string(key), &number);
      moments.emplace_back(number, all_of(db));
      ASSERT_OK(db.wait_durable());
      static_cast<void>(db.hold_snapshot());  // the next change has a later number
    };
    note("orders");
    ASSERT_OK(db.add_column("orders", "state", RowType::kText, {.default_value = "new"}));
    note("orders");
    ASSERT_OK(db.rename_table("orders", "sales"));
    note("sales");
    ASSERT_OK(db.drop_column("sales", "note"));
    note("sales");
    ASSERT_OK(db.create_table(orders()));
    ASSERT_OK(db.drop_table("sales"));
    note("orders");
  }
  for (const auto& [number, state] : moments) EXPECT_EQ(state_at(number), state) << number;
}

// A checkpoint stores the tables as of its number, although a change comes before it has written
// them. So its number can still be recovered to.
TEST_P(SchemaChangeFolderTest, ACheckpointHasTheSchemasOfItsSnapshot) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
  if (!GetParam().races()) GTEST_SKIP() << "one thread at a time";
  std::string before, after;
  SnapshotNumber number = 0;
  {
    Database db = open();
    ASSERT_OK(db.create_table(orders()));
    ASSERT_OK(db.create_table(orders("other")));
    put(db, "orders", 1, "Ada");
    put(db, "other", 1, "Eve");
    before = all_of(db);
    TestStop stop("checkpoint.tables_listed");
    std::thread taker([&] { EXPECT_OK(db.checkpoint()); });
    stop.wait_until_reached();
    EXPECT_OK(db.rename_table("orders", "sales"));
    EXPECT_OK(db.drop_column("sales", "note"));
    EXPECT_OK(db.drop_table("other"));
    put(db, "sales", 2, "Bob");
    after = all_of(db);
    stop.go();
    taker.join();
    number = db.statistics().checkpoints.snapshot;
  }
  ASSERT_NE(number, 0u);
  EXPECT_EQ(state_at(number), before);
  Database db = open();
  EXPECT_EQ(db.recovery().checkpoint, number);
  EXPECT_EQ(all_of(db), after);
}

TEST_P(SchemaChangeFolderTest, DroppingAwaitsWriters) {
  if (!GetParam().races()) GTEST_SKIP() << "one thread at a time";
  {
    Database db = open();
    auto table = db.create_table(account_schema(KeyIndex::kOrdered));
    ASSERT_OK(table);
    auto writer = begin(db);
    ASSERT_OK(writer->insert(*table, 1, Account{}));
    EXPECT_REFUSED(Code::kDeadline, "still open", db.drop_table("accounts", 1000)) << "its commit would come after the drop";
    ASSERT_OK(writer.commit());
  }
  {
    Database db = open();
    EXPECT_EQ(all_of(db), "accounts: 1; ");
    ASSERT_OK(db.drop_table("accounts"));
  }
  Database db = open();
  EXPECT_EQ(all_of(db), "");
}

// A row is removed, and its table dropped, before the row is unlinked.
TEST_P(SchemaChangeFolderTest, RemovedRowsOfADroppedTableAreFreedOnce) {
  if (!GetParam().races()) GTEST_SKIP() << "one thread at a time";
  Database db = open();
  auto table = db.create_table(indexed_account_schema(KeyIndex::kHashed));
  ASSERT_OK(table);
  transact(db, [&](Transaction& txn) {
    for (Key key = 0; key < 1000; ++key) ASSERT_OK(txn.insert(*table, key, Account{key, 0, uint32_t(key % 7), 0}));
  });
  auto held = db.hold_snapshot();  // the rows are unlinked only when it has ended
  ASSERT_OK(held);
  transact(db, [&](Transaction& txn) {
    for (Key key = 0; key < 500; ++key) ASSERT_OK(txn.remove(*table, key));
    for (Key key = 500; key < 700; ++key) ASSERT_OK(txn.put(*table, key, Account{key + 5000, 0, 9, 0}));
  });
  ASSERT_OK(db.drop_table("accounts"));
  *held = HeldSnapshot();
  db.collect_garbage();
  EXPECT_EQ(db.statistics().retired_objects, 0u);
  EXPECT_LT(db.statistics().memory.rows, 65536u);
  EXPECT_OK(db.verify());
}

TEST_P(SchemaChangeFolderTest, ProgramsThatGiveSchemasKeepDroppedColumns) {
  const auto without_note = [] {
    return RowSchema("orders").column("customer", RowType::kText).column("state", RowType::kText, {.nullable = true});
  };
  std::string expected;
  {
    Database db = open();
    ASSERT_OK(db.create_table(orders()));
    put(db, "orders", 1, "Ada");
    ASSERT_OK(db.drop_column("orders", "note"));
    ASSERT_OK(db.add_column("orders", "state", RowType::kText, {.nullable = true}));
    put(db, "orders", 2, "Bob");
    expected = all_of(db);
  }
  options_.schemas = {*without_note().table_schema()};
  for (int round = 0; round < 3; ++round) {
    Database db = open();
    EXPECT_EQ(all_of(db), expected) << round;
    EXPECT_TRUE(db.described_table("orders")->row_schema().column(1).dropped);
    ASSERT_OK(db.create_table(without_note()));
    if (round == 0) {
      ASSERT_OK(db.checkpoint());
    }
  }
}

// The program's key functions belong to the table of their name, whatever its earlier names were.
TEST_P(SchemaChangeFolderTest, RenamedTablesHaveTheIndexesOfTheirNames) {
  {
    Database db = open();
    for (const char* const name : {"first", "second"}) {
      auto table = db.create_table(indexed_account_schema(KeyIndex::kOrdered, name));
      ASSERT_OK(table);
      transact(db, [&](Transaction& txn) {
        for (Key key = 0; key < 20; ++key) ASSERT_OK(txn.insert(*table, key, Account{key, 0, uint32_t(key % 3), 0}));
      });
    }
    ASSERT_OK(db.rename_table("first", "third"));
    ASSERT_OK(db.rename_table("second", "first"));
  }
  const Options plain = options_;
  options_.leave_out_indexes = true;
  for (const char* const name : {"first", "third", "fourth"}) {
    options_.schemas = {indexed_account_schema(KeyIndex::kOrdered, name)};
    options_.create_if_missing = false;
    Database db = open();
    EXPECT_EQ(db.recovery().indexes_left_out.size(), name == std::string("fourth") ? 4u : 2u) << name;
    EXPECT_OK(db.verify());
  }
  options_ = plain;
  options_.schemas = {indexed_account_schema(KeyIndex::kOrdered, "first"), indexed_account_schema(KeyIndex::kOrdered, "third")};
  Database db = open();
  auto table = db.table<Account>("third");
  ASSERT_OK(table);
  size_t found = 0;
  read(db, [&](Transaction& txn) {
    found = 0;
    EXPECT_OK(txn.scan(*db.index(*table, "by_branch"), IndexRange{1, 1}, {}, [&](Key, const View<Account>&) { ++found; }));
  });
  EXPECT_EQ(found, 7u);
}

// A program without schemas opens tables with indexes by columns, whatever was changed.
TEST_P(SchemaChangeFolderTest, IndexesByColumnsAreRecoveredAfterChanges) {
  {
    Database db = open();
    ASSERT_OK(db.create_table(orders().index("by_customer", {"customer"})));
    for (Key key = 0; key < 100; ++key) put(db, "orders", key, "c" + std::to_string(key % 10));
    ASSERT_OK(db.add_column("orders", "state", RowType::kText, {.default_value = "new"}));
    ASSERT_OK(db.rename_column("orders", "customer", "client"));
    ASSERT_OK(db.drop_column("orders", "note"));
    ASSERT_OK(db.rename_table("orders", "sales"));
    for (Key key = 100; key < 200; ++key) put(db, "sales", key, "c" + std::to_string(key % 10));
  }
  for (const bool checkpointed : {false, true}) {
    Database db = open();
    auto table = db.described_table("sales");
    ASSERT_OK(table);
    auto by_client = db.index(*table, "by_customer");
    ASSERT_OK(by_client);
    EXPECT_EQ(table->schema().indexes[0].columns[0], "client");
    Result<uint64_t> count = 0;
    read(db, [&](Transaction& txn) { count = txn.count(*by_client, elider::prefix("c3")); });
    ASSERT_OK(count);
    EXPECT_EQ(*count, 20u);
    EXPECT_OK(db.verify());
    put(db, "sales", 1000, "c3");
    transact(db, [&](Transaction& txn) { ASSERT_OK(txn.remove(*table, 1000)); });
    if (!checkpointed) {
      ASSERT_OK(db.checkpoint());
    }
  }
}

class IndexesComeAndGo : public SchemaChangeFolderTest {
 protected:
  void run(bool with_checkpoint);
};
INSTANTIATE_TEST_SUITE_P(Policies, IndexesComeAndGo, durable_combinations(), combination_name);

// Indexes that come and go are those of the state that is recovered.
TEST_P(IndexesComeAndGo, InTheLog) { run(false); }
// A checkpoint that is taken while an index is being created does not contain it.
TEST_P(IndexesComeAndGo, InACheckpoint) { run(true); }

void IndexesComeAndGo::run(bool with_checkpoint) {
  const auto by = [](const std::string& column, bool unique = false) {
    return SecondaryIndex::of_columns("by_" + column, {descending(column)}, unique);
  };
  // The names of the indexes, and how many rows each one contains.
  const auto indexes_of = [](Database& db) {
    std::string words;
    auto table = db.described_table("orders");
    if (!table.ok()) return table.status().message();
    for (const SecondaryIndex& index : table->schema().indexes) {
      const auto found = db.index(*table, index.name);
      EXPECT_OK(found);
      uint64_t rows = 0;
      read(db, [&](Transaction& txn) { rows = *txn.count(*found, ColumnRange()); });
      words += index.name + '=' + std::to_string(rows) + ' ';
    }
    return words;
  };
  std::vector<std::pair<SnapshotNumber, std::string>> moments;
  Key key = 0;
  const auto note = [&](Database& db) {
    SnapshotNumber number = 0;
    ++key;
    put(db, "orders", key, "c" + std::to_string(key), &number);
    moments.emplace_back(number, indexes_of(db));
    ASSERT_OK(db.wait_durable());
    static_cast<void>(db.hold_snapshot());  // the next change has a later number
  };
  {
    Database db = open();
    ASSERT_OK(db.create_table(orders().index("by_note", {"note"})));
    note(db);
    ASSERT_OK(db.create_index("orders", by("customer", true)));
    note(db);
    EXPECT_EQ(moments.back().second, "by_note=2 by_customer=2 ");
    ASSERT_OK(db.drop_index("orders", "by_note"));
    note(db);
    ASSERT_OK(db.add_column("orders", "state", RowType::kText, {.default_value = "new"}));
    ASSERT_OK(db.rename_column("orders", "customer", "client"));
    ASSERT_OK(db.rename_column("orders", "client", "customer"));
    if (with_checkpoint && TestPoints::enabled() && GetParam().races())
      TestPoints::on("index_build.filled", [&] { std::thread([&] { EXPECT_OK(db.checkpoint()); }).join(); });
    ASSERT_OK(db.create_index("orders", by("state")));
    TestPoints::clear();
    note(db);
    ASSERT_OK(db.drop_index("orders", "by_customer"));
    ASSERT_OK(db.create_index("orders", by("note")));
    note(db);
    EXPECT_EQ(moments.back().second, "by_state=5 by_note=5 ");
  }
  for (const auto& [number, words] : moments) {
    const auto copy = folder_ / "copy";
    std::filesystem::remove_all(copy);
    std::filesystem::copy(folder_ / "data", copy);
    Options options = options_for(copy);
    options.recover_to = number;
    auto db = Database::open(options);
    if (with_checkpoint && !db.ok() && db.status().message().find("is not stored") != std::string::npos) continue;
    ASSERT_OK(db);
    EXPECT_EQ(indexes_of(*db), words) << number;
    EXPECT_OK(db->verify());
  }
  for (int round = 0; round < 3; ++round) {
    Database db = open();
    EXPECT_EQ(indexes_of(db), round == 0 ? "by_state=5 by_note=5 " : "by_note=5 by_customer=5 ");
    EXPECT_OK(db.verify());
    if (round == 0) {
      ASSERT_OK(db.drop_index("orders", "by_state"));
      ASSERT_OK(db.create_index("orders", by("customer", true)));
    } else if (round == 1) {
      ASSERT_OK(db.checkpoint());
    }
  }
}

// Options::upgrade also creates the indexes that a program of a later version describes.
TEST_P(SchemaChangeFolderTest, AnUpgradeCreatesIndexes) {
  const auto later = [] {
    return orders().column("state", RowType::kText, {.default_value = "new"}).index("by_state", {"state"}).unique_index("by_customer",
                                                                                                                          {"customer"});
  };
  {
    Database db = open();
    ASSERT_OK(db.create_table(orders()));
    for (Key key = 0; key < 50; ++key) put(db, "orders", key, "c" + std::to_string(key));
    EXPECT_REFUSED(Code::kSchemaMismatch, "column 'state'", db.create_table(later()));
    EXPECT_REFUSED(Code::kSchemaMismatch, "create it with Database::create_index(), or set Options::upgrade",
                   db.create_table(orders().index("by_customer", {"customer"})));
  }
  options_.upgrade = true;
  options_.schemas = {*later().table_schema()};
  for (int round = 0; round < 2; ++round) {
    Database db = open();
    auto table = db.create_table(later());
    ASSERT_OK(table);
    read(db, [&](Transaction& txn) {
      EXPECT_EQ(*txn.count(*db.index(*table, "by_state"), elider::prefix("new")), 50u);
      EXPECT_EQ(*txn.count(*db.index(*table, "by_customer"), elider::prefix("c7")), 1u);
    });
    options_.upgrade = false;
  }
  options_.schemas = {*orders().table_schema()};
  EXPECT_REFUSED(Code::kSchemaMismatch, "column 'state', which the program does not describe", Database::open(options_));
}

// Version 1 knows two columns, and version 2 three. They take turns on a folder.
TEST_P(SchemaChangeFolderTest, ProgramsOfTwoVersionsTakeTurns) {
  const auto version_1 = [&](Key key) -> Status {
    auto db = Database::open(options_);
    if (!db.ok()) return db.status();
    auto table = db->create_table(orders());
    if (!table.ok()) return table.status();
    RowBuilder row(*table);
    return db->run([&](Transaction& txn) { return txn.put(*table, key, row.begin().set("customer", "one")); });
  };
  const auto version_2 = [&](Key key, bool upgrade) -> Status {
    Options options = options_;
    options.upgrade = upgrade;
    options.schemas = {*orders().column("state", RowType::kText, {.default_value = "new"}).table_schema()};
    auto db = Database::open(options);
    if (!db.ok()) return db.status();
    auto table = db->described_table("orders");
    if (!table.ok()) return table.status();
    RowBuilder row(*table);
    return db->run([&](Transaction& txn) { return txn.put(*table, key, row.begin().set("customer", "two").set("state", "sent")); });
  };
  ASSERT_OK(version_1(1));
  EXPECT_REFUSED(Code::kSchemaMismatch, "column 'state', which the table does not have; add it with Database::add_column()",
                 version_2(2, false));
  ASSERT_OK(version_1(2));
  ASSERT_OK(version_2(3, true));
  EXPECT_REFUSED(Code::kSchemaMismatch, "column 'state', which the program does not describe", version_1(4));
  ASSERT_OK(version_2(4, false));
  Database db = open();
  EXPECT_EQ(all_of(db), "orders(customer note state) 1 \"one\" null \"new\" 2 \"one\" null \"new\" 3 \"two\" null \"sent\" 4 \"two\" null "
                        "\"sent\"; ");
}

// More tables than 16 bits can number.
class ManyTablesTest : public SchemaChangeFolderTest {};
INSTANTIATE_TEST_SUITE_P(Policies, ManyTablesTest, testing::Values(durable_combinations_of_occ().front()), combination_name);

TEST_P(ManyTablesTest, TheLastOfManyTablesIsLikeTheFirst) {
  constexpr uint32_t kTables = 66'000;
  {
    Database db = open();
    for (uint32_t i = 0; i < kTables; ++i) ASSERT_OK(db.create_table(orders("orders_" + std::to_string(i))));
    for (const uint32_t i : {0u, 463u, 464u, 1024u, kTables - 1}) put(db, "orders_" + std::to_string(i), i, "Ada");
    ASSERT_OK(db.rename_column("orders_65999", "note", "remark"));
  }
  Database db = open();
  ASSERT_EQ(db.tables().size(), kTables);
  const auto table = db.described_table("orders_65999");
  ASSERT_OK(table);
  RowBuilder row(*table);
  transact(db, [&](Transaction& txn) {
    const auto view = txn.get(*table, kTables - 1);
    ASSERT_OK(view);
    EXPECT_EQ(*view->get<std::string>("customer"), "Ada");
    ASSERT_OK(txn.update(*table, kTables - 1, row, [](RowBuilder& change) { change.set("remark", "x"); }));
  });
  const auto first = db.described_table("orders_463");
  ASSERT_OK(first);
  EXPECT_EQ(first->row_schema().column(1).name, "note");
  std::map<std::string, uint64_t> rows;
  for (const auto& one : db.statistics().tables)
    if (one.rows != 0) rows[one.name] = one.rows;
  // Modulo 65,536, table 65,999 would be table 463.
  const std::map<std::string, uint64_t> expected{
      {"orders_0", 1}, {"orders_463", 1}, {"orders_464", 1}, {"orders_1024", 1}, {"orders_65999", 1}};
  EXPECT_EQ(rows, expected);
}

}  // namespace
}  // namespace elider::test
