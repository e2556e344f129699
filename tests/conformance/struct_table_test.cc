// Tables of structs with text and bytes (elider/struct_table.h) on every engine and key index.
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"
#include "tests/support/unchecked_rows.h"

namespace elider::test {
namespace {

enum class Level : int16_t { kLow = -3, kHigh = 300 };

struct Customer {
  uint32_t age = 0;
  Text name{};
  std::optional<Timestamp> since{};
  Bytes photo{};
  friend bool operator==(const Customer&, const Customer&) = default;
};

struct Everything {
  bool yes = false;
  int8_t i8 = 0;
  uint64_t u64 = 0;
  Level level = Level::kLow;
  float f32 = 0;
  double f64 = 0;
  Timestamp time{};
  Uuid uuid{};
  Decimal price{};
  Text text{};
  Bytes bytes{};
  std::optional<bool> maybe_yes{};
  std::optional<int32_t> maybe_number{};
  std::optional<Level> maybe_level{};
  std::optional<Decimal> maybe_price{};
  std::optional<Text> maybe_text{};
  std::optional<Bytes> maybe_bytes{};
  int not_stored = 5;
  friend bool operator==(const Everything&, const Everything&) = default;
};

RowsOf<Everything> everything_rows(KeyIndex key_index) {
  return RowsOf<Everything>("everything")
      .column("yes", &Everything::yes)
      .column("i8", &Everything::i8)
      .column("u64", &Everything::u64)
      .column("level", &Everything::level)
      .column("f32", &Everything::f32)
      .column("f64", &Everything::f64)
      .column("time", &Everything::time)
      .column("uuid", &Everything::uuid)
      .column("price", &Everything::price, {.scale = 3})
      .column("text", &Everything::text)
      .column("bytes", &Everything::bytes)
      .column("maybe_yes", &Everything::maybe_yes)
      .column("maybe_number", &Everything::maybe_number)
      .column("maybe_level", &Everything::maybe_level)
      .column("maybe_price", &Everything::maybe_price, {.scale = 2})
      .column("maybe_text", &Everything::maybe_text)
      .column("maybe_bytes", &Everything::maybe_bytes)
      .key_index(key_index);
}

template <class KeyType = Key>
RowsOf<Customer, KeyType> customer_rows(const char* name = "customers") {
  return RowsOf<Customer, KeyType>(name)
      .column("age", &Customer::age)
      .column("name", &Customer::name)
      .column("since", &Customer::since)
      .column("photo", &Customer::photo);
}

Timestamp at(int64_t us) { return Timestamp(std::chrono::microseconds(us)); }

class StructTableTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    auto table = db_.create_table(rows());
    ASSERT_OK(table);
    customers_ = *table;
  }
  RowsOf<Customer> rows() const { return customer_rows().key_index(GetParam().key_index).index("by_name", {"name", descending("age")}); }
  void put(Key key, const Customer& customer) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(customers_, key, customer)); });
  }
  // Expects that the row is this one.
  void expect(Key key, const Customer& expected) {
    read(db_, [&](Transaction& txn) {
      const auto customer = txn.get(customers_, key);
      ASSERT_OK(customer);
      EXPECT_EQ(**customer, expected) << (*customer)->name;
    });
  }

  StructTable<Customer> customers_;
};
ELIDER_ON_EVERY(StructTableTest);

