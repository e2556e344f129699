// Tables that are dropped and renamed, and columns that come and go, while transactions run.
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "base/test_points.h"
#include "elider/described.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class SchemaChangeTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    auto table = db_.create_table(orders());
    ASSERT_OK(table);
    orders_ = *table;
  }
  void TearDown() override { TestPoints::clear(); }
  RowSchema orders() const {
    return RowSchema("orders")
        .column("customer", RowType::kText)
        .column("quantity", RowType::kInt32, {.default_value = 1})
        .key_index(GetParam().key_index);
  }
  void insert(Key key, const std::string& customer) {
    RowBuilder row(orders_);
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(orders_, key, row.begin().set("customer", customer))); });
  }
  // The row's live columns, as "name=value".
  std::string text(Key key) {
    std::string words;
    read(db_, [&](Transaction& txn) {
      const auto row = txn.get(orders_, key);
      ASSERT_OK(row);
      EXPECT_OK(row->check());
      const RowSchema& schema = orders_.row_schema();
      for (size_t i = 0; i < schema.columns(); ++i) {
        if (schema.column(i).dropped) continue;
        const auto value = row->value(i);
        ASSERT_OK(value);
        std::string shown = value->to_text();
        std::replace(shown.begin(), shown.end(), '"', '\'');
        words += (words.empty() ? "" : " ") + schema.column(i).name + '=' + shown;
      }
    });
    return words;
  }

  DescribedTable<> orders_;
};
ELIDER_ON_EVERY(SchemaChangeTest);

TEST_P(SchemaChangeTest, OldRowsReadTheDefaultOfANewColumn) {
  insert(1, "Ada");
  RowBuilder row(orders_);
  ASSERT_OK(db_.add_column("orders", "note", RowType::kText, {.nullable = true}));
  ASSERT_OK(db_.add_column("orders", "state", RowType::kText, {.default_value = "new"}));
  EXPECT_EQ(text(1), "customer='Ada' quantity=1 note=null state='new'") << "through the handle of before";
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.insert(orders_, 2, row.begin().set("customer", "Bob").set("note", "late"))) << "the builder adopts the new columns";
    EXPECT_OK(txn.update(orders_, 1, row, [](RowBuilder& change) { change.set("state", "sent"); }));
  });
  EXPECT_EQ(text(1), "customer='Ada' quantity=1 note=null state='sent'");
  EXPECT_EQ(text(2), "customer='Bob' quantity=1 note='late' state='new'");
  EXPECT_OK(db_.verify());
}

TEST_P(SchemaChangeTest, ADroppedColumnCannotBeReadAndItsNameIsFree) {
  insert(1, "Ada");
  const size_t quantity = *orders_.position("quantity");
  RowBuilder row(orders_);
  ASSERT_OK(db_.drop_column("orders", "quantity"));
  EXPECT_EQ(text(1), "customer='Ada'");
  EXPECT_REFUSED(Code::kInvalidArgument, "'quantity' does not exist", orders_.position("quantity"));
  read(db_, [&](Transaction& txn) {
    const auto old = txn.get(orders_, 1);
    EXPECT_REFUSED(Code::kInvalidArgument, "'quantity') was dropped", old->get<int32_t>(quantity));
    EXPECT_TRUE(old->is_null(quantity));
  });
  EXPECT_REFUSED(Code::kInvalidArgument, "'quantity') was dropped", row.begin().set(quantity, 3).status());
  ASSERT_OK(db_.add_column("orders", "quantity", RowType::kText, {.default_value = "many"}));
  EXPECT_EQ(text(1), "customer='Ada' quantity='many'");
  EXPECT_NE(*orders_.position("quantity"), quantity) << "a position is not used again";
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.update(orders_, 1, row, [](RowBuilder& change) { change.set("quantity", "few"); }));
  });
  EXPECT_EQ(text(1), "customer='Ada' quantity='few'");
  ASSERT_OK(db_.drop_column("orders", "quantity"));
  EXPECT_REFUSED(Code::kInvalidArgument, "last one", db_.drop_column("orders", "customer"));
}

