#include "txn/history_recorder.h"

#include <algorithm>

#include "base/clock.h"

namespace elider::txn {

namespace {
bool named_by_bytes(const detail::TableBase& table) { return table.schema().key_kind == KeyKind::kBytes; }
std::string key_copy(KeyRef key) { return detail::bytes_of(key).to_string(); }

void set_key(HistoryOperation& operation, const detail::TableBase& table, KeyRef key) {
  if (named_by_bytes(table)) operation.key_bytes = key_copy(key);
  else operation.key = table.number_of(key);
}
bool has_key(const HistoryOperation& operation, const detail::TableBase& table, KeyRef key) {
  return named_by_bytes(table) ? operation.key_bytes == detail::bytes_of(key).text() : operation.key == table.number_of(key);
}
}  // namespace

void HistoryRecorder::Scan::take_range(const detail::TableBase& table, const detail::KeyRefRange& keys) {
  if (named_by_bytes(table)) {
    operation_.key_bytes = key_copy(keys.from);
    operation_.to_end = keys.to_end;
    if (!keys.to_end) operation_.end_bytes = key_copy(keys.to);
    return;
  }
  operation_.range = {table.number_of(keys.from), kKeyMax};
  if (keys.to_end) return;
  const Key to = table.number_of(keys.to);
  if (to == 0) operation_.range = {1, 0};
  else operation_.range.last = to - 1;
}

// Histories represent a range of number keys by its first and last key, both inclusive.
void HistoryRecorder::Scan::take_range(const detail::TableBase& table, const detail::EntryRange& entries) {
  operation_.range.first = entries.from_value;
  if (named_by_bytes(table)) {
    operation_.key_bytes = key_copy(entries.from);
    operation_.to_end = true;
    if (entries.to_end) return;
    operation_.end_bytes = key_copy(entries.to);
    operation_.to_end = operation_.end_bytes.empty();
    operation_.range.last = entries.to_value - (operation_.to_end ? 1 : 0);
    if (entries.to_value == 0 && operation_.to_end) operation_.range = {1, 0};
    return;
  }
  operation_.first_key = table.number_of(entries.from);
  if (entries.to_end) return;
  const Key to = table.number_of(entries.to);
  operation_.range.last = entries.to_value - (to == 0 ? 1 : 0);
  operation_.last_key = to - 1;
  if (entries.to_value == 0 && to == 0) operation_.range = {1, 0};
}

void HistoryRecorder::Scan::add_row(const detail::TableBase& table, KeyRef key, uint64_t version) {
  const bool bytes = named_by_bytes(table);
  if (bytes) operation_.row_keys.push_back(key_copy(key));
  operation_.rows.emplace_back(bytes ? 0 : table.number_of(key), version);
}

void HistoryRecorder::Scan::add_entry(const detail::TableBase& table, uint64_t value, KeyRef key) {
  const bool bytes = named_by_bytes(table);
  if (bytes) operation_.row_keys.push_back(key_copy(key));
  operation_.rows.emplace_back(value, bytes ? 0 : table.number_of(key));
}

void HistoryRecorder::Scan::stop_at(const detail::TableBase& table, KeyRef key) {
  if (!named_by_bytes(table)) {
    (operation_.reverse ? operation_.range.first : operation_.range.last) = table.number_of(key);
  } else if (operation_.reverse) {
    operation_.key_bytes = key_copy(key);
  } else {
    operation_.end_bytes = key_copy(key) + '\0';  // the next key
    operation_.to_end = false;
  }
}

void HistoryRecorder::start_clock() { begin_ns_ = now_ns(); }

void HistoryRecorder::add_read(const detail::TableBase& table, KeyRef key, uint32_t g, bool present, uint64_t version_number) {
  HistoryOperation operation;
  operation.kind = present ? HistoryOperation::Kind::kRead : HistoryOperation::Kind::kReadAbsent;
  operation.table = table.id();
  operation.group = g;
  set_key(operation, table, key);
  operation.version = version_number;
  operations_.push_back(std::move(operation));
}

void HistoryRecorder::forget_absence(const detail::TableBase& table, KeyRef key) {
  for (HistoryOperation& o : operations_)
    if (o.kind == HistoryOperation::Kind::kReadAbsent && o.table == table.id() && has_key(o, table, key)) o.version = 0;
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
    set_key(operation, *write.table, write.key);
    operation.version = storage::word::version_number(storage::word::next(write.locked_from, false));
    operations_.push_back(std::move(operation));
  }
  // Records the final index values of the rows that this transaction has changed but not removed.
  // If it changed a value several times, only the last change is recorded.
  for (const IndexChange& change : changes) {
    const WriteEntry* write = writes.find(change.row, change.table->layout(), 0);
    if (static_cast<const AnyTable*>(change.table)->index_definition(change.index).by_columns) continue;
    if (change.superseded || (write != nullptr && write->leaves_none())) continue;
    HistoryOperation operation;
    operation.kind = HistoryOperation::Kind::kIndexValue;
    operation.table = change.table->id();
    operation.index = change.index;
    set_key(operation, *change.table, change.key);
    operation.value = change.new_value.number();
    operations_.push_back(std::move(operation));
  }
}

// If memory is exhausted, the history will not contain this call.
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

// Moves the operations from `other` to this recorder, except for reads of versions that this
// recorder's transactions have written: such reads are internal to the call. Then sorts reads
// before writes.
void HistoryRecorder::join(HistoryRecorder& other) {
  using Kind = HistoryOperation::Kind;
  if (begin_ns_ == 0 || (other.begin_ns_ != 0 && other.begin_ns_ < begin_ns_)) begin_ns_ = other.begin_ns_;
  const auto written_here = [this, own = operations_.size()](uint32_t table, Key key, const std::string& bytes, uint32_t group,
                                                              uint64_t version) {
    return std::any_of(operations_.begin(), operations_.begin() + static_cast<std::ptrdiff_t>(own), [&](const HistoryOperation& o) {
      return writes(o) && o.kind != Kind::kIndexValue && o.table == table && o.key == key && o.key_bytes == bytes && o.group == group &&
             o.version == version;
    });
  };
  lost_ = lost_ || other.lost_;
  other.lost_ = false;
  for (HistoryOperation& operation : other.operations_) {
    if ((operation.kind == Kind::kRead || operation.kind == Kind::kReadAbsent) &&
        written_here(operation.table, operation.key, operation.key_bytes, operation.group, operation.version))
      continue;
    if (operation.kind == Kind::kScan)
      for (size_t i = 0; i < operation.rows.size(); ++i) {
        auto& [key, version] = operation.rows[i];
        const std::string& bytes = operation.row_keys.empty() ? operation.key_bytes : operation.row_keys[i];
        for (uint32_t group = 0; group < kColumnGroupsMax && version != 0; ++group)
          if (written_here(operation.table, key, bytes, group, version)) version = 0;
      }
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
