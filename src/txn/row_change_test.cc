#include "txn/row_change.h"

#include <gtest/gtest.h>

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
      entry.sequence = 2 * count;
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
      EXPECT_EQ(change.sequence, 2 * key);
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

}  // namespace
}  // namespace elider::txn