TEST_P(SchemaChangeTest, ARowThatWasBegunBeforeAChangeIsAccepted) {
  RowBuilder row(orders_);
  row.begin().set("customer", "Ada").set("quantity", 5);
  ASSERT_OK(db_.add_column("orders", "note", RowType::kText, {.nullable = true}));
  transact(db_, [&](Transaction& txn) { EXPECT_OK(txn.insert(orders_, 1, row)); });
  row.begin().set("customer", "Bob").set("note", "n");
  ASSERT_OK(db_.drop_column("orders", "note"));
  transact(db_, [&](Transaction& txn) { EXPECT_OK(txn.insert(orders_, 2, row)); });
  EXPECT_EQ(text(1), "customer='Ada' quantity=5");
  EXPECT_EQ(text(2), "customer='Bob' quantity=1");
  RowBuilder foreign(RowSchema("orders").column("customer", RowType::kText));
  transact(db_, [&](Transaction& txn) {
    EXPECT_REFUSED(Code::kInvalidArgument, "another description", txn.insert(orders_, 3, foreign.begin().set("customer", "Eve")));
  });
}

// A builder that has not begun a row since the columns changed edits a row of the new columns.
TEST_P(SchemaChangeTest, ABuilderEditsRowsOfLaterDescriptions) {
  insert(1, "Ada");
  RowBuilder early(orders_), late(orders_);
  ASSERT_OK(db_.add_column("orders", "note", RowType::kText, {.nullable = true}));
  ASSERT_OK(db_.add_column("orders", "city", RowType::kText, {.default_value = "Paris"}));
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.update(orders_, 1, late, [](RowBuilder& change) { change.set("note", "a longer note"); }));
  });
  const auto update = [&](RowBuilder& row, int32_t quantity) {
    transact(db_, [&](Transaction& txn) {
      EXPECT_OK(txn.update(orders_, 1, row, [&](RowBuilder& change) { change.set("quantity", quantity); }));
    });
  };
  update(early, 7);
  EXPECT_EQ(text(1), "customer='Ada' quantity=7 note='a longer note' city='Paris'");
  ASSERT_OK(db_.rename_table("orders", "sales"));
  update(early, 8);
  EXPECT_EQ(text(1), "customer='Ada' quantity=8 note='a longer note' city='Paris'");
  ASSERT_OK(db_.drop_column("sales", "note"));
  update(early, 9);
  update(late, 10);
  EXPECT_EQ(text(1), "customer='Ada' quantity=10 city='Paris'");
}

TEST_P(SchemaChangeTest, NamesChangeAndHandlesStay) {
  insert(1, "Ada");
  ASSERT_OK(db_.rename_table("orders", "sales"));
  ASSERT_OK(db_.rename_column("sales", "customer", "client"));
  EXPECT_EQ(text(1), "client='Ada' quantity=1");
  RowBuilder row(orders_);
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(orders_, 2, row.begin().set("client", "Bob"))); });
  EXPECT_CODE(Code::kNotFound, db_.described_table("orders"));
  ASSERT_OK(db_.described_table("sales"));
  const Status missing = [&] {
    Status status;
    read(db_, [&](Transaction& txn) { status = txn.get(orders_, 99).status(); });
    return status;
  }();
  EXPECT_REFUSED(Code::kNotFound, "'sales'", missing);
  ASSERT_OK(db_.create_table(orders())) << "the name is free";
  EXPECT_REFUSED(Code::kInvalidArgument, "'sales' already exists", db_.rename_table("orders", "sales"));
}

