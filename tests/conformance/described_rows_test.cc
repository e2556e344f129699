// Tables of described rows (elider/described.h) on every engine and key index.
#include <array>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "elider/described.h"
#include "tests/support/database_test.h"
#include "tests/support/unchecked_rows.h"

namespace elider::test {
namespace {

class DescribedRowsTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    auto table = db_.create_table(schema());
    ASSERT_OK(table);
    orders_ = *table;
    quantity_ = *orders_.position("quantity");
  }
  RowSchema schema() const {
    return RowSchema("orders")
        .column("customer", RowType::kText)
        .column("quantity", RowType::kInt32, {.default_value = 1})
        .column("note", RowType::kText, {.nullable = true})
        .key_index(GetParam().key_index);
  }
  void insert(Key key, const std::string& customer) {
    RowBuilder row(orders_);
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(orders_, key, row.begin().set("customer", customer))); });
  }
  std::string text(Transaction& txn, Key key) {
    const auto order = txn.get(orders_, key);
    if (order.status().not_found()) return "none";
    if (!order.ok()) return order.status().message();
    EXPECT_OK(order->check());
    std::string words = *order->get<std::string>("customer") + ' ' + std::to_string(*order->get<int32_t>(quantity_));
    if (const auto note = order->get<std::optional<std::string>>("note"); note->has_value()) words += ' ' + **note;
    return words;
  }
  std::string text(Key key) {
    std::string found;
    read(db_, [&](Transaction& txn) { found = text(txn, key); });
    return found;
  }

  DescribedTable<> orders_;
  size_t quantity_ = 0;
};
ELIDER_ON_EVERY(DescribedRowsTest);

TEST_P(DescribedRowsTest, RowsAreInsertedReadAndRemoved) {
  insert(1, "Ada");
  EXPECT_EQ(text(1), "Ada 1");
  RowBuilder row(orders_);
  transact(db_, [&](Transaction& txn) {
    EXPECT_CODE(Code::kDuplicateKey, txn.insert(orders_, 1, row.begin().set("customer", "Bob")));
    EXPECT_OK(txn.put(orders_, 1, row));
    EXPECT_EQ(text(txn, 1), "Bob 1") << "its own write";
    EXPECT_OK(txn.put(orders_, 2, row.begin().set("customer", "Eve").set("note", std::string(3000, 'n')).set(quantity_, 7)));
  });
  EXPECT_EQ(text(1), "Bob 1");
  EXPECT_EQ(text(2), "Eve 7 " + std::string(3000, 'n'));
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.remove(orders_, 2));
    EXPECT_CODE(Code::kNotFound, txn.remove(orders_, 3));
    EXPECT_CODE(Code::kNotFound, txn.get(orders_, 2));
  });
  EXPECT_EQ(text(2), "none");
}

TEST_P(DescribedRowsTest, UpdateKeepsOrChangesTheSize) {
  insert(1, "Ada");
  RowBuilder row(orders_);
  const auto update = [&](auto&& change) { return db_.run([&](Transaction& txn) { return txn.update(orders_, 1, row, change); }); };
  EXPECT_OK(update([&](RowBuilder& order) { order.set(quantity_, 5); }));
  EXPECT_EQ(text(1), "Ada 5");
  EXPECT_OK(update([&](RowBuilder& order, const RowReader& old) { order.set(quantity_, *old.get<int32_t>(quantity_) + 1); }));
  EXPECT_EQ(text(1), "Ada 6");
  EXPECT_OK(update([&](RowBuilder& order, const RowReader& old) -> Status {
    ELIDER_ASSIGN(const int32_t quantity, old.get<int32_t>(quantity_));
    order.set(quantity_, quantity - 1);
    return {};
  }));
  EXPECT_OK(update([&](RowBuilder& order) { order.set("note", "urgent"); }));
  EXPECT_EQ(text(1), "Ada 5 urgent");
  EXPECT_OK(update([&](RowBuilder& order) { order.set("note", "Urgent").set_null("note").set("note", "slow"); }));
  EXPECT_EQ(text(1), "Ada 5 slow");
  transact(db_, [&](Transaction& txn) {  // several updates of one transaction, of its own writes
    EXPECT_OK(txn.update(orders_, 1, row, [&](RowBuilder& order) { order.set(quantity_, 6); }));
    EXPECT_OK(txn.update(orders_, 1, row, [&](RowBuilder& order) { order.set_null("note"); }));
    EXPECT_OK(txn.update(orders_, 1, row, [&](RowBuilder& order) { order.set(quantity_, 8); }));
    EXPECT_EQ(text(txn, 1), "Ada 8");
  });
  EXPECT_EQ(text(1), "Ada 8");
  transact(db_, [&](Transaction& txn) {
    EXPECT_CODE(Code::kNotFound, txn.update(orders_, 9, row, [](RowBuilder&) {}));
    EXPECT_REFUSED(Code::kInvalidArgument, "quantity", txn.update(orders_, 1, row, [&](RowBuilder& order) { order.set(quantity_, "x"); }));
    EXPECT_CODE(Code::kRolledBack, txn.update(orders_, 1, row, [&](RowBuilder&) { return Status::rollback(); }));
  });
  EXPECT_EQ(text(1), "Ada 8") << "a refused update does not write";
}

