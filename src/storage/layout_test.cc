#include "storage/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "storage/record.h"
#include "storage/table.h"

namespace elider::storage {
namespace {

// A row of 32 bytes with a hole from 12 to 15. "b" and "d" have groups of their own; "text" is in
// group 0.
Schema grouped_schema() {
  Schema schema;
  schema.name = "grouped";
  schema.row_bytes = 32;
  schema.columns = {{"a", ColumnType::kInt64, 0, 8, 0},
                    {"b", ColumnType::kUInt32, 8, 4, 1},
                    {"text", ColumnType::kBytes, 16, 8, 0},
                    {"d", ColumnType::kDouble, 24, 8, 2}};
  return schema;
}

uint32_t bytes_of(const ColumnSet& set) {
  uint32_t bytes = 0;
  for (const Span& span : set.spans) bytes += span.size;
  return bytes;
}

TEST(Layout, EveryByteOfARowStandsInOneGroupOnce) {
  const Schema schema = grouped_schema();
  const Layout layout(nullptr, schema, 2048);
  ASSERT_EQ(layout.group_count(), 3u);
  EXPECT_EQ(bytes_of(layout.all()), schema.row_bytes);
  std::vector<int> times(schema.row_bytes);
  for (const Span& span : layout.all().spans)
    for (uint32_t i = 0; i < span.size; ++i) ++times[span.row_offset + i];
  EXPECT_EQ(std::count(times.begin(), times.end(), 1), 32);
  EXPECT_EQ(layout.all().bytes[0], 8u + 4u + 8u) << "with the hole that no column describes";
  EXPECT_EQ(layout.all().bytes[1], 4u);
  EXPECT_EQ(layout.all().bytes[2], 8u);
  for (uint32_t g = 0; g < 3; ++g) EXPECT_EQ(layout.group(g).cell_offset % 8, 0u) << "commit words are aligned";
}

TEST(Layout, AProtocolHasItsBytesInFrontOfEachCell) {
  const Schema schema = grouped_schema();
  const Layout plain(nullptr, schema, 2048);
  const Layout layout(nullptr, schema, 2048, 12);
  EXPECT_EQ(layout.protocol_bytes(), 16u) << "commit words are aligned";
  EXPECT_EQ(layout.block_bytes(), plain.block_bytes() + 3 * 16);
  std::vector<uint64_t> block(layout.block_bytes() / 8);
  auto* row = reinterpret_cast<Row*>(block.data());
  for (uint32_t g = 0; g < 3; ++g) {
    std::byte* const begin = row->protocol_bytes(layout, g);
    EXPECT_EQ(begin + 16, reinterpret_cast<std::byte*>(&row->cell(layout, g)));
    EXPECT_EQ(begin, reinterpret_cast<std::byte*>(row) + (g == 0 ? 0 : plain.group(g).cell_offset + 16 * g));
    EXPECT_TRUE(std::any_of(layout.all().lines.begin(), layout.all().lines.end(), [&](uint32_t line) {
      return line / 64 == static_cast<uint32_t>(begin - reinterpret_cast<std::byte*>(row)) / 64;
    })) << "they come into the cache with the cell";
  }
}

TEST(Layout, ARowComesBackFromItsPayloads) {
  const Schema schema = grouped_schema();
  const Layout layout(nullptr, schema, 2048);
  std::vector<std::byte> row(schema.row_bytes), image(schema.row_bytes);
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<std::byte>(i + 1);
  for (uint32_t g = 0; g < layout.group_count(); ++g) {
    std::vector<std::byte> payload(layout.group(g).payload_bytes);
    copy_to_payload(layout.all(), g, payload.data(), row.data());
    copy_to_image(layout.all(), g, image.data(), payload.data());
  }
  EXPECT_EQ(row, image);
}

TEST(Layout, SomeColumnsAreReadWithoutTheOthers) {
  const Schema schema = grouped_schema();
  const Layout layout(nullptr, schema, 2048);
  const ColumnSet& b_and_d = layout.of_columns(0b1010);
  EXPECT_EQ(b_and_d.groups, 0b110u);
  EXPECT_EQ(bytes_of(b_and_d), 12u);
  EXPECT_FALSE(b_and_d.whole);
  EXPECT_EQ(&layout.of_columns(0b1010), &b_and_d) << "a set is compiled once";
  EXPECT_TRUE(layout.all().whole);
  EXPECT_EQ(layout.none().groups, 0u);
}

// Compares with the cache lines of each byte that a commit stores, which are in the cell's header
// and in the columns.
TEST(Layout, LinesWrittenAreThoseOfTheColumns) {
  Schema schema;
  schema.name = "wide";
  schema.row_bytes = 300;
  for (uint32_t i = 0; i < 25; ++i)
    schema.columns.push_back(
        {"c" + std::to_string(i), i % 3 == 0 ? ColumnType::kUInt64 : ColumnType::kBytes, 12 * i, i % 3 == 0 ? 8u : 5u, i % 2});
  for (const uint32_t threshold : {2048u, 64u}) {
    const Layout layout(nullptr, schema, threshold);
    for (const uint64_t columns : {uint64_t{1}, uint64_t{2}, uint64_t{0x108}, uint64_t{0xffff}, uint64_t{0x1000001}, uint64_t{0x1ffffff}}) {
      const ColumnSet& set = layout.of_columns(columns);
      for (uint32_t g = 0; g < layout.group_count(); ++g)
        for (uint32_t word = 0; word < 8; ++word) {
          std::set<uint32_t> lines;
          const auto store = [&](uint32_t offset, uint32_t bytes) {
            for (uint32_t i = 0; i < bytes; ++i) lines.insert((8 * word + offset + i) / 64);
          };
          store(0, kCellHeaderBytes);
          if (layout.group(g).block) store(kCellHeaderBytes, sizeof(void*));
          for (uint32_t s = set.begin[g]; s < set.begin[g + 1] && !layout.group(g).block; ++s)
            store(kCellHeaderBytes + set.spans[s].payload_offset, set.spans[s].size);
          EXPECT_EQ(set.lines_written[g][word], lines.size()) << "columns " << columns << ", group " << g << ", word " << word;
        }
    }
  }
}

// Threads that begin at different sets request more sets than can be found without the lock.
TEST(Layout, ASetIsTheSameForAllThreads) {
  Schema schema;
  schema.name = "wide";
  schema.row_bytes = 128;
  for (uint32_t i = 0; i < 16; ++i) schema.columns.push_back({"c" + std::to_string(i), ColumnType::kUInt64, 8 * i, 8, i % 4});
  const Layout layout(nullptr, schema, 2048);
  constexpr uint64_t kSets = 1000;
  std::vector<std::vector<const ColumnSet*>> found(4, std::vector<const ColumnSet*>(kSets));
  std::vector<std::thread> threads;
  for (size_t t = 0; t < found.size(); ++t)
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < kSets; ++i) {
        const uint64_t columns = (i + t * kSets / 4) % kSets;
        found[t][columns] = &layout.of_columns(columns);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (uint64_t columns = 0; columns < kSets; ++columns) {
    for (const auto& of_thread : found) ASSERT_EQ(of_thread[columns], found[0][columns]);
    ASSERT_EQ(found[0][columns]->columns, columns);
    ASSERT_EQ(&layout.of_columns(columns), found[0][columns]);
  }
}

// A thread that always writes new unions of columns must not exhaust the heap. Unions beyond the
// first kUnionsKept are freed with their owner.
TEST(Layout, UnionsBeyondTheFirstAreTheCallers) {
  Schema schema;
  schema.name = "wide";
  schema.row_bytes = 128;
  for (uint32_t i = 0; i < 16; ++i) schema.columns.push_back({"c" + std::to_string(i), ColumnType::kUInt64, 8 * i, 8, i % 4});
  const Layout layout(nullptr, schema, 2048);
  OwnColumnSets own;
  for (uint64_t columns = 1; columns <= Layout::kUnionsKept; ++columns) EXPECT_EQ(layout.of_union(columns, own).columns, columns);
  EXPECT_TRUE(own.empty());
  for (uint64_t columns = 1000; columns < 3000; ++columns) {
    const ColumnSet& set = layout.of_union(columns, own);
    EXPECT_EQ(set.columns, columns);
    EXPECT_EQ(&layout.of_union(columns, own), &set) << "looked for before it is compiled";
    EXPECT_EQ(own.size(), columns - 999);
  }
  own.clear();
  EXPECT_EQ(&layout.of_union(7, own), &layout.of_columns(7));
  const ColumnSet& own_one = layout.of_union(5000, own);
  EXPECT_EQ(&own_one, own.back().get());
  const ColumnSet& kept = layout.of_columns(5001);
  EXPECT_EQ(&layout.of_union(5001, own), &kept) << "what a program asks for by itself is kept";
}

TEST(Layout, ALargeGroupStandsInABlockOfItsOwn) {
  Schema schema;
  schema.name = "large";
  schema.row_bytes = 4096;
  schema.columns = {{"small", ColumnType::kUInt64, 0, 8, 0}, {"large", ColumnType::kBytes, 8, 4088, 1}};
  const Layout layout(nullptr, schema, 2048);
  EXPECT_FALSE(layout.group(0).block);
  EXPECT_TRUE(layout.group(1).block);
  EXPECT_LT(layout.block_bytes(), 100u) << "the row block has a pointer to it";
}

TEST(Layout, NumbersThatNoIndexReadsCanBeAddedTo) {
  Schema schema = grouped_schema();
  schema.indexes.push_back({"by_a", false, {"a"}, [](const void*) { return uint64_t{0}; }});
  const Layout layout(nullptr, schema, 2048);
  EXPECT_EQ(layout.number_at(0, ColumnType::kInt64), nullptr) << "an index reads it";
  EXPECT_NE(layout.number_at(8, ColumnType::kUInt32), nullptr);
  EXPECT_EQ(layout.number_at(8, ColumnType::kInt32), nullptr) << "of another type";
  EXPECT_EQ(layout.number_at(16, ColumnType::kBytes), nullptr);
  EXPECT_EQ(layout.indexed_columns(), 1u);
}

}  // namespace
}  // namespace elider::storage
