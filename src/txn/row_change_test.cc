#include "txn/row_change.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace elider::txn {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(RowChanges, OfNothingAreNone) {
  RowChanges changes;
  EXPECT_EQ(changes.begin(), changes.end());
  EXPECT_EQ(changes.count(), 0u);
  EXPECT_EQ(changes.tables(), 0u);
}

// Changes with bytes of any length, while the memory grows repeatedly and is reused.
TEST(RowChanges, AreThoseThatWereAddedInTheirOrder) {
  RowChanges changes;
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE(round);
    std::vector<std::string> texts;
    uint32_t tables = 0;
    changes.clear();
    for (uint64_t count = random() % 300; count > 0; --count) {
      texts.emplace_back(random() % 10 == 0 ? random() % 5000 : random() % 20, static_cast<char>('a' + count % 26));
      LogEntry entry;
      entry.group = 3;
      entry.table = static_cast<uint32_t>(random() % 7);
      entry.key = count;
      entry.version_number = 2 * count;
      entry.columns = 3 * count;
      entry.bytes = bytes_of(texts.back());
      tables = std::max(tables, entry.table + 1);
      changes.add(entry, 9);
    }
    ASSERT_EQ(changes.count(), texts.size());
    EXPECT_EQ(changes.tables(), tables);
    size_t met = 0;
    for (const RowChange& change : changes) {
      const uint64_t key = texts.size() - met;
      EXPECT_EQ(change.key, key);
      EXPECT_EQ(change.version_number, 2 * key);
      EXPECT_EQ(change.columns, 3 * key);
      EXPECT_EQ(change.generation, 9u);
      EXPECT_EQ(change.group, 3u);
      EXPECT_EQ(change.kind, EntryKind::kWhole);
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(change.bytes()), change.size), texts[met]);
      ++met;
    }
    EXPECT_EQ(met, texts.size());
  }
}

TEST(RowChanges, TheLargestTableIdHasOneMore) {
  RowChanges changes;
  LogEntry entry;
  entry.table = ~uint32_t{0};
  changes.add(entry, 1);
  EXPECT_EQ(changes.tables(), uint64_t{1} << 32);
}

TEST(RowChanges, ByteKeysAreStoredAfterTheBytes) {
  RowChanges changes;
  const std::vector<std::string> keys{"", "a", "user:0000001", "user:0000002", std::string(kKeyBytesMax, 'x'), std::string(7, '\0')};
  for (size_t i = 0; i < keys.size(); ++i)
    for (const bool byte_key : {true, false}) {
      LogEntry entry;
      entry.byte_key = byte_key;
      entry.key_size = static_cast<uint32_t>(keys[i].size());
      std::copy(keys[i].begin(), keys[i].end(), reinterpret_cast<char*>(entry.key_memory));
      entry.key = i;
      const std::string text(i * 3, 'b');
      entry.bytes = bytes_of(text);
      changes.add(entry, 1);
    }
  std::vector<const RowChange*> met;
  for (const RowChange& change : changes) met.push_back(&change);
  ASSERT_EQ(met.size(), 2 * keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_TRUE(met[2 * i]->byte_key);
    EXPECT_EQ(detail::bytes_of(met[2 * i]->key_ref()).text(), keys[i]);
    EXPECT_EQ(met[2 * i + 1]->key_ref().number(), i);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(met[2 * i]->bytes()), met[2 * i]->size), std::string(i * 3, 'b'));
    for (size_t j = 0; j < met.size(); ++j) EXPECT_EQ(met[2 * i]->same_row(*met[j]), j == 2 * i);
  }
}

}  // namespace
}  // namespace elider::txn
