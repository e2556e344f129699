// Indexes by columns (SecondaryIndex), of structs and of described rows, on every engine.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

struct Parcel {
  int32_t region = 0;
  uint32_t price = 0;
  double weight = 0;
  std::array<char, 8> city{};
  int64_t other = 0;
};
using FoundKeys = std::vector<Key>;

class ColumnIndexTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    orders_ = create(schema());
    by_price_ = *db_.index(orders_, "by_price");
    by_city_ = *db_.index(orders_, "by_city");
  }
  static SchemaOf<Parcel> schema(KeyIndex key_index, std::string name) {
    SchemaOf<Parcel> schema(std::move(name));
    schema.key_index(key_index)
        .column("region", &Parcel::region)
        .column("price", &Parcel::price)
        .column("weight", &Parcel::weight)
        .column("city", &Parcel::city)
        .column("other", &Parcel::other)
        .group({"price"})
        .group({"other"})
        .index("by_price", {"region", descending("price")})
        .unique_index("by_city", {"city", "weight"});
    return schema;
  }
  SchemaOf<Parcel> schema() const { return schema(GetParam().key_index, "orders"); }
  static Parcel order(int32_t region, uint32_t price, const std::string& city, double weight = 0) {
    Parcel made{region, price, weight, {}, 0};
    std::copy(city.begin(), city.end(), made.city.begin());
    return made;
  }
  void fill() {
    transact(db_, [&](Transaction& txn) {
      ASSERT_OK(txn.insert(orders_, 1, order(-1, 10, "Rome")));
      ASSERT_OK(txn.insert(orders_, 2, order(5, 300, "Oslo")));
      ASSERT_OK(txn.insert(orders_, 3, order(5, 7, "Bern")));
      ASSERT_OK(txn.insert(orders_, 4, order(5, 7, "Bern", -0.5)));
      ASSERT_OK(txn.insert(orders_, 5, order(70000, 1, "Bern", 1e9)));
    });
  }
  template <ColumnRangeType Range>
  FoundKeys scan(Transaction& txn, const Index<Parcel>& index, const Range& range, const ScanOptions& options = {}) {
    FoundKeys found;
    EXPECT_OK(txn.scan(index, range, options, [&](Key key, const View<Parcel>& view) {
      EXPECT_EQ(view.key(), key);
      found.push_back(key);
      return true;
    }));
    return found;
  }
  template <ColumnRangeType Range>
  void expect(const Index<Parcel>& index, const Range& range, const FoundKeys& expected, const ScanOptions& options = {}) {
    transact(db_, [&](Transaction& txn) { EXPECT_EQ(scan(txn, index, range, options), expected); });
    read(db_, [&](Transaction& txn) { EXPECT_EQ(scan(txn, index, range, options), expected); });
  }
  Status update(Transaction& txn, Key key, const std::function<void(Parcel&)>& change) {
    return txn.update(orders_, key, {}, change);
  }

  Table<Parcel> orders_;
  Index<Parcel> by_price_, by_city_;
};
ELIDER_ON_EVERY(ColumnIndexTest);

TEST_P(ColumnIndexTest, RowsAreInTheOrderOfTheColumnsAndTheKey) {
  fill();
  expect(by_price_, prefix(), {1, 2, 3, 4, 5});
  expect(by_price_, ColumnRange(), {5, 4, 3, 2, 1}, {.reverse = true});
  expect(by_city_, prefix(), {4, 3, 5, 2, 1});
  expect(by_city_, prefix(), {1, 2}, {.limit = 2, .reverse = true});
}

