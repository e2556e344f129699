#include "recovery/changed_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <tuple>

namespace elider::recovery {
namespace {

txn::LogEntry addition(uint32_t table, uint8_t group, uint64_t version_number) {
  txn::LogEntry entry;
  entry.kind = txn::EntryKind::kAdd;
  entry.group = group;
  entry.table = table;
  entry.version_number = version_number;
  entry.valid = true;
  return entry;
}
void add(txn::RowChanges* to, Key key, uint32_t table, uint8_t group, uint32_t generation, uint64_t version_number) {
  txn::LogEntry entry = addition(table, group, version_number);
  entry.key = key;
  to->add(entry, generation);
}
void add(txn::RowChanges* to, const std::string& key, uint32_t table, uint64_t version_number) {
  txn::LogEntry entry = addition(table, 0, version_number);
  entry.byte_key = true;
  entry.key_size = static_cast<uint32_t>(key.size());
  std::memcpy(entry.key_memory, key.data(), key.size());
  to->add(entry, 1);
}

TEST(ChangedRows, OfNothingAreNone) {
  ChangedRows rows;
  rows.group({}, 3);
  const txn::RowChanges none;
  const txn::RowChanges* const lists[] = {&none, &none};
  rows.group(lists, 3);
  for (size_t table = 0; table < 3; ++table) EXPECT_TRUE(rows.of_table(table).empty());
}

TEST(ChangedRows, RowsOfATableComeAsTheyWereMet) {
  txn::RowChanges list;
  add(&list, 7, 1, 0, 1, 1);
  add(&list, 8, 1, 0, 1, 1);
  add(&list, 7, 0, 0, 1, 1);
  add(&list, 7, 1, 0, 1, 2);
  add(&list, 5, 1, 0, 1, 1);
  const txn::RowChanges* const lists[] = {&list};
  ChangedRows rows;
  rows.group(lists, 2);
  ASSERT_EQ(rows.of_table(0).size(), 1u);
  ASSERT_EQ(rows.of_table(1).size(), 3u);
  EXPECT_EQ(rows.of_table(1)[0].key.number(), 7u);
  EXPECT_EQ(rows.of_table(1)[0].count, 2u);
  EXPECT_EQ(rows.of_table(1)[1].key.number(), 8u);
  EXPECT_EQ(rows.of_table(1)[2].key.number(), 5u);
}

// Byte keys are compared whole: these have the same first 8 bytes, or are prefixes of each other.
TEST(ChangedRows, ByteKeysAreComparedWhole) {
  const std::string keys[] = {"", std::string(1, '\0'), std::string(8, '\0'), std::string(16, '\0'), "prefix-a", "prefix-a1", "prefix-a2",
                              std::string(1024, 'k'), std::string(1023, 'k') + "l"};
  txn::RowChanges first, second;
  for (const std::string& key : keys) add(&first, key, 0, 2);
  for (const std::string& key : keys) add(&second, key, 0, 1);
  add(&second, keys[4], 1, 1);
  const txn::RowChanges* const lists[] = {&first, &second};
  ChangedRows rows;
  rows.group(lists, 2);
  ASSERT_EQ(rows.of_table(0).size(), std::size(keys));
  for (size_t i = 0; i < std::size(keys); ++i) {
    const txn::ChangedRow& row = rows.of_table(0)[i];
    EXPECT_EQ(detail::bytes_of(row.key).to_string(), keys[i]);
    ASSERT_EQ(row.count, 2u);
    EXPECT_EQ(row.changes[0]->version_number, 1u);
    EXPECT_EQ(row.changes[1]->version_number, 2u);
  }
  ASSERT_EQ(rows.of_table(1).size(), 1u);
  EXPECT_EQ(detail::bytes_of(rows.of_table(1)[0].key).to_string(), keys[4]);
}

// Two byte keys with the same hash are different rows.
TEST(ChangedRows, ByteKeysWithEqualHashesAreDifferentRows) {
  txn::RowChanges list;
  for (const char* key : {"a", "b", "a"}) add(&list, std::string(key), 0, 1);
  for (const txn::RowChange& change : list) const_cast<txn::RowChange&>(change).key = 7;
  const txn::RowChanges* const lists[] = {&list};
  ChangedRows rows;
  rows.group(lists, 1);
  EXPECT_EQ(rows.of_table(0).size(), 2u);
}

// Additions of a record have the same version number as the bytes that they belong to. They must
// remain after these bytes, even if there are many.
TEST(ChangedRows, EqualOnesStayInTheOrderOfTheirRecord) {
  txn::RowChanges list;
  for (uint64_t version_number = 50; version_number > 0; --version_number)
    for (int i = 0; i < 5; ++i) add(&list, 1, 0, 0, 1, version_number);
  const txn::RowChanges* const lists[] = {&list};
  ChangedRows rows;
  rows.group(lists, 1);
  const txn::ChangedRow& row = rows.of_table(0).front();
  ASSERT_EQ(row.count, list.count());
  for (uint32_t i = 1; i < row.count; ++i) {
    EXPECT_GE(row.changes[i]->version_number, row.changes[i - 1]->version_number);
    if (row.changes[i]->version_number == row.changes[i - 1]->version_number) {
      EXPECT_LT(row.changes[i - 1], row.changes[i]);
    }
  }
}

TEST(ChangedRows, RandomOnesAreThoseOfAModel) {
  ChangedRows rows;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const size_t tables = 1 + random() % 4;
    const uint64_t keys = 1 + random() % (random() % 2 == 0 ? 10 : 1000);
    std::vector<txn::RowChanges> lists(1 + random() % 3);
    std::vector<const txn::RowChanges*> all;
    std::map<std::tuple<uint32_t, Key>, std::vector<std::tuple<uint8_t, uint32_t, uint64_t>>> model;
    uint64_t version_number = 0;
    for (auto& list : lists)
      for (size_t count = random() % 500; count > 0; --count) {
        const Key key = random() % keys << 40;
        const auto table = static_cast<uint32_t>(random() % tables);
        const auto group = static_cast<uint8_t>(random() % 3);
        const auto generation = static_cast<uint32_t>(1 + random() % 2);
        const uint64_t place = random() % 2 == 0 ? ++version_number : random() % 100;
        add(&list, key, table, group, generation, place);
        model[{table, key}].emplace_back(group, generation, place);
      }
    for (const txn::RowChanges& list : lists) all.push_back(&list);
    rows.group(all, tables);
    size_t found = 0;
    for (uint32_t table = 0; table < tables; ++table)
      for (const txn::ChangedRow& row : rows.of_table(table)) {
        ++found;
        auto expected = model.at({table, row.key.number()});
        std::sort(expected.begin(), expected.end());
        ASSERT_EQ(row.count, expected.size());
        for (uint32_t i = 0; i < row.count; ++i) {
          const txn::RowChange& c = *row.changes[i];
          EXPECT_EQ(c.table, table);
          EXPECT_EQ(c.key, row.key.number());
          EXPECT_EQ(std::tuple(c.group, c.generation, c.version_number), expected[i]);
        }
      }
    EXPECT_EQ(found, model.size());
  }
}

}  // namespace
}  // namespace elider::recovery
