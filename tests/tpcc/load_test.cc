#include "bench/tpcc/load.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "tests/tpcc/small_world.h"

namespace elider::bench::tpcc {
namespace {

template <class Row>
uint64_t count_rows(SmallWorld& world, const Table<Row>& table) {
  uint64_t rows = 0;
  Status status = world.db.run_read_only([&](Transaction& txn) {
    rows = 0;
    return txn.scan(table, {}, {}, [&](Key, const View<Row>&) { return ++rows > 0; });
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return rows;
}

template <class Row>
uint64_t rows_in_statistics(const SmallWorld& world, const Table<Row>& table) {
  for (const Statistics::Table& one : world.db.statistics().tables)
    if (one.name == table.schema().name) return one.rows;
  return 0;
}

// Calls visit(key, row) for every row of a table that is ordered.
template <class Row, class Visit>
void for_all(SmallWorld& world, const Table<Row>& table, Visit&& visit) {
  Status status = world.db.run_read_only([&](Transaction& txn) {
    return txn.scan(table, {}, {}, [&](Key key, const View<Row>& row) {
      visit(key, *row);
      return true;
    });
  });
  ASSERT_TRUE(status.ok()) << status.message();
}

size_t length_of(std::string_view padded) { return padded.substr(0, padded.find('\0')).size(); }
template <size_t N>
size_t length_of(const Text<N>& text) {
  return length_of(std::string_view(text.data(), N));
}

TEST(TpccLoad, OneWarehouseHasTheSpecifiedRows) {
  SmallWorld world({}, 2);
  EXPECT_EQ(rows_in_statistics(world, world.tables.warehouse), 1u);
  EXPECT_EQ(rows_in_statistics(world, world.tables.district), 10u);
  EXPECT_EQ(rows_in_statistics(world, world.tables.customer), 30'000u);
  EXPECT_EQ(rows_in_statistics(world, world.tables.history), 30'000u);
  EXPECT_EQ(rows_in_statistics(world, world.tables.item), 100'000u);
  EXPECT_EQ(rows_in_statistics(world, world.tables.stock), 100'000u);
  EXPECT_EQ(count_rows(world, world.tables.new_order), 9'000u);
  EXPECT_EQ(count_rows(world, world.tables.order), 30'000u);
  const uint64_t lines = count_rows(world, world.tables.line);
  EXPECT_NEAR(static_cast<double>(lines), 300'000, 3'000);
  const uint64_t others = 1 + 10 + 30'000 + 30'000 + 100'000 + 100'000 + 9'000 + 30'000;
  EXPECT_EQ(world.loaded.rows, others + lines);
  EXPECT_EQ(expected_rows({}), others + 300'000);
  const ConsistencyReport report = world.check({});
  EXPECT_TRUE(report.ok()) << (report.complaints().empty() ? "" : report.complaints().front());
}

TEST(TpccLoad, ColumnsHoldWhatTheSpecificationSays) {
  SmallWorld world({.warehouses = 1, .items = 5000, .customers = 500}, 1, 3, IndexChoice::kBtree);
  uint64_t original = 0, bad_credit = 0;
  for_all(world, world.tables.item, [&](Key, const Item& row) {
    EXPECT_TRUE(row.price >= 100 && row.price <= 10'000);
    EXPECT_TRUE(row.image >= 1 && row.image <= 10'000);
    EXPECT_TRUE(length_of(row.name) >= 14);
    EXPECT_TRUE(length_of(row.data) >= 26);
    original += std::string_view(row.data.data(), row.data.size()).find("ORIGINAL") != std::string_view::npos;
  });
  EXPECT_NEAR(static_cast<double>(original), 500, 90);
  for_all(world, world.tables.stock, [&](Key, const Stock& row) {
    EXPECT_TRUE(row.quantity >= 10 && row.quantity <= 100);
    EXPECT_EQ(row.ytd + row.order_count + row.remote_count, 0u);
    for (const auto info : kDistrictInfo) EXPECT_EQ(length_of(row.*info), 24u);
  });
  std::set<std::string> names;
  for_all(world, world.tables.customer, [&](Key key, const Customer& row) {
    EXPECT_EQ(CustomerKey::unpack(key)[2], row.id);
    EXPECT_EQ(row.balance, -1000);
    EXPECT_EQ(row.ytd_payment, 1000);
    EXPECT_LE(row.discount, 5000u);
    EXPECT_TRUE(length_of(row.data) >= 300);
    EXPECT_TRUE(row.credit == (Text<2>{'G', 'C'}) || row.credit == (Text<2>{'B', 'C'}));
    bad_credit += row.credit[0] == 'B';
    names.insert(row.last.data());
  });
  EXPECT_NEAR(static_cast<double>(bad_credit), 500, 90);
  EXPECT_EQ(names.size(), 500u);
  for_all(world, world.tables.warehouse, [](Key, const Warehouse& row) {
    EXPECT_LE(row.tax, 2000u);
    EXPECT_EQ(length_of(row.zip), 9u);
    EXPECT_EQ(std::string_view(row.zip.data() + 4, 5), "11111");
  });
}

TEST(TpccLoad, OrdersArePermutedAndTheLastThirtyPercentWait) {
  SmallWorld world({.warehouses = 1, .items = 100, .customers = 100});
  std::array<std::set<uint32_t>, kDistricts + 1> owners;
  for_all(world, world.tables.order, [&](Key key, const Order& row) {
    const auto [warehouse, district, number] = OrderKey::unpack(key);
    owners[district].insert(row.customer);
    EXPECT_EQ(row.carrier == 0, number > 70) << number;
    EXPECT_TRUE(row.line_count >= 5 && row.line_count <= 15);
  });
  for (uint32_t district = 1; district <= kDistricts; ++district) EXPECT_EQ(owners[district].size(), 100u);
  for_all(world, world.tables.line, [&](Key key, const OrderLine& row) {
    const bool delivered = LineKey::unpack(key)[2] <= 70;
    EXPECT_EQ(row.delivery_date != 0, delivered);
    EXPECT_EQ(row.amount == 0, delivered);
    EXPECT_EQ(row.quantity, 5u);
  });
}

TEST(TpccLoad, SameSeedLoadsSameRowsWithAnyNumberOfThreads) {
  const Sizes sizes{.warehouses = 2, .items = 100, .customers = 20};
  const auto sum_of = [&](uint32_t threads, uint64_t seed) {
    SmallWorld world(sizes, threads, seed);
    uint64_t sum = 0;
    for_all(world, world.tables.line, [&](Key key, const OrderLine& row) { sum = sum * 31 + key * 7 + row.item + row.amount; });
    return sum;
  };
  const uint64_t one = sum_of(1, 4);
  EXPECT_EQ(one, sum_of(2, 4));
  EXPECT_NE(one, sum_of(1, 5));
}

TEST(TpccLoad, MemoryLimitFailsWithItsStatus) {
  Options options;
  options.memory_limit_bytes = uint64_t{16} << 20;
  auto db = Database::open(options);
  ASSERT_TRUE(db.ok()) << db.status().message();
  auto tables = create_tables(*db, IndexChoice::kMixed);
  ASSERT_TRUE(tables.ok()) << tables.status().message();
  Workload workload;
  workload.constants = NonUniformConstants::draw(1);
  CommonOptions common;
  common.quiet = true;
  EXPECT_EQ(load(common, *db, *tables, workload).status.code(), Code::kMemoryLimit);
}

}  // namespace
}  // namespace elider::bench::tpcc
