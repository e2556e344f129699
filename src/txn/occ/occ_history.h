// OccTransaction: what it tells the history (elider/history.h), where one is recorded.
#pragma once

#include "txn/occ/occ_transaction.h"

namespace elider::txn {

template <class Sync>
void OccTransaction<Sync>::record_read(detail::TableBase& table, Key key, uint32_t g, bool present, uint64_t sequence) {
  HistoryOperation operation;
  operation.kind = present ? HistoryOperation::Kind::kRead : HistoryOperation::Kind::kReadAbsent;
  operation.table = table.id();
  operation.group = g;
  operation.key = key;
  operation.version = sequence;
  operations_.push_back(std::move(operation));
}

// A key whose record has gone is absent still, but it may have had a row in between: which absence the transaction saw is
// for its place in the commit order to say.
template <class Sync>
void OccTransaction<Sync>::record_absence_anew(const detail::TableBase& table, Key key) {
  for (HistoryOperation& operation : operations_)
    if (operation.kind == HistoryOperation::Kind::kReadAbsent && operation.table == table.id() && operation.key == key) operation.version = 0;
}

// A scan becomes one operation; the rows it read are recorded by their reads too.
template <class Sync>
class OccTransaction<Sync>::ScanHistory {
 public:
  ScanHistory(OccTransaction& txn, detail::TableBase& table, KeyRange range, bool reverse) : txn_(txn), on_(txn.recording()) {
    if (!on_) [[likely]] return;
    operation_.kind = HistoryOperation::Kind::kScan;
    operation_.table = table.id();
    operation_.range = range;
    operation_.reverse = reverse;
  }
  void found(Key key, const detail::ImageHeader& header) {
    if (!on_) [[likely]] return;
    const bool own = header.read_index == ~0u;
    operation_.rows.emplace_back(key, own ? 0 : word::sequence(txn_.reads_[header.read_index].word));
  }
  void stopped(Key key) {
    if (operation_.reverse) operation_.range.first = key;
    else operation_.range.last = key;
  }
  void done(bool whole) {
    if (on_ && whole) [[unlikely]] txn_.operations_.push_back(std::move(operation_));
  }

 private:
  OccTransaction& txn_;
  const bool on_;
  HistoryOperation operation_;
};

// The transaction has ended: nothing that fails here may say otherwise.
template <class Sync>
void OccTransaction<Sync>::record_end(bool committed, Cause cause, uint64_t snapshot, uint64_t order) {
  try {
    tell_history(committed, cause, snapshot, order);
  } catch (...) {
  }
  operations_.clear();
}

template <class Sync>
void OccTransaction<Sync>::tell_history(bool committed, Cause cause, uint64_t snapshot, uint64_t order) {
  HistoryTransaction history;
  history.session = worker_.id();
  history.begin_ns = begin_ns_;
  history.end_ns = now_ns();
  history.committed = committed;
  history.cause = cause;
  history.snapshot = snapshot;
  history.order = order;
  history.attempt = attempt_;
  history.procedure = store_.procedures.name(procedure_);
  history.operations = std::move(operations_);
  for (const WriteEntry& write : writes_) {
    if (write.kind == WriteKind::kNone || !committed) continue;
    HistoryOperation operation;
    operation.kind = write.kind == WriteKind::kRemove                                   ? HistoryOperation::Kind::kRemove
                     : write.additions != nullptr && write.columns->spans.empty() ? HistoryOperation::Kind::kAdd
                                                                                        : HistoryOperation::Kind::kWrite;
    operation.table = write.table->id();
    operation.group = write.group;
    operation.key = write.key;
    operation.version = word::sequence(word::next(write.locked_from, false));
    history.operations.push_back(std::move(operation));
  }
  if (committed) tell_index_values(&history);
  store_.options.history->on_transaction(history);
}

// Of the rows that this transaction left there, as their last change of each index has it.
template <class Sync>
void OccTransaction<Sync>::tell_index_values(HistoryTransaction* history) {
  for (const IndexChange& change : index_changes_) {
    const WriteEntry* write = write_of(change.row, change.table->layout(), 0);
    if (change.superseded || (write != nullptr && (write->kind == WriteKind::kRemove || write->kind == WriteKind::kNone))) continue;
    HistoryOperation operation;
    operation.kind = HistoryOperation::Kind::kIndexValue;
    operation.table = change.table->id();
    operation.index = change.index;
    operation.key = change.key;
    operation.value = change.new_value;
    history->operations.push_back(std::move(operation));
  }
}

}  // namespace elider::txn
