#include "bench/tpcc/terminal.h"

#include "bench/common/driver.h"

namespace elider::bench::tpcc {

Terminal::Terminal(Database& db, const Tables& tables, const Workload& workload, SnapshotUse snapshots, uint32_t thread)
    : db_(db), tables_(tables), snapshots_(snapshots), inputs_(workload, thread) {
  for (uint32_t kind = 0; kind < kKinds; ++kind) policies_[kind].procedure_id = db.procedure_id(name_of(static_cast<Kind>(kind)));
}

uint32_t Terminal::run_one() {
  const Kind kind = inputs_.kind();
  const Status status = run(kind);
  if (status.ok()) [[likely]] return static_cast<uint32_t>(kind);
  failure_ = std::string(name_of(kind)) + ": " + status.message();
  return kWorkerFailed;
}

Status Terminal::run(Kind kind) {
  const uint32_t warehouse = inputs_.home_warehouse();
  switch (kind) {
    case Kind::kNewOrder: return run_new_order(warehouse);
    case Kind::kPayment: return run_payment(warehouse);
    case Kind::kOrderStatus: return run_order_status(warehouse);
    case Kind::kDelivery: return run_delivery(warehouse);
    case Kind::kStockLevel: return run_stock_level(warehouse);
  }
  return Status::invalid_argument("kind " + std::to_string(static_cast<int>(kind)) + " is not a TPC-C transaction");
}

template <class Body>
Status Terminal::execute(Kind kind, bool snapshot, Body&& body) {
  const RunPolicy& policy = policies_[static_cast<size_t>(kind)];
  return snapshot ? db_.run_read_only(body, policy) : db_.run(body, policy);
}

Status Terminal::run_new_order(uint32_t warehouse) {
  inputs_.draw(warehouse, &new_order_input_);
  Status status = execute(Kind::kNewOrder, false, [this](Transaction& txn) {
    return new_order(txn, tables_, new_order_input_, &new_order_output_);
  });
  if (status.ok()) {
    ++counts_.new_orders;
    return status;
  }
  if (status.code() != Code::kRolledBack) return status;
  ++counts_.rolled_back;  // it is complete all the same (2.4.3.4)
  return {};
}

Status Terminal::run_payment(uint32_t warehouse) {
  inputs_.draw(warehouse, &payment_input_);
  Status status = execute(Kind::kPayment, false, [this](Transaction& txn) {
    return payment(txn, tables_, payment_input_, scratch_, &payment_output_);
  });
  counts_.payments += status.ok();
  return status;
}

Status Terminal::run_order_status(uint32_t warehouse) {
  inputs_.draw(warehouse, &order_status_input_);
  return execute(Kind::kOrderStatus, snapshots_.order_status, [this](Transaction& txn) {
    return order_status(txn, tables_, order_status_input_, scratch_, &order_status_output_);
  });
}

Status Terminal::run_delivery(uint32_t warehouse) {
  inputs_.draw(warehouse, &delivery_input_);
  Status status = execute(Kind::kDelivery, false, [this](Transaction& txn) {
    return delivery(txn, tables_, delivery_input_, &delivery_output_);
  });
  if (!status.ok()) return status;
  for (const uint32_t order : delivery_output_.order) ++(order != 0 ? counts_.delivered : counts_.skipped);
  return status;
}

Status Terminal::run_stock_level(uint32_t warehouse) {
  inputs_.draw(warehouse, &stock_level_input_);
  return execute(Kind::kStockLevel, snapshots_.stock_level, [this](Transaction& txn) {
    return stock_level(txn, tables_, stock_level_input_, &stock_level_output_);
  });
}

}  // namespace elider::bench::tpcc