TEST_P(StructTableTest, RowsAreInsertedReadChangedAndRemoved) {
  const std::string name(300, 'n');
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.insert(customers_, 1, {.age = 36, .name = "Ada", .since = at(5), .photo = {}}));
    EXPECT_CODE(Code::kDuplicateKey, txn.insert(customers_, 1, {.age = 1, .name = "Bob", .since = {}, .photo = {}}));
    EXPECT_OK(txn.put(customers_, 2, {.age = 2, .name = name, .since = {}, .photo = "\xff\x01"}));
    const auto own = txn.get(customers_, 2);
    ASSERT_OK(own);
    EXPECT_EQ((*own)->name, name) << "its own write";
    EXPECT_EQ(own->key(), 2u);
  });
  expect(1, {36, "Ada", at(5), {}});
  expect(2, {2, name, {}, "\xff\x01"});
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.update(customers_, 1, [](Customer& change) { change.age += 1; }));  // keeps the size
    EXPECT_OK(txn.update(customers_, 2, [](Customer& change) -> Status {
      change.since = at(-1);
      change.name = "short";
      return {};
    }));
    EXPECT_CODE(Code::kNotFound, txn.update(customers_, 3, [](Customer&) {}));
    EXPECT_CODE(Code::kRolledBack, txn.update(customers_, 1, [](Customer& change) {
      change.age = 99;
      return Status::rollback();
    }));
  });
  expect(1, {37, "Ada", at(5), {}});
  expect(2, {2, "short", at(-1), "\xff\x01"});
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.update(customers_, 2, [&](Customer& change) {
      change.photo = change.name.substr(1);  // a part of the old row
      change.name = name;
      change.since.reset();
    }));
    EXPECT_OK(txn.update(customers_, 2, [](Customer& change) { change.age = 3; }));
    EXPECT_OK(txn.remove(customers_, 1));
    EXPECT_CODE(Code::kNotFound, txn.get(customers_, 1));
  });
  expect(2, {3, name, {}, "hort"});
}

// A struct that is taken from a temporary view is a copy, so it does not dangle.
TEST_P(StructTableTest, AStructFromATemporaryViewIsACopy) {
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(customers_, 1, Customer{.age = 36, .name = "Ada"})); });
  read(db_, [&](Transaction& txn) {
    const Customer& row = **txn.get(customers_, 1);
    static_assert(!std::is_convertible_v<StructView<Customer>, const Customer&>);
    static_assert(std::is_same_v<decltype(*StructView<Customer>()), Customer>);
    EXPECT_EQ(row.age, 36u);
    EXPECT_EQ(row.name, "Ada");
  });
}

TEST_P(StructTableTest, AnEmptyHandleIsRefused) {
  const StructTable<Customer, Key> none;
  transact(db_, [&](Transaction& txn) {
    EXPECT_CODE(Code::kInvalidArgument, txn.put(none, 1, {}));
    EXPECT_CODE(Code::kInvalidArgument, txn.insert(none, 1, {}));
    EXPECT_CODE(Code::kInvalidArgument, txn.get(none, 1).status());
    EXPECT_CODE(Code::kInvalidArgument, txn.update(none, 1, [](Customer& row) { row.age = 1; }));
    EXPECT_CODE(Code::kInvalidArgument, txn.remove(none, 1));
  });
}

TEST_P(StructTableTest, IndexesMayBeRanked) {
  const auto made = db_.create_table(customer_rows<>("ranked").ranked_index("by_age", {descending("age")}).key_index(GetParam().key_index));
  ASSERT_OK(made);
  transact(db_, [&](Transaction& txn) {
    for (Key key = 0; key < 200; ++key) ASSERT_OK(txn.insert(*made, key, Customer{.age = static_cast<uint32_t>(key), .name = "x"}));
  });
  const auto by_age = db_.index(*made, "by_age");
  ASSERT_OK(by_age);
  read(db_, [&](Transaction& txn) {
    const auto rank = txn.rank(*by_age, Key{150});
    ASSERT_OK(rank);
    EXPECT_EQ(*rank, 49u);
  });
}

