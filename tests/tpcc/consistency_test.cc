// Each consistency condition holds after a run, and fails when its data is damaged on purpose.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/random.h"
#include "tests/tpcc/small_world.h"

namespace elider::bench::tpcc {
namespace {

struct Damage {
  const char* name;
  std::vector<std::string> violated;  // all conditions that it breaks, and no others
  std::function<Status(SmallWorld&, Transaction&)> apply;
};

void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.name; }

constexpr Key kWarehouse = WarehouseKey::pack_unchecked(1);
constexpr Key kDistrict = DistrictKey::pack_unchecked(1, 4);
constexpr Key kCustomer = CustomerKey::pack_unchecked(1, 4, 7);

// An order that was loaded as delivered, and the key of its first line.
constexpr Key kOldOrder = OrderKey::pack_unchecked(1, 4, 3);
constexpr Key kOldLine = LineKey::pack_unchecked(1, 4, 3, 1);

template <class Row, class Change>
Status change(Transaction& txn, const Table<Row>& table, Key key, Change&& apply) {
  return txn.update(table, key, Columns<Row>(), apply);
}

// A row of new_order that is neither the first nor the last of the district.
Result<Key> waiting_order(SmallWorld& world, Transaction& txn) {
  std::vector<Key> waiting;
  Status status = txn.scan(world.tables.new_order, OrderKey::prefix(1, 4), {}, [&](Key key, const View<NewOrder>&) {
    waiting.push_back(key);
    return true;
  });
  if (!status.ok()) return status;
  if (waiting.size() < 3) return Status::invalid_argument("too few orders wait for delivery in district 4");
  return waiting[1];
}

std::vector<Damage> all_damage() {
  return {
      {"w_ytd", {"3.3.2.1", "3.3.2.8"},
       [](SmallWorld& w, Transaction& txn) { return change(txn, w.tables.warehouse, kWarehouse, [](Warehouse& r) { r.ytd += 1; }); }},
      {"d_ytd", {"3.3.2.1", "3.3.2.9"},
       [](SmallWorld& w, Transaction& txn) { return change(txn, w.tables.district, kDistrict, [](District& r) { r.ytd -= 1; }); }},
      {"d_next_o_id", {"3.3.2.2"},
       [](SmallWorld& w, Transaction& txn) { return change(txn, w.tables.district, kDistrict, [](District& r) { r.next_order += 1; }); }},
      {"new_order_removed", {"3.3.2.3", "3.3.2.5", "3.3.2.11"},
       [](SmallWorld& w, Transaction& txn) -> Status {
         auto key = waiting_order(w, txn);
         return key.ok() ? txn.remove(w.tables.new_order, *key) : key.status();
       }},
      {"new_order_added", {"3.3.2.3", "3.3.2.5", "3.3.2.11"},
       [](SmallWorld& w, Transaction& txn) { return txn.insert(w.tables.new_order, kOldOrder, NewOrder{1}); }},
      {"o_ol_cnt", {"3.3.2.4", "3.3.2.6"},
       [](SmallWorld& w, Transaction& txn) { return change(txn, w.tables.order, kOldOrder, [](Order& r) { r.line_count += 1; }); }},
      {"line_removed", {"3.3.2.4", "3.3.2.6"}, [](SmallWorld& w, Transaction& txn) { return txn.remove(w.tables.line, kOldLine); }},
      {"o_carrier_id_cleared", {"3.3.2.5", "3.3.2.7"},
       [](SmallWorld& w, Transaction& txn) { return change(txn, w.tables.order, kOldOrder, [](Order& r) { r.carrier = 0; }); }},
      {"o_carrier_id_set", {"3.3.2.5", "3.3.2.7"},
       [](SmallWorld& w, Transaction& txn) -> Status {
         auto key = waiting_order(w, txn);
         return key.ok() ? change(txn, w.tables.order, *key, [](Order& r) { r.carrier = 1; }) : key.status();
       }},
      {"ol_delivery_d", {"3.3.2.7"},  // of an order with amount 0, so that no sum changes
       [](SmallWorld& w, Transaction& txn) { return change(txn, w.tables.line, kOldLine, [](OrderLine& r) { r.delivery_date = 0; }); }},
      {"ol_amount", {"3.3.2.10", "3.3.2.12"},
       [](SmallWorld& w, Transaction& txn) { return change(txn, w.tables.line, kOldLine, [](OrderLine& r) { r.amount += 1; }); }},
      {"h_amount", {"3.3.2.8", "3.3.2.9", "3.3.2.10"},
       [](SmallWorld& w, Transaction& txn) {
         return change(txn, w.tables.history, HistoryKey::pack_unchecked(kLoaderSource, kCustomer), [](History& r) { r.amount += 1; });
       }},
      {"history_lost", {"3.3.2.8", "3.3.2.9", "3.3.2.10", "payments"},
       [](SmallWorld& w, Transaction& txn) { return txn.remove(w.tables.history, HistoryKey::pack_unchecked(source_of_thread(0), 5)); }},
      {"history_invented", {"payments"},
       [](SmallWorld& w, Transaction& txn) { return txn.insert(w.tables.history, HistoryKey::pack_unchecked(77, 5), History{}); }},
      {"c_balance", {"3.3.2.10", "3.3.2.12"},
       [](SmallWorld& w, Transaction& txn) { return change(txn, w.tables.customer, kCustomer, [](Customer& r) { r.balance += 1; }); }},
      {"c_ytd_payment", {"3.3.2.12"},
       [](SmallWorld& w, Transaction& txn) { return change(txn, w.tables.customer, kCustomer, [](Customer& r) { r.ytd_payment += 1; }); }},
      {"c_delivery_cnt", {"3.3.2.11", "deliveries"},
       [](SmallWorld& w, Transaction& txn) {
         return change(txn, w.tables.customer, kCustomer, [](Customer& r) { r.delivery_count += 1; });
       }},
      {"s_ytd", {"stock"},
       [](SmallWorld& w, Transaction& txn) {
         return change(txn, w.tables.stock, StockKey::pack_unchecked(1, 77), [](Stock& r) { r.ytd += 1; });
       }},
  };
}

class TpccConsistencyDamage : public testing::TestWithParam<Damage> {};

TEST_P(TpccConsistencyDamage, IsFoundAndNamed) {
  SmallWorld world;
  world.run(400);
  ASSERT_TRUE(world.check(world.totals()).ok());
  Status status = world.db.run([&](Transaction& txn) { return GetParam().apply(world, txn); });
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(world.violated(world.totals()), GetParam().violated);
  const ConsistencyReport report = world.check(world.totals());
  EXPECT_FALSE(report.ok());
  for (const Condition& condition : report.conditions) {
    EXPECT_GT(condition.checked, 0u) << condition.clause;
    EXPECT_EQ(condition.examples.empty(), condition.violations == 0) << condition.clause;
    for (const std::string& example : condition.examples) EXPECT_NE(example.find("warehouse"), std::string::npos) << example;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, TpccConsistencyDamage, testing::ValuesIn(all_damage()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(TpccConsistency, FreshLoadIsConsistentInEveryCondition) {
  SmallWorld world({.warehouses = 2, .items = 150, .customers = 20}, 2);
  const ConsistencyReport report = world.check({});
  EXPECT_TRUE(report.ok()) << (report.complaints().empty() ? "" : report.complaints().front());
  EXPECT_EQ(report.conditions.size(), 16u);
  EXPECT_EQ(report.find("3.3.2.1")->checked, 2u);
  EXPECT_EQ(report.find("3.3.2.9")->checked, 20u);
  EXPECT_EQ(report.find("3.3.2.12")->checked, 400u);
  EXPECT_EQ(report.find("nonsense"), nullptr);
}

TEST(TpccConsistency, LostTransactionsAreFound) {
  SmallWorld world;
  world.run(200);
  RunTotals more = world.totals();
  ++more.new_orders;
  EXPECT_EQ(world.violated(more), std::vector<std::string>{"new_orders"});
  more = world.totals();
  ++more.payments;
  EXPECT_EQ(world.violated(more), std::vector<std::string>{"payments"});
  more = world.totals();
  ++more.delivered;
  EXPECT_EQ(world.violated(more), std::vector<std::string>{"deliveries"});
}

TEST(TpccConsistency, ComplaintNamesClauseRowAndBothValues) {
  SmallWorld world;
  Status status = world.db.run([&](Transaction& txn) { return txn.add(world.tables.warehouse, kWarehouse, &Warehouse::ytd, 5); });
  ASSERT_TRUE(status.ok()) << status.message();
  const std::vector<std::string> lines = world.check({}).complaints();
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_NE(lines[0].find("3.3.2.1"), std::string::npos) << lines[0];
  EXPECT_EQ(lines[1], "  warehouse 1: w_ytd = 300005, but sum(d_ytd) = 300000");
}

TEST(TpccConsistency, RowThatMustExistIsMissed) {
  SmallWorld world;
  ASSERT_TRUE(world.db.run([&](Transaction& txn) { return txn.remove(world.tables.district, kDistrict); }).ok());
  auto report = check_consistency(world.db, world.tables, world.workload, {});
  EXPECT_EQ(report.status().code(), Code::kNotFound);
  EXPECT_NE(report.status().message().find("district"), std::string::npos) << report.status().message();
}

// Runs of two terminals, a thread each where the combination has threads.
class TpccConsistencyOn : public testing::TestWithParam<test::Combination> {
 protected:
  static uint32_t threads() { return GetParam().threads() ? 2 : 1; }

  static void run(SmallWorld& world, uint64_t transactions) {
    std::vector<std::thread> others;
    const auto each = static_cast<uint32_t>(test::scaled(transactions));
    for (uint32_t thread = 1; thread < threads(); ++thread) others.emplace_back([&world, each, thread] { world.run(each, thread); });
    world.run(each, 0);
    for (std::thread& other : others) other.join();
    const ConsistencyReport report = world.check(world.totals());
    EXPECT_TRUE(report.ok()) << (report.complaints().empty() ? "" : report.complaints().front() + report.complaints()[1]);
    Status verified = world.db.verify();
    EXPECT_TRUE(verified.ok()) << verified.message();
  }
};
ELIDER_ON_EVERY(TpccConsistencyOn);

TEST_P(TpccConsistencyOn, HoldsAfterAContendedRun) {
  SmallWorld world(GetParam(), {.warehouses = 1, .items = 60, .customers = 12}, threads(), 5);
  run(world, 2000);
}

TEST_P(TpccConsistencyOn, HoldsWithRemoteWarehousesAndWithoutSnapshots) {
  SmallWorld world(GetParam(), {.warehouses = 3, .items = 60, .customers = 12}, threads(), 9);
  for (uint32_t thread = 0; thread < threads(); ++thread)
    world.terminals[thread] = std::make_unique<Terminal>(world.db, world.tables, world.workload, SnapshotUse{false, false}, thread);
  run(world, 1500);
}

}  // namespace
}  // namespace elider::bench::tpcc
