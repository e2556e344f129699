// YcsbWorker runs one thread's YCSB transactions (a BenchWorker, see bench/common/driver.h).
//
// Thread safety: one thread uses it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/common/driver.h"
#include "bench/ycsb/key_chooser.h"
#include "bench/ycsb/operation.h"
#include "bench/ycsb/value_table.h"
#include "bench/ycsb/workload.h"
#include "elider/database.h"
#include "elider/table.h"

namespace elider::bench {

// The indexes of the transaction types in the results of a run.
struct YcsbTypes {
  explicit YcsbTypes(const YcsbOptions& options);
  std::vector<std::string> names;
  std::array<uint32_t, kOperationKinds> of_kind{};  // for a transaction of one operation, by its kind
  uint32_t of_several = 0;                          // for a transaction of several operations
};

class YcsbWorker {
 public:
  YcsbWorker(const YcsbOptions& options, const YcsbTypes& types, Database& db, TableRef table, KeySpace& space, uint32_t thread);

  [[gnu::always_inline]] inline uint32_t run_one() {
    if (!of_one_operation_) return run_several();
    Operation& operation = calls_[0].operations[0];
    stream_.draw_one(operation);
    const Status status =
        run_on(std::span(&operation, 1), [this, &operation](Transaction& txn) -> Status { return values_.run_one(txn, operation); });
    if (!status.ok()) [[unlikely]] return fail(status);
    stream_.committed_one(operation);
    if (operation.kind == OperationKind::kScan) [[unlikely]] scanned_rows_ += values_.scanned_rows();
    return types_.of_kind[static_cast<size_t>(operation.kind)];
  }
  bool run_group(GroupTimes& times);
  std::string failure() const { return failure_; }
  // Counts over all committed transactions, including those of the warm-up.
  uint64_t read_modify_writes() const { return stream_.read_modify_writes(); }
  uint64_t scanned_rows() const { return scanned_rows_; }

 private:
  // One transaction of a group.
  struct Call {
    std::array<Operation, kOperationsMax> operations;
    uint64_t scanned_rows;
  };

  template <class F>
  [[gnu::always_inline]] inline Status run_on(std::span<const Operation> operations, const F& procedure) {
    if (options_.snapshot_reads && !any_writes(operations)) return db_.run_read_only(procedure, policy_);
    if (partitioned_) [[unlikely]] declare(operations);
    return db_.run(procedure, policy_);
  }
  [[gnu::noinline]] void declare(std::span<const Operation> operations);
  uint32_t run_several();
  void touch(std::span<const Operation> operations, Touches& touches) const;
  uint32_t type_of(const Operation& first) const {
    return options_.operations == 1 ? types_.of_kind[static_cast<size_t>(first.kind)] : types_.of_several;
  }
  uint32_t fail(const Status& status);

  const YcsbOptions& options_;
  const YcsbTypes& types_;
  Database& db_;
  const TableRef table_;
  const uint32_t thread_;
  const bool of_one_operation_;
  GroupPolicy policy_;
  const bool partitioned_;
  std::vector<uint32_t> partitions_;  // the partitions that one transaction uses
  OperationStream stream_;
  ValueTable values_;
  std::vector<Call> calls_;  // the calls of a group, or one call
  uint64_t scanned_rows_ = 0;
  std::string failure_;
};

}  // namespace elider::bench
