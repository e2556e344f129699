#include "bench/tpcc/consistency.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string_view>

#include "bench/tpcc/consistency_facts.h"

namespace elider::bench::tpcc {
namespace {

enum Rule : uint32_t {
  kWarehouseYtd, kNextOrder, kNewOrderGaps, kLineTotal, kUndelivered, kLineCount, kLineDates, kWarehouseHistory, kDistrictHistory,
  kBalance, kOrderCounts, kYtdPayment, kEveryNewOrder, kEveryPayment, kEveryDelivery, kStockCounts, kRules,
};

std::vector<Condition> all_conditions() {
  const std::pair<const char*, const char*> texts[kRules] = {
      {"3.3.2.1", "w_ytd = sum(d_ytd)"},
      {"3.3.2.2", "d_next_o_id - 1 = max(o_id) = max(no_o_id)"},
      {"3.3.2.3", "max(no_o_id) - min(no_o_id) + 1 = rows of new_order, by district"},
      {"3.3.2.4", "sum(o_ol_cnt) = rows of order_line, by district"},
      {"3.3.2.5", "o_carrier_id is null exactly where new_order has the order"},
      {"3.3.2.6", "o_ol_cnt = rows of order_line, by order"},
      {"3.3.2.7", "ol_delivery_d is null exactly where o_carrier_id is"},
      {"3.3.2.8", "w_ytd = sum(h_amount), by warehouse"},
      {"3.3.2.9", "d_ytd = sum(h_amount), by district"},
      {"3.3.2.10", "c_balance = sum(ol_amount) of delivered lines - sum(h_amount), by customer"},
      {"3.3.2.11", "rows of order - rows of new_order = delivered orders, including loaded ones, by district"},
      {"3.3.2.12", "c_balance + c_ytd_payment = sum(ol_amount) of delivered lines, by customer"},
      {"new_orders", "committed NewOrders = orders added"},
      {"payments", "committed Payments = history rows added"},
      {"deliveries", "committed deliveries of an order = sum(c_delivery_cnt)"},
      {"stock", "s_ytd, s_order_cnt and s_remote_cnt = sums over the order lines, by stock row"},
  };
  std::vector<Condition> conditions(kRules);
  for (uint32_t i = 0; i < kRules; ++i) {
    conditions[i].clause = texts[i].first;
    conditions[i].statement = texts[i].second;
  }
  return conditions;
}

struct Side {
  const char* name;
  int64_t value;
};

// The results of one task's comparisons.
class Findings {
 public:
  // `where` returns the row's name. It is called only if the two sides differ.
  template <class Where>
  void compare(Rule rule, Side left, Side right, Where&& where) {
    Condition& condition = conditions_[rule];
    ++condition.checked;
    if (left.value == right.value) [[likely]] return;
    if (++condition.violations > Condition::kExamplesMax) return;
    condition.examples.push_back(where() + ": " + left.name + " = " + std::to_string(left.value) + ", but " + right.name + " = " +
                                 std::to_string(right.value));
  }
  void merge_into(std::vector<Condition>& all) const {
    for (uint32_t i = 0; i < kRules; ++i) {
      all[i].checked += conditions_[i].checked;
      all[i].violations += conditions_[i].violations;
      for (const std::string& example : conditions_[i].examples)
        if (all[i].examples.size() < Condition::kExamplesMax) all[i].examples.push_back(example);
    }
  }