TEST_P(DescribedRowsTest, RowsOfAnotherDescriptionAreRefused) {
  RowSchema more = schema();
  more.column("more", RowType::kBool, {.nullable = true});
  RowBuilder row(more);
  RowBuilder other(RowSchema("other").column("customer", RowType::kText));
  transact(db_, [&](Transaction& txn) {
    EXPECT_REFUSED(Code::kInvalidArgument, "another description of the table", txn.insert(orders_, 1, row.set("customer", "Ada")));
    EXPECT_REFUSED(Code::kInvalidArgument, "built for table 'other'", txn.put(orders_, 1, other.set("customer", "Ada")));
    EXPECT_REFUSED(Code::kInvalidArgument, "the column was not set", txn.put(orders_, 1, RowBuilder(orders_).begin()));
  });
  EXPECT_EQ(text(1), "none");
}

TEST_P(DescribedRowsTest, AnUpdateWhoseChangeWritesTheRowIsRefused) {
  insert(1, "Ada");
  transact(db_, [&](Transaction& txn) {
    RowBuilder row(orders_), other(orders_);
    const Status status = txn.update(orders_, 1, row, [&](RowBuilder& change) {
      EXPECT_OK(txn.put(orders_, 1, other.begin().set("customer", std::string(100, 'x'))));
      change.set(quantity_, 3);
    });
    EXPECT_REFUSED(Code::kInvalidArgument, "changed the size of the row", status);
    EXPECT_EQ(*txn.get(orders_, 1)->get<std::string_view>("customer"), std::string(100, 'x'));
  });
}

TEST_P(DescribedRowsTest, NullDoesNotHideAWrongType) {
  insert(1, "Ada");
  transact(db_, [&](Transaction& txn) {
    const auto order = txn.get(orders_, 1);
    ASSERT_OK(order);
    EXPECT_TRUE(*order->is_null("note"));
    EXPECT_FALSE(order->get<std::optional<std::string_view>>("note")->has_value());
    EXPECT_CODE(Code::kInvalidArgument, order->get<std::optional<int32_t>>("note"));
  });
}

TEST_P(DescribedRowsTest, DamagedRowsAreReported) {
  transact(db_, [&](Transaction& txn) { EXPECT_OK(txn.put(UncheckedRows(orders_), 1, "not a row")); });
  RowBuilder row(orders_);
  transact(db_, [&](Transaction& txn) {
    EXPECT_REFUSED(Code::kCorrupt, "table 'orders'", txn.get(orders_, 1));
    EXPECT_CODE(Code::kCorrupt, txn.update(orders_, 1, row, [](RowBuilder&) {}));
    const Key keys[] = {0, 1};
    std::array<RowReader, 2> rows;
    EXPECT_CODE(Code::kCorrupt, txn.multi_get(orders_, keys, rows));
  });
  read(db_, [&](Transaction& txn) { EXPECT_CODE(Code::kCorrupt, txn.scan_rows(orders_, [](Key, const RowReader&) {})); });
}