TEST_P(StructTableTest, EveryTypeOfMemberIsKept) {
  const auto table = db_.create_table(everything_rows(GetParam().key_index));
  ASSERT_OK(table);
  Uuid uuid;
  uuid.bytes[15] = std::byte{7};
  const Everything full{.yes = true,
                        .i8 = -128,
                        .u64 = ~uint64_t{0},
                        .level = Level::kHigh,
                        .f32 = 0.5f,
                        .f64 = -0.25,
                        .time = at(std::numeric_limits<int64_t>::min()),
                        .uuid = uuid,
                        .price = {-1250, 3},
                        .text = "t\xc3\xa9xt",
                        .bytes = std::string_view("\0\xff", 2),
                        .maybe_yes = false,
                        .maybe_number = -1,
                        .maybe_level = Level::kLow,
                        .maybe_price = Decimal{5, 2},
                        .maybe_text = "",
                        .maybe_bytes = "b"};
  Everything empty;
  empty.price.scale = 3;
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.insert(*table, 1, full));
    ASSERT_OK(txn.insert(*table, 2, Everything()));
    Everything other = full;
    other.not_stored = 9;
    ASSERT_OK(txn.put(*table, 3, other));
  });
  read(db_, [&](Transaction& txn) {
    EXPECT_EQ(**txn.get(*table, 1), full);
    EXPECT_EQ(**txn.get(*table, 2), empty);
    EXPECT_EQ((*txn.get(*table, 3))->not_stored, 5);
  });
  // The rows are ordinary described rows.
  const auto described = db_.described_table("everything");
  ASSERT_OK(described);
  read(db_, [&](Transaction& txn) {
    const auto row = txn.get(*described, 1);
    ASSERT_OK(row);
    EXPECT_OK(row->check());
    EXPECT_EQ(*row->get<int16_t>("level"), 300);
    EXPECT_EQ(*row->get<Decimal>("price"), (Decimal{-1250, 3}));
    EXPECT_EQ(*row->get<std::optional<std::string_view>>("maybe_text"), "");
    EXPECT_TRUE(*txn.get(*described, 2)->is_null("maybe_text"));
  });
}

TEST_P(StructTableTest, ValuesThatDoNotFitAreRefused) {
  const auto table = db_.create_table(everything_rows(GetParam().key_index));
  ASSERT_OK(table);
  transact(db_, [&](Transaction& txn) {
    Everything row;
    row.text = "\xff";
    EXPECT_REFUSED(Code::kInvalidArgument, "column 'text' (text): byte 0 of 1 is not UTF-8", txn.insert(*table, 1, row));
    row = {};
    row.price = {12345, 4};
    EXPECT_REFUSED(Code::kInvalidArgument, "column 'price' (decimal(3))", txn.put(*table, 1, row));
    row.price = {12340, 4};
    EXPECT_OK(txn.put(*table, 1, row));
    EXPECT_EQ((*txn.get(*table, 1))->price, (Decimal{1234, 3}));
    EXPECT_REFUSED(Code::kInvalidArgument, "not UTF-8", txn.update(*table, 1, [](Everything& change) { change.maybe_text = "\xff"; }));
    EXPECT_FALSE((*txn.get(*table, 1))->maybe_text.has_value());
    const std::string long_text(kRowBytesMax, 'x');
    EXPECT_REFUSED(Code::kInvalidArgument, "the maximum is", txn.put(*table, 2, Everything{.text = long_text}));
  });
}

