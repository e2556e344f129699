#include "txn/table_record.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <initializer_list>

#include "elider/tuple.h"

namespace elider::txn {
namespace {
Status decode(std::span<const std::byte> bytes, uint32_t* id, Schema* schema) {
  TableRecord record;
  Status status = decode_table(bytes, &record);
  *id = record.id;
  *schema = std::move(record.schema);
  return status;
}


std::vector<std::byte> record_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

Schema cars() {
  Schema schema;
  schema.name = "cars";
  schema.key_index = KeyIndex::kHashed;
  schema.row_bytes = 152;
  schema.columns = {{"id", ColumnType::kUInt64, 0, 8, 0}, {"text", ColumnType::kBytes, 8, 144, 1}};
  schema.indexes.push_back({"by_id", true, {"id"}, {}});
  return schema;
}

TEST(TableRecord, PlacesOfRowsAreKept) {
  Schema schema = cars();
  schema.inline_rows = 1'000'000;
  std::vector<std::byte> bytes;
  encode_table(7, schema, &bytes);
  uint32_t id = 0;
  Schema read;
  EXPECT_TRUE(decode(bytes, &id, &read).ok());
  EXPECT_EQ(read.inline_rows, 1'000'000u);
}

TEST(TableRecord, KeyFieldsAreKept) {
  Schema schema = cars();
  schema.key_index = KeyIndex::kRadix;
  schema.key_kind = KeyKind::kBytes;
  schema.key_fields = {{.type = KeyFieldType::kUInt32},
                       {.type = KeyFieldType::kText, .descending = true, .null = KeyFieldNull::kLast},
                       {.type = KeyFieldType::kTuple, .fields = {{.type = KeyFieldType::kBool}, {.type = KeyFieldType::kUuid}}}};
  std::vector<std::byte> bytes;
  encode_table(7, schema, &bytes);
  uint32_t id = 0;
  Schema read;
  EXPECT_TRUE(decode(bytes, &id, &read).ok());
  EXPECT_EQ(read.key_fields, schema.key_fields);
}

// The fields of a key (uint32, text desc or null last), written by hand.
TEST(TableRecord, KeyFieldsAreAsTheFormatSays) {
  Schema schema;
  schema.name = "t";
  schema.key_index = KeyIndex::kRadix;
  schema.row_bytes = 8;
  schema.key_kind = KeyKind::kBytes;
  schema.key_fields = {{.type = KeyFieldType::kUInt32}, {.type = KeyFieldType::kText, .descending = true, .null = KeyFieldNull::kLast}};
  std::vector<std::byte> written;
  encode_table(1, schema, &written);
  // clang-format off
  EXPECT_EQ(written, record_of({3, 7, 1, 1, 1, 3, 1, 't', 5, 1, 2, 7, 1, 8,
                                19, 1, 1,                               // byte keys
                                21, 4, 1, 1, 1, 7,                      // uint32
                                21, 10, 3, 1, 1, 12, 3, 1, 1, 5, 1, 2}));  // text, descending, null last
  // clang-format on
}

// Hostile bytes that nest tuples deeply, or have too many fields, are refused.
TEST(TableRecord, TooManyKeyFieldsAreRefused) {
  Schema schema = cars();
  schema.key_fields.assign(kKeyFieldsMax + 1, {});
  std::vector<std::byte> many, nested;
  encode_table(7, schema, &many);
  KeyField deep{.type = KeyFieldType::kTuple};
  for (size_t i = 0; i < 2 * kTupleDepthMax; ++i) deep = {.type = KeyFieldType::kTuple, .fields = {deep}};
  schema.key_fields = {deep};
  encode_table(7, schema, &nested);
  uint32_t id = 0;
  Schema read;
  EXPECT_EQ(decode(many, &id, &read).code(), Code::kCorrupt);
  EXPECT_EQ(decode(nested, &id, &read).code(), Code::kCorrupt);
}

void expect_cars(std::span<const std::byte> bytes) {
  uint32_t id = 0;
  Schema read;
  const Status status = decode(bytes, &id, &read);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(id, 300u);
  EXPECT_EQ(read.name, "cars");
  EXPECT_EQ(read.key_index, KeyIndex::kHashed);
  EXPECT_EQ(read.row_bytes, 152u);
  EXPECT_EQ(read.columns, cars().columns);
  ASSERT_EQ(read.indexes.size(), 1u);
  EXPECT_FALSE(read.indexes[0].by_columns);
  EXPECT_EQ(read.indexes[0].name, "by_id");
  EXPECT_TRUE(read.indexes[0].unique);
  EXPECT_EQ(read.indexes[0].columns, cars().indexes[0].columns);
}

// The example of docs/formats.md, written by hand.
std::vector<std::byte> golden() {
  // clang-format off
  return record_of({
      3,                                     // a table that was created
      7,                                     // fields
      1, 2, 0xac, 0x02,                      // its id: 300
      3, 4, 'c', 'a', 'r', 's',              // its name
      5, 1, 1,                               // hashed
      7, 2, 0x98, 0x01,                      // bytes of a row: 152
      9, 17,                                 // a column
        5, 1, 2, 'i', 'd', 3, 1, 7, 5, 1, 0, 7, 1, 8, 9, 1, 0,     // an unsigned number of 8 bytes, group 0
      9, 20,                                 // another column
        5, 1, 4, 't', 'e', 'x', 't', 3, 1, 10, 5, 1, 8, 7, 2, 0x90, 0x01, 9, 1, 1,  // 144 bytes from byte 8, group 1
      11, 15,                                // a secondary index
        3, 1, 5, 'b', 'y', '_', 'i', 'd', 3, 1, 1, 5, 2, 'i', 'd'});  // a unique index on one column
  // clang-format on
}

TEST(TableRecord, IsAsTheFormatSays) {
  std::vector<std::byte> written;
  encode_table(300, cars(), &written);
  EXPECT_EQ(written, golden());
  expect_cars(golden());
}

// Older programs refuse the directions of an index by columns, because their tag is odd.
TEST(TableRecord, ContainsTheDirectionsOfAnIndexByColumns) {
  Schema schema = cars();
  schema.indexes = {SecondaryIndex::of_columns("by_both", {"text", descending("id")}, false)};
  std::vector<std::byte> bytes;
  encode_table(300, schema, &bytes);
  const std::byte directions[] = {std::byte{7}, std::byte{2}, std::byte{0}, std::byte{1}};  // tag, size, ascending, descending
  const auto at = std::search(bytes.begin(), bytes.end(), std::begin(directions), std::end(directions));
  ASSERT_NE(at, bytes.end());
  uint32_t id = 0;
  Schema read;
  ASSERT_TRUE(decode(bytes, &id, &read).ok());
  ASSERT_EQ(read.indexes.size(), 1u);
  EXPECT_TRUE(read.indexes[0].by_columns);
  EXPECT_FALSE(read.indexes[0].unique);
  EXPECT_EQ(read.indexes[0].columns, (std::vector<std::string>{"text", "id"}));
  EXPECT_EQ(read.indexes[0].descending, (std::vector<bool>{false, true}));
  at[3] = std::byte{2};
  EXPECT_EQ(decode(bytes, &id, &read).code(), Code::kCorrupt) << "an unknown direction";
  at[1] = std::byte{1};
  EXPECT_EQ(decode(bytes, &id, &read).code(), Code::kCorrupt);
}

// Older programs refuse ranked indexes, because they would not update the counts.
TEST(TableRecord, SaysWhichIndexesAreRanked) {
  Schema schema = cars();
  schema.indexes = {SecondaryIndex::of_columns("plain", {"text"}, false), SecondaryIndex::ranked_of_columns("ranked", {"text"}, true)};
  std::vector<std::byte> bytes;
  encode_table(300, schema, &bytes);
  const std::byte ranked[] = {std::byte{33}, std::byte{1}, std::byte{1}};  // tag, size, true
  const auto at = std::search(bytes.begin(), bytes.end(), std::begin(ranked), std::end(ranked));
  ASSERT_NE(at, bytes.end());
  uint32_t id = 0;
  Schema read;
  ASSERT_TRUE(decode(bytes, &id, &read).ok());
  ASSERT_EQ(read.indexes.size(), 2u);
  EXPECT_FALSE(read.indexes[0].ranked);
  EXPECT_TRUE(read.indexes[1].ranked && read.indexes[1].unique);
  at[2] = std::byte{2};
  EXPECT_EQ(decode(bytes, &id, &read).code(), Code::kCorrupt);
}

TEST(TableRecord, ReadsAsManyIndexesAsATableHas) {
  Schema schema = cars();
  schema.indexes.clear();
  for (uint32_t i = 0; i < kSecondaryIndexesMax; ++i)
    schema.indexes.push_back(SecondaryIndex::of_columns("i" + std::to_string(i), {"id"}, false));
  std::vector<std::byte> bytes;
  encode_table(300, schema, &bytes);
  uint32_t id = 0;
  Schema read;
  ASSERT_TRUE(decode(bytes, &id, &read).ok());
  EXPECT_EQ(read.indexes.size(), kSecondaryIndexesMax);
}

TEST(TableRecord, WithoutTagsIsStillRead) {
  // clang-format off
  expect_cars(record_of({
      2,                                     // a table that was created
      0xac, 0x02,                            // its id: 300
      4, 'c', 'a', 'r', 's',                 // its name
      1,                                     // hashed
      0x98, 0x01,                            // bytes of a row: 152
      2,                                     // columns
      2, 'i', 'd', 7, 0, 8, 0,               // an unsigned number of 8 bytes, group 0
      4, 't', 'e', 'x', 't', 10, 8, 0x90, 0x01, 1,  // 144 bytes from byte 8, group 1
      1,                                     // secondary index
      5, 'b', 'y', '_', 'i', 'd', 1,         // a unique index
      1, 2, 'i', 'd'}));                     // on one column
  // clang-format on
}

TEST(TableRecord, WhatIsCutOrFollowedBySomethingIsRefused) {
  uint32_t id = 0;
  Schema decoded;
  std::vector<std::byte> bytes = golden();
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(decode(std::span(bytes).first(size), &id, &decoded).code(), Code::kCorrupt) << size;
  bytes.push_back(std::byte{0});
  EXPECT_EQ(decode(bytes, &id, &decoded).code(), Code::kCorrupt);
}

TEST(TableRecord, WithoutWhatEveryTableHasIsRefused) {
  uint32_t id = 0;
  Schema decoded;
  EXPECT_EQ(decode(record_of({3, 2, 1, 1, 5, 3, 1, 'x'}), &id, &decoded).code(), Code::kCorrupt) << "no size of a row";
  EXPECT_TRUE(decode(record_of({3, 3, 1, 1, 5, 3, 1, 'x', 7, 1, 8}), &id, &decoded).ok());
}

// Fields that a later version may add. Fields with odd tags must be supported, and others are
// skipped.
TEST(TableRecord, AFieldThatIsNotKnownIsRefusedByNameOrPassedBy) {
  uint32_t id = 0;
  Schema decoded;
  const Status status = decode(record_of({3, 4, 1, 1, 5, 3, 1, 'x', 7, 1, 8, 99, 1, 0}), &id, &decoded);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("table 'x'"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("99"), std::string::npos) << status.message();
  EXPECT_TRUE(decode(record_of({3, 4, 1, 1, 5, 3, 1, 'x', 7, 1, 8, 98, 1, 0}), &id, &decoded).ok());
  // An unknown field of a column.
  const Status of_column = decode(record_of({3, 4, 1, 1, 5, 3, 1, 'x', 7, 1, 8, 9, 4, 1, 21, 1, 0}), &id, &decoded);
  EXPECT_EQ(of_column.code(), Code::kUnsupported);
}

TEST(TableRecord, HasTheVersionAndDroppedColumns) {
  Schema schema;
  schema.name = "orders";
  schema.row_bytes = 1000;
  schema.sized_rows = true;
  schema.row_columns = {{.name = "kept", .type = RowType::kText},
                        {.name = "gone", .type = RowType::kInt8, .nullable = true, .dropped = true}};
  std::vector<std::byte> bytes;
  encode_table(7, schema, &bytes, 300);
  TableRecord read;
  ASSERT_TRUE(decode_table(bytes, &read).ok());
  EXPECT_EQ(read.id, 7u);
  EXPECT_EQ(read.version, 300u);
  EXPECT_FALSE(read.dropped);
  EXPECT_EQ(read.schema.row_columns, schema.row_columns);
  bytes.clear();
  encode_dropped_table(8, "orders", &bytes, 3);
  ASSERT_TRUE(decode_table(bytes, &read).ok());
  EXPECT_EQ(read.id, 8u);
  EXPECT_EQ(read.version, 3u);
  EXPECT_TRUE(read.dropped);
  EXPECT_EQ(read.schema.name, "orders");
}

}  // namespace
}  // namespace elider::txn
