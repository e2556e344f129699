#include "txn/history_recorder.h"

#include <algorithm>

#include "base/clock.h"

namespace elider::txn {

void HistoryRecorder::start_clock() { begin_ns_ = now_ns(); }

void HistoryRecorder::add_read(const detail::TableBase& table, KeyRef key, uint32_t g, bool present, uint64_t sequence) {
  HistoryOperation operation;
  operation.kind = present ? HistoryOperation::Kind::kRead : HistoryOperation::Kind::kReadAbsent;
  operation.table = table.id();
  operation.group = g;
  operation.key = table.number_of(key);
  operation.version = sequence;
  operations_.push_back(std::move(operation));
}

void HistoryRecorder::forget_absence(const detail::TableBase& table, KeyRef key) {
  for (HistoryOperation& o : operations_)
    if (o.kind == HistoryOperation::Kind::kReadAbsent && o.table == table.id() && o.key == table.number_of(key)) o.version = 0;
}

void HistoryRecorder::add_writes(WriteSet& writes, const IndexChanges& changes) {
  for (const WriteEntry& write : writes) {
    if (write.kind == WriteKind::kNone) continue;
    HistoryOperation operation;
    operation.kind = write.kind == WriteKind::kRemove                                   ? HistoryOperation::Kind::kRemove
                     : write.additions != nullptr && write.columns->spans.empty() ? HistoryOperation::Kind::kAdd
                                                                                        : HistoryOperation::Kind::kWrite;
    operation.table = write.table->id();
    operation.group = write.group;
    operation.key = write.table->number_of(write.key);
    operation.version = storage::word::sequence(storage::word::next(write.locked_from, false));
    operations_.push_back(std::move(operation));
  }
  // Record the index values of the rows that this transaction left behind. The last change of each
  // index gives the value.
  for (const IndexChange& change : changes) {
    const WriteEntry* write = writes.find(change.row, change.table->layout(), 0);
    if (change.superseded || (write != nullptr && write->leaves_none())) continue;
    HistoryOperation operation;
    operation.kind = HistoryOperation::Kind::kIndexValue;
    operation.table = change.table->id();
    operation.index = change.index;
    operation.key = change.table->number_of(change.key);
    operation.value = change.new_value;
    operations_.push_back(std::move(operation));
  }
}

// If memory is exhausted, the history does not contain a record of this call.
void HistoryRecorder::keep(WriteSet& writes, const IndexChanges& changes) {
  try {
    add_writes(writes, changes);
  } catch (...) {
    lost_ = true;
  }
}

namespace {
bool writes(const HistoryOperation& operation) {
  using Kind = HistoryOperation::Kind;
  return operation.kind == Kind::kWrite || operation.kind == Kind::kRemove || operation.kind == Kind::kAdd ||
         operation.kind == Kind::kIndexValue;
}
}  // namespace

// Leaves out the reads by `other` of rows that were written here, because these reads are internal
// to the call. Reads precede writes.
void HistoryRecorder::join(HistoryRecorder& other) {
  using Kind = HistoryOperation::Kind;
  if (begin_ns_ == 0 || (other.begin_ns_ != 0 && other.begin_ns_ < begin_ns_)) begin_ns_ = other.begin_ns_;
  const auto written_here = [this, own = operations_.size()](uint32_t table, Key key, uint32_t group, uint64_t version) {
    return std::any_of(operations_.begin(), operations_.begin() + static_cast<std::ptrdiff_t>(own), [&](const HistoryOperation& o) {
      return writes(o) && o.kind != Kind::kIndexValue && o.table == table && o.key == key && o.group == group && o.version == version;
    });
  };
  lost_ = lost_ || other.lost_;
  other.lost_ = false;
  for (HistoryOperation& operation : other.operations_) {
    if ((operation.kind == Kind::kRead || operation.kind == Kind::kReadAbsent) &&
        written_here(operation.table, operation.key, operation.group, operation.version))
      continue;
    if (operation.kind == Kind::kScan)
      for (auto& [key, version] : operation.rows)
        for (uint32_t group = 0; group < kCommitGroupsMax && version != 0; ++group)
          if (written_here(operation.table, key, group, version)) version = 0;
    operations_.push_back(std::move(operation));
  }
  other.operations_.clear();
  std::stable_partition(operations_.begin(), operations_.end(), [](const HistoryOperation& o) { return !writes(o); });
}

void HistoryRecorder::tell(const End& end, WriteSet* writes, const IndexChanges* changes) {
  try {
    HistoryTransaction history;
    history.worker = worker_;
    history.begin_ns = begin_ns_;
    history.end_ns = now_ns();
    history.committed = end.committed;
    history.read_only = end.read_only;
    history.cause = end.cause;
    history.snapshot = end.snapshot;
    history.order = end.order;
    history.attempt = end.attempt;
    history.procedure = store_.procedures.name(end.procedure);
    if (end.committed && writes != nullptr) add_writes(*writes, *changes);
    history.operations = std::move(operations_);
    if (!lost_ && answers_later_ && end.committed) unanswered_.emplace(std::move(history));
    else if (!lost_) store_.options.history->on_transaction(history);
  } catch (...) {
  }
  operations_.clear();
  lost_ = false;
}

void HistoryRecorder::tell_answered() {
  if (!unanswered_) return;
  try {
    unanswered_->end_ns = now_ns();
    store_.options.history->on_transaction(*unanswered_);
  } catch (...) {
  }
  unanswered_.reset();
}

}  // namespace elider::txn