TEST_P(StructTableTest, IndexesByColumnsFindRows) {
  for (Key key = 1; key <= 6; ++key) put(key, {static_cast<uint32_t>(key), key % 2 == 0 ? "even" : "odd", {}, {}});
  const auto by_name = db_.index(customers_, "by_name");
  ASSERT_OK(by_name);
  transact(db_, [&](Transaction& txn) {
    std::string seen;
    EXPECT_OK(txn.scan(*by_name, prefix("even"), {}, [&](Key key, const Customer& customer) {
      EXPECT_EQ(customer.age, key);
      seen += std::to_string(key);
    }));
    EXPECT_EQ(seen, "642");
    std::optional<ColumnPosition> position;
    EXPECT_OK(txn.scan(*by_name, ColumnRange(), {.limit = 4}, [&](ColumnPosition at, const StructView<Customer>&) { position = at; }));
    EXPECT_OK(txn.scan(*by_name, ColumnRange().after(*position), {}, [&](Key key, const auto& customer) -> Status {
      seen += ' ' + std::string(customer->name) + std::to_string(key);
      return {};
    }));
    EXPECT_EQ(seen, "642 odd3 odd1");
    EXPECT_EQ(*txn.count(*by_name, prefix("odd")), 3u);
  });
  EncodedIndexScan scan(*by_name, prefix("odd"));
  std::array<StructView<Customer>, 2> page;
  std::string seen;
  for (size_t rows = 1; rows != 0;) {
    transact(db_, [&](Transaction& txn) { rows = *scan.next(txn, page); });
    for (size_t i = 0; i < rows; ++i) seen += std::to_string(page[i].key()) + std::string(page[i]->name) + ' ';
  }
  EXPECT_EQ(seen, "5odd 3odd 1odd ");
}

TEST_P(StructTableTest, ScansAndReadsOfManyRows) {
  std::vector<Key> keys;
  std::vector<Customer> customers;
  std::vector<std::string> names;
  for (Key key = 0; key < 80; ++key) names.push_back(std::string(key, 'n'));
  for (Key key = 0; key < 80; ++key) {
    keys.push_back(key * 2);
    customers.push_back({static_cast<uint32_t>(key), names[key], {}, {}});
  }
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert_many(customers_, keys, customers)); });
  size_t rows = 0;
  read(db_, [&](Transaction& txn) {
    rows = 0;
    EXPECT_OK(txn.scan_rows(customers_, [&](Key key, const StructView<Customer>& customer) {
      EXPECT_EQ(*customer, customers[key / 2]);
      ++rows;
    }));
  });
  EXPECT_EQ(rows, keys.size());
  keys.push_back(1);
  transact(db_, [&](Transaction& txn) {
    std::vector<StructView<Customer>> views(keys.size());
    ASSERT_OK(txn.multi_get(customers_, keys, views));
    for (size_t i = 0; i < customers.size(); ++i) EXPECT_EQ(*views[i], customers[i]);
    EXPECT_FALSE(views.back());
    EXPECT_FALSE(views.back().shows());
    EXPECT_CODE(Code::kDuplicateKey, txn.insert_many(customers_, {{1, 0}}, {customers.data(), 2}));
    EXPECT_CODE(Code::kInvalidArgument, txn.insert_many(customers_, {{1, 0}}, {customers.data(), 1}));
    EXPECT_OK(txn.remove(customers_, 1));
  });
  if (!is_ordered(GetParam().key_index)) return;
  EncodedScan scan(customers_, {10, 15});
  std::array<StructView<Customer>, 10> page;
  transact(db_, [&](Transaction& txn) { EXPECT_EQ(*scan.next(txn, page), 3u); });
  EXPECT_EQ(page[2]->name, names[7]) << "a page outlives its transaction";
}