// Bytes are accepted only if a builder could have made them for this table, now or before columns
// were added.
TEST_P(DescribedRowsTest, OtherBytesAreRefused) {
  const TableRef raw = orders_;
  const auto bytes_of = [](RowBuilder& row) {
    const auto bytes = row.finish();
    EXPECT_OK(bytes);
    return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  };
  RowBuilder row(orders_);
  const std::string good = bytes_of(row.begin().set("customer", "Ada").set("note", "now"));
  std::vector<std::pair<std::string, const char*>> wrong{{"", "it has 0 bytes"}, {"not a row", "version"}};
  std::string not_text = good;
  not_text[not_text.size() - 5] = '\xff';  // in "Ada"
  wrong.emplace_back(not_text, "column 'customer' (text): the row is damaged: byte 1 of 3 is not UTF-8");
  wrong.emplace_back(good + "x", "do not end there");
  RowBuilder few(RowSchema("orders").column("other", RowType::kText, {.nullable = true}));
  wrong.emplace_back(bytes_of(few.begin()), "column 'customer' (text): the row is damaged: it is null, but is not nullable");
  wrong.emplace_back(std::string("\1\0\0", 3), "column 'customer' (text): the row was written with 0 columns");
  RowBuilder many(schema().column("more", RowType::kBool, {.nullable = true}));
  wrong.emplace_back(bytes_of(many.begin().set("customer", "Ada")), "4 columns");
  const auto as_bytes = [](const std::string& bytes) { return std::as_bytes(std::span(bytes)); };
  for (const auto& [bytes, words] : wrong) {
    SCOPED_TRACE(words);
    transact(db_, [&](Transaction& txn) {
      for (const Status& status : {txn.put(raw, 71, as_bytes(bytes)), txn.insert(raw, 71, as_bytes(bytes))}) {
        EXPECT_REFUSED(Code::kInvalidArgument, words, status);
        EXPECT_REFUSED(Code::kInvalidArgument, "key 71", status);
        EXPECT_REFUSED(Code::kInvalidArgument, "table 'orders'", status);
      }
      const Key keys[] = {70, 71};
      const Bytes rows[] = {good, bytes};
      EXPECT_REFUSED(Code::kInvalidArgument, "key 71", txn.insert_many(raw, keys, rows));
      EXPECT_OK(txn.remove(orders_, 70));
    });
  }
  EXPECT_EQ(text(71), "none");
  RowBuilder first(RowSchema("orders").column("customer", RowType::kText));
  const std::string old = bytes_of(first.begin().set("customer", "Eve"));
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.put(raw, 71, as_bytes(good)));
    EXPECT_OK(txn.put(raw, 72, as_bytes(old)));
    void* image = nullptr;
    EXPECT_REFUSED(Code::kInvalidArgument, "cannot be edited as bytes", txn.edit(raw, 71, {}, &image));
    RawView view;
    ASSERT_OK(txn.get(raw, 71, {}, &view));
    EXPECT_CODE(Code::kInvalidArgument, txn.edit(raw, view, {}, &image));
  });
  EXPECT_EQ(text(71), "Ada 1 now");
  EXPECT_EQ(text(72), "Eve 1");
  const auto by_name = db_.create_table<std::string_view>(RowSchema("by_name").column("n", RowType::kInt64));
  ASSERT_OK(by_name);
  transact(db_, [&](Transaction& txn) {
    const TableRef named = *by_name;
    EXPECT_REFUSED(Code::kInvalidArgument, "key \"some key\"", txn.put(named, Bytes("some key"), as_bytes(good)));
    EXPECT_CODE(Code::kInvalidArgument, txn.insert(named, Bytes("some key"), as_bytes(good)));
    const Bytes keys[] = {"some key"}, rows[] = {good};
    EXPECT_CODE(Code::kInvalidArgument, txn.insert_many(named, keys, rows));
    void* image = nullptr;
    EXPECT_CODE(Code::kInvalidArgument, txn.edit(named, Bytes("some key"), {}, &image));
  });
}

TEST_P(DescribedRowsTest, ManyRowsAreInsertedAndReadAtOnce) {
  constexpr size_t kRows = 100;
  std::vector<Key> keys;
  for (Key key = 0; key < kRows; ++key) keys.push_back(3 * key + 1);
  RowBuilder row(orders_);
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.insert_many(orders_, keys, row, [&](RowBuilder& order, size_t i) {
      order.set("customer", "customer " + std::to_string(i)).set(quantity_, i);
    }));
    EXPECT_CODE(Code::kDuplicateKey, txn.insert_many(orders_, {{2, 1}}, row, [](RowBuilder& order, size_t) { order.set("customer", ""); }));
    EXPECT_CODE(Code::kRolledBack, txn.insert_many(orders_, {{3}}, row, [](RowBuilder&, size_t) { return Status::rollback(); }));
    EXPECT_OK(txn.get(orders_, 2)) << "the row before the one that failed";
    EXPECT_CODE(Code::kNotFound, txn.get(orders_, 3));
    EXPECT_OK(txn.remove(orders_, 2));
  });
  keys.insert(keys.begin() + 50, 2);  // is missing
  transact(db_, [&](Transaction& txn) {
    std::vector<RowReader> rows(keys.size());
    ASSERT_OK(txn.multi_get(orders_, keys, rows));
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(static_cast<bool>(rows[i]), i != 50);
      EXPECT_EQ(rows[i].shows(), i != 50);
      if (!rows[i]) continue;
      EXPECT_EQ(rows[i].key(), keys[i]);
      EXPECT_EQ(*rows[i].get<std::string_view>("customer"), "customer " + std::to_string(i - (i > 50 ? 1 : 0)));
    }
    EXPECT_CODE(Code::kInvalidArgument, txn.multi_get(orders_, keys, std::span(rows).first(3)));
  });
}

