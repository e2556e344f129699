#include "txn/history_recorder.h"

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

void HistoryRecorder::add_writes(WriteSet& writes, const IndexChanges& changes, std::vector<HistoryOperation>* operations) const {
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
    operations->push_back(std::move(operation));
  }
  // Of the rows that this transaction left there, as their last change of each index has it.
  for (const IndexChange& change : changes) {
    const WriteEntry* write = writes.find(change.row, change.table->layout(), 0);
    if (change.superseded || (write != nullptr && write->leaves_none())) continue;
    HistoryOperation operation;
    operation.kind = HistoryOperation::Kind::kIndexValue;
    operation.table = change.table->id();
    operation.index = change.index;
    operation.key = change.table->number_of(change.key);
    operation.value = change.new_value;
    operations->push_back(std::move(operation));
  }
}

void HistoryRecorder::tell(const End& end, WriteSet* writes, const IndexChanges* changes) {
  try {
    HistoryTransaction history;
    history.session = session_;
    history.begin_ns = begin_ns_;
    history.end_ns = now_ns();
    history.committed = end.committed;
    history.read_only = end.read_only;
    history.cause = end.cause;
    history.snapshot = end.snapshot;
    history.order = end.order;
    history.attempt = end.attempt;
    history.procedure = store_.procedures.name(end.procedure);
    history.operations = std::move(operations_);
    if (end.committed && writes != nullptr) add_writes(*writes, *changes, &history.operations);
    store_.options.history->on_transaction(history);
  } catch (...) {
  }
  operations_.clear();
}

}  // namespace elider::txn