TEST_P(StructTableTest, TablesMayHaveByteAndTupleKeys) {
  const auto by_text = db_.create_table(customer_rows<std::string_view>("by_text"));
  ASSERT_OK(by_text);
  using DayKey = std::tuple<std::string, int32_t>;
  const auto by_day = db_.create_table(customer_rows<DayKey>("by_day").index("by_age", {"age"}));
  ASSERT_OK(by_day);
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.insert(*by_text, "a", {1, "one", {}, {}}));
    EXPECT_OK(txn.put(*by_text, std::string("b"), {2, "two", {}, {}}));
    EXPECT_OK(txn.insert(*by_day, {"eu", 3}, {3, "three", {}, {}}));
    EXPECT_OK(txn.update(*by_day, {"eu", 3}, [](Customer& change) { change.age = 4; }));
    EXPECT_EQ((*txn.get(*by_text, "b"))->name, "two");
    const auto day = txn.get(*by_day, {"eu", 3});
    ASSERT_OK(day);
    EXPECT_EQ(day->key(), DayKey("eu", 3));
    std::string seen;
    EXPECT_OK(txn.scan(*by_text, ByteRange::all(), {}, [&](std::string_view key, const Customer& customer) {
      seen += std::string(key) + std::string(customer.name);
    }));
    EXPECT_OK(txn.scan(*by_day, prefix("eu"), {}, [&](const DayKey& key, const auto&) { seen += std::to_string(std::get<1>(key)); }));
    const auto by_age = db_.index(*by_day, "by_age");
    EXPECT_OK(txn.scan(*by_age, prefix(4), {}, [&](const DayKey& key, const Customer&) { seen += std::get<0>(key); }));
    EXPECT_EQ(seen, "aonebtwo3eu");
    const DayKey keys[] = {{"eu", 3}, {"us", 3}};
    std::array<StructView<Customer, DayKey>, 2> views;
    EXPECT_OK(txn.multi_get(*by_day, keys, views));
    EXPECT_EQ(views[0]->age, 4u);
    EXPECT_FALSE(views[1]);
    EXPECT_EQ(*txn.version(*by_day, {"us", 3}), 0u);
    EXPECT_OK(txn.remove(*by_day, {"eu", 3}));
  });
}

// Touches are hints, so the test shows only that groups accept them, and find the rows.
TEST_P(StructTableTest, RowsMayBeTouched) {
  using DayKey = std::tuple<std::string, int32_t>;
  const auto days = db_.create_table(customer_rows<DayKey>("days").key_index(GetParam().key_index));
  ASSERT_OK(days);
  std::array<Status, 20> outcomes;
  EXPECT_OK(db_.run_group(
      outcomes.size(),
      [&](size_t i, Touches& touches) {
        touches.row(*days, {"eu", static_cast<int32_t>(i % 5)});
        touches.row(customers_, i % 3);
      },
      [&](size_t i, Transaction& txn) -> Status {
        const std::string name(i, 'n');
        ELIDER_TRY(txn.put(*days, {"eu", static_cast<int32_t>(i % 5)}, {static_cast<uint32_t>(i), name, {}, {}}));
        return txn.put(customers_, i % 3, {static_cast<uint32_t>(i), name, {}, {}});
      },
      outcomes));
  for (const Status& outcome : outcomes) EXPECT_OK(outcome);
  read(db_, [&](Transaction& txn) {
    EXPECT_EQ((*txn.get(*days, {"eu", 4}))->name.size(), 19u);
    EXPECT_EQ((*txn.get(customers_, 0))->name.size(), 18u);
  });
}

// A new version of the program has another member.
TEST_P(StructTableTest, AnUpgradeAddsTheColumnsOfNewMembers) {
  Options options;
  options.upgrade = true;
  reopen(options);
  const auto old = db_.create_table(customer_rows());
  ASSERT_OK(old);
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(*old, 1, {36, "Ada", {}, {}})); });
  struct Version2 {
    uint32_t age;
    Text name;
    std::optional<Timestamp> since;
    Bytes photo;
    Text state;
    std::optional<Text> note;
  };
  const auto rows = RowsOf<Version2>("customers")
                        .column("age", &Version2::age)
                        .column("name", &Version2::name)
                        .column("since", &Version2::since)
                        .column("photo", &Version2::photo)
                        .column("state", &Version2::state, {.default_value = "new"})
                        .column("note", &Version2::note);
  const auto table = db_.create_table(rows);
  ASSERT_OK(table);
  transact(db_, [&](Transaction& txn) {
    EXPECT_EQ((*txn.get(*table, 1))->state, "new");
    EXPECT_FALSE((*txn.get(*table, 1))->note.has_value());
    EXPECT_OK(txn.update(*table, 1, [](Version2& change) { change.note = "changed"; }));
    EXPECT_EQ((*txn.get(*table, 1))->state, "new");
    EXPECT_EQ((*txn.get(*table, 1))->note, "changed");
    EXPECT_OK(txn.update(*old, 1, [](Customer& change) { change.age += 1; }));
    EXPECT_EQ((*txn.get(*table, 1))->note, "changed");
  });
  EXPECT_CODE(Code::kSchemaMismatch, db_.create_table(customer_rows()));
}