TEST_P(DescribedRowsTest, RowsAreScannedByPage) {
  if (!is_ordered(GetParam().key_index)) return;
  for (Key key = 0; key < 10; ++key) insert(key, "customer " + std::to_string(key));
  EncodedScan scan(orders_, {1, 8});
  std::array<RowReader, 3> page;
  std::string seen;
  for (size_t rows = 1; rows != 0;) {
    read(db_, [&](Transaction& txn) {
      auto next = scan.next(txn, page);
      ASSERT_OK(next);
      rows = *next;
    });
    for (size_t i = 0; i < rows; ++i) {
      EXPECT_EQ(*page[i].get<std::string_view>(0), "customer " + std::to_string(page[i].key()));
      seen += std::to_string(page[i].key());
    }
    seen += ' ';
  }
  EXPECT_EQ(seen, "123 456 78  ");
  // A page with a damaged row is an error, and the scan stays where it is.
  transact(db_, [&](Transaction& txn) { EXPECT_OK(txn.put(UncheckedRows(orders_), 2, "not a row")); });
  EncodedScan all(orders_);
  read(db_, [&](Transaction& txn) { EXPECT_CODE(Code::kCorrupt, all.next(txn, page)); });
  insert(2, "again");
  read(db_, [&](Transaction& txn) { EXPECT_EQ(*all.next(txn, page), 3u); });
  EXPECT_EQ(*page[2].get<std::string_view>(0), "again");
}

TEST_P(DescribedRowsTest, ScansShowRows) {
  for (Key key = 0; key < 10; ++key) insert(key, "customer " + std::to_string(key));
  size_t rows = 0;
  read(db_, [&](Transaction& txn) {
    rows = 0;
    EXPECT_OK(txn.scan_rows(orders_, [&](Key key, const RowReader& order) {
      EXPECT_EQ(*order.get<std::string_view>(0), "customer " + std::to_string(key));
      ++rows;
    }));
  });
  EXPECT_EQ(rows, 10u);
  if (!is_ordered(GetParam().key_index)) return;
  transact(db_, [&](Transaction& txn) {
    std::string seen;
    EXPECT_OK(txn.scan(orders_, {3, 8}, {.limit = 4, .reverse = true}, [&](Key key, const RowReader& order) {
      seen += std::to_string(key) + std::to_string(*order.get<int32_t>(quantity_)) + ' ';
      return key != 6;
    }));
    EXPECT_EQ(seen, "81 71 61 ");
    EXPECT_CODE(Code::kRolledBack, txn.scan(orders_, {}, {}, [&](Key, const RowReader&) { return Status::rollback(); }));
  });
}

TEST_P(DescribedRowsTest, TablesMayHaveByteAndTupleKeys) {
  const auto by_name = db_.create_table<std::string_view>(RowSchema("by_name").column("n", RowType::kInt64));
  ASSERT_OK(by_name);
  using DayKey = std::tuple<std::string, int32_t>;
  const auto by_day = db_.create_table<DayKey>(RowSchema("by_day").column("n", RowType::kInt64));
  ASSERT_OK(by_day);
  RowBuilder row(*by_name), day(*by_day);
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.insert(*by_name, "a", row.begin().set(0, 1)));
    EXPECT_OK(txn.put(*by_name, std::string("b"), row.begin().set(0, 2)));
    EXPECT_OK(txn.insert(*by_day, {"eu", 3}, day.begin().set(0, 3)));
    EXPECT_OK(txn.update(*by_day, {"eu", 3}, day, [](RowBuilder& change) { change.set(0, int64_t{4}); }));
    EXPECT_EQ(*txn.get(*by_name, "b")->get<int64_t>(0), 2);
    EXPECT_EQ(*txn.get(*by_day, {"eu", 3})->get<int64_t>(0), 4);
    std::string seen;
    EXPECT_OK(txn.scan(*by_name, ByteRange::prefix("a"), {}, [&](std::string_view key, const RowReader&) { seen += key; }));
    EXPECT_OK(txn.scan(*by_day, prefix("eu"), {}, [&](const DayKey& key, const RowReader&) { seen += std::to_string(std::get<1>(key)); }));
    EXPECT_EQ(seen, "a3");
    EXPECT_OK(txn.remove(*by_name, "a"));
    EXPECT_OK(txn.remove(*by_day, {"eu", 3}));
  });
}

TEST_P(DescribedRowsTest, MistakesInTheDescriptionAreReported) {
  EXPECT_REFUSED(Code::kInvalidArgument, "another column has this name",
                 db_.create_table(RowSchema("t").column("a", RowType::kBool).column("a", RowType::kBool)));
  EXPECT_REFUSED(Code::kInvalidArgument, "needs a name", db_.create_table(RowSchema("").column("a", RowType::kBool)));
  EXPECT_CODE(Code::kSchemaMismatch, db_.create_table(schema().row_bytes_max(100)));
}

}  // namespace
}  // namespace elider::test
