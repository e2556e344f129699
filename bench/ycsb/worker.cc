#include "bench/ycsb/worker.h"

#include <algorithm>
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
      table_(table),
      thread_(thread),
      of_one_operation_(options.operations == 1 && !options.batch),
      partitioned_(db.protocol() == Protocol::kPartitioned),
      stream_(options, space, thread, thread),
      values_(table, options.value_bytes, options.key_format),
      calls_(std::max(options.common.group, 1u)) {
  policy_.procedure_id = db.procedure_id("ycsb");
  policy_.size = options.common.group;
}

// Declares the partitions that the operations use, for the protocol `partitioned`. Key k is in
// partition k modulo the number of partitions. A scan uses all partitions.
void YcsbWorker::declare(std::span<const Operation> operations) {
  partitions_.clear();
  for (const Operation& operation : operations) partitions_.push_back(static_cast<uint32_t>(operation.key % options_.common.partitions));
  policy_.partitions = any_scans(operations) ? std::span<const uint32_t>() : partitions_;
}

uint32_t YcsbWorker::fail(const Status& status) {
  failure_ = fmt::format("thread {}: {}", thread_, status.message());
  return kWorkerFailed;
}

uint32_t YcsbWorker::run_several() {
  const std::span operations(calls_[0].operations.data(), options_.operations);
  stream_.draw(operations);
  const Status status =
      run_on(operations, [this, operations](Transaction& txn) -> Status { return values_.run(txn, operations, options_.batch); });
  if (!status.ok()) [[unlikely]] return fail(status);
  stream_.committed(operations);
  scanned_rows_ += values_.scanned_rows();
  return type_of(operations[0]);
}

void YcsbWorker::touch(std::span<const Operation> operations, Touches& touches) const {
  touches.read_only(options_.snapshot_reads && !any_writes(operations));
  const auto touch_one = [&](const Operation& operation, auto key) {
    if (operation.kind == OperationKind::kScan) touches.range(table_, key);
    else touches.row(table_, key);
  };
  std::byte memory[KeyFormat::kBytesMax];
  for (const Operation& operation : operations) {
    if (options_.key_format.is_number()) touch_one(operation, operation.key);
    else touch_one(operation, options_.key_format.key_of(operation.key, memory));
  }
}

bool YcsbWorker::run_group(GroupTimes& times) {
  const auto operations_of = [this](Call& call) { return std::span(call.operations.data(), options_.operations); };
  for (Call& call : calls_) stream_.draw(operations_of(call));
  times.begin(calls_.size());
  Status status = db_.run_group(
      calls_.size(), [&](size_t i, Touches& touches) { touch(operations_of(calls_[i]), touches); },
      [&](size_t i, Transaction& txn) -> Status {
        times.runs(i);
        Status ended = values_.run(txn, operations_of(calls_[i]), options_.batch);
        calls_[i].scanned_rows = values_.scanned_rows();
        return ended;
      },
      {}, policy_);
  times.end();
  if (!status.ok()) [[unlikely]] return fail(status), false;
  for (size_t i = 0; i < calls_.size(); ++i) {
    times.types[i] = type_of(calls_[i].operations[0]);
    stream_.committed(operations_of(calls_[i]));
    scanned_rows_ += calls_[i].scanned_rows;
  }
  return true;
}

}  // namespace elider::bench