// Columns are added, renamed and dropped while the handle exists.
TEST_P(StructTableTest, TheHandleFollowsChangesOfTheColumns) {
  put(1, {36, "Ada", at(5), "p"});
  ASSERT_OK(db_.add_column("customers", "state", RowType::kText, {.default_value = "new"}));
  ASSERT_OK(db_.rename_column("customers", "name", "called"));
  ASSERT_OK(db_.rename_table("customers", "clients"));
  expect(1, {36, "Ada", at(5), "p"});
  put(2, {1, "Bob", {}, {}});
  const auto described = db_.described_table("clients");
  ASSERT_OK(described);
  RowBuilder row(*described);
  transact(db_, [&](Transaction& txn) {
    EXPECT_EQ(*txn.get(*described, 1)->get<std::string_view>("state"), "new");
    EXPECT_EQ(*txn.get(*described, 2)->get<std::string_view>("state"), "new");
    ASSERT_OK(txn.update(*described, 2, row, [](RowBuilder& change) { change.set("state", "old"); }));
    ASSERT_OK(txn.update(customers_, 2, [](Customer& change) { change.name = "Bobby"; }));
    EXPECT_EQ(*txn.get(*described, 2)->get<std::string_view>("state"), "old") << "update() keeps other columns";
    EXPECT_EQ(*txn.get(*described, 2)->get<std::string_view>("called"), "Bobby");
  });
  ASSERT_OK(db_.drop_column("clients", "photo"));
  const auto refused = [&](const Status& status) {
    EXPECT_REFUSED(Code::kSchemaMismatch, "table 'clients': column 'photo'", status);
    EXPECT_REFUSED(Code::kSchemaMismatch, "was dropped", status);
  };
  transact(db_, [&](Transaction& txn) {
    refused(txn.get(customers_, 1).status());
    refused(txn.insert(customers_, 3, {}));
    refused(txn.put(customers_, 1, {}));
    refused(txn.update(customers_, 1, [](Customer&) { ADD_FAILURE() << "change() was called"; }));
    refused(txn.scan(*db_.index(customers_, "by_name"), ColumnRange(), {}, [](Key, const Customer&) {}));
    EXPECT_OK(txn.remove(customers_, 1));
  });
  // A struct with the columns that remain, in another order.
  struct Client {
    Text state, name;
    uint32_t age;
  };
  const auto clients = RowsOf<Client>("clients")
                           .column("state", &Client::state)
                           .column("called", &Client::name)
                           .column("age", &Client::age)
                           .open(*db_.table("clients"));
  ASSERT_OK(clients);
  transact(db_, [&](Transaction& txn) {
    const auto client = txn.get(*clients, 2);
    ASSERT_OK(client);
    EXPECT_EQ((*client)->state, "old");
    EXPECT_EQ((*client)->name, "Bobby");
    EXPECT_OK(txn.put(*clients, 3, {"x", "Eve", 3}));
    EXPECT_TRUE(*txn.get(*described, 3)->is_null("since"));
  });
}