TEST_P(SchemaChangeTest, IndexesByColumnsFollowTheChanges) {
  auto table = db_.create_table(RowSchema("items")
                                    .column("kind", RowType::kText)
                                    .column("price", RowType::kInt32, {.default_value = 1})
                                    .column("unused", RowType::kText, {.nullable = true})
                                    .key_index(GetParam().key_index)
                                    .index("by_kind", {"kind", descending("price")})
                                    .unique_index("by_price", {"price", "kind"}));
  ASSERT_OK(table);
  auto by_kind = db_.index(*table, "by_kind");
  ASSERT_OK(by_kind);
  RowBuilder row(*table);
  const auto put = [&](Key key, const char* kind, int32_t price) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(*table, key, row.begin().set(0, kind).set(1, price))); });
  };
  const auto found = [&](const char* kind) {
    std::string keys;
    transact(db_, [&](Transaction& txn) {
      keys.clear();
      ASSERT_OK(txn.scan(*by_kind, elider::prefix(kind), {}, [&](Key key, const RowReader&) { keys += std::to_string(key) + ' '; }));
    });
    return keys;
  };
  put(1, "pen", 5);
  put(2, "pen", 7);
  ASSERT_OK(db_.add_column("items", "colour", RowType::kText, {.default_value = "blue"}));
  put(3, "pen", 6);
  EXPECT_EQ(found("pen"), "2 3 1 ") << "rows with different numbers of columns";
  ASSERT_OK(db_.rename_column("items", "kind", "sort"));
  put(1, "ink", 5);
  EXPECT_EQ(found("pen"), "2 3 ");
  EXPECT_EQ(found("ink"), "1 ");
  EXPECT_REFUSED(Code::kInvalidArgument, "index 'by_kind' reads it", db_.drop_column("items", "sort"));
  ASSERT_OK(db_.drop_column("items", "unused"));
  put(2, "ink", 9);
  EXPECT_EQ(found("ink"), "2 1 ");
  transact(db_, [&](Transaction& txn) {
    EXPECT_REFUSED(Code::kDuplicateKey, "'by_price'", txn.insert(*table, 9, row.begin().set(0, "pen").set(1, 6)));
    EXPECT_OK(txn.remove(*table, 1));
  });
  EXPECT_EQ(found("ink"), "2 ");
  EXPECT_OK(db_.verify());
  EXPECT_EQ(table->row_schema().indexes()[0].columns[0], "sort");
  ASSERT_OK(db_.drop_table("items"));
  transact(db_, [&](Transaction& txn) {
    EXPECT_REFUSED(Code::kNotFound, "dropped", txn.scan(*by_kind, elider::prefix("ink"), {}, [](Key, const RowReader&) {}));
  });
  db_.collect_garbage();
}

TEST_P(SchemaChangeTest, BadChangesAreRefusedAndChangeNothing) {
  insert(1, "Ada");
  ASSERT_OK(db_.create_table(account_schema(GetParam().key_index)));
  const RowColumnOptions null{.nullable = true};
  EXPECT_REFUSED(Code::kNotFound, "'nothing'", db_.drop_table("nothing"));
  EXPECT_REFUSED(Code::kNotFound, "'nothing'", db_.rename_table("nothing", "other"));
  EXPECT_REFUSED(Code::kNotFound, "'nothing'", db_.add_column("nothing", "a", RowType::kText, null));
  EXPECT_REFUSED(Code::kNotFound, "'colour'", db_.drop_column("orders", "colour"));
  EXPECT_REFUSED(Code::kNotFound, "'colour'", db_.rename_column("orders", "colour", "color"));
  EXPECT_REFUSED(Code::kInvalidArgument, "'quantity' already exists", db_.add_column("orders", "quantity", RowType::kText, null));
  EXPECT_REFUSED(Code::kInvalidArgument, "needs a default", db_.add_column("orders", "note", RowType::kText, {}));
  EXPECT_REFUSED(Code::kInvalidArgument, "name is empty", db_.add_column("orders", "", RowType::kText, null));
  EXPECT_REFUSED(Code::kInvalidArgument, "'note'", db_.add_column("orders", "note", RowType::kInt8, {.default_value = 300}));
  EXPECT_REFUSED(Code::kInvalidArgument, "already has a column named 'quantity'", db_.rename_column("orders", "customer", "quantity"));
  EXPECT_REFUSED(Code::kInvalidArgument, "not UTF-8", db_.rename_column("orders", "customer", "\xff"));
  EXPECT_REFUSED(Code::kInvalidArgument, "256 bytes", db_.rename_column("orders", "customer", std::string(256, 'c')));
  EXPECT_REFUSED(Code::kInvalidArgument, "256 bytes", db_.rename_table("orders", std::string(256, 't')));
  EXPECT_REFUSED(Code::kInvalidArgument, "name", db_.rename_table("orders", ""));
  EXPECT_REFUSED(Code::kInvalidArgument, "already has this name", db_.rename_table("orders", "orders"));
  EXPECT_REFUSED(Code::kInvalidArgument, "names that begin with 'elider_' are reserved", db_.rename_table("orders", "elider_orders"));
  EXPECT_REFUSED(Code::kInvalidArgument, "database itself", db_.drop_table("elider_sequences"));
  EXPECT_REFUSED(Code::kInvalidArgument, "described rows", db_.add_column("accounts", "note", RowType::kText, null));
  EXPECT_REFUSED(Code::kInvalidArgument, "described rows", db_.drop_column("accounts", "balance"));
  EXPECT_EQ(text(1), "customer='Ada' quantity=1");
  ASSERT_OK(db_.create_table(orders()));
}

