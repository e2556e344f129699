// Terminal: the worker (bench/common/driver.h) that runs TPC-C transactions on one thread. It draws
// a kind and an input, and runs the transaction until it commits or, in the case of one in a
// hundred NewOrders, rolls back. It also keeps the counters that the consistency checks need.
// Thread safety: a terminal belongs to one thread; its counters are read after that thread has
// ended.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "bench/common/driver.h"
#include "bench/common/durable_samples.h"
#include "bench/tpcc/input.h"
#include "bench/tpcc/schema.h"
#include "bench/tpcc/transactions.h"

namespace elider::bench::tpcc {

// Whether each of the two read-only kinds runs on a snapshot (Database::run_read_only). Otherwise,
// it runs like a writing transaction and can conflict.
struct SnapshotUse {
  bool order_status = true;
  bool stock_level = true;
  // Each thread holds a snapshot and advances it before each read-only transaction, which then does
  // not wait.
  bool held = false;
};

struct TerminalCounts {
  uint64_t new_orders = 0;   // committed
  uint64_t rolled_back = 0;  // NewOrders with a nonexistent item
  uint64_t payments = 0;     // committed
  uint64_t delivered = 0;    // number of delivered orders
  uint64_t skipped = 0;      // number of districts in which a Delivery did not find a waiting order
};

class Terminal {
 public:
  Terminal(Database& db, const Tables& tables, const Workload& workload, SnapshotUse snapshots, uint32_t thread,
           uint32_t group = 0, Sequence* history_ids = nullptr, const ChoppedTransactions* chopped = nullptr,
           uint32_t durable_sample_every = 0);

  // Draws one transaction and runs it to completion. Returns its Kind as a number, or
  // kWorkerFailed.
  uint32_t run_one();
  // Draws as many transactions as the constructor's `group` says, and runs them as a group. Returns
  // false if one of them failed (see failure()).
  bool run_group(GroupTimes& times);
  // Runs one transaction of this kind, and returns its status.
  Status run(Kind kind);
  std::string failure() const { return failure_; }
  // Starts sampling how long commits take to become durable.
  void begin_measuring() { samples_.begin_measuring(); }
  DurableSamples& samples() { return samples_; }
  // Must be called before the database is closed, because the terminal outlives the database but
  // its snapshot must not.
  void let_snapshot_go() { held_ = {}; }

  const TerminalCounts& counts() const { return counts_; }
  uint64_t history_keys_used() const { return inputs_.history_keys_used(); }

 private:
  // A transaction of a group: its input, whose variant alternative gives its kind, and its results.
  struct Call {
    std::variant<NewOrderInput, PaymentInput, OrderStatusInput, DeliveryInput, StockLevelInput> input;
    DeliveryOutput delivered;
    Kind kind() const { return static_cast<Kind>(input.index()); }
  };

  Status draw(Kind kind, Call* call);
  // Returns the partitions that the call uses. Under the protocol `partitioned`, each warehouse is
  // a partition.
  std::span<const uint32_t> partitions_of(const Call& call);
  Status perform(Transaction& txn, Call& call);
  // Returns use(procedure, argument), where `procedure` is the chopped procedure for `call` and
  // `argument` is the argument to pass to it. `call` must be of a kind that changes tables.
  template <class Use>
  auto in_pieces(Call& call, Use&& use);
  Status run_in_pieces(Call& call, const RunPolicy& policy);
  // Runs the calls that change tables as a group of chopped procedure calls, and the other calls as
  // a group of transactions.
  void run_group_in_pieces(const GroupPolicy& policy, GroupTimes& times);
  // Runs the calls calls_[i], for each i in `which`, as a group of transactions. `place` is the
  // position of the first of these calls in the whole group.
  void run_group_whole(const std::vector<size_t>& which, size_t place, const GroupPolicy& policy, GroupTimes& times);
  bool on_snapshot(Kind kind) const;
  // Returns the value for RunPolicy::snapshot of a read-only transaction: the held snapshot, or
  // null for the newest one.
  const HeldSnapshot* snapshot();
  // Counts the outcome. A NewOrder that rolled back also counts as completed (2.4.3.4).
  Status count(const Call& call, Status status);

  // Constant after construction.
  Database& db_;
  const Tables& tables_;
  SnapshotUse snapshots_;
  HeldSnapshot held_;
  std::array<RunPolicy, kKinds> policies_;
  const uint32_t group_;
  const bool partitioned_;
  Sequence* const history_ids_;  // null: the input stream numbers the history rows
  const ChoppedTransactions* const chopped_;  // null: no transaction is chopped

  InputStream inputs_;
  DurableSamples samples_;
  Scratch scratch_;
  TerminalCounts counts_;
  std::string failure_;

  std::vector<Call> calls_;  // the calls of a group, or one call
  std::vector<Status> outcomes_;
  // Used if a group contains calls of chopped procedures: the indexes in calls_ of the calls that
  // run in pieces and of the other calls, and the arguments of the calls that run in pieces.
  std::vector<size_t> in_pieces_, whole_;
  std::vector<std::variant<NewOrderCall, PaymentCall, DeliveryCall>> pieces_;
  std::vector<ProcedureCall> chopped_calls_;
  std::vector<Status> part_outcomes_;
  std::vector<uint32_t> partitions_;  // the partitions that a call uses
  // The last transaction's outputs. They are members so that the compiler cannot optimize the
  // outputs away.
  NewOrderOutput new_order_output_;
  PaymentOutput payment_output_;
  OrderStatusOutput order_status_output_;
  StockLevelOutput stock_level_output_;
};

}  // namespace elider::bench::tpcc