TEST_P(ColumnIndexTest, APrefixOfTheColumnsIsARange) {
  fill();
  expect(by_price_, prefix(5), {2, 3, 4});
  expect(by_price_, prefix(5), {4, 3, 2}, {.reverse = true});
  expect(by_price_, prefix(5, Descending{7u}), {3, 4});
  expect(by_price_, prefix(6), {});
  expect(by_price_, ColumnRange::between(prefix(0), prefix(100)), {2, 3, 4});
  expect(by_price_, ColumnRange::between(prefix(5, Descending{100u}), prefix()), {3, 4, 5});
  expect(by_city_, *index_prefix(by_city_, {"Bern"}), {4, 3, 5});
  expect(by_price_, *index_prefix(by_price_, {5, 300}), {2});
  transact(db_, [&](Transaction& txn) {
    EXPECT_EQ(*txn.count(by_price_, prefix(5)), 3u);
    EXPECT_EQ(*txn.count(by_price_, prefix(5), 2), 2u);
    EXPECT_EQ(*txn.count(by_price_, prefix()), 5u);
    EXPECT_EQ(*txn.count(by_price_, prefix(6)), 0u);
  });
}

TEST_P(ColumnIndexTest, AScanContinuesAtAPosition) {
  fill();
  read(db_, [&](Transaction& txn) {
    for (const bool reverse : {false, true}) {
      FoundKeys all;
      ColumnRange rest;
      for (bool more = true; more;) {
        more = false;
        ASSERT_OK(txn.scan(by_price_, rest, {.limit = 2, .reverse = reverse}, [&](const ColumnPosition& at, const View<Parcel>& view) {
          all.push_back(view.key());
          rest = reverse ? ColumnRange().before(at) : ColumnRange().after(at);
          more = true;
        }));
      }
      EXPECT_EQ(all, reverse ? (FoundKeys{5, 4, 3, 2, 1}) : (FoundKeys{1, 2, 3, 4, 5}));
    }
  });
  IndexScan<Parcel> paged(by_price_, prefix(5));
  std::array<View<Parcel>, 2> page;
  FoundKeys all;
  for (size_t rows = 1; rows != 0;) {
    read(db_, [&](Transaction& txn) {
      const auto next = paged.next(txn, page);
      ASSERT_OK(next);
      rows = *next;
    });
    for (size_t i = 0; i < rows; ++i) all.push_back(page[i].key());
  }
  EXPECT_EQ(all, (FoundKeys{2, 3, 4}));
  IndexScan<Parcel> whole(by_city_);
  std::array<View<Parcel>, 8> large;
  read(db_, [&](Transaction& txn) { EXPECT_EQ(*whole.next(txn, large), 5u); });
}

TEST_P(ColumnIndexTest, AnUpdateMovesTheRowAndBack) {
  fill();
  const auto move = [&](int32_t region) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(update(txn, 3, [&](Parcel& o) { o.region = region; })); });
  };
  for (int round = 0; round < 20; ++round) {
    move(-7);
    expect(by_price_, prefix(), {3, 1, 2, 4, 5});
    move(5);
    expect(by_price_, prefix(), {1, 2, 3, 4, 5});
  }
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(update(txn, 3, [&](Parcel& o) { o.price = 1000; }));
    EXPECT_EQ(scan(txn, by_price_, prefix(5)), (FoundKeys{3, 2, 4})) << "its own write";
    ASSERT_OK(update(txn, 3, [&](Parcel& o) { o.price = 7; }));
    EXPECT_EQ(scan(txn, by_price_, prefix(5)), (FoundKeys{2, 3, 4}));
    ASSERT_OK(update(txn, 3, [&](Parcel& o) { o.other = 1; }));
  });
  expect(by_price_, prefix(), {1, 2, 3, 4, 5});
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(orders_, 3, order(6, 1, "Bern"))); });
  expect(by_price_, prefix(), {1, 2, 4, 3, 5});
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.write(orders_, 3, orders_.columns(&Parcel::region), order(4, 0, "")));
  });
  expect(by_price_, prefix(), {1, 3, 2, 4, 5});
}

