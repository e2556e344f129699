// Tests of tables with tuple keys: every call, ranges by prefix, the check of keys that calls
// without a row type pass, and messages. tests/model/model_test.cc runs random programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "elider/elider.h"
#include "tests/support/byte_keys.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

enum class Region : uint8_t { kEurope = 1, kAsia = 2 };
struct Order {
  int64_t amount = 0;
  uint64_t customer = 0;
};
using OrderKey = std::tuple<Region, std::string, Descending<uint32_t>>;
using OrderView = View<Order, OrderKey>;

SchemaOf<Order, OrderKey> order_schema(KeyIndex key_index = KeyIndex::kRadix) {
  SchemaOf<Order, OrderKey> schema("orders");
  schema.key_index(key_index).column("amount", &Order::amount).column("customer", &Order::customer).group({"amount"});
  return schema.index("by_customer", {"customer"}, [](const Order& order) { return order.customer; });
}

class TupleKeyTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    auto table = db_.create_table(order_schema(GetParam().key_index));
    ASSERT_OK(table);
    orders_ = *table;
  }
  void fill() {
    transact(db_, [&](Transaction& txn) {
      for (const Region region : {Region::kAsia, Region::kEurope})
        for (const char* shop : {"b", "a", "ab"})
          for (const uint32_t number : {1u, 70u, 3u}) ASSERT_OK(txn.insert(orders_, {region, shop, {number}}, {number, number % 2}));
    });
  }
  std::vector<OrderKey> scan(const ByteRange& range, const ScanOptions& options = {}) {
    std::vector<OrderKey> found;
    read(db_, [&](Transaction& txn) {
      EXPECT_OK(txn.scan(orders_, range, options, [&](const OrderKey& key, const OrderView& view) {
        EXPECT_EQ(view.key(), key);
        EXPECT_EQ(view->amount, static_cast<int64_t>(std::get<2>(key).value));
        found.push_back(key);
      }));
    });
    return found;
  }

  // Returns all keys in order. Reads them through a secondary index, because not every key index is
  // ordered.
  std::vector<OrderKey> all_keys() {
    std::vector<OrderKey> found;
    read(db_, [&](Transaction& txn) {
      EXPECT_OK(txn.scan(*db_.index(orders_, "by_customer"), {}, {}, [&](const OrderKey& key, const OrderView&) { found.push_back(key); }));
    });
    std::sort(found.begin(), found.end());
    return found;
  }

  Table<Order, OrderKey> orders_;
};
INSTANTIATE_TEST_SUITE_P(On, TupleKeyTest, testing::ValuesIn(combinations_of_byte_keys(false)), combination_name);

class OrderedTupleKeyTest : public TupleKeyTest {};
INSTANTIATE_TEST_SUITE_P(On, OrderedTupleKeyTest, testing::ValuesIn(combinations_of_ordered_byte_keys(false)), combination_name);

TEST_P(TupleKeyTest, EveryCallTakesATuple) {
  const OrderKey first(Region::kEurope, "shop", {7});
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.insert(orders_, first, {10, 1}));
    EXPECT_CODE(Code::kDuplicateKey, txn.insert(orders_, {Region::kEurope, "shop", {7}}, {10, 1}));
    ASSERT_OK(txn.put(orders_, {Region::kEurope, "shop", {8}}, {20, 2}));
    ASSERT_OK(txn.add(orders_, {Region::kEurope, "shop", {8}}, &Order::amount, 5));
    ASSERT_OK(txn.update(orders_, {Region::kEurope, "shop", {7}}, {}, [](Order& order) { order.amount += 1; }));
    ASSERT_OK(txn.write(orders_, {Region::kEurope, "shop", {7}}, orders_.columns(&Order::customer), {0, 9}));
    auto view = txn.get(orders_, {Region::kEurope, "shop", {7}});
    ASSERT_OK(view);
    EXPECT_EQ(view->key(), first);
    EXPECT_EQ((*view)->amount, 11);
    EXPECT_EQ((*view)->customer, 9u);
    ASSERT_OK(txn.update(orders_, *view, {}, [](Order& order) { order.amount += 1; }));
    EXPECT_TRUE(txn.get(orders_, {Region::kAsia, "shop", {7}}).not_found());
  });
  transact(db_, [&](Transaction& txn) {
    const std::vector<OrderKey> keys{first, {Region::kAsia, "", {1}}, {Region::kEurope, "shop", {8}}};
    std::vector<OrderView> views(keys.size());
    ASSERT_OK(txn.multi_get(orders_, keys, std::span(views)));
    EXPECT_EQ(views[0]->amount, 12);
    EXPECT_FALSE(views[1]);
    EXPECT_EQ(views[2]->amount, 25);
    auto index = db_.index(orders_, "by_customer");
    ASSERT_OK(index);
    std::vector<OrderKey> found;
    ASSERT_OK(txn.scan(*index, {9, 9}, {}, [&](const OrderKey& key, const auto&) { found.push_back(key); }));
    EXPECT_EQ(found, std::vector<OrderKey>{first});
    ASSERT_OK(txn.remove(orders_, {Region::kEurope, "shop", {7}}));
    EXPECT_TRUE(txn.remove(orders_, first).not_found());
  });
}

