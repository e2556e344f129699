#include "bench/tpcc/consistency_facts.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <thread>

namespace elider::bench::tpcc {
namespace {

Status strange(const std::string& what, const std::string& why) { return Status::invalid_argument(what + " " + why); }

Status read_customers(Database& db, const Tables& tables, uint32_t warehouse, uint32_t district, const Sizes& sizes, DistrictFacts* facts) {
  facts->customers.resize(sizes.customers);
  std::vector<Key> keys(sizes.customers);
  for (uint32_t c = 1; c <= sizes.customers; ++c) keys[c - 1] = CustomerKey::pack_unchecked(warehouse, district, c);
  return read_rows(db, tables.customer, tables.customer_checked, keys, true, [&](Key key, const Customer& row) {
    CustomerFacts& customer = facts->customers[CustomerKey::unpack(key)[2] - 1];
    customer.balance = row.balance;
    customer.ytd_payment = row.ytd_payment;
    customer.delivery_count = row.delivery_count;
  });
}

// Calls take(key, row) for each row in `range`. Scans the table or, if its key index is a hash
// table, looks up each key in keys().
template <class Row, class Keys, class Take>
Status each_row(Database& db, const Table<Row>& table, const Columns<Row>& columns, KeyRange range, const Keys& keys, Take&& take) {
  if (table.schema().key_index == KeyIndex::kHashed) return read_rows(db, table, columns, keys(), false, take);
  return db.run_read_only([&](Transaction& txn) {
    return txn.scan(table, range, {.columns = columns}, [&](Key key, const View<Row>& row) {
      take(key, *row);
      return true;
    });
  });
}

// Reads orders and new orders. The order lines are read later and compared with the orders.
Status read_orders(Database& db, const Tables& tables, uint32_t warehouse, uint32_t district, const Sizes& sizes, DistrictFacts* facts) {
  const KeyRange range = OrderKey::prefix(warehouse, district);
  const auto keys = [&] {
    std::vector<Key> all;
    for (uint32_t number = 1; number < facts->district.next_order; ++number)
      all.push_back(OrderKey::pack_unchecked(warehouse, district, number));
    return all;
  };
  Status wrong;
  Status status = each_row(db, tables.order, tables.order_checked, range, keys, [&](Key key, const Order& row) {
    const auto number = static_cast<uint32_t>(OrderKey::unpack(key)[2]);
    facts->orders.push_back({number, row.customer, row.carrier, row.line_count});
    facts->lines_ordered += row.line_count;
    if (wrong.ok() && (row.customer == 0 || row.customer > sizes.customers))
      wrong = strange("order " + std::to_string(number), "names customer " + std::to_string(row.customer) + ", which cannot exist");
  });
  if (!status.ok()) return status;
  if (!wrong.ok()) return wrong;
  return each_row(db, tables.new_order, {}, range, keys,
                  [&](Key key, const NewOrder&) { facts->new_orders.push_back(static_cast<uint32_t>(OrderKey::unpack(key)[2])); });
}

// Returns the keys of the lines that the district's orders should have.
std::vector<Key> line_keys(uint32_t warehouse, uint32_t district, const DistrictFacts& facts) {
  std::vector<Key> keys;
  for (const OrderFacts& order : facts.orders)
    for (uint32_t line = 1; line <= order.line_count; ++line)
      keys.push_back(LineKey::pack_unchecked(warehouse, district, order.order, line));
  return keys;
}

// Counts each order's lines. Adds up the amounts delivered to each customer and the quantities
// taken from each stock row.
class LineReader {
 public:
  LineReader(DistrictFacts* facts, GlobalFacts& global) : facts_(facts), global_(global) {}

  void take(Key key, const OrderLine& line) {
    const auto [warehouse, district, number, position] = LineKey::unpack(key);
    ++facts_->lines;
    while (at_ < facts_->orders.size() && facts_->orders[at_].order < number) ++at_;
    if (at_ < facts_->orders.size() && facts_->orders[at_].order == number) {
      OrderFacts& order = facts_->orders[at_];
      ++order.lines_found;
      order.lines_dated += line.delivery_date != 0;
      if (line.delivery_date != 0) facts_->customers[order.customer - 1].delivered_amount += line.amount;
    }
    if (number <= global_.sizes.customers) return;  // loaded orders did not take anything from stock
    if (!global_.has_stock(line.supply_warehouse, line.item)) {
      if (wrong_.ok()) wrong_ = strange("line " + std::to_string(position) + " of order " + std::to_string(number),
                       "names item " + std::to_string(line.item) + " of warehouse " + std::to_string(line.supply_warehouse) +
                           ", which cannot exist");
      return;
    }
    const size_t stock = global_.stock(line.supply_warehouse, line.item);
    global_.stock_ytd.add(stock, line.quantity);
    global_.stock_orders.add(stock, 1);
    if (line.supply_warehouse != warehouse) global_.stock_remote.add(stock, 1);
  }
  const Status& wrong() const { return wrong_; }