TEST_P(ColumnIndexTest, RemovedAndRolledBackRowsAreNotFound) {
  fill();
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.remove(orders_, 2));
    EXPECT_EQ(scan(txn, by_price_, prefix(5)), (FoundKeys{3, 4}));
    ASSERT_OK(txn.insert(orders_, 2, order(5, 1, "Oslo")));
    EXPECT_EQ(scan(txn, by_price_, prefix(5)), (FoundKeys{3, 4, 2}));
    ASSERT_OK(txn.remove(orders_, 2));
  });
  expect(by_price_, prefix(), {1, 3, 4, 5});
  EXPECT_CODE(Code::kRolledBack, db_.run([&](Transaction& txn) -> Status {
    EXPECT_OK(txn.insert(orders_, 9, order(5, 0, "Ulm")));
    EXPECT_OK(update(txn, 3, [](Parcel& o) { o.region = 1; }));
    EXPECT_EQ(scan(txn, by_price_, prefix()), (FoundKeys{1, 3, 4, 9, 5}));
    return Status::rollback();
  }));
  expect(by_price_, prefix(), {1, 3, 4, 5});
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(orders_, 2, order(5, 8, "Oslo"))); });
  expect(by_price_, prefix(), {1, 2, 3, 4, 5});
}

TEST_P(ColumnIndexTest, AUniqueIndexRefusesASecondRowOfTheValue) {
  fill();
  transact(db_, [&](Transaction& txn) {
    Status refused = txn.insert(orders_, 9, order(0, 0, "Oslo"));
    EXPECT_CODE(Code::kDuplicateKey, refused);
    EXPECT_NE(refused.message().find("unique index 'by_city' already has value"), std::string::npos) << refused.message();
    EXPECT_NE(refused.message().find("key 2"), std::string::npos) << refused.message();
    EXPECT_CODE(Code::kDuplicateKey, update(txn, 3, [](Parcel& o) { o.weight = -0.5; }));
    EXPECT_CODE(Code::kDuplicateKey, txn.put(orders_, 3, order(0, 0, "Rome")));
    EXPECT_OK(txn.put(orders_, 3, order(5, 7, "Bern")));
    EXPECT_OK(txn.insert(orders_, 9, order(0, 0, "Oslo", 1)));
    EXPECT_OK(txn.remove(orders_, 9));
    EXPECT_OK(txn.remove(orders_, 2));
    EXPECT_OK(txn.insert(orders_, 9, order(5, 9, "Oslo")));
    EXPECT_CODE(Code::kDuplicateKey, txn.insert(orders_, 10, order(5, 9, "Oslo", -0.0))) << "-0.0 is 0.0";
  });
  expect(by_price_, prefix(), {1, 9, 3, 4, 5});
}

TEST_P(ColumnIndexTest, RangesOfTheWrongKindAreRefused) {
  fill();
  transact(db_, [&](Transaction& txn) {
    const auto ignore = [](Key, const View<Parcel>&) {};
    EXPECT_REFUSED(Code::kInvalidArgument, "by columns", txn.scan(by_price_, IndexRange(0, 9), {}, ignore));
    EXPECT_REFUSED(Code::kInvalidArgument, "field 1", txn.scan(by_price_, prefix(5, 7), {}, ignore));
    EXPECT_REFUSED(Code::kInvalidArgument, "field 0", txn.scan(by_price_, prefix("a"), {}, ignore));
    EXPECT_REFUSED(Code::kInvalidArgument, "field 0", txn.scan(by_price_, ColumnRange::between(prefix(), prefix("a")), {}, ignore));
    EXPECT_REFUSED(Code::kInvalidArgument, "'by_price'", txn.scan(by_price_, prefix("\xff"), {}, ignore));
    EXPECT_REFUSED(Code::kInvalidArgument, "secondary index 7", txn.scan(Index<Parcel>{{orders_, 7}}, prefix(), {}, ignore));
    EXPECT_REFUSED(Code::kInvalidArgument, "2 columns", index_prefix(by_price_, {1, 2, 3}).status());
    EXPECT_REFUSED(Code::kInvalidArgument, "int32", index_prefix(by_price_, {int64_t{1} << 40}).status());
    EXPECT_REFUSED(Code::kInvalidArgument, "empty", index_prefix(IndexRef(), {1}).status());
  });
}

