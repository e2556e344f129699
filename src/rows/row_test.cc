// The format of described rows, the limits, and the words of every refusal.
#include "elider/row.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/support/status_matchers.h"

namespace elider::row_tests {
namespace {

using std::string;

RowSchema orders() {
  return RowSchema("orders")
      .column("customer", RowType::kText)
      .column("price", RowType::kDecimal, {.scale = 2})
      .column("quantity", RowType::kInt32, {.default_value = 1})
      .column("note", RowType::kText, {.nullable = true})
      .column("extra", RowType::kJson, {.default_value = "{}"})
      .column("photo", RowType::kBytes, {.nullable = true})
      .column("ratio", RowType::kFloat, {.nullable = true})
      .column("paid", RowType::kBool, {.default_value = false});
}
enum Position : size_t { kCustomer, kPrice, kQuantity, kNote, kExtra, kPhoto, kRatio, kPaid, kCount };

string hex(std::span<const std::byte> bytes) {
  string words;
  for (const std::byte byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    words += kDigits[std::to_integer<unsigned>(byte) >> 4];
    words += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return words;
}
std::vector<std::byte> row_of(RowBuilder& row) {
  const auto bytes = row.finish();
  EXPECT_OK(bytes);
  return bytes.ok() ? std::vector<std::byte>(bytes->begin(), bytes->end()) : std::vector<std::byte>();
}
RowReader reader_of(const RowSchema& schema, std::span<const std::byte> bytes) {
  auto reader = RowReader::open(schema, bytes);
  EXPECT_OK(reader);
  return reader.ok() ? *reader : RowReader();
}
string words_of(const Status& status) { return status.message(); }
string unknown(const string& column) {
  return "invalid argument: table 'orders': column '" + column +
         "' does not exist; the columns are 'customer', 'price', 'quantity', 'note', 'extra', 'photo', 'ratio', 'paid'";
}

TEST(Row, IsStoredByteByByte) {
  RowBuilder row(orders());
  row.set(kCustomer, "Ada").set(kPrice, Decimal{1250, 2}).set(kPhoto, std::vector<std::byte>{std::byte{0xff}, std::byte{0}});
  EXPECT_EQ(hex(row_of(row)),
            "01"                // version
            "0800"              // columns
            "48"                // null: 3 and 6
            "e204000000000000"  // 12.50
            "01000000"          // quantity
            "00000000"          // ratio
            "00"                // paid
            "03000000"          // end of customer
            "03000000"          // end of note
            "05000000"          // end of extra
            "07000000"          // end of photo
            "416461"            // Ada
            "7b7d"              // {}
            "ff00");
  RowBuilder none(RowSchema("t"));
  EXPECT_EQ(hex(row_of(none)), "010000");
  const auto all = RowSchema("t")
                       .column("a", RowType::kBool).column("b", RowType::kInt8).column("c", RowType::kInt16).column("d", RowType::kInt32)
                       .column("e", RowType::kInt64).column("f", RowType::kUInt8).column("g", RowType::kUInt16)
                       .column("h", RowType::kUInt32).column("i", RowType::kUInt64).column("j", RowType::kFloat)
                       .column("k", RowType::kDouble).column("l", RowType::kTimestamp).column("m", RowType::kUuid);
  RowBuilder every(all);
  every.set(0, true).set(1, -1).set(2, -2).set(3, -3).set(4, -4).set(5, 1).set(6, 2).set(7, 3).set(8, 4).set(9, 1.5f).set(10, -0.5);
  every.set(11, Timestamp(std::chrono::microseconds(-1))).set(12, Uuid{{std::byte{0x12}, std::byte{0x34}}});
  EXPECT_EQ(hex(row_of(every)),
            "010d000000" "01" "ff" "feff" "fdffffff" "fcffffffffffffff" "01" "0200" "03000000" "0400000000000000" "0000c03f"
            "000000000000e0bf" "ffffffffffffffff" "12340000000000000000000000000000");
}

TEST(Row, ReadsWhatWasSet) {
  const RowSchema schema = orders();
  RowBuilder row(schema);
  row.set("customer", string("Ada")).set("price", Decimal{125, 1}).set(kQuantity, int64_t{7}).set(kNote, std::optional<string>("n"));
  row.set(kExtra, R"({"a": [1]})").set(kRatio, 0.5).set(kPaid, true);
  const auto bytes = row_of(row);
  const RowReader reader = reader_of(schema, bytes);
  EXPECT_OK(reader.check());
  EXPECT_EQ(*reader.get<std::string_view>(kCustomer), "Ada");
  EXPECT_EQ(*reader.get<string>("customer"), "Ada");
  EXPECT_EQ(*reader.get<Decimal>(kPrice), (Decimal{1250, 2}));
  EXPECT_EQ(*reader.get<int32_t>(kQuantity), 7);
  EXPECT_EQ(*reader.get<uint8_t>(kQuantity), 7);
  EXPECT_EQ(*reader.get<int64_t>("quantity"), 7);
  EXPECT_EQ(*reader.get<std::optional<int32_t>>(kQuantity), 7);
  EXPECT_EQ(*reader.get<std::optional<std::string_view>>(kNote), "n");
  EXPECT_EQ(*reader.get<std::string_view>(kExtra), R"({"a": [1]})");
  EXPECT_EQ(*reader.get<std::optional<Bytes>>(kPhoto), std::nullopt);
  EXPECT_EQ(*reader.get<float>(kRatio), 0.5f);
  EXPECT_EQ(*reader.get<double>(kRatio), 0.5);
  EXPECT_TRUE(*reader.get<bool>(kPaid));
  EXPECT_TRUE(reader.is_null(kPhoto));
  EXPECT_FALSE(reader.is_null(kNote));
  EXPECT_TRUE(reader.is_null(kCount));
  EXPECT_EQ(reader.columns_written(), kCount);
  EXPECT_EQ(reader.value("price")->to_text(), "12.50");
  enum class Small : int8_t { kSeven = 7 };
  EXPECT_EQ(*reader.get<Small>(kQuantity), Small::kSeven);
  row.set(kQuantity, Small::kSeven);
  EXPECT_OK(row.finish());
}

TEST(Row, OldRowsReadNewColumnsAsDefaults) {
  const RowSchema old = orders();
  RowBuilder row(old);
  const auto bytes = row_of(row.set(kCustomer, "Ada").set(kPrice, Decimal{}));
  RowSchema now = orders();
  now.column("city", RowType::kText, {.default_value = "Paris"}).column("age", RowType::kUInt8, {.nullable = true})
      .column("level", RowType::kInt16, {.nullable = true, .default_value = -3}).column("must", RowType::kBool);
  const RowReader reader = reader_of(now, bytes);
  EXPECT_EQ(reader.columns_written(), kCount);
  EXPECT_EQ(*reader.get<std::string_view>(kCount), "Paris");
  EXPECT_EQ(*reader.get<std::optional<uint8_t>>(kCount + 1), std::nullopt);
  EXPECT_EQ(*reader.get<int16_t>(kCount + 2), -3);
  EXPECT_EQ(*reader.get<std::optional<int64_t>>(kCount + 2), -3);
  EXPECT_FALSE(reader.is_null(kCount));
  EXPECT_TRUE(reader.is_null(kCount + 1));
  EXPECT_REFUSED(Code::kSchemaMismatch, "column 'must' (bool): the row was written with 8 columns, before this one was appended",
                 reader.get<bool>(kCount + 3));
  RowBuilder edit(now);
  EXPECT_REFUSED(Code::kInvalidArgument, "column 'must' (bool): the column was not set", edit.edit(reader).finish());
  const auto changed = row_of(edit.edit(reader).set("must", true).set(kQuantity, 9));
  const RowReader again = reader_of(now, changed);
  EXPECT_OK(again.check());
  EXPECT_EQ(again.columns_written(), kCount + 4);
  EXPECT_EQ(*again.get<std::string_view>(kCustomer), "Ada");
  EXPECT_EQ(*again.get<std::string_view>("city"), "Paris");
  EXPECT_EQ(*again.get<int32_t>(kQuantity), 9);
  EXPECT_REFUSED(Code::kSchemaMismatch, "table 'orders': a row has 12 columns, but only 8 are described", RowReader::open(old, changed));
}

TEST(Row, BuilderRefusesWithTableColumnAndReason) {
  const RowSchema schema = orders();
  RowBuilder row(schema);
  const auto refusal = [&](size_t column, const RowValue& value) { return words_of(row.begin().set(column, value).status()); };
  const string start = "invalid argument: table 'orders', column ";
  EXPECT_EQ(refusal(kQuantity, "five"), start + "'quantity' (int32): the value is text, \"five\"; pass a value of type int32_t");
  EXPECT_EQ(refusal(kPrice, 5), start + "'price' (decimal(2)): the value is an integer, 5; pass a value of type elider::Decimal");
  EXPECT_EQ(refusal(kCustomer, true), start + "'customer' (text): the value is a bool, true; pass a value of type std::string_view");
  EXPECT_EQ(refusal(kPhoto, "x"), start + "'photo' (bytes): the value is text, \"x\"; pass a value of type elider::Bytes");
  EXPECT_EQ(refusal(kQuantity, int64_t{1} << 31),
            start + "'quantity' (int32): 2147483648 is out of range; the column holds -2147483648 to 2147483647");
  EXPECT_EQ(refusal(kRatio, 1e39), start + "'ratio' (float): 1e+39 is out of the range of float; use a double column");
  EXPECT_EQ(refusal(kPrice, Decimal{1234, 3}),
            start + "'price' (decimal(2)): 1.234 has more digits after the point than the column; round it before it is set");
  EXPECT_EQ(refusal(kPrice, Decimal{std::numeric_limits<int64_t>::min(), 0}),
            start + "'price' (decimal(2)): -9223372036854775808 is out of range; with this scale, the column holds 64-bit numbers");
  EXPECT_EQ(refusal(kPrice, Decimal{1, 19}), start + "'price' (decimal(2)): the scale of the decimal is 19; the maximum is 18");
  EXPECT_EQ(refusal(kCustomer, "ab\xff"), start + "'customer' (text): byte 2 of 3 is not UTF-8; convert it, or use a bytes column");
  EXPECT_EQ(refusal(kExtra, "{'a'}"), start + "'extra' (json): the text is not JSON at byte 1 of 5: the name of a member is missing; "
                                              "correct it, or use a text column");
  EXPECT_EQ(refusal(kExtra, ""), start + "'extra' (json): the text is not JSON at byte 0 of 0: a value is missing; "
                                         "correct it, or use a text column");
  EXPECT_EQ(refusal(kQuantity, nullptr),
            start + "'quantity' (int32): the value is null, but the column is not nullable; set a value, or describe it as nullable");
  const char* nothing = nullptr;
  EXPECT_EQ(refusal(kNote, nothing), "ok");
  EXPECT_EQ(words_of(row.begin().set(kCustomer, "x").finish().status()),
            start + "'price' (decimal(2)): the column was not set; set it, or describe it with a default or as nullable");
  EXPECT_EQ(words_of(row.begin().set(8, 1).status()),
            "invalid argument: table 'orders': column 8 does not exist; the table has 8 columns, counted from 0");
  EXPECT_EQ(words_of(row.begin().set("prise", 1).status()), unknown("prise"));
  EXPECT_EQ(words_of(schema.position("prise").status()), unknown("prise"));
  RowSchema many("many");
  for (int i = 0; i < 13; ++i) many.column("c" + std::to_string(i), RowType::kBool);
  EXPECT_EQ(words_of(RowBuilder(many).set("d", true).status()),
            "invalid argument: table 'many': column 'd' does not exist; the columns are 'c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', "
            "'c8', 'c9' and 3 others");
}

TEST(Row, BuilderKeepsTheFirstErrorUntilTheNextRow) {
  RowBuilder row(orders());
  row.set(kQuantity, "x").set(kCustomer, "Ada").set(99, 1).set(kPrice, Decimal{});
  EXPECT_REFUSED(Code::kInvalidArgument, "quantity", row.status());
  EXPECT_REFUSED(Code::kInvalidArgument, "quantity", row.finish());
  EXPECT_OK(row.begin().set(kCustomer, "Ada").set(kPrice, Decimal{}).finish());
}

TEST(Row, ReaderRefusesWithTableColumnAndReason) {
  const RowSchema schema = orders();
  RowBuilder row(schema);
  const auto bytes = row_of(row.set(kCustomer, "Ada").set(kPrice, Decimal{1250, 2}).set(kQuantity, 300));
  const RowReader reader = reader_of(schema, bytes);
  const string start = "invalid argument: table 'orders', column ";
  EXPECT_EQ(words_of(reader.get<int32_t>(kCustomer).status()),
            start + "'customer' (text): it is \"Ada\", but int32 was asked for; read it as std::string_view");
  EXPECT_EQ(words_of(reader.get<int64_t>(kPrice).status()),
            start + "'price' (decimal(2)): it is 12.50, but int64 was asked for; read it as elider::Decimal");
  EXPECT_EQ(words_of(reader.get<int8_t>(kQuantity).status()),
            start + "'quantity' (int32): it is 300, but int8 was asked for; read it as int32_t");
  EXPECT_EQ(words_of(reader.get<std::string_view>(kNote).status()),
            start + "'note' (text): it is null, but text was asked for; "
                    "read it as std::optional<std::string_view>, or ask is_null() first");
  EXPECT_EQ(words_of(reader.get<bool>(8).status()),
            "invalid argument: table 'orders': column 8 does not exist; the table has 8 columns, counted from 0");
  EXPECT_EQ(words_of(reader.get<bool>("x").status()), unknown("x"));
  EXPECT_REFUSED(Code::kInvalidArgument, "does not show a row", RowReader().get<bool>(0));
  EXPECT_REFUSED(Code::kInvalidArgument, "does not show a row", RowReader().get<bool>("x"));
  EXPECT_REFUSED(Code::kInvalidArgument, "does not show a row", RowReader().check());
  EXPECT_REFUSED(Code::kInvalidArgument, "does not show a row", RowBuilder(schema).edit(RowReader()).status());
  EXPECT_TRUE(RowReader().is_null(0));
}

TEST(Row, ReaderRefusesDamagedBytes) {
  const RowSchema schema = orders();
  RowBuilder row(schema);
  const auto good = row_of(row.set(kCustomer, "Ada").set(kPrice, Decimal{1250, 2}).set(kPhoto, Bytes("xy")));
  const auto refusal = [&](auto&& change) {
    std::vector<std::byte> bytes = good;
    change(bytes);
    return words_of(RowReader::open(schema, bytes).status());
  };
  const string start = "corrupt: table 'orders': the row is damaged: ";
  EXPECT_EQ(refusal([](auto& b) { b.resize(2); }), start + "it has 2 bytes; a row has at least 3");
  EXPECT_EQ(refusal([](auto& b) { b.clear(); }), start + "it has 0 bytes; a row has at least 3");
  EXPECT_EQ(refusal([](auto& b) { b[0] = std::byte{9}; }),
            start + "its format has version 9, but this program reads version 1; it is not a described row, or a newer program wrote it");
  EXPECT_EQ(refusal([](auto& b) { b[2] = std::byte{0xff}; }), start + "it has 65288 columns");
  EXPECT_EQ(refusal([](auto& b) { b.resize(20); }), start + "it has 20 bytes, but its 8 columns need 37");
  EXPECT_EQ(refusal([](auto& b) { b.pop_back(); }), start + "it has 43 bytes, but the last text or bytes do not end there");
  EXPECT_EQ(refusal([](auto& b) { b.push_back(std::byte{0}); }), start + "it has 45 bytes, but the last text or bytes do not end there");

  std::vector<std::byte> bytes = good;
  const auto damage = [&](size_t at, int value) {
    bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    return reader_of(schema, bytes);
  };
  const string column = "corrupt: table 'orders', column ";
  EXPECT_EQ(words_of(damage(21, 200).get<std::string_view>(kCustomer).status()),
            column + "'customer' (text): the row is damaged: it does not end where the next column begins");
  EXPECT_EQ(words_of(damage(20, 2).get<bool>(kPaid).status()),
            column + "'paid' (bool): the row is damaged: its bytes are not a value of its type");
  EXPECT_EQ(words_of(damage(3, 0x49).get<std::string_view>(kCustomer).status()),
            column + "'customer' (text): the row is damaged: it is null, but is not nullable");
  EXPECT_EQ(words_of(damage(3, 0x49).get<std::optional<std::string_view>>(kCustomer).status()),
            column + "'customer' (text): the row is damaged: it is null, but is not nullable");
  EXPECT_REFUSED(Code::kCorrupt, "it is null, but is not nullable", row.edit(damage(3, 0x49)).finish());
  EXPECT_REFUSED(Code::kCorrupt, "does not end", row.edit(damage(21, 200)).finish());
  EXPECT_REFUSED(Code::kCorrupt, "byte 0 of 3 is not UTF-8", damage(37, 0xff).check());
  EXPECT_REFUSED(Code::kCorrupt, "not JSON", damage(40, 'x').check());
  EXPECT_REFUSED(Code::kCorrupt, "it is null, but has bytes", damage(16, 1).check());
  EXPECT_OK(reader_of(schema, good).check());
}

TEST(Row, IsLimitedInSize) {
  RowSchema schema("big");
  schema.column("a", RowType::kBytes).column("b", RowType::kText, {.default_value = ""}).row_bytes_max(kDescribedRowBytesMax);
  RowBuilder row(schema);
  const size_t most = kDescribedRowBytesMax - 12;
  std::vector<std::byte> bytes(most, std::byte{7});
  for (int i = 0; i < 5; ++i) row.set(0, bytes).set(0, std::span(bytes).first(most - 1));  // the old values do not pile up
  const auto built = row.set(0, bytes).finish();
  ASSERT_OK(built);
  EXPECT_EQ(built->size(), kDescribedRowBytesMax);
  const RowReader reader = reader_of(schema, *built);
  EXPECT_EQ(reader.get<Bytes>(0)->size(), most);
  EXPECT_OK(reader.check());
  EXPECT_REFUSED(Code::kInvalidArgument, "the row has 16777217 bytes, but the maximum is 16777216", row.set(1, "x").finish());
  bytes.push_back(std::byte{7});
  EXPECT_REFUSED(Code::kInvalidArgument, "column 'a' (bytes): with this value of 16777205 bytes", row.begin().set(0, bytes).finish());
  RowBuilder small(RowSchema("small").column("a", RowType::kInt64).row_bytes_max(8));
  EXPECT_REFUSED(Code::kInvalidArgument, "the row has 12 bytes, but the maximum is 8", small.set(0, int64_t{1}).finish());
}

TEST(Row, BuilderTakesItsOwnBytes) {
  const RowSchema schema = RowSchema("t").column("a", RowType::kText).column("b", RowType::kText).column("c", RowType::kInt64);
  RowBuilder row(schema);
  const auto built = row.set(1, string(1000, 'b')).set(0, "a").set(2, 5).finish();
  ASSERT_OK(built);
  RowReader reader = reader_of(schema, *built);
  row.set(0, *reader.get<std::string_view>(1));
  reader = reader_of(schema, *row.finish());
  EXPECT_EQ(*reader.get<std::string_view>(0), string(1000, 'b'));
  row.edit(reader).set(2, 6);
  const auto edited = row.finish();
  ASSERT_OK(edited);
  reader = reader_of(schema, *edited);
  EXPECT_OK(reader.check());
  EXPECT_EQ(*reader.get<std::string_view>(0), string(1000, 'b'));
  EXPECT_EQ(*reader.get<int64_t>(2), 6);
}

TEST(Row, BuilderOfAnotherDescriptionIsRefused) {
  const RowSchema schema = orders();
  RowSchema more = schema;
  more.column("more", RowType::kBool, {.nullable = true});
  EXPECT_EQ(schema.columns(), kCount + 0u) << "a copy that is changed leaves the other as it is";
  EXPECT_TRUE(RowBuilder(orders()).builds(schema));
  EXPECT_FALSE(RowBuilder(more).builds(schema));
  RowBuilder row(more);
  const auto bytes = row_of(row.set(kCustomer, "Ada").set(kPrice, Decimal{}));
  EXPECT_REFUSED(Code::kInvalidArgument, "another description", RowBuilder(schema).edit(reader_of(more, bytes)).finish());
  RowBuilder same(orders());
  const auto old = row_of(same.set(kCustomer, "Ada").set(kPrice, Decimal{}));
  EXPECT_OK(RowBuilder(schema).edit(reader_of(orders(), old)).status());
}

// Mistakes in a description.

string mistake_in(const RowSchema& schema) { return words_of(schema.status()); }

TEST(RowSchema, RefusesMistakes) {
  const string start = "invalid argument: table 't': column 0 ('";
  EXPECT_EQ(mistake_in(RowSchema("t").column("", RowType::kBool)), start + "'): its name is empty");
  const string unprintable = "'): its name is not UTF-8, or contains control characters";
  EXPECT_EQ(mistake_in(RowSchema("t").column("a\xff", RowType::kBool)), start + "a\\xff" + unprintable);
  EXPECT_EQ(mistake_in(RowSchema("t").column("a\n", RowType::kBool)), start + "a\\x0a" + unprintable);
  EXPECT_EQ(mistake_in(RowSchema("t").column(string(255, 'n'), RowType::kBool)), "ok");
  EXPECT_REFUSED(Code::kInvalidArgument, "its name has 256 bytes; the maximum is 255",
                 RowSchema("t").column(string(256, 'n'), RowType::kBool).status());
  EXPECT_EQ(mistake_in(RowSchema("t").column("a", RowType::kBool).column("a", RowType::kText)),
            "invalid argument: table 't': column 1 ('a'): another column has this name");
  EXPECT_EQ(mistake_in(RowSchema("t").column("a", static_cast<RowType>(17))), start + "a'): its type is unknown");
  EXPECT_EQ(mistake_in(RowSchema("t").column("a", RowType::kInt32, {.scale = 1})), start + "a'): only a decimal column has a scale");
  EXPECT_EQ(mistake_in(RowSchema("t").column("a", RowType::kDecimal, {.scale = 19})), start + "a'): its scale is 19; the maximum is 18");
  EXPECT_EQ(mistake_in(RowSchema("t").column("a", RowType::kUInt8, {.default_value = 256})),
            "invalid argument: table 't', column 'a' (uint8): 256 is out of range; the column holds 0 to 255");
  EXPECT_REFUSED(Code::kInvalidArgument, "not JSON", RowSchema("t").column("a", RowType::kJson, {.default_value = "x"}).status());
  EXPECT_REFUSED(Code::kInvalidArgument, "row_bytes_max is 2; 3 to 16777216 are possible", RowSchema("t").row_bytes_max(2).status());
  RowSchema many("t");
  for (size_t i = 0; i < kRowColumnsMax; ++i) many.column("c" + std::to_string(i), RowType::kUuid);
  EXPECT_OK(many.status());
  EXPECT_REFUSED(Code::kInvalidArgument, "column 1000 ('x'): a table has at most 1000 columns", many.column("x", RowType::kBool).status());
  EXPECT_EQ(many.columns(), kRowColumnsMax);
}

TEST(RowSchema, MakesTheSchemaOfATable) {
  const auto schema = orders().table_schema();
  ASSERT_OK(schema);
  EXPECT_EQ(schema->name, "orders");
  EXPECT_TRUE(schema->sized_rows);
  EXPECT_TRUE(schema->columns.empty());
  EXPECT_EQ(schema->row_bytes, kRowBytesMax);
  EXPECT_EQ(schema->key_index, KeyIndex::kOrdered);
  EXPECT_EQ(orders().hashed().table_schema<std::string_view>()->key_index, KeyIndex::kHashed);
  EXPECT_EQ(orders().table_schema<std::string_view>()->key_index, KeyIndex::kRadix);
  EXPECT_EQ(orders().row_bytes_max(kDescribedRowBytesMax).table_schema()->row_bytes, kDescribedRowBytesMax);
  EXPECT_CODE(Code::kInvalidArgument, RowSchema("t").column("", RowType::kBool).table_schema());
  EXPECT_TRUE(orders().same_as(orders()));
  EXPECT_FALSE(orders().same_as(orders().hashed()));
  EXPECT_EQ(orders().default_value(kExtra).to_text(), "\"{}\"");
  EXPECT_TRUE(orders().default_value(kNote).is_null());
}

TEST(Decimal, IsParsedAndPrinted) {
  for (const char* text : {"0", "1", "-1", "12.50", "-12.50", "0.05", "-0.05", "0.000000000000000001", "9223372036854775807",
                           "-9223372036854775808", "-92233720368547758.08"}) {
    const auto decimal = Decimal::parse(text);
    ASSERT_OK(decimal);
    EXPECT_EQ(decimal->text(), text);
  }
  EXPECT_EQ(*Decimal::parse("+.5"), (Decimal{5, 1}));
  EXPECT_EQ(*Decimal::parse("5."), (Decimal{5, 0}));
  for (const char* text : {"", "-", ".", "1.2.3", "1e5", " 1", "9223372036854775808", "-9223372036854775809", "0.0000000000000000001"})
    EXPECT_CODE(Code::kInvalidArgument, Decimal::parse(text));
  EXPECT_EQ(words_of(Decimal::parse("x").status()),
            "invalid argument: 'x' is not a decimal: it contains another character; an example is -12.50");
}

TEST(RowValue, IsPrinted) {
  EXPECT_EQ(RowValue().to_text(), "null");
  EXPECT_EQ(RowValue(-5).to_text(), "-5");
  EXPECT_EQ(RowValue(~uint64_t{0}).to_text(), "18446744073709551615");
  EXPECT_EQ(RowValue(1.5f).to_text(), "1.5f");
  EXPECT_EQ(RowValue(2.0).to_text(), "2.0");
  EXPECT_EQ(RowValue(Timestamp()).to_text(), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(RowValue(Uuid{}).to_text(), "00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(RowValue("a\n").to_text(), "\"a\\x0a\"");
  EXPECT_EQ(RowValue(string(41, 'x')).to_text(), '"' + string(40, 'x') + "\"... of 41 bytes");
  EXPECT_EQ(RowValue(string(39, 'x') + "\u00e4").to_text(), '"' + string(39, 'x') + "\"... of 41 bytes");
  EXPECT_EQ(RowValue(std::vector<unsigned char>{1, 255}).to_text(), "0x01ff");
  EXPECT_EQ(name_of(RowType::kJson), "json");
  EXPECT_EQ(name_of(static_cast<RowType>(99)), "unknown");
}

}  // namespace
}  // namespace elider::row_tests
