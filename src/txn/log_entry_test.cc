#include "txn/log_entry.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"

namespace elider::txn {
namespace {

std::vector<std::byte> bytes_of(size_t count, uint8_t first) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(first + i);
  return bytes;
}

TEST(Varint, EveryLengthComesBack) {
  for (uint32_t bit = 0; bit <= 64; ++bit)
    for (const uint64_t value : {bit == 64 ? ~uint64_t{0} : uint64_t{1} << bit, bit == 64 ? ~uint64_t{0} : (uint64_t{1} << bit) - 1}) {
      std::byte buffer[24];
      const std::byte* const end = put_varint(buffer, value);
      ASSERT_LE(end - buffer, 10);
      std::span<const std::byte> rest(buffer, end);
      uint64_t taken = 0;
      ASSERT_TRUE(take_varint(&rest, &taken));
      EXPECT_EQ(taken, value);
      EXPECT_TRUE(rest.empty());
      std::span<const std::byte> cut(buffer, end - 1);
      EXPECT_FALSE(take_varint(&cut, &taken)) << value;
    }
}

TEST(Varint, DistancesFoldBothWays) {
  for (const uint64_t distance : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}, uint64_t{1} << 63, uint64_t{12345}, 0 - uint64_t{12345}})
    EXPECT_EQ(unfold_sign(fold_sign(distance)), distance);
  EXPECT_EQ(fold_sign(~uint64_t{0}), 1u) << "one down is small";
}

// Records of entries of all kinds, alike and not; and each of them cut short at every byte.
TEST(LogEntry, RecordsComeBackAndCutOnesAreRefused) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    struct Written {
      EntryKind kind;
      uint32_t group, table;
      Key key;
      uint64_t sequence, columns;
      std::vector<std::byte> bytes;
    };
    std::vector<Written> written;
    std::vector<std::byte> buffer(64 << 10);
    EntryWriter writer(buffer.data());
    for (uint64_t i = 1 + random.next() % 8; i > 0; --i) {
      Written entry{static_cast<EntryKind>(random.next() % 4),
                    static_cast<uint32_t>(random.next() % 4),
                    static_cast<uint32_t>(random.next() % 3),
                    random.next() >> random.next() % 64,
                    random.next() >> random.next() % 64,
                    0,
                    {}};
      if (!written.empty() && random.next() % 2 == 0) {  // like the one before
        const Key key = written.back().key + random.next() % 9 - 4;
        entry = written.back();
        entry.key = key;
      } else {
        if (entry.kind == EntryKind::kColumns) entry.columns = 1 + random.next() % 1000;
        if (entry.kind == EntryKind::kAdd) entry.columns = 8 * (random.next() % 16);
        if (entry.kind != EntryKind::kRemove)
          entry.bytes = bytes_of(entry.kind == EntryKind::kAdd ? 8 : random.next() % 200, static_cast<uint8_t>(i));
      }
      writer.header(entry.kind, entry.group, entry.table, entry.key, entry.sequence, entry.columns, entry.bytes.size());
      writer.put(entry.bytes.data(), entry.bytes.size());
      written.push_back(entry);
    }
    const std::span<const std::byte> record(buffer.data(), writer.end());
    std::span<const std::byte> rest = record;
    LogEntry entry;
    for (const Written& each : written) {
      ASSERT_TRUE(take_entry(&rest, &entry));
      EXPECT_EQ(entry.kind, each.kind);
      EXPECT_EQ(entry.group, each.group);
      EXPECT_EQ(entry.table, each.table);
      EXPECT_EQ(entry.key, each.key);
      EXPECT_EQ(entry.sequence, each.sequence);
      EXPECT_EQ(entry.columns, each.columns);
      EXPECT_TRUE(std::equal(entry.bytes.begin(), entry.bytes.end(), each.bytes.begin(), each.bytes.end()));
    }
    EXPECT_TRUE(rest.empty());
    for (size_t size = 0; size < record.size(); ++size) {
      std::span<const std::byte> cut = record.first(size);
      LogEntry taken;
      size_t whole = 0;
      while (!cut.empty() && take_entry(&cut, &taken)) ++whole;
      EXPECT_LT(whole, written.size());
    }
  }
}

TEST(LogEntry, TheFirstOfARecordIsLikeNoneBefore) {
  const std::byte bytes[] = {std::byte{kLikeBefore}, std::byte{2}, std::byte{2}};
  std::span<const std::byte> rest(bytes);
  LogEntry entry;
  EXPECT_FALSE(take_entry(&rest, &entry));
}

TEST(LogEntry, SchemasComeBackAndCutOnesAreRefused) {
  Schema schema;
  schema.name = "accounts";
  schema.key_index = KeyIndex::kHashed;
  schema.row_bytes = 24;
  schema.columns = {
      {"owner", ColumnType::kUInt64, 0, 8, 0}, {"balance", ColumnType::kInt64, 8, 8, 1}, {"name", ColumnType::kBytes, 16, 8, 0}};
  schema.indexes.push_back({"by_owner", true, {"owner"}, {}});
  std::vector<std::byte> bytes;
  encode_table(5, schema, &bytes);
  uint32_t id = 0;
  Schema decoded;
  ASSERT_TRUE(decode_table(bytes, &id, &decoded));
  EXPECT_EQ(id, 5u);
  EXPECT_EQ(decoded.name, schema.name);
  EXPECT_EQ(decoded.key_index, schema.key_index);
  EXPECT_EQ(decoded.row_bytes, schema.row_bytes);
  ASSERT_EQ(decoded.columns.size(), 3u);
  EXPECT_EQ(decoded.columns[1].name, "balance");
  EXPECT_EQ(decoded.columns[1].group, 1u);
  ASSERT_EQ(decoded.indexes.size(), 1u);
  EXPECT_TRUE(decoded.indexes[0].unique);
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode_table(std::span(bytes).first(size), &id, &decoded)) << size;
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode_table(bytes, &id, &decoded)) << "something follows";
}

}  // namespace
}  // namespace elider::txn