TEST_P(ColumnIndexTest, SchemasWithMistakesAreRefused) {
  const auto make = [&](const auto& change) {
    SchemaOf<Parcel> schema = ColumnIndexTest::schema(GetParam().key_index, "mistakes");
    change(schema);
    return db_.create_table(schema).status();
  };
  EXPECT_REFUSED(Code::kInvalidArgument, "'size', which is not described", make([](auto& s) { s.index("i", {"size"}); }));
  EXPECT_REFUSED(Code::kInvalidArgument, "reads no columns", make([](auto& s) { s.index("i", {}); }));
  EXPECT_REFUSED(Code::kInvalidArgument, "'price' twice", make([](auto& s) { s.index("i", {"price", descending("price")}); }));
  EXPECT_REFUSED(Code::kInvalidArgument, "declared twice", make([](auto& s) { s.index("by_city", {"price"}); }));
  EXPECT_REFUSED(Code::kInvalidArgument, "more than 64", make([](auto& s) {
    for (int i = 0; i < 63; ++i) s.index("i" + std::to_string(i), {"price"});
  }));
}

TEST_P(ColumnIndexTest, ATableHas64Indexes) {
  SchemaOf<Parcel> schema = ColumnIndexTest::schema(GetParam().key_index, "many");
  for (int i = 2; i < 64; ++i) schema.index("i" + std::to_string(i), {i % 2 == 0 ? descending("price") : IndexColumn("region"), "other"});
  const auto many = create(schema);
  for (Key key = 0; key < 50; ++key) insert(many, key, order(static_cast<int32_t>(key % 7), static_cast<uint32_t>(key), "A", double(key)));
  transact(db_, [&](Transaction& txn) {
    for (Key key = 0; key < 50; key += 2)
      ASSERT_OK(txn.update(many, key, {}, [](Parcel& o) { o.price += 100, o.region += 1; }));
    for (Key key = 1; key < 50; key += 4) ASSERT_OK(txn.remove(many, key));
  });
  for (const char* name : {"by_price", "i2", "i63"})
    read(db_, [&](Transaction& txn) { EXPECT_EQ(*txn.count(*db_.index(many, name), ColumnRange()), 37u); });
  EXPECT_OK(db_.verify());
}

// -- described rows -------------------------------------------------------------------------------

class DescribedIndexTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    auto table = db_.create_table(schema());
    ASSERT_OK(table);
    people_ = *table;
    by_name_ = *db_.index(people_, "by_name");
    by_born_ = *db_.index(people_, "by_born");
    by_mail_ = *db_.index(people_, "by_mail");
  }
  RowSchema schema() const {
    return RowSchema("people")
        .column("name", RowType::kText)
        .column("born", RowType::kTimestamp, {.nullable = true})
        .column("mail", RowType::kText, {.nullable = true})
        .column("balance", RowType::kDecimal, {.default_value = Decimal{0, 2}, .scale = 2})
        .column("notes", RowType::kJson, {.nullable = true})
        .index("by_name", {"name", "balance"})
        .index("by_born", {descending("born"), "name"})
        .unique_index("by_mail", {"mail"})
        .key_index(GetParam().key_index);
  }
  static Timestamp day(int64_t days) { return Timestamp(std::chrono::hours(24 * days)); }
  struct Person {
    std::string name;
    std::optional<int64_t> born = {};
    std::optional<std::string> mail = {};
    int64_t cents = 0;
  };
  Status put(Transaction& txn, Key key, const Person& person) {
    RowBuilder row(people_);
    row.begin().set("name", person.name).set("mail", person.mail).set("balance", Decimal{person.cents, 2});
    if (person.born) row.set("born", day(*person.born));
    return txn.put(people_, key, row);
  }
  void put(Key key, const Person& person) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(put(txn, key, person)); });
  }
  template <ColumnRangeType Range>
  FoundKeys scan(Transaction& txn, const DescribedIndex<Key>& index, const Range& range, const ScanOptions& options = {}) {
    FoundKeys found;
    EXPECT_OK(txn.scan(index, range, options, [&](Key key, const RowReader& row) {
      EXPECT_OK(row.check());
      found.push_back(key);
    }));
    return found;
  }
  template <ColumnRangeType Range>
  void expect(const DescribedIndex<Key>& index, const Range& range, const FoundKeys& expected, const ScanOptions& options = {}) {
    transact(db_, [&](Transaction& txn) { EXPECT_EQ(scan(txn, index, range, options), expected); });
    read(db_, [&](Transaction& txn) { EXPECT_EQ(scan(txn, index, range, options), expected); });
  }

  DescribedTable<> people_;
  DescribedIndex<Key> by_name_, by_born_, by_mail_;
};
ELIDER_ON_EVERY(DescribedIndexTest);

