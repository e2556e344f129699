#include "bench/ycsb/worker.h"

#include <span>
#include <utility>

#include <fmt/format.h>

namespace elider::bench {

YcsbTypes::YcsbTypes(const YcsbOptions& options) {
  if (options.operations > 1) {
    names.push_back("transaction");
    return;
  }
  for (size_t kind = 0; kind < kOperationKinds; ++kind) {
    if (options.shares[kind] <= 0) continue;
    of_kind[kind] = static_cast<uint32_t>(names.size());
    names.push_back(name_of(static_cast<OperationKind>(kind)));
  }
}

YcsbWorker::YcsbWorker(const YcsbOptions& options, const YcsbTypes& types, Database& db, TableRef table, KeySpace& space, uint32_t thread)
    : options_(options),
      types_(types),
      db_(db),
      thread_(thread),
      stream_(options, space, thread, thread),
      values_(table, options.value_bytes) {
  policy_.procedure_id = db.procedure_id("ycsb");
}

template <class F>
Status YcsbWorker::execute(bool only_reads, F&& procedure) {
  return only_reads && options_.snapshot_reads ? db_.run_read_only(procedure, policy_) : db_.run(procedure, policy_);
}

uint32_t YcsbWorker::run_one() {
  const std::span operations(drawn_.data(), options_.operations);
  stream_.draw(operations);
  Status status = execute(!any_writes(operations),
                          [this, operations](Transaction& txn) -> Status { return values_.run(txn, operations, options_.batch); });
  if (!status.ok()) [[unlikely]] {
    failure_ = fmt::format("thread {}: {}", thread_, status.message());
    return kWorkerFailed;
  }
  stream_.committed(operations);
  scanned_rows_ += values_.scanned_rows();
  return options_.operations == 1 ? types_.of_kind[static_cast<size_t>(drawn_[0].kind)] : types_.of_several;
}

}  // namespace elider::bench