TEST_P(OrderedTupleKeyTest, ScansAreInTheOrderOfTuples) {
  fill();
  std::vector<OrderKey> all = scan(ByteRange::all());
  EXPECT_EQ(all.size(), 18u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_EQ(all.front(), OrderKey(Region::kEurope, "a", {70}));
  const std::vector<OrderKey> one_shop{{Region::kEurope, "a", {70}}, {Region::kEurope, "a", {3}}, {Region::kEurope, "a", {1}}};
  EXPECT_EQ(scan(prefix(Region::kEurope, "a")), one_shop);
  EXPECT_EQ(scan(prefix(Region::kEurope)).size(), 9u);
  EXPECT_EQ(scan(prefix(Region::kEurope, StartsWith{"a"})).size(), 6u);
  EXPECT_EQ(scan(prefix()).size(), 18u);
  EXPECT_EQ(scan(prefix(Region::kEurope, "c")).size(), 0u);
  EXPECT_EQ(scan(ByteRange::between(prefix(Region::kEurope, "ab"), prefix(Region::kAsia, "a"))).size(), 9u);
  EXPECT_EQ(scan(ByteRange()), all);
  // Pages continue after the key of the last row. A range owns its keys.
  ByteRange rest = prefix(Region::kEurope);
  const ByteRange europe = rest;
  std::vector<OrderKey> pages;
  for (;;) {
    const std::vector<OrderKey> page = scan(rest, {.limit = 2});
    if (page.empty()) break;
    pages.insert(pages.end(), page.begin(), page.end());
    rest = rest.after(page.back());
  }
  EXPECT_EQ(pages, scan(europe));
  std::vector<OrderKey> backwards = scan(europe, {.reverse = true});
  EXPECT_EQ(scan(europe.before(backwards[0]), {.limit = 1, .reverse = true}), std::vector<OrderKey>{backwards[1]});
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_EQ(backwards, pages);
}

// An integer that the type of its field cannot represent does not become another number.
TEST_P(TupleKeyTest, IntegersOutOfRangeAreRefused) {
  fill();
  const int negative = -1;
  const uint64_t large = uint64_t{1} << 32;
  read(db_, [&](Transaction& txn) {
    EXPECT_REFUSED(Code::kInvalidArgument,
                   "table 'orders': the key cannot be encoded: tuple field 2 is -1, which is out of the range of uint32",
                   txn.get(orders_, {Region::kAsia, "a", Descending{negative}}).status());
    EXPECT_REFUSED(Code::kInvalidArgument, "tuple field 2 is 4294967296, which is out of the range of uint32",
                   txn.get(orders_, {Region::kAsia, "a", {large}}).status());
    EXPECT_OK(txn.get(orders_, {Region::kAsia, "a", Descending{int8_t{70}}}));
  });
}

// A prefix whose fields have other types than the fields of the table is refused.
TEST_P(TupleKeyTest, PrefixesOfOtherTypesAreRefused) {
  fill();
  const std::string table = "table 'orders' has the key (uint8, text, uint32 desc), but in the range's prefix ";
  const auto stop = [](const OrderKey&, const OrderView&) { return false; };
  read(db_, [&](Transaction& txn) {
    const auto refused = [&](const ByteRange& range, const std::string& why) {
      EXPECT_REFUSED(Code::kInvalidArgument, table + why, txn.scan(orders_, range, {}, stop));
      EXPECT_REFUSED(Code::kInvalidArgument, table + why,
                     txn.scan(TableRef(orders_), range, {}, FunctionRef<bool(Bytes, RawView)>([](Bytes, RawView) { return true; })));
    };
    refused(prefix("a"), "field 0 is text instead of uint8");
    refused(prefix(256), "field 0 is integer 256 instead of uint8");
    refused(prefix(1, 1), "field 1 is integer 1 instead of text");
    refused(prefix(1, StartsWith{std::vector<std::byte>(1)}), "field 1 is bytes instead of text");
    refused(ByteRange::between(prefix(1), prefix("x")), "field 0 is text instead of uint8");
    refused(prefix(1, "a", 1), "field 2 is integer 1 instead of uint32 desc");
    refused(prefix(1, "a", Descending{1}, 4), "field 3 is integer, but there should be no such field");
    if (!GetParam().ordered()) return;
    EXPECT_OK(txn.scan(orders_, prefix(1, StartsWith{"a"}), {}, stop));
    EXPECT_OK(txn.scan(orders_, prefix(1, "a", Descending{1}), {}, stop));
  });
}

TEST_P(TupleKeyTest, KeysThatCannotBeEncodedAreRefusedAndChangeNothing) {
  fill();
  const std::string not_text("\xff", 1), long_text(kKeyBytesMax, 'x');
  transact(db_, [&](Transaction& txn) {
    EXPECT_REFUSED(Code::kInvalidArgument, "table 'orders': the key cannot be encoded: tuple field 1",
                   txn.insert(orders_, {Region::kAsia, not_text, {1}}, {1, 1}));
    EXPECT_REFUSED(Code::kInvalidArgument, "tuple field 1", txn.put(orders_, {Region::kAsia, long_text, {1}}, {1, 1}));
    EXPECT_CODE(Code::kInvalidArgument, txn.get(orders_, {Region::kAsia, long_text, {1}}).status());
    const std::vector<OrderKey> keys{{Region::kAsia, "a", {1}}, {Region::kAsia, not_text, {1}}};
    std::vector<OrderView> views(2);
    EXPECT_CODE(Code::kInvalidArgument, txn.multi_get(orders_, keys, std::span(views)));
    EXPECT_REFUSED(Code::kInvalidArgument, "table 'orders'",
                   txn.scan(orders_, prefix(Region::kAsia, not_text), {}, [](const OrderKey&, const OrderView&) {}));
    EXPECT_CODE(Code::kInvalidArgument, (txn.insert(Table<Order, OrderKey>(), {Region::kAsia, "a", {1}}, {1, 1})));
  });
  EXPECT_EQ(all_keys().size(), 18u);
}

// A call without a row type passes bytes, which need not be a key of the table.
TEST_P(TupleKeyTest, BytesThatAreNoSuchTupleAreRefusedByField) {
  const TableRef orders(orders_.base());
  const Order order{.amount = int64_t{1} << 31, .customer = 0};
  const auto row = std::as_bytes(std::span(&order, 1));
  transact(db_, [&](Transaction& txn) {
    EncodedTuple key;
    const auto refused = [&](const char* words, const auto&... fields) {
      ASSERT_OK(key.set(fields...));
      EXPECT_REFUSED(Code::kInvalidArgument, words, txn.insert(orders, Bytes(key.bytes()), row));
      EXPECT_REFUSED(Code::kInvalidArgument, "table 'orders' has the key (uint8, text, uint32 desc)",
                     txn.remove(orders, Bytes(key.bytes())));
    };
    refused("field 0 is integer 256 instead of uint8", 256, "a", Descending{1});
    refused("field 0 is integer -1 instead of uint8", -1, "a", Descending{1});
    refused("field 0 is null instead of uint8", nullptr, "a", Descending{1});
    refused("field 1 is bytes instead of text", 1, std::as_bytes(std::span("a")), Descending{1});
    refused("field 2 is integer 1 instead of uint32 desc", 1, "a", 1);
    refused("field 2 is missing; it should be uint32 desc", 1, "a");
    refused("field 3 is bool, but there should be no such field", 1, "a", Descending{1}, true);
    EXPECT_REFUSED(Code::kInvalidArgument, "not an encoded tuple: at byte 0", txn.put(orders, Bytes("\x01"), row));
    EXPECT_REFUSED(Code::kInvalidArgument, "byte keys", txn.put(orders, Key{1}, row));
    ASSERT_OK(key.set(1, "a", Descending{1u << 31}));
    ASSERT_OK(txn.insert(orders, Bytes(key.bytes()), row));
    RawView view;
    ASSERT_OK(txn.get(orders, Bytes(key.bytes()), {}, &view));
  });
  EXPECT_EQ(all_keys(), (std::vector<OrderKey>{{Region::kEurope, "a", {1u << 31}}}));
}

TEST_P(TupleKeyTest, MessagesShowTheTuple) {
  const Status missing = db_.run([&](Transaction& txn) { return txn.remove(orders_, {Region::kAsia, "tea", {12}}); });
  EXPECT_CODE(Code::kNotFound, missing);
  EXPECT_NE(missing.message().find("key (2, \"tea\", 12 desc)"), std::string::npos) << missing.message();
}

TEST_P(TupleKeyTest, OtherKeyTypesAreRefused) {
  const auto refused = [](const char* words, const auto& result) { EXPECT_REFUSED(Code::kSchemaMismatch, words, result.status()); };
  refused("has tuple keys (uint8, text, uint32 desc), but the program asks for number keys", db_.table<Order>("orders"));
  refused("but the program asks for byte keys", db_.table<Order, std::string_view>("orders"));
  refused("but the program asks for tuple keys (uint8, text, uint32)",
          db_.table<Order, std::tuple<uint8_t, std::string, uint32_t>>("orders"));
  refused("but tuple keys (uint8, text) in the program's description",
          db_.create_table(SchemaOf<Order, std::tuple<uint8_t, std::string>>("orders")
                                                                  .column("amount", &Order::amount)
                                                                  .column("customer", &Order::customer)));
  EXPECT_OK((db_.table<Order, std::tuple<uint8_t, std::string, Descending<uint32_t>>>("orders")));
  EXPECT_EQ(db_.table("orders")->schema().key_fields, order_schema().schema().key_fields);
}

TEST(KeyField, TypesAreThoseOfTheTuple) {
  using Tuple = std::tuple<bool, int8_t, uint64_t, std::optional<float>, Descending<std::optional<std::string>>,
                           std::optional<Descending<Timestamp>>, std::tuple<Uuid, std::vector<std::byte>>>;
  const std::vector<KeyField> fields = SchemaOf<Order, Tuple>("t").schema().key_fields;
  EXPECT_EQ(text_of(fields),
            "(bool, int8, uint64, float or null first, text desc or null last, timestamp desc or null first, (UUID, bytes))");
  EXPECT_OK(check_key_fields(fields));
  EncodedTuple key;
  ASSERT_OK(key.set_tuple(Tuple(true, -128, 1, std::nullopt, {}, std::nullopt, {})));
  EXPECT_OK(check_tuple_key(fields, key.bytes()));
  ASSERT_OK(key.set_tuple(Tuple(true, -128, 1, 1.5f, {"x"}, Descending{Timestamp()}, {})));
  EXPECT_OK(check_tuple_key(fields, key.bytes()));
  ASSERT_OK(key.set(true, -129));
  EXPECT_REFUSED(Code::kInvalidArgument, "field 1 is integer -129 instead of int8", check_tuple_key(fields, key.bytes()));
  ASSERT_OK(key.set(true, 1, 1, 1.5f, nullptr));
  EXPECT_REFUSED(Code::kInvalidArgument, "field 4 is null instead of text desc or null last", check_tuple_key(fields, key.bytes()));
  ASSERT_OK(key.set(true, 1, 1, 1.5f, Descending{"x"}, Descending{Timestamp()}, std::tuple(Uuid())));
  EXPECT_REFUSED(Code::kInvalidArgument, "field 6.1 is missing; it should be bytes", check_tuple_key(fields, key.bytes()));
}

// Null sorts last, but the field is ascending.
TEST(KeyField, DescendingTwiceIsAscending) {
  using Tuple = std::tuple<Descending<std::optional<Descending<int32_t>>>>;
  const std::vector<KeyField> fields = SchemaOf<Order, Tuple>("t").schema().key_fields;
  EXPECT_EQ(text_of(fields), "(int32 or null last)");
  EncodedTuple key;
  std::vector<std::string> keys;
  for (const std::optional<Descending<int32_t>> value : {std::optional(Descending{-5}), std::optional(Descending{7}), {}}) {
    ASSERT_OK(key.set_tuple(Tuple(Descending{value})));
    EXPECT_OK(check_tuple_key(fields, key.bytes()));
    keys.emplace_back(key.text());
  }
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
}

TEST(KeyField, WrongFieldsAreRefused) {
  EXPECT_REFUSED(Code::kInvalidArgument, "do not have fields", check_key_fields({}));
  EXPECT_REFUSED(Code::kInvalidArgument, "unknown type", check_key_fields(std::vector<KeyField>{{.type = static_cast<KeyFieldType>(99)}}));
  const KeyField with_fields{.type = KeyFieldType::kBool, .fields = {{}}};
  EXPECT_REFUSED(Code::kInvalidArgument, "has fields", check_key_fields(std::vector<KeyField>{with_fields}));
  EXPECT_REFUSED(Code::kInvalidArgument, "more than 64 fields", check_key_fields(std::vector<KeyField>(65)));
  KeyField deep{.type = KeyFieldType::kTuple};
  for (size_t i = 0; i <= kTupleDepthMax; ++i) deep = {.type = KeyFieldType::kTuple, .fields = {deep}};
  EXPECT_REFUSED(Code::kInvalidArgument, "nest too deeply", check_key_fields(std::vector<KeyField>{deep}));
}

}  // namespace
}  // namespace elider::test
