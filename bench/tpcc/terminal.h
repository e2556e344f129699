// Terminal: one thread's generator of TPC-C transactions for the driver. It draws a kind and its
// input, runs it until it has committed, or is the one NewOrder in a hundred that rolls back, and
// counts what the consistency checks need to know.
// Thread safety: a terminal belongs to one thread; its counts are read when that has ended.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/tpcc/input.h"
#include "bench/tpcc/schema.h"
#include "bench/tpcc/transactions.h"

namespace elider::bench::tpcc {

// Which of the two transactions that only read run on a snapshot (Database::run_read_only); the
// others run like those that write, and can conflict.
struct SnapshotUse {
  bool order_status = true;
  bool stock_level = true;
};

struct TerminalCounts {
  uint64_t new_orders = 0;   // committed
  uint64_t rolled_back = 0;  // NewOrders with an unused item
  uint64_t payments = 0;     // committed
  uint64_t delivered = 0;    // orders
  uint64_t skipped = 0;      // districts where a Delivery found nothing to deliver
};

class Terminal {
 public:
  Terminal(Database& db, const Tables& tables, const Workload& workload, SnapshotUse snapshots, uint32_t thread);

  // Draws one transaction and runs it to its end. Its Kind as a number, or kWorkerFailed.
  uint32_t run_one();
  // The same, of this kind.
  Status run(Kind kind);
  std::string failure() const { return failure_; }

  const TerminalCounts& counts() const { return counts_; }
  uint64_t history_keys_used() const { return inputs_.history_keys_used(); }

 private:
  template <class Body>
  Status execute(Kind kind, bool snapshot, Body&& body);
  Status run_new_order(uint32_t warehouse);
  Status run_payment(uint32_t warehouse);
  Status run_order_status(uint32_t warehouse);
  Status run_delivery(uint32_t warehouse);
  Status run_stock_level(uint32_t warehouse);

  // Constant after construction.
  Database& db_;
  const Tables& tables_;
  SnapshotUse snapshots_;
  std::array<RunPolicy, kKinds> policies_;

  InputStream inputs_;
  Scratch scratch_;
  TerminalCounts counts_;
  std::string failure_;

  // The transaction in hand; kept here so that what it shows is really made.
  NewOrderInput new_order_input_;
  NewOrderOutput new_order_output_;
  PaymentInput payment_input_;
  PaymentOutput payment_output_;
  OrderStatusInput order_status_input_;
  OrderStatusOutput order_status_output_;
  DeliveryInput delivery_input_;
  DeliveryOutput delivery_output_;
  StockLevelInput stock_level_input_;
  StockLevelOutput stock_level_output_;
};

}  // namespace elider::bench::tpcc