 private:
  DistrictFacts* facts_;
  GlobalFacts& global_;
  size_t at_ = 0;  // index into the orders, which are sorted like the lines
  Status wrong_;
};

}  // namespace

GlobalFacts::GlobalFacts(const Sizes& given)
    : sizes(given),
      paid_by_customer(size_t{given.warehouses} * kDistricts * given.customers),
      paid_to_district(size_t{given.warehouses} * kDistricts),
      district_ytd(size_t{given.warehouses} * kDistricts),
      stock_ytd(size_t{given.warehouses} * given.items),
      stock_orders(size_t{given.warehouses} * given.items),
      stock_remote(size_t{given.warehouses} * given.items) {}

bool GlobalFacts::has_customer(uint64_t warehouse, uint64_t district, uint64_t customer) const {
  return warehouse >= 1 && warehouse <= sizes.warehouses && district >= 1 && district <= kDistricts && customer >= 1 &&
         customer <= sizes.customers;
}

bool GlobalFacts::has_stock(uint64_t warehouse, uint64_t item) const {
  return warehouse >= 1 && warehouse <= sizes.warehouses && item >= 1 && item <= sizes.items;
}

uint64_t rows_of(const Database& db, const std::string& table) {
  for (const Statistics::Table& one : db.statistics().tables)
    if (one.name == table) return one.rows;
  return 0;
}

Status run_tasks(uint32_t threads, uint64_t count, const std::function<Status(uint64_t)>& task) {
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  Status first_error;
  const auto work = [&] {
    for (uint64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      Status status = task(i);
      if (status.ok()) continue;
      next.store(count);
      std::lock_guard lock(mutex);
      if (first_error.ok()) first_error = status;
    }
  };
  std::vector<std::thread> helpers;
  for (uint32_t t = 1; t < threads && t < count; ++t) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  return first_error;
}

Status read_history(Database& db, const Tables& tables, uint32_t source, const std::function<uint64_t(uint64_t)>& counter, uint64_t first,
                    uint64_t last, GlobalFacts& global) {
  std::vector<Key> keys;
  keys.reserve(last - first);
  for (uint64_t i = first; i < last; ++i) keys.push_back(HistoryKey::pack_unchecked(source, counter(i)));
  Status wrong;
  uint64_t found = 0;
  Status status = read_rows(db, tables.history, tables.history_checked, keys, false, [&](Key key, const History& row) {
    if (!global.has_customer(row.customer_warehouse, row.customer_district, row.customer) ||
        !global.has_customer(row.warehouse, row.district, 1)) {
      wrong = strange("history row " + std::to_string(key), "names a customer or district that cannot exist");
      return;
    }
    global.paid_by_customer.add(global.customer(row.customer_warehouse, row.customer_district, row.customer), row.amount);
    global.paid_to_district.add(global.district(row.warehouse, row.district), row.amount);
    ++found;
  });
  if (source != kLoaderSource) global.payments += found;
  return status.ok() ? wrong : status;
}

Result<DistrictFacts> read_district(Database& db, const Tables& tables, uint32_t warehouse, uint32_t district, GlobalFacts& global) {
  DistrictFacts facts;
  const Key key = DistrictKey::pack_unchecked(warehouse, district);
  Status status = read_rows(db, tables.district, tables.district_checked, std::span(&key, 1), true, [&](Key, const District& row) {
    facts.district.ytd = row.ytd;
    facts.district.next_order = row.next_order;
  });
  if (!status.ok()) return status;
  if (status = read_customers(db, tables, warehouse, district, global.sizes, &facts); !status.ok()) return status;
  if (status = read_orders(db, tables, warehouse, district, global.sizes, &facts); !status.ok()) return status;
  LineReader lines(&facts, global);
  status = each_row(db, tables.line, tables.line_checked, LineKey::prefix(warehouse, district),
                    [&] { return line_keys(warehouse, district, facts); }, [&](Key line, const OrderLine& row) { lines.take(line, row); });
  if (!status.ok()) return status;
  if (!lines.wrong().ok()) return lines.wrong();
  return facts;
}

}  // namespace elider::bench::tpcc