TEST_P(DescribedIndexTest, NullsComeFirstOrLastAndDoNotConflict) {
  put(1, {"Eve", 100, "eve@x"});
  put(2, {"Ada", {}, {}});
  put(3, {"Bob", 300, {}});
  put(4, {"Ada", {}, "ada@x", -50});
  expect(by_name_, prefix(), {4, 2, 3, 1});
  expect(by_born_, prefix(), {3, 1, 2, 4});
  expect(by_born_, prefix(), {4, 2, 1, 3}, {.reverse = true});
  expect(by_mail_, prefix(), {2, 3, 4, 1});
  expect(by_mail_, prefix(nullptr), {2, 3});
  expect(by_mail_, *index_prefix(by_mail_, {RowValue()}), {2, 3});
  expect(by_born_, *index_prefix(by_born_, {day(100)}), {1});
  expect(by_name_, *index_prefix(by_name_, {"Ada", Decimal{-5, 1}}), {4});
  transact(db_, [&](Transaction& txn) {
    EXPECT_CODE(Code::kDuplicateKey, put(txn, 5, {"Zoe", 1, "ada@x"}));
    EXPECT_OK(put(txn, 5, {"Zoe", 1, {}}));
    EXPECT_OK(put(txn, 6, {"Zoe", 1, "zoe@x"}));
    EXPECT_CODE(Code::kDuplicateKey, put(txn, 5, {"Zoe", 1, "zoe@x"}));
    EXPECT_REFUSED(Code::kInvalidArgument, "field 0", txn.scan(by_name_, prefix(nullptr), {}, [](Key, const RowReader&) {}));
  });
  expect(by_mail_, prefix(), {2, 3, 5, 4, 1, 6});
}

TEST_P(DescribedIndexTest, RowsOfAllSizesAreIndexed) {
  for (Key key = 0; key < 40; ++key) put(key, {std::string(key * 20, 'n'), {}, std::to_string(key)});
  FoundKeys all;
  for (Key key = 0; key < 40; ++key) all.push_back(key);
  expect(by_name_, prefix(), all);
  RowBuilder row(people_);
  transact(db_, [&](Transaction& txn) {
    for (Key key = 0; key < 40; key += 2)
      ASSERT_OK(txn.update(people_, key, row, [&](RowBuilder& change, const RowReader& old) {
        change.set("name", "x" + *old.get<std::string>("name"));
      }));
    EXPECT_EQ(scan(txn, by_name_, prefix(StartsWith{"x"})).size(), 20u) << "its own writes";
  });
  expect(by_name_, prefix(StartsWith{"x"}), {0, 2, 4}, {.limit = 3});
  transact(db_, [&](Transaction& txn) {
    for (Key key = 0; key < 40; key += 2)
      ASSERT_OK(txn.update(people_, key, row, [&](RowBuilder& change, const RowReader& old) {
        change.set("name", old.get<std::string>("name")->substr(1));
      }));
    for (Key key = 1; key < 40; key += 2) ASSERT_OK(txn.remove(people_, key));
  });
  expect(by_name_, prefix(), {0, 2, 4, 6, 8}, {.limit = 5});
  read(db_, [&](Transaction& txn) { EXPECT_EQ(*txn.count(by_name_, prefix()), 20u); });
}