TEST_P(SchemaChangeTest, ThereAreAtMostAThousandColumns) {
  insert(1, "Ada");
  for (size_t i = 2; i < kRowColumnsMax; ++i)
    ASSERT_OK(db_.add_column("orders", "c" + std::to_string(i), i % 2 == 0 ? RowType::kText : RowType::kInt64, {.nullable = true}));
  EXPECT_REFUSED(Code::kInvalidArgument, "1000 columns", db_.add_column("orders", "more", RowType::kText, {.nullable = true}));
  RowBuilder row(orders_);
  transact(db_, [&](Transaction& txn) { EXPECT_OK(txn.update(orders_, 1, row, [](RowBuilder& change) { change.set("c999", 7); })); });
  read(db_, [&](Transaction& txn) {
    const auto found = txn.get(orders_, 1);
    EXPECT_EQ(found->columns_written(), size_t{kRowColumnsMax});
    EXPECT_EQ(*found->get<int64_t>("c999"), 7);
    EXPECT_TRUE(*found->is_null("c998"));
  });
}

TEST_P(SchemaChangeTest, ADroppedTableIsNotFound) {
  auto accounts = db_.create_table(account_schema(GetParam().key_index));
  ASSERT_OK(accounts);
  transact(db_, [&](Transaction& txn) {
    for (Key key = 0; key < 2000; ++key) ASSERT_OK(txn.insert(*accounts, key, Account{key, 0, 0, 0}));
  });
  for (Key key = 0; key < 500; ++key) transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(*accounts, key)); });
  const uint64_t before = db_.statistics().memory.rows;
  ASSERT_OK(db_.drop_table("accounts"));
  EXPECT_CODE(Code::kNotFound, db_.table<Account>("accounts"));
  EXPECT_CODE(Code::kNotFound, db_.drop_table("accounts"));
  EXPECT_EQ(db_.tables().size(), 1u);
  EXPECT_EQ(db_.statistics().tables.size(), 1u);
  transact(db_, [&](Transaction& txn) {
    EXPECT_REFUSED(Code::kNotFound, "'accounts' has been dropped", txn.get(*accounts, 700));
    EXPECT_REFUSED(Code::kNotFound, "'accounts' has been dropped", txn.put(*accounts, 700, Account{}));
  });
  read(db_, [&](Transaction& txn) { EXPECT_REFUSED(Code::kNotFound, "'accounts' has been dropped", txn.get(*accounts, 700)); });
  db_.collect_garbage();
  EXPECT_LT(db_.statistics().memory.rows, before) << "the memory is free";
  auto again = db_.create_table(account_schema(GetParam().key_index));
  ASSERT_OK(again);
  transact(db_, [&](Transaction& txn) {
    EXPECT_CODE(Code::kNotFound, txn.get(*again, 700));
    EXPECT_OK(txn.insert(*again, 700, Account{}));
  });
  EXPECT_OK(db_.verify());
}

