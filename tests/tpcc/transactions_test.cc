// What each of the five transactions reads, writes and shows, on every way to run a database.
#include "bench/tpcc/transactions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "tests/tpcc/small_world.h"

namespace elider::bench::tpcc {
namespace {

template <class Row>
Row row_of(SmallWorld& world, const Table<Row>& table, Key key) {
  Row row{};
  Status status = world.db.run_read_only([&](Transaction& txn) -> Status {
    auto view = txn.get(table, key);
    if (!view.ok()) return view.status();
    row = **view;
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return row;
}

template <class Row>
bool has_row(SmallWorld& world, const Table<Row>& table, Key key) {
  return world.db.run_read_only([&](Transaction& txn) { return txn.get(table, key).status(); }).ok();
}

NewOrderInput order_of(std::vector<NewOrderInput::Line> lines, uint32_t customer = 3) {
  NewOrderInput input;
  input.warehouse = 1;
  input.district = 2;
  input.customer = customer;
  input.line_count = static_cast<uint32_t>(lines.size());
  std::copy(lines.begin(), lines.end(), input.lines.begin());
  return input;
}

Status run_new_order(SmallWorld& world, const NewOrderInput& input, NewOrderOutput* output) {
  return world.db.run([&](Transaction& txn) { return new_order(txn, world.tables, input, output); });
}

void set_stock(SmallWorld& world, uint32_t item, int32_t quantity, const char* data = nullptr) {
  Status status = world.db.run([&](Transaction& txn) {
    return txn.update(world.tables.stock, StockKey::pack_unchecked(1, item), Columns<Stock>(), [&](Stock& row) {
      row.quantity = quantity;
      if (data != nullptr) std::memcpy(row.data.data() + 3, data, std::strlen(data));
    });
  });
  ASSERT_TRUE(status.ok()) << status.message();
}

class TpccTest : public testing::TestWithParam<test::Combination> {};
class TpccNewOrder : public TpccTest {};
class TpccFindCustomer : public TpccTest {};
class TpccPayment : public TpccTest {};
class TpccOrderStatus : public TpccTest {};
class TpccDelivery : public TpccTest {};
class TpccStockLevel : public TpccTest {};
class TpccTerminal : public TpccTest {};
ELIDER_ON_EVERY(TpccNewOrder);
ELIDER_ON_EVERY(TpccFindCustomer);
ELIDER_ON_EVERY(TpccPayment);
ELIDER_ON_EVERY(TpccOrderStatus);
ELIDER_ON_EVERY(TpccDelivery);
ELIDER_ON_EVERY(TpccStockLevel);
ELIDER_ON_EVERY(TpccTerminal);

TEST_P(TpccNewOrder, WritesOrderLinesAndStock) {
  SmallWorld world(GetParam());
  set_stock(world, 10, 50);
  set_stock(world, 11, 12);
  NewOrderOutput output;
  ASSERT_TRUE(run_new_order(world, order_of({{10, 1, 7}, {11, 1, 3}, {10, 1, 2}, {12, 1, 1}, {13, 1, 1}}), &output).ok());
  EXPECT_EQ(output.order, 31u);
  const Key key = OrderKey::pack_unchecked(1, 2, 31);
  const Order order = row_of(world, world.tables.order, key);
  EXPECT_EQ(order.customer, 3u);
  EXPECT_EQ(order.line_count, 5u);
  EXPECT_EQ(order.all_local, 1u);
  EXPECT_EQ(order.carrier, 0u);
  EXPECT_TRUE(has_row(world, world.tables.new_order, key));
  EXPECT_EQ(row_of(world, world.tables.district, DistrictKey::pack_unchecked(1, 2)).next_order, 32u);
  // The order has the same item twice. The second line takes from what the first one left.
  const Stock ten = row_of(world, world.tables.stock, StockKey::pack_unchecked(1, 10));
  EXPECT_EQ(ten.quantity, 41);
  EXPECT_EQ(ten.ytd, 9u);
  EXPECT_EQ(ten.order_count, 2u);
  EXPECT_EQ(ten.remote_count, 0u);
  // Fewer than ten would be left, so 91 come in.
  EXPECT_EQ(row_of(world, world.tables.stock, StockKey::pack_unchecked(1, 11)).quantity, 12 - 3 + 91);
  const Item item = row_of(world, world.tables.item, 10);
  const OrderLine line = row_of(world, world.tables.line, LineKey::pack_unchecked(1, 2, 31, 1));
  EXPECT_EQ(line.amount, item.price * 7);
  EXPECT_EQ(line.quantity, 7u);
  EXPECT_EQ(line.delivery_date, 0);
  EXPECT_EQ(line.district_info, ten.info_02);
  EXPECT_FALSE(has_row(world, world.tables.line, LineKey::pack_unchecked(1, 2, 31, 6)));
}

TEST_P(TpccNewOrder, ShowsPricesBrandAndTotal) {
  SmallWorld world(GetParam());
  set_stock(world, 10, 50, "ORIGINAL");
  Status status = world.db.run([&](Transaction& txn) {
    return txn.update(world.tables.item, 10, Columns<Item>(), [](Item& row) { std::memcpy(row.data.data(), "ORIGINAL", 8); });
  });
  ASSERT_TRUE(status.ok());
  NewOrderOutput output;
  ASSERT_TRUE(run_new_order(world, order_of({{10, 1, 2}, {11, 1, 1}, {12, 1, 1}, {13, 1, 1}, {14, 1, 1}}), &output).ok());
  EXPECT_EQ(output.lines[0].brand, 'B');
  EXPECT_EQ(output.lines[0].stock_quantity, 48);
  const Customer customer = row_of(world, world.tables.customer, CustomerKey::pack_unchecked(1, 2, 3));
  EXPECT_EQ(output.last, customer.last);
  EXPECT_EQ(output.credit, customer.credit);
  const uint32_t tax = row_of(world, world.tables.warehouse, 1).tax +
                       row_of(world, world.tables.district, DistrictKey::pack_unchecked(1, 2)).tax;
  double sum = 2.0 * row_of(world, world.tables.item, 10).price;
  for (Key item = 11; item <= 14; ++item) sum += row_of(world, world.tables.item, item).price;
  EXPECT_NEAR(output.total_cents, sum * (1 - customer.discount / 10'000.0) * (1 + tax / 10'000.0), 1e-6);
}

TEST_P(TpccNewOrder, UnusedItemRollsBackEverything) {
  SmallWorld world(GetParam());
  set_stock(world, 10, 50);
  NewOrderOutput output;
  Status status = run_new_order(world, order_of({{10, 1, 7}, {11, 1, 3}, {12, 1, 2}, {13, 1, 1}, {201, 1, 1}}), &output);
  EXPECT_EQ(status.code(), Code::kRolledBack);
  // All but the unused item's part was done, and the order had its number.
  EXPECT_EQ(output.order, 31u);
  EXPECT_EQ(output.lines[0].stock_quantity, 43);
  EXPECT_EQ(row_of(world, world.tables.stock, StockKey::pack_unchecked(1, 10)).quantity, 50);
  EXPECT_EQ(row_of(world, world.tables.district, DistrictKey::pack_unchecked(1, 2)).next_order, 31u);
  EXPECT_FALSE(has_row(world, world.tables.order, OrderKey::pack_unchecked(1, 2, 31)));
  EXPECT_FALSE(has_row(world, world.tables.new_order, OrderKey::pack_unchecked(1, 2, 31)));
  EXPECT_FALSE(has_row(world, world.tables.line, LineKey::pack_unchecked(1, 2, 31, 1)));
}

TEST_P(TpccNewOrder, RemoteSupplyCountsAsRemote) {
  SmallWorld world(GetParam(), {.warehouses = 2, .items = 200, .customers = 30});
  NewOrderInput input = order_of({{10, 2, 4}, {11, 1, 3}, {12, 1, 2}, {13, 1, 1}, {14, 1, 1}});
  input.all_local = false;
  NewOrderOutput output;
  ASSERT_TRUE(run_new_order(world, input, &output).ok());
  EXPECT_EQ(row_of(world, world.tables.stock, StockKey::pack_unchecked(2, 10)).remote_count, 1u);
  EXPECT_EQ(row_of(world, world.tables.stock, StockKey::pack_unchecked(1, 11)).remote_count, 0u);
  EXPECT_EQ(row_of(world, world.tables.order, OrderKey::pack_unchecked(1, 2, 31)).all_local, 0u);
}

// Gives these customers of district 1 one last name and these first names.
void rename(SmallWorld& world, const std::vector<std::pair<uint32_t, const char*>>& firsts, const Text<16>& last) {
  Status status = world.db.run([&](Transaction& txn) -> Status {
    for (const auto& [number, first] : firsts) {
      Status one = txn.update(world.tables.customer, CustomerKey::pack_unchecked(1, 1, number), Columns<Customer>(),
                              [&, first = first](Customer& row) {
                                row.last = last;
                                row.first = {};
                                std::memcpy(row.first.data(), first, std::strlen(first));
                              });
      if (!one.ok()) return one;
    }
    return {};
  });
  ASSERT_TRUE(status.ok()) << status.message();
}

uint32_t found_customer(SmallWorld& world, const CustomerChoice& choice) {
  Key key = 0;
  Scratch scratch;
  Status status = world.db.run([&](Transaction& txn) { return find_customer(txn, world.tables, choice, scratch, &key); });
  EXPECT_TRUE(status.ok()) << status.message();
  return static_cast<uint32_t>(CustomerKey::unpack(key)[2]);
}

TEST_P(TpccFindCustomer, TakesTheMiddleOneByFirstName) {
  SmallWorld world(GetParam());
  const Text<16> last{'S', 'O', 'L', 'O'};
  rename(world, {{9, "delta"}}, last);
  EXPECT_EQ(found_customer(world, {1, 1, 0, last}), 9u);
  rename(world, {{5, "alpha"}}, last);
  EXPECT_EQ(found_customer(world, {1, 1, 0, last}), 5u);  // of two the first: ceil(2 / 2)
  rename(world, {{2, "charlie"}}, last);
  EXPECT_EQ(found_customer(world, {1, 1, 0, last}), 2u);
  rename(world, {{1, "bravo"}}, last);
  EXPECT_EQ(found_customer(world, {1, 1, 0, last}), 1u);
  EXPECT_EQ(found_customer(world, {1, 1, 17, {}}), 17u);
}

TEST_P(TpccFindCustomer, UnknownNameIsNotFound) {
  SmallWorld world(GetParam());
  Key key = 0;
  Scratch scratch;
  Status status = world.db.run([&](Transaction& txn) {
    return find_customer(txn, world.tables, {1, 1, 0, Text<16>{'N', 'O', 'B', 'O', 'D', 'Y'}}, scratch, &key);
  });
  EXPECT_TRUE(status.not_found());
  EXPECT_NE(status.message().find("NOBODY"), std::string::npos) << status.message();
}

PaymentInput payment_of(uint32_t customer, uint32_t amount) {
  PaymentInput input;
  input.warehouse = 1;
  input.district = 1;
  input.amount = amount;
  input.customer = {1, 1, customer, {}};
  input.history_key = HistoryKey::pack_unchecked(99, 0);
  return input;
}

void set_credit(SmallWorld& world, uint32_t customer, Text<2> credit) {
  ASSERT_TRUE(world.db
                  .run([&](Transaction& txn) {
                    return txn.update(world.tables.customer, CustomerKey::pack_unchecked(1, 1, customer), Columns<Customer>(),
                                      [&](Customer& row) { row.credit = credit; });
                  })
                  .ok());
}

TEST_P(TpccPayment, MovesMoneyAndWritesHistory) {
  SmallWorld world(GetParam());
  set_credit(world, 4, {'G', 'C'});
  const Customer before = row_of(world, world.tables.customer, CustomerKey::pack_unchecked(1, 1, 4));
  PaymentOutput output;
  Scratch scratch;
  const PaymentInput input = payment_of(4, 1234'56);
  ASSERT_TRUE(world.db.run([&](Transaction& txn) { return payment(txn, world.tables, input, scratch, &output); }).ok());
  EXPECT_EQ(row_of(world, world.tables.warehouse, 1).ytd, 300'000 + 1234'56);
  EXPECT_EQ(row_of(world, world.tables.district, DistrictKey::pack_unchecked(1, 1)).ytd, 30'000 + 1234'56);
  const Customer after = row_of(world, world.tables.customer, CustomerKey::pack_unchecked(1, 1, 4));
  EXPECT_EQ(after.balance, before.balance - 1234'56);
  EXPECT_EQ(after.ytd_payment, before.ytd_payment + 1234'56);
  EXPECT_EQ(after.payment_count, 2u);
  EXPECT_EQ(after.data, before.data);
  EXPECT_EQ(output.balance, after.balance);
  EXPECT_EQ(output.first, before.first);
  EXPECT_EQ(output.address.city, before.city);
  const History history = row_of(world, world.tables.history, input.history_key);
  EXPECT_EQ(history.amount, 1234'56u);
  EXPECT_EQ(history.customer, 4u);
  const Warehouse warehouse = row_of(world, world.tables.warehouse, 1);
  EXPECT_TRUE(std::equal(warehouse.name.begin(), warehouse.name.end(), history.data.begin()));
  EXPECT_EQ(std::string_view(history.data.data() + 10, 4), "    ");
}

TEST_P(TpccPayment, BadCreditPutsTheEntryBeforeTheData) {
  SmallWorld world(GetParam());
  set_credit(world, 4, {'B', 'C'});
  const Customer before = row_of(world, world.tables.customer, CustomerKey::pack_unchecked(1, 1, 4));
  PaymentOutput output;
  Scratch scratch;
  ASSERT_TRUE(world.db.run([&](Transaction& txn) { return payment(txn, world.tables, payment_of(4, 50'07), scratch, &output); }).ok());
  const Customer after = row_of(world, world.tables.customer, CustomerKey::pack_unchecked(1, 1, 4));
  const std::string entry = "4 1 1 1 1 50.07|";
  EXPECT_EQ(std::string(after.data.data(), 500), entry + std::string(before.data.data(), 500 - entry.size()));
  EXPECT_EQ(std::string(output.data.data(), 200), std::string(after.data.data(), 200));
}

TEST_P(TpccOrderStatus, ShowsTheLatestOrder) {
  SmallWorld world(GetParam());
  NewOrderOutput placed;
  for (const uint32_t item : {20u, 40u})
    ASSERT_TRUE(run_new_order(world, order_of({{item, 1, 5}, {21, 1, 1}, {22, 1, 1}, {23, 1, 1}, {24, 1, 1}}, 8), &placed).ok());
  ASSERT_TRUE(run_new_order(world, order_of({{60, 1, 5}, {21, 1, 1}, {22, 1, 1}, {23, 1, 1}, {24, 1, 1}}, 9), &placed).ok());
  OrderStatusOutput output;
  Scratch scratch;
  for (const bool snapshot : {true, false}) {
    const auto body = [&](Transaction& txn) { return order_status(txn, world.tables, {{1, 2, 8, {}}}, scratch, &output); };
    ASSERT_TRUE((snapshot ? world.db.run_read_only(body) : world.db.run(body)).ok());
    EXPECT_EQ(output.order, 32u);
    EXPECT_EQ(output.carrier, 0u);
    EXPECT_EQ(output.line_count, 5u);
    EXPECT_EQ(output.lines[0].item, 40u);
    EXPECT_EQ(output.lines[4].item, 24u);
    EXPECT_EQ(output.balance, -1000);
  }
}

TEST_P(TpccDelivery, DeliversTheOldestOfEachDistrictUntilNoneWaits) {
  SmallWorld world(GetParam());
  const Key key = OrderKey::pack_unchecked(1, 3, 22);
  const Order order = row_of(world, world.tables.order, key);
  const Key customer_key = CustomerKey::pack_unchecked(1, 3, order.customer);
  int64_t amount = 0;
  for (uint32_t i = 1; i <= order.line_count; ++i) amount += row_of(world, world.tables.line, LineKey::pack_unchecked(1, 3, 22, i)).amount;
  DeliveryOutput output;
  const auto deliver = [&] { return world.db.run([&](Transaction& txn) { return delivery(txn, world.tables, {1, 6}, &output); }); };
  ASSERT_TRUE(deliver().ok());
  for (const uint32_t number : output.order) EXPECT_EQ(number, 22u);
  EXPECT_FALSE(has_row(world, world.tables.new_order, key));
  EXPECT_EQ(row_of(world, world.tables.order, key).carrier, 6u);
  for (uint32_t i = 1; i <= order.line_count; ++i)
    EXPECT_NE(row_of(world, world.tables.line, LineKey::pack_unchecked(1, 3, 22, i)).delivery_date, 0);
  const Customer customer = row_of(world, world.tables.customer, customer_key);
  EXPECT_EQ(customer.balance, -1000 + amount);
  EXPECT_EQ(customer.delivery_count, 1u);
  for (int i = 2; i <= 9; ++i) ASSERT_TRUE(deliver().ok());
  EXPECT_EQ(output.order[0], 30u);
  ASSERT_TRUE(deliver().ok());
  for (const uint32_t number : output.order) EXPECT_EQ(number, 0u);
}

TEST_P(TpccStockLevel, CountsDistinctLowItemsOfTheLastTwentyOrders) {
  SmallWorld world(GetParam());
  world.run(150);
  for (uint32_t item = 1; item <= 200; ++item) set_stock(world, item, item % 3 == 0 ? 9 : 40);
  const uint32_t next = row_of(world, world.tables.district, DistrictKey::pack_unchecked(1, 5)).next_order;
  std::set<uint32_t> low;
  for (uint32_t number = next - 20; number < next; ++number) {
    const Order order = row_of(world, world.tables.order, OrderKey::pack_unchecked(1, 5, number));
    for (uint32_t i = 1; i <= order.line_count; ++i) {
      const uint32_t item = row_of(world, world.tables.line, LineKey::pack_unchecked(1, 5, number, i)).item;
      if (item % 3 == 0) low.insert(item);
    }
  }
  StockLevelOutput output;
  for (const bool snapshot : {true, false}) {
    const auto body = [&](Transaction& txn) { return stock_level(txn, world.tables, {1, 5, 10}, &output); };
    ASSERT_TRUE((snapshot ? world.db.run_read_only(body) : world.db.run(body)).ok());
    EXPECT_EQ(output.low_stock, low.size());
  }
  EXPECT_GT(low.size(), 5u);
}

TEST_P(TpccTerminal, CountsWhatItRuns) {
  SmallWorld world(GetParam());
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(world.terminals[0]->run(Kind::kNewOrder).ok());
  const TerminalCounts& counts = world.terminals[0]->counts();
  EXPECT_EQ(counts.new_orders + counts.rolled_back, 300u);
  EXPECT_GT(counts.rolled_back, 0u);
  EXPECT_LT(counts.rolled_back, 15u);
  ASSERT_TRUE(world.terminals[0]->run(Kind::kDelivery).ok());
  EXPECT_EQ(counts.delivered, 10u);
  ASSERT_TRUE(world.terminals[0]->run(Kind::kPayment).ok());
  EXPECT_EQ(counts.payments, 1u);
  EXPECT_EQ(world.terminals[0]->history_keys_used(), 1u);
}

}  // namespace
}  // namespace elider::bench::tpcc