TEST_P(DescribedIndexTest, AValueThatIsTooLongIsRefusedAndNothingChanges) {
  put(1, {"Ada", 1, "ada@x"});
  const auto refused = [&](const Status& status) {
    EXPECT_CODE(Code::kInvalidArgument, status);
    for (const char* word : {"'people'", "'by_name'", "'name'", "too long", "1024"})
      EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
  };
  RowBuilder row(people_);
  transact(db_, [&](Transaction& txn) {
    refused(put(txn, 2, {std::string(1100, 'n')}));
    refused(put(txn, 1, {std::string(1100, 'n')}));
    refused(txn.insert(people_, 3, row.begin().set("name", std::string(1024, 'n'))));
    EXPECT_OK(put(txn, 4, {std::string(1013, 'n')})) << "1024 bytes with the key";
    refused(txn.update(people_, 1, row, [](RowBuilder& change) { change.set("name", std::string(2000, 'n')); }));
    EXPECT_CODE(Code::kNotFound, txn.get(people_, 2));
    EXPECT_EQ(scan(txn, by_name_, prefix()), (FoundKeys{1, 4}));
  });
  expect(by_name_, prefix(), {1, 4});
  read(db_, [&](Transaction& txn) { EXPECT_EQ(*txn.get(people_, 1)->get<std::string>("name"), "Ada"); });
  transact(db_, [&](Transaction& txn) {
    const std::byte damaged[] = {std::byte{7}, std::byte{7}};
    EXPECT_CODE(Code::kInvalidArgument, txn.put(TableRef(people_), 1, damaged));
    EXPECT_CODE(Code::kInvalidArgument, txn.insert(TableRef(people_), 9, damaged));
  });
  expect(by_name_, prefix(), {1, 4});
}

TEST_P(DescribedIndexTest, JsonCannotBeIndexed) {
  const auto refused = db_.create_table(RowSchema("json").column("notes", RowType::kJson).index("by_notes", {"notes"}).key_index(
      GetParam().key_index));
  EXPECT_REFUSED(Code::kInvalidArgument, "JSON cannot be indexed", refused.status());
}

TEST_P(DescribedIndexTest, OldSnapshotsSeeOldEntries) {
  put(1, {"Ada", 1, "a"});
  put(2, {"Bob", 2, "b"});
  auto held = db_.hold_snapshot();
  ASSERT_OK(held);
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(put(txn, 1, {"Zoe", 1, "a"}));
    ASSERT_OK(txn.remove(people_, 2));
    ASSERT_OK(put(txn, 3, {"Ada", 3, "c"}));
  });
  expect(by_name_, prefix(), {3, 1});
  auto then = db_.begin_read_only(*held);
  ASSERT_OK(then);
  EXPECT_EQ(scan(**then, by_name_, prefix()), (FoundKeys{1, 2}));
  EXPECT_OK(then->commit());
}

// -- keys that are bytes --------------------------------------------------------------------------