TEST_P(StructTableTest, OtherDescriptionsAreRefused) {
  const auto again = db_.create_table(rows());
  ASSERT_OK(again);
  put(1, {36, "Ada", {}, {}});
  transact(db_, [&](Transaction& txn) { EXPECT_EQ((*txn.get(*again, 1))->name, "Ada"); });
  EXPECT_REFUSED(Code::kSchemaMismatch, "customers", db_.create_table(customer_rows()));  // another key index, or no index by name
  struct Other {
    int64_t age;
    std::optional<Text> name;
    Text since;
    Text missing;
  };
  const TableRef table = customers_;
  const auto refused = [&](const char* words, const RowsOf<Other>& other) {
    EXPECT_REFUSED(Code::kSchemaMismatch, words, other.open(table));
  };
  refused("column 'age' has type uint32, but the struct's member has type int64", RowsOf<Other>("customers").column("age", &Other::age));
  refused("column 'name' is not nullable", RowsOf<Other>("customers").column("name", &Other::name));
  refused("column 'missing' of the struct does not exist", RowsOf<Other>("customers").column("missing", &Other::missing));
  refused("column 'since' has type timestamp", RowsOf<Other>("customers").column("since", &Other::since));
  EXPECT_REFUSED(Code::kInvalidArgument, "same member",
                 db_.create_table(RowsOf<Other>("t").column("a", &Other::since).column("b", &Other::since)));
  EXPECT_REFUSED(Code::kInvalidArgument, "another column has this name",
                 db_.create_table(RowsOf<Other>("t").column("a", &Other::since).column("a", &Other::missing)));
  EXPECT_REFUSED(Code::kSchemaMismatch, "number keys", (customer_rows<std::string_view>().open(table)));
  EXPECT_REFUSED(Code::kSchemaMismatch, "not described", customer_rows().open(create(account_schema(GetParam().key_index, "plain"))));
  EXPECT_CODE(Code::kInvalidArgument, customer_rows().open(TableRef()));
}

TEST_P(StructTableTest, DamagedRowsAreReported) {
  put(1, {36, "Ada", {}, {}});
  transact(db_, [&](Transaction& txn) {
    const auto plain = db_.create_table(customer_rows("plain").key_index(GetParam().key_index));
    ASSERT_OK(plain);
    EXPECT_OK(txn.put(UncheckedRows(*plain), 1, "not a row"));
    EXPECT_REFUSED(Code::kCorrupt, "table 'plain'", txn.get(*plain, 1));
    EXPECT_CODE(Code::kCorrupt, txn.update(*plain, 1, [](Customer&) {}));
    EXPECT_OK(txn.put(UncheckedRows(*plain), 1, std::string_view("\1\0\0", 3)));
    EXPECT_REFUSED(Code::kSchemaMismatch, "column 'age'", txn.get(*plain, 1));
  });
}

// A thread uses more tables than it has builders for, and buffers of large rows are given back.
TEST_P(StructTableTest, ManyTablesAreWrittenInTurn) {
  std::vector<StructTable<Customer>> tables;
  for (int i = 0; i < 20; ++i) {
    auto table = db_.create_table(customer_rows(("t" + std::to_string(i)).c_str()).key_index(GetParam().key_index).row_bytes_max(4 << 20));
    ASSERT_OK(table);
    tables.push_back(*table);
  }
  const std::string long_name(3 << 20, 'l');
  transact(db_, [&](Transaction& txn) {
    for (Key key = 0; key < 3; ++key)
      for (size_t i = 0; i < tables.size(); ++i)
        ASSERT_OK(txn.put(tables[i], key, {static_cast<uint32_t>(i), i == key ? std::string_view(long_name) : "short", {}, {}}));
  });
  read(db_, [&](Transaction& txn) {
    for (Key key = 0; key < 3; ++key)
      for (size_t i = 0; i < tables.size(); ++i) {
        const auto row = txn.get(tables[i], key);
        ASSERT_OK(row);
        EXPECT_EQ((*row)->age, i);
        EXPECT_EQ((*row)->name.size(), i == key ? long_name.size() : 5);
      }
  });
}

TEST(StructViewDeathTest, AnEmptyViewAborts) {
  StructView<Customer> empty;
  EXPECT_FALSE(empty);
  EXPECT_DEATH(static_cast<void>(empty->age), "a View that shows no row was used");
}

}  // namespace
}  // namespace elider::test
