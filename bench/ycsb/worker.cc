#include "bench/ycsb/worker.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "bench/ycsb/value.h"

namespace elider::bench {

namespace {

constexpr double kTwoTo32 = 4294967296.0;

}  // namespace

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
      value_bytes_(options.value_bytes),
      operations_(options.operations),
      space_(space),
      chooser_(options, space),
      random_(options.common.seed, thread),
      thread_(thread),
      row_(options.value_bytes) {
  policy_.procedure_id = db.procedure_id("ycsb");
  double sum = 0;
  size_t last = 0;
  for (size_t kind = 0; kind < kOperationKinds; ++kind) {
    sum += options.shares[kind];
    kind_below_[kind] = static_cast<uint64_t>(std::round(sum / 100 * kTwoTo32));
    if (options.shares[kind] > 0) last = kind;
  }
  // Whatever rounding left goes to the last kind that has a share.
  for (size_t kind = last; kind < kOperationKinds; ++kind) kind_below_[kind] = uint64_t{1} << 32;
}

OperationKind YcsbWorker::draw_kind() {
  const uint64_t drawn = random_.next() >> 32;
  size_t kind = 0;
  while (drawn >= kind_below_[kind]) ++kind;
  return static_cast<OperationKind>(kind);
}

void YcsbWorker::draw_operation(Operation& operation) {
  operation.kind = draw_kind();
  if (operation.kind == OperationKind::kInsert) operation.key = space_.key(space_.next_record(thread_));
  else operation.key = chooser_.draw(random_);
  if (operation.kind == OperationKind::kScan) operation.scan_rows = static_cast<uint32_t>(random_.between(1, kScanRowsMax));
}

template <class F>
Status YcsbWorker::execute(bool only_reads, F&& procedure) {
  return only_reads && options_.snapshot_reads ? db_.run_read_only(procedure, policy_) : db_.run(procedure, policy_);
}

uint32_t YcsbWorker::run_one() { return operations_ == 1 && !options_.batch ? run_single() : run_several(); }

uint32_t YcsbWorker::run_single() {
  Operation& operation = drawn_[0];
  draw_operation(operation);
  const bool only_reads = operation.kind == OperationKind::kRead || operation.kind == OperationKind::kScan;
  Status status = execute(only_reads, [this, &operation](Transaction& txn) -> Status {
    scanned_ = 0;
    return do_operation(txn, operation);
  });
  return ended(std::move(status), types_.of_kind[static_cast<size_t>(operation.kind)]);
}

uint32_t YcsbWorker::run_several() {
  bool only_reads = true;
  uint32_t inserts = 0;
  for (uint32_t i = 0; i < operations_; ++i) {
    draw_operation(drawn_[i]);
    // A thread's second insert in one transaction would draw the record of the first, which is not
    // committed yet.
    if (drawn_[i].kind == OperationKind::kInsert && inserts++ > 0) drawn_[i] = {chooser_.draw(random_), OperationKind::kRead, 0};
    only_reads = only_reads && (drawn_[i].kind == OperationKind::kRead || drawn_[i].kind == OperationKind::kScan);
  }
  Status status;
  if (options_.batch) {
    status = execute(only_reads, [this](Transaction& txn) -> Status { return do_batch(txn); });
  } else {
    status = execute(only_reads, [this](Transaction& txn) -> Status {
      scanned_ = 0;
      for (uint32_t i = 0; i < operations_; ++i)
        if (Status each = do_operation(txn, drawn_[i]); !each.ok()) [[unlikely]] return each;
      return {};
    });
  }
  return ended(std::move(status), operations_ == 1 ? types_.of_kind[static_cast<size_t>(drawn_[0].kind)] : types_.of_several);
}

uint32_t YcsbWorker::ended(Status status, uint32_t type) {
  if (!status.ok()) [[unlikely]] {
    failure_ = fmt::format("thread {}: {}", thread_, status.message());
    return kWorkerFailed;
  }
  for (uint32_t i = 0; i < operations_; ++i) {
    counts_.read_modify_writes += drawn_[i].kind == OperationKind::kReadModifyWrite;
    if (drawn_[i].kind == OperationKind::kInsert) [[unlikely]] space_.record_inserted(thread_);
  }
  counts_.scanned_rows += scanned_;
  return type;
}

Status YcsbWorker::do_operation(Transaction& txn, const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::kRead: return read(txn, operation.key);
    case OperationKind::kUpdate: return update(txn, operation.key);
    case OperationKind::kReadModifyWrite: return read_modify_write(txn, operation.key);
    case OperationKind::kInsert: return insert(txn, operation.key);
    case OperationKind::kScan: return scan(txn, operation.key, operation.scan_rows);
  }
  return {};
}