TEST_P(SchemaChangeTest, DroppingFreesTablesOfAllKinds) {
  struct Row {
    uint64_t number;
    char text[56];
  };
  const auto fill = [&](auto table, auto key_of) {
    for (Key from = 0; from < 12000; from += 1000)
      transact(db_, [&](Transaction& txn) {
        for (Key key = from; key < from + 1000; ++key) ASSERT_OK(txn.put(table, key_of(key), Row{key / 3, {}}));
      });
  };
  const auto indexed = SchemaOf<Row>("one")
                           .key_index(GetParam().key_index)
                           .column("number", &Row::number)
                           .index("by_number", {"number"}, [](const Row& row) { return row.number; });
  const auto texts = SchemaOf<Row, std::string_view>("one").column("number", &Row::number).key_index(GetParam().key_index);
  const auto zoned = SchemaOf<Row>("one").key_index(GetParam().key_index).column("number", &Row::number).zoned(2);
  const auto inlined = SchemaOf<Row>("one").hashed().column("number", &Row::number).inline_rows(8000);
  uint64_t used = 0;
  for (int round = 0; round < 3; ++round) {
    const auto run = [&](const auto& schema, auto key_of) {
      auto table = db_.create_table(schema);
      ASSERT_OK(table);
      fill(*table, key_of);
      transact(db_, [&](Transaction& txn) {
        for (Key key = 0; key < 300; ++key) ASSERT_OK(txn.remove(*table, key_of(key)));
      });
      ASSERT_OK(db_.drop_table("one"));
    };
    run(indexed, [](Key key) { return key; });
    run(zoned, [](Key key) { return key; });
    run(inlined, [](Key key) { return key; });
    std::string bytes;
    run(texts, [&](Key key) { return std::string_view(bytes = "key " + std::to_string(key)); });
    db_.collect_garbage();
    const Statistics::Memory memory = db_.statistics().memory;
    const uint64_t now = memory.rows + memory.blocks + memory.indexes + memory.versions;
    if (round == 0) used = now;
    EXPECT_LE(now, used + 65536) << "round " << round;
  }
  EXPECT_LT(used, 512u << 10) << "12,000 rows have more";
}

TEST_P(SchemaChangeTest, DroppingWaitsForTransactions) {
  if (!GetParam().races()) GTEST_SKIP() << "one thread at a time";
  auto accounts = db_.create_table(account_schema(GetParam().key_index));
  ASSERT_OK(accounts);
  auto open = begin(db_);
  ASSERT_OK(open->insert(*accounts, 1, Account{}));
  EXPECT_REFUSED(Code::kDeadline, "still open after 1 ms", db_.drop_table("accounts", 1000));
  ASSERT_OK(open->insert(*accounts, 2, Account{})) << "nothing has changed";
  std::atomic<bool> dropped = false;
  std::thread dropper([&] {
    EXPECT_OK(db_.drop_table("accounts"));
    dropped = true;
  });
  while (db_.table<Account>("accounts").ok()) std::this_thread::yield();
  EXPECT_FALSE(dropped);
  EXPECT_REFUSED(Code::kNotFound, "dropped", open->insert(*accounts, 3, Account{}));
  EXPECT_OK(open.commit()) << "what it wrote before";
  dropper.join();
}

TEST_P(SchemaChangeTest, ASnapshotDoesNotDelayDropping) {
  auto accounts = db_.create_table(account_schema(GetParam().key_index));
  ASSERT_OK(accounts);
  transact(db_, [&](Transaction& txn) {
    for (Key key = 0; key < 9000; ++key) ASSERT_OK(txn.insert(*accounts, key, Account{key, 0, 0, 0}));
  });
  if (!GetParam().races()) GTEST_SKIP() << "one thread at a time";
  auto held = db_.hold_snapshot();
  ASSERT_OK(held);
  ASSERT_OK(db_.drop_table("accounts"));
  RunPolicy at_snapshot;
  at_snapshot.snapshot = &*held;
  EXPECT_REFUSED(Code::kNotFound, "dropped",
                 db_.run_read_only([&](Transaction& txn) { return txn.get(*accounts, 1).status(); }, at_snapshot));
  EXPECT_OK(db_.verify());
}