TEST_P(DescribedIndexTest, TablesWithByteKeysAreIndexed) {
  using PlaceKey = std::tuple<std::string, uint32_t>;
  auto made = db_.create_table<PlaceKey>(RowSchema("places")
                                             .column("kind", RowType::kInt16)
                                             .column("code", RowType::kBytes, {.nullable = true})
                                             .index("by_kind", {"kind"})
                                             .unique_index("by_code", {"code"}));
  ASSERT_OK(made);
  const auto by_kind = *db_.index(*made, "by_kind");
  const auto by_code = *db_.index(*made, "by_code");
  RowBuilder row(*made);
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.insert(*made, {"eu", 2}, row.begin().set("kind", 1)));
    ASSERT_OK(txn.insert(*made, {"eu", 1}, row.begin().set("kind", 1).set("code", Bytes("z"))));
    ASSERT_OK(txn.insert(*made, {"as", 9}, row.begin().set("kind", -3)));
    EXPECT_CODE(Code::kDuplicateKey, txn.insert(*made, {"as", 8}, row.begin().set("kind", 0).set("code", Bytes("z"))));
  });
  std::vector<PlaceKey> found;
  read(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.scan(by_kind, prefix(), {}, [&](const PlaceKey& key, const RowReader&) { found.push_back(key); }));
    EXPECT_EQ(*txn.count(by_kind, prefix(1)), 2u);
    EXPECT_EQ(*txn.count(by_code, prefix(nullptr)), 2u);
  });
  EXPECT_EQ(found, (std::vector<PlaceKey>{{"as", 9}, {"eu", 1}, {"eu", 2}}));
  RawIndexScan scan(by_kind);
  std::array<RawView, 2> page;
  read(db_, [&](Transaction& txn) {
    EXPECT_EQ(*scan.next(txn, page), 2u);
    EXPECT_EQ(*scan.next(txn, page), 1u);
    EXPECT_EQ(*scan.next(txn, page), 0u);
  });
}

// -- conflicts ------------------------------------------------------------------------------------

class ColumnIndexConflictTest : public ColumnIndexTest {};
ELIDER_ON_CONCURRENT(ColumnIndexConflictTest);

TEST_P(ColumnIndexConflictTest, ARowThatEntersARangeIsAPhantom) {
  fill();
  ActiveTransaction reader = begin(db_);
  EXPECT_EQ(scan(*reader, by_price_, prefix(5)), (FoundKeys{2, 3, 4}));
  EXPECT_OK(reader->put(orders_, 20, order(0, 0, "Bonn")));
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(orders_, 9, order(5, 8, "Ulm"))); });
  EXPECT_CODE(Code::kConflict, reader.commit());
}

TEST_P(ColumnIndexConflictTest, ARowThatMovesIntoARangeIsAPhantom) {
  fill();
  ActiveTransaction reader = begin(db_);
  EXPECT_EQ(scan(*reader, by_price_, prefix(5)), (FoundKeys{2, 3, 4}));
  EXPECT_OK(reader->put(orders_, 20, order(0, 0, "Bonn")));
  transact(db_, [&](Transaction& txn) { ASSERT_OK(update(txn, 1, [](Parcel& o) { o.region = 5; })); });
  EXPECT_CODE(Code::kConflict, reader.commit());
}

TEST_P(ColumnIndexConflictTest, ARowNextToTheRangeIsNotAPhantom) {
  fill();
  ActiveTransaction reader = begin(db_);
  EXPECT_EQ(scan(*reader, by_price_, prefix(5)), (FoundKeys{2, 3, 4}));
  EXPECT_OK(reader->put(orders_, 20, order(0, 0, "Bonn")));
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(orders_, 9, order(4, 8, "Ulm"))); });
  EXPECT_OK(reader.commit());
}

TEST_P(ColumnIndexConflictTest, OneOfTwoRowsWithAUniqueValueIsInserted) {
  ActiveTransaction first = begin(db_);
  EXPECT_OK(first->insert(orders_, 1, order(0, 0, "Rome")));
  ActiveTransaction second = begin(db_);
  EXPECT_OK(second->insert(orders_, 2, order(0, 0, "Rome")));
  EXPECT_OK(second.commit());
  EXPECT_FALSE(first.commit().ok());
  expect(by_city_, prefix(), {2});
}

}  // namespace
}  // namespace elider::test
