#include "txn/log_entry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string>
#include <tuple>

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

// Records with entries of all kinds, similar and different. Each record is also truncated at every
// byte.
TEST(LogEntry, RecordsComeBackAndCutOnesAreRefused) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    struct Written {
      EntryKind kind;
      uint32_t group, table;
      Key key;
      uint64_t version_number, columns;
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
      if (!written.empty() && random.next() % 2 == 0) {  // similar to the previous one
        const Key key = written.back().key + random.next() % 9 - 4;
        entry = written.back();
        entry.key = key;
      } else {
        if (entry.kind == EntryKind::kColumns) entry.columns = 1 + random.next() % 1000;
        if (entry.kind == EntryKind::kAdd) entry.columns = 8 * (random.next() % 16);
        if (entry.kind != EntryKind::kRemove)
          entry.bytes = bytes_of(entry.kind == EntryKind::kAdd ? 8 : random.next() % 200, static_cast<uint8_t>(i));
      }
      writer.header(entry.kind, entry.group, entry.table, entry.key, entry.version_number, entry.columns, entry.bytes.size());
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
      EXPECT_EQ(entry.version_number, each.version_number);
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

// -- byte by byte: the format of docs/formats.md, written by hand ---------------------------------

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(RecordFormat, ACommitIsAsTheFormatSays) {
  // clang-format off
  const std::vector<std::byte> golden = bytes_of({
      0x01, 2, 0xe8, 0x07, 1, 4, 'r', 'o', 'w', '1',     // the whole of group 0, table 2, key 1000, version number 1, 4 bytes
      0x11, 2, 3, 'r', 'o', 'w', '2',                    // similar: the key is one larger, version number 3
      0x11, 5, 1, 'r', 'o', 'w', '3',                    // similar: the key is three smaller, version number 1
      0x04, 2, 7, 0x80, 0x01, 0x82, 0x02, 3, 'a', 'b', 'c',  // columns 1 and 8 of group 1, key 7, version number 128, 3 bytes
      0x0b, 0, 7, 9, 0x10, 8, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,  // group 2 of table 0: -2 added at byte 16
      0x02, 0xac, 0x02, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 5,  // removed: table 300, the last key
      0x12, 2, 6});                                      // similar: the key is one larger, which wraps to 0
  // clang-format on
  struct Entry {
    EntryKind kind;
    uint32_t group, table;
    Key key;
    uint64_t version_number, columns;
    std::vector<std::byte> bytes;
  };
  const std::vector<Entry> entries = {
      {EntryKind::kWhole, 0, 2, 1000, 1, 0, bytes_of({'r', 'o', 'w', '1'})},
      {EntryKind::kWhole, 0, 2, 1001, 3, 0, bytes_of({'r', 'o', 'w', '2'})},
      {EntryKind::kWhole, 0, 2, 998, 1, 0, bytes_of({'r', 'o', 'w', '3'})},
      {EntryKind::kColumns, 1, 2, 7, 128, 1u << 1 | 1u << 8, bytes_of({'a', 'b', 'c'})},
      {EntryKind::kAdd, 2, 0, 7, 9, 16, bytes_of({0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})},
      {EntryKind::kRemove, 0, 300, ~uint64_t{0}, 5, 0, {}},
      {EntryKind::kRemove, 0, 300, 0, 6, 0, {}},
  };
  std::vector<std::byte> buffer(golden.size() + kEntryHeaderBytesMax);
  EntryWriter writer(buffer.data());
  for (const Entry& entry : entries) {
    writer.header(entry.kind, entry.group, entry.table, entry.key, entry.version_number, entry.columns, entry.bytes.size());
    writer.put(entry.bytes.data(), entry.bytes.size());
  }
  buffer.resize(static_cast<size_t>(writer.end() - buffer.data()));
  EXPECT_EQ(buffer, golden);
  std::span<const std::byte> rest(golden);
  LogEntry read;
  for (const Entry& entry : entries) {
    ASSERT_TRUE(take_entry(&rest, &read));
    EXPECT_EQ(std::tie(read.kind, read.group, read.table, read.key, read.version_number, read.columns),
              std::tie(entry.kind, entry.group, entry.table, entry.key, entry.version_number, entry.columns));
    EXPECT_TRUE(std::equal(read.bytes.begin(), read.bytes.end(), entry.bytes.begin(), entry.bytes.end()));
  }
  EXPECT_TRUE(rest.empty());
}

// Writes records with byte keys and number keys. Some byte keys share their beginnings, some are
// empty, and some have the maximum size. Each record is also read after it has been truncated at
// many positions.
TEST(LogEntry, ByteKeysComeBackAndCutOnesAreRefused) {
  Random random(7);
  const std::string prefix(500, 'p');
  for (int round = 0; round < 100; ++round) {
    struct Written {
      EntryKind kind;
      uint32_t group, table;
      bool byte_key;
      std::string key;
      Key number;
      uint64_t version_number, columns;
      std::vector<std::byte> bytes;
    };
    std::vector<Written> written;
    for (uint64_t i = 1 + random.next() % 8; i > 0; --i) {
      const uint64_t n = random.next();
      std::string key;
      if (n % 4 == 0) key = prefix.substr(0, n / 8 % 501) + std::to_string(n % 3);
      else if (n % 4 == 1) key = std::string(kKeyBytesMax - n / 8 % 2, static_cast<char>('a' + n / 16 % 2));
      else if (n % 4 == 2) key = "user:" + std::to_string(n / 8 % 100);
      const auto kind = static_cast<EntryKind>(random.next() % 4);
      const bool columns = kind == EntryKind::kColumns || kind == EntryKind::kAdd;
      written.push_back({kind, static_cast<uint32_t>(random.next() % 2), static_cast<uint32_t>(random.next() % 2), random.next() % 4 != 0,
                         key, random.next(), random.next() % 1000, columns ? random.next() % 2 : 0,
                         bytes_of(kind == EntryKind::kRemove ? 0 : random.next() % 2 * 9, 3)});
    }
    std::vector<std::byte> buffer(64 << 10);
    EntryWriter writer(buffer.data());
    for (const Written& entry : written) {
      const std::byte* const before = writer.end();
      const auto header = [&](auto key) {
        writer.header(entry.kind, entry.group, entry.table, key, entry.version_number, entry.columns, entry.bytes.size());
      };
      if (entry.byte_key) header(elider::Bytes(entry.key));
      else header(entry.number);
      EXPECT_LE(writer.end() - before,
                static_cast<std::ptrdiff_t>(kEntryHeaderBytesMax + kKeyLengthsBytesMax + (entry.byte_key ? entry.key.size() : 0)));
      writer.put(entry.bytes.data(), entry.bytes.size());
    }
    const std::span<const std::byte> whole(buffer.data(), writer.end());
    const auto take_all = [&](std::span<const std::byte> rest) {
      LogEntry entry;
      size_t taken = 0;
      while (!rest.empty() && take_entry(&rest, &entry)) {
        const Written& expected = written[taken++];
        EXPECT_EQ(entry.kind, expected.kind);
        EXPECT_EQ(entry.group, expected.group);
        EXPECT_EQ(entry.table, expected.table);
        EXPECT_EQ(entry.byte_key, expected.byte_key);
        if (expected.byte_key) EXPECT_EQ(entry.key_bytes().text(), expected.key);
        else EXPECT_EQ(entry.key, expected.number);
        EXPECT_EQ(entry.version_number, expected.version_number);
        EXPECT_EQ(entry.columns, expected.columns);
        EXPECT_TRUE(std::equal(entry.bytes.begin(), entry.bytes.end(), expected.bytes.begin(), expected.bytes.end()));
      }
      return taken;
    };
    ASSERT_EQ(take_all(whole), written.size());
    for (size_t size = 0; size < std::min<size_t>(whole.size(), 2000); size += 1 + size / 64)
      EXPECT_LE(take_all(whole.first(size)), written.size());
  }
}

TEST(LogEntry, ByteKeysThatCannotBeAreRefused) {
  const auto taken = [](std::initializer_list<int> values) {
    std::vector<std::byte> bytes;
    for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
    bytes.resize(bytes.size() + 2000);
    std::span<const std::byte> rest(bytes);
    LogEntry entry;
    return take_entry(&rest, &entry);
  };
  EXPECT_TRUE(taken({0x22, 0, 0, 2, 'a', 'b', 1}));        // removes "ab"
  EXPECT_FALSE(taken({0x22, 0, 1, 1, 'b', 1}));            // shares a byte, but a previous key does not exist
  EXPECT_FALSE(taken({0x22, 0, 0, 0x81, 0x08}));           // 1025 bytes
  EXPECT_TRUE(taken({0x22, 0, 0, 0x80, 0x08}));            // 1024
  EXPECT_FALSE(taken({0x32, 0, 0}));                       // alike, but the first entry
  EXPECT_FALSE(taken({0x62, 0, 0, 2, 'a', 'b', 1}));       // an unknown bit
}

}  // namespace
}  // namespace elider::txn