TEST_P(SchemaChangeTest, AnUpgradeAddsColumns) {
  insert(1, "Ada");
  const RowSchema wanted =
      orders().column("note", RowType::kText, {.nullable = true}).column("state", RowType::kInt8, {.default_value = 3});
  EXPECT_REFUSED(Code::kSchemaMismatch, "Options::upgrade", db_.create_table(wanted));
  Options options = options_of(GetParam());
  options.upgrade = true;
  auto database = Database::open(options);
  ASSERT_OK(database);
  ASSERT_OK(database->create_table(orders()));
  auto table = database->create_table(wanted);
  ASSERT_OK(table);
  EXPECT_TRUE(table->row_schema().same_as(wanted));
  EXPECT_REFUSED(Code::kSchemaMismatch, "'note', which the program does not describe", database->create_table(orders()));
  const auto without_default = database->create_table(RowSchema(wanted).column("more", RowType::kBool));
  EXPECT_REFUSED(Code::kSchemaMismatch, "needs a default", without_default);
  EXPECT_EQ(without_default.status().message().find("invalid argument"), std::string::npos) << "the message has only its own code";
  const auto renamed = database->create_table(RowSchema("orders").column("client", RowType::kText).key_index(GetParam().key_index));
  EXPECT_REFUSED(Code::kSchemaMismatch, "rename it with Database::rename_column()", renamed);
  EXPECT_EQ(renamed.status().message().find("schema mismatch", 1), std::string::npos);
}

// Threads change columns and tables while others read and write rows.
TEST_P(SchemaChangeTest, ChangesRunBesideTransactions) {
  if (!GetParam().races()) GTEST_SKIP() << "one thread at a time";
  insert(1, "Ada");
  insert(2, "Bob");
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    RowBuilder row(orders_);
    for (int32_t n = 0; !stop; ++n)
      EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
        for (const Key key : {1, 2})
          if (Status status = txn.update(orders_, key, row, [&](RowBuilder& change) { change.set("quantity", n); }); !status.ok())
            return status;
        return txn.put(orders_, 3, row.begin().set("customer", "Eve").set("quantity", n));
      }));
  });
  std::thread reader([&] {
    while (!stop) {
      int32_t quantities[2];
      std::string customers;
      EXPECT_OK(db_.run([&](Transaction& txn) -> Status {  // only a transaction that commits has read one state
        customers.clear();
        for (const Key key : {1, 2}) {
          const auto row = txn.get(orders_, key);
          if (!row.ok()) return row.status();
          quantities[key - 1] = *row->get<int32_t>("quantity");
          customers += *row->get<std::string>("customer");
          EXPECT_OK(row->check());
        }
        return {};
      }));
      EXPECT_EQ(quantities[0], quantities[1]);
      EXPECT_EQ(customers, "AdaBob");
    }
  });
  for (int round = 0; round < 40; ++round) {
    const std::string name = "c" + std::to_string(round);
    EXPECT_OK(db_.add_column("orders", name, round % 2 == 0 ? RowType::kText : RowType::kInt16, {.nullable = true}));
    EXPECT_OK(db_.rename_column("orders", name, "d" + name));
    if (round % 3 == 0) {
      EXPECT_OK(db_.drop_column("orders", "d" + name));
    }
    auto table = db_.create_table(account_schema(GetParam().key_index));
    ASSERT_OK(table);
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, 1, Account{})); });
    EXPECT_OK(db_.drop_table("accounts"));
  }
  stop = true;
  writer.join();
  reader.join();
  EXPECT_OK(db_.verify());
}

}  // namespace
}  // namespace elider::test