 private:
  std::vector<Condition> conditions_{kRules};
};

std::string place(uint64_t warehouse) { return "warehouse " + std::to_string(warehouse); }
std::string place(uint64_t warehouse, uint64_t district) { return place(warehouse) + ", district " + std::to_string(district); }
std::string place(uint64_t warehouse, uint64_t district, const char* what, uint64_t number) {
  return place(warehouse, district) + ", " + what + " " + std::to_string(number);
}

void check_orders(const DistrictFacts& facts, uint32_t warehouse, uint32_t district, Findings& findings) {
  size_t waiting = 0;
  const auto& new_orders = facts.new_orders;
  const auto orphan = [&](uint32_t number) {
    findings.compare(kUndelivered, {"rows of new_order", 1}, {"rows of order", 0},
                     [&] { return place(warehouse, district, "order", number); });
  };
  for (const OrderFacts& order : facts.orders) {
    const auto where = [&] { return place(warehouse, district, "order", order.order); };
    while (waiting < new_orders.size() && new_orders[waiting] < order.order) orphan(new_orders[waiting++]);
    const bool is_waiting = waiting < new_orders.size() && new_orders[waiting] == order.order;
    waiting += is_waiting;
    findings.compare(kUndelivered, {"(o_carrier_id is null)", order.carrier == 0}, {"rows of new_order", is_waiting}, where);
    findings.compare(kLineCount, {"o_ol_cnt", order.line_count}, {"rows of order_line", order.lines_found}, where);
    const uint32_t dated_wanted = order.carrier == 0 ? 0 : order.lines_found;
    findings.compare(kLineDates, {"lines with ol_delivery_d", order.lines_dated},
                     {"lines delivered according to o_carrier_id", dated_wanted}, where);
  }
  while (waiting < new_orders.size()) orphan(new_orders[waiting++]);
}

void check_customers(const DistrictFacts& facts, const GlobalFacts& global, uint32_t warehouse, uint32_t district, Findings& findings) {
  for (uint32_t number = 1; number <= facts.customers.size(); ++number) {
    const CustomerFacts& customer = facts.customers[number - 1];
    const auto where = [&] { return place(warehouse, district, "customer", number); };
    const int64_t paid = global.paid_by_customer[global.customer(warehouse, district, number)];
    findings.compare(kBalance, {"c_balance", customer.balance}, {"sum(ol_amount) - sum(h_amount)", customer.delivered_amount - paid},
                     where);
    findings.compare(kYtdPayment, {"c_balance + c_ytd_payment", customer.balance + customer.ytd_payment},
                     {"sum(ol_amount)", customer.delivered_amount}, where);
  }
}

Status check_district(Database& db, const Tables& tables, uint32_t warehouse, uint32_t district, GlobalFacts& global, Findings& findings) {
  auto read = read_district(db, tables, warehouse, district, global);
  if (!read.ok()) return read.status();
  const DistrictFacts& facts = *read;
  const auto where = [&] { return place(warehouse, district); };
  const int64_t last_number = int64_t{facts.district.next_order} - 1;
  const int64_t max_order = facts.orders.empty() ? 0 : facts.orders.back().order;
  findings.compare(kNextOrder, {"d_next_o_id - 1", last_number}, {"max(o_id)", max_order}, where);
  const auto waiting = static_cast<int64_t>(facts.new_orders.size());
  if (waiting > 0) {
    const int64_t newest = facts.new_orders.back(), oldest = facts.new_orders.front();
    findings.compare(kNextOrder, {"d_next_o_id - 1", last_number}, {"max(no_o_id)", newest}, where);
    findings.compare(kNewOrderGaps, {"max(no_o_id) - min(no_o_id) + 1", newest - oldest + 1}, {"rows of new_order", waiting}, where);
  }
  findings.compare(kLineTotal, {"sum(o_ol_cnt)", static_cast<int64_t>(facts.lines_ordered)},
                   {"rows of order_line", static_cast<int64_t>(facts.lines)}, where);
  const int64_t paid = global.paid_to_district[global.district(warehouse, district)];
  findings.compare(kDistrictHistory, {"d_ytd", facts.district.ytd}, {"sum(h_amount)", paid}, where);
  uint64_t delivered = 0;
  for (const CustomerFacts& customer : facts.customers) delivered += customer.delivery_count;
  findings.compare(kOrderCounts, {"rows of order - rows of new_order", static_cast<int64_t>(facts.orders.size()) - waiting},
                   {"orders delivered", static_cast<int64_t>(global.sizes.delivered_orders() + delivered)}, where);
  check_orders(facts, warehouse, district, findings);
  check_customers(facts, global, warehouse, district, findings);
  global.district_ytd.add(global.district(warehouse, district), facts.district.ytd);
  global.new_orders += facts.orders.size();
  global.delivered += delivered;
  return {};
}

// Called after the sums of all districts are complete.
Status check_warehouse(Database& db, const Tables& tables, uint32_t warehouse, const GlobalFacts& global, Findings& findings) {
  int64_t districts_ytd = 0, paid = 0;
  for (uint32_t district = 1; district <= kDistricts; ++district) {
    districts_ytd += global.district_ytd[global.district(warehouse, district)];
    paid += global.paid_to_district[global.district(warehouse, district)];
  }
  const Key key = WarehouseKey::pack_unchecked(warehouse);
  const auto where = [&] { return place(warehouse); };
  Status status = read_rows(db, tables.warehouse, tables.warehouse_checked, std::span(&key, 1), true, [&](Key, const Warehouse& row) {
    findings.compare(kWarehouseYtd, {"w_ytd", row.ytd}, {"sum(d_ytd)", districts_ytd}, where);
    findings.compare(kWarehouseHistory, {"w_ytd", row.ytd}, {"sum(h_amount)", paid}, where);
  });
  if (!status.ok()) return status;
  std::vector<Key> keys(global.sizes.items);
  for (uint32_t item = 1; item <= global.sizes.items; ++item) keys[item - 1] = StockKey::pack_unchecked(warehouse, item);
  return read_rows(db, tables.stock, tables.stock_counts, keys, true, [&](Key stock_key, const Stock& row) {
    const uint64_t item = StockKey::unpack(stock_key)[1];
    const size_t at = global.stock(warehouse, item);
    const auto stock = [&] { return place(warehouse) + ", item " + std::to_string(item); };
    findings.compare(kStockCounts, {"s_ytd", row.ytd}, {"sum(ol_quantity)", global.stock_ytd[at]}, stock);
    findings.compare(kStockCounts, {"s_order_cnt", row.order_count}, {"rows of order_line", global.stock_orders[at]}, stock);
    findings.compare(kStockCounts, {"s_remote_cnt", row.remote_count}, {"rows of order_line of other warehouses", global.stock_remote[at]},
                     stock);
  });
}

// Reads history rows by their assigned keys, because a hash table cannot be scanned.
Status read_all_history(Database& db, const Tables& tables, const Workload& workload, const RunTotals& totals, GlobalFacts& global) {
  constexpr uint64_t kRowsATask = 50'000;
  const Sizes& sizes = workload.sizes;
  struct Task {
    uint32_t source;
    uint64_t first, last;
  };
  std::vector<Task> tasks;
  const auto cut = [&](uint32_t source, uint64_t rows) {
    for (uint64_t at = 0; at < rows; at += kRowsATask) tasks.push_back({source, at, std::min(at + kRowsATask, rows)});
  };
  cut(kLoaderSource, uint64_t{sizes.warehouses} * kDistricts * sizes.customers);
  for (uint32_t thread = 0; thread < totals.history_keys.size(); ++thread) cut(source_of_thread(thread), totals.history_keys[thread]);
  const auto run = [](uint64_t i) { return i; };
  // The loader uses the customer's key as the counter of a history row.
  const auto loaded = [&](uint64_t i) {
    const uint64_t district = i / sizes.customers;
    return CustomerKey::pack_unchecked(district / kDistricts + 1, district % kDistricts + 1, i % sizes.customers + 1);
  };
  return run_tasks(workload.threads, tasks.size(), [&](uint64_t i) {
    const Task& task = tasks[i];
    return task.source == kLoaderSource ? read_history(db, tables, task.source, loaded, task.first, task.last, global)
                                        : read_history(db, tables, task.source, run, task.first, task.last, global);
  });
}

void check_totals(const GlobalFacts& global, const RunTotals& totals, uint64_t history_rows, Findings& findings) {
  const auto everywhere = [] { return std::string("all warehouses"); };
  const int64_t loaded = int64_t{global.sizes.warehouses} * kDistricts * global.sizes.customers;
  findings.compare(kEveryNewOrder, {"committed NewOrders", static_cast<int64_t>(totals.new_orders)},
                   {"orders added", static_cast<int64_t>(global.new_orders) - loaded}, everywhere);
  findings.compare(kEveryPayment, {"committed Payments", static_cast<int64_t>(totals.payments)},
                   {"history rows added", static_cast<int64_t>(global.payments)}, everywhere);
  findings.compare(kEveryPayment, {"committed Payments", static_cast<int64_t>(totals.payments)},
                   {"rows of history - loaded rows", static_cast<int64_t>(history_rows) - loaded}, everywhere);
  findings.compare(kEveryDelivery, {"committed deliveries", static_cast<int64_t>(totals.delivered)},
                   {"sum(c_delivery_cnt)", static_cast<int64_t>(global.delivered)}, everywhere);
}

}  // namespace

bool ConsistencyReport::ok() const {
  return std::all_of(conditions.begin(), conditions.end(), [](const Condition& condition) { return condition.violations == 0; });
}

const Condition* ConsistencyReport::find(std::string_view clause) const {
  for (const Condition& condition : conditions)
    if (condition.clause == clause) return &condition;
  return nullptr;
}

std::vector<std::string> ConsistencyReport::complaints() const {
  std::vector<std::string> lines;
  for (const Condition& condition : conditions) {
    if (condition.violations == 0) continue;
    lines.push_back("consistency condition " + condition.clause + " does not hold (" + condition.statement + "): " +
                    std::to_string(condition.violations) + " of " + std::to_string(condition.checked) + " comparisons");
    for (const std::string& example : condition.examples) lines.push_back("  " + example);
  }
  return lines;
}

Result<ConsistencyReport> check_consistency(Database& db, const Tables& tables, const Workload& workload, const RunTotals& totals) {
  const auto begin = std::chrono::steady_clock::now();
  ConsistencyReport report;
  report.conditions = all_conditions();
  GlobalFacts global(workload.sizes);
  std::mutex mutex;
  const auto finish = [&](const Findings& findings) {
    std::lock_guard lock(mutex);
    findings.merge_into(report.conditions);
  };
  if (Status status = read_all_history(db, tables, workload, totals, global); !status.ok()) return status;
  Status status = run_tasks(workload.threads, uint64_t{workload.sizes.warehouses} * kDistricts, [&](uint64_t i) {
    Findings findings;
    const auto warehouse = static_cast<uint32_t>(i / kDistricts + 1), district = static_cast<uint32_t>(i % kDistricts + 1);
    Status checked = check_district(db, tables, warehouse, district, global, findings);
    finish(findings);
    return checked;
  });
  if (!status.ok()) return status;
  status = run_tasks(workload.threads, workload.sizes.warehouses, [&](uint64_t i) {
    Findings findings;
    Status checked = check_warehouse(db, tables, static_cast<uint32_t>(i + 1), global, findings);
    finish(findings);
    return checked;
  });
  if (!status.ok()) return status;
  Findings findings;
  check_totals(global, totals, rows_of(db, tables.history.schema().name), findings);
  finish(findings);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

}  // namespace elider::bench::tpcc