Status YcsbWorker::do_batch(Transaction& txn) {
  uint32_t wanted = 0;
  for (uint32_t i = 0; i < operations_; ++i)
    if (drawn_[i].kind != OperationKind::kInsert) keys_[wanted++] = drawn_[i].key;
  if (Status status = txn.multi_get(table_, keys_.data(), wanted, ColumnsRef(), views_.data()); !status.ok()) [[unlikely]] return status;
  uint32_t view = 0;
  for (uint32_t i = 0; i < operations_; ++i) {
    const Operation& operation = drawn_[i];
    Status status = operation.kind == OperationKind::kInsert ? insert(txn, operation.key) : write_view(txn, operation, views_[view++]);
    if (!status.ok()) [[unlikely]] return status;
  }
  return {};
}

Status YcsbWorker::write_view(Transaction& txn, const Operation& operation, RawView view) {
  if (!view || !value_ends_match(view.bytes(), value_bytes_, operation.key)) [[unlikely]] return damaged(operation.key);
  if (operation.kind == OperationKind::kRead) return {};
  const uint64_t stamp = operation.kind == OperationKind::kUpdate ? random_.next() : 0;
  return txn.update(Table<ValueRow>(table_.base()), View<ValueRow>(view), Columns<ValueRow>(), [&](ValueRow& row) {
    // The image and not the view: it holds what this transaction wrote to the same key before.
    const uint64_t counter = operation.kind == OperationKind::kUpdate ? stamp : value_counter(&row) + 1;
    fill_value(&row, value_bytes_, operation.key, counter);
  });
}

Status YcsbWorker::read(Transaction& txn, Key key) {
  RawView view;
  if (Status status = txn.get(table_, key, ColumnsRef(), &view); !status.ok()) [[unlikely]] return status;
  if (!value_ends_match(view.bytes(), value_bytes_, key)) [[unlikely]] return damaged(key);
  return {};
}

Status YcsbWorker::update(Transaction& txn, Key key) {
  fill_value(row_.data(), value_bytes_, key, random_.next());
  return txn.write(table_, key, ColumnsRef(), row_.data());
}

Status YcsbWorker::read_modify_write(Transaction& txn, Key key) {
  void* image = nullptr;
  if (Status status = txn.edit(table_, key, ColumnsRef(), &image); !status.ok()) [[unlikely]] return status;
  if (!value_ends_match(image, value_bytes_, key)) [[unlikely]] return damaged(key);
  fill_value(image, value_bytes_, key, value_counter(image) + 1);
  return txn.edited(table_, image);
}

Status YcsbWorker::insert(Transaction& txn, Key key) {
  fill_value(row_.data(), value_bytes_, key, 0);
  return txn.insert(table_, key, row_);
}

Status YcsbWorker::scan(Transaction& txn, Key key, uint32_t rows) {
  uint64_t seen = 0;
  Key wrong = 0;
  bool whole = true;
  ScanOptions scan_options;
  scan_options.limit = rows;
  Status status = txn.scan(table_, KeyRange{key, kKeyMax}, scan_options, [&](Key at, RawView view) -> bool {
    ++seen;
    if (value_ends_match(view.bytes(), value_bytes_, at)) [[likely]] return true;
    wrong = at;
    return whole = false;
  });
  if (!status.ok()) [[unlikely]] return status;
  scanned_ += seen;
  if (!whole || seen == 0) [[unlikely]] return damaged(whole ? key : wrong);
  return {};
}

Status YcsbWorker::damaged(Key key) {
  return Status::invalid_argument(fmt::format("the row of key {} is missing, torn or another key's", key));
}

}  // namespace elider::bench
