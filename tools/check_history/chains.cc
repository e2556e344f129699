#include "tools/check_history/chains.h"

#include <algorithm>
#include <tuple>

namespace elider::check {

namespace {

struct Reference {
  Key key;
  uint64_t index;  // index of an operation; the indexes of rows follow those of all operations
  uint32_t table;
  uint32_t group;
};

bool by_item(const Reference& a, const Reference& b) {
  return std::tie(a.table, a.group, a.key, a.index) < std::tie(b.table, b.group, b.key, b.index);
}

bool same_item(const Item& item, const Reference& reference) {
  return item.key == reference.key && item.table == reference.table && item.group == reference.group;
}

}  // namespace

Chains::Chains(const RecordedHistory& history) : history_(history) {
  find_items();
  link_writes();
  find_index_values();
  operation_seen_.assign(history.operations.size(), kUnknown);
  row_seen_.assign(history.rows.size(), kUnknown);
  for (uint32_t txn = 0; txn < history.transactions.size(); ++txn) {
    if (!history.transactions[txn].committed) continue;
    own_writes(txn, &own_);
    resolve_operations(txn);
    resolve_scans(txn);
    check_index_scans(txn);
    check_writes_follow_reads(txn);
  }
}

void Chains::find_items() {
  std::vector<Reference> references;
  references.reserve(history_.operations.size() + history_.rows.size());
  for (uint64_t i = 0; i < history_.operations.size(); ++i) {
    const RecordedOperation& operation = history_.operations[i];
    references.push_back({operation.key, i, operation.table, operation.group});
  }
  for (const RecordedScan& scan : history_.scans) {
    for (uint64_t row = scan.rows_begin; row < scan.rows_begin + scan.rows_count; ++row) {
      references.push_back({history_.rows[row].key, history_.operations.size() + row, scan.table, 0});
    }
  }
  std::sort(references.begin(), references.end(), by_item);
  operation_items_.resize(history_.operations.size());
  row_items_.resize(history_.rows.size());
  for (const Reference& reference : references) {
    if (items_.empty() || !same_item(items_.back(), reference)) items_.push_back({reference.key, reference.table, reference.group});
    const uint32_t id = items_count() - 1;
    if (reference.index < history_.operations.size()) operation_items_[reference.index] = id;
    else row_items_[reference.index - history_.operations.size()] = id;
  }
}

void Chains::link_writes() {
  chain_begins_.assign(items_.size() + 1, 0);
  const auto each_write = [&](auto&& use) {
    for (uint32_t txn = 0; txn < history_.transactions.size(); ++txn) {
      const RecordedTransaction& transaction = history_.transactions[txn];
      for (uint64_t i = transaction.operations_begin; i < transaction.operations_begin + transaction.operations_count; ++i) {
        if (is_write(history_.operations[i].kind)) use(txn, transaction.committed, operation_items_[i], history_.operations[i]);
      }
    }
  };
  each_write([&](uint32_t txn, bool committed, uint32_t item, const RecordedOperation& operation) {
    if (committed) ++chain_begins_[item + 1];
    else if (operation.version != 0) aborted_writes_.push_back({item, txn, operation.version});
  });
  for (size_t item = 0; item < items_.size(); ++item) chain_begins_[item + 1] += chain_begins_[item];
  writes_.resize(chain_begins_.back());
  std::vector<WriteIndex> fill(chain_begins_.begin(), chain_begins_.end() - 1);
  each_write([&](uint32_t txn, bool committed, uint32_t item, const RecordedOperation& operation) {
    if (committed) writes_[fill[item]++] = {operation.version, txn, operation.kind, false};
  });
  for (uint32_t item = 0; item < items_count(); ++item) {
    const auto first = writes_.begin() + chain_begins_[item];
    const auto last = writes_.begin() + chain_begins_[item + 1];
    const auto by_version = [](const ChainWrite& a, const ChainWrite& b) { return a.version < b.version; };
    // Chains are nearly sorted, and most are short.
    if (!std::is_sorted(first, last, by_version)) std::stable_sort(first, last, by_version);
    mark_repeated_writes(item);
  }
  std::sort(aborted_writes_.begin(), aborted_writes_.end(),
            [](const AbortedWrite& a, const AbortedWrite& b) { return std::tie(a.item, a.version) < std::tie(b.item, b.version); });
}

void Chains::mark_repeated_writes(uint32_t item) {
  for (WriteIndex i = chain_begin(item); i + 1 < chain_end(item); ++i) {
    ChainWrite& write = writes_[i];
    const ChainWrite& after = writes_[i + 1];
    // If a transaction overwrites its own write, other transactions must not read that write.
    if (write.txn == after.txn) write.intermediate = true;
    else if (write.version == after.version) {
      report("duplicate version", after.txn,
             "wrote version " + std::to_string(after.version) + " of " + name_of_item(item) + ", and so did " + name_of_txn(write.txn));
    }
  }
}

void Chains::resolve_operations(uint32_t txn) {
  const RecordedTransaction& transaction = history_.transactions[txn];
  for (uint64_t i = transaction.operations_begin; i < transaction.operations_begin + transaction.operations_count; ++i) {
    const RecordedOperation& operation = history_.operations[i];
    const uint32_t item = operation_items_[i];
    if (operation.kind == OperationKind::kRead) operation_seen_[i] = resolve_read(txn, item, operation.version);
    else if (operation.kind == OperationKind::kReadAbsent) operation_seen_[i] = resolve_absence(txn, item, operation.version);
    else if (transaction.read_only) {
      report("write in a read-only transaction", txn, "wrote " + name_of_item(item) + " although it is read-only");
    }
  }
}

// If a scan does not read any column in column group 0, it records, for each row, the version of
// another group. Such rows can be recognized, because each row of a scan is also recorded as a
// read, with its column group. The transaction may have read other groups of the row as well.
void Chains::find_reads_of_groups(uint32_t txn) {
  reads_of_groups_.clear();
  const RecordedTransaction& transaction = history_.transactions[txn];
  for (uint64_t i = transaction.operations_begin; i < transaction.operations_begin + transaction.operations_count; ++i) {
    const RecordedOperation& operation = history_.operations[i];
    if (operation.kind == OperationKind::kRead && history_.tables[operation.table].groups > 1)
      reads_of_groups_.emplace_back(operation.table, operation.key, operation.version, operation.group);
  }
  std::sort(reads_of_groups_.begin(), reads_of_groups_.end());
}

// Returns true if the version is that of a group other than 0.
bool Chains::is_of_another_group(uint32_t table, const RecordedRow& row) const {
  const auto first = std::lower_bound(reads_of_groups_.begin(), reads_of_groups_.end(), ReadOfGroup(table, row.key, row.version, 0));
  if (first == reads_of_groups_.end()) return false;
  const auto& [its_table, key, version, group] = *first;
  return its_table == table && key == row.key && version == row.version && group != 0;
}

void Chains::resolve_scans(uint32_t txn) {
  const RecordedTransaction& transaction = history_.transactions[txn];
  if (transaction.scans_count != 0) find_reads_of_groups(txn);
  for (uint64_t s = transaction.scans_begin; s < transaction.scans_begin + transaction.scans_count; ++s) {
    const RecordedScan& scan = history_.scans[s];
    for (uint64_t row = scan.rows_begin; row < scan.rows_begin + scan.rows_count; ++row) {
      const RecordedRow& got = history_.rows[row];
      const uint32_t item = row_items_[row];
      if (got.key < scan.range.first || got.key > scan.range.last) {
        report("scan out of range", txn, "scanned and got " + name_of_item(item) + ", which is not in the range that it scanned");
      }
      const bool first = row == scan.rows_begin;
      if (!first && (scan.reverse ? got.key >= history_.rows[row - 1].key : got.key <= history_.rows[row - 1].key)) {
        report("scan out of order", txn,
               "scanned and got " + name_of_item(item) + " after key " + key_text(history_.tables[scan.table], history_.rows[row - 1].key));
      }
      if (got.version != 0) row_seen_[row] = is_of_another_group(scan.table, got) ? kUnknown : resolve_read(txn, item, got.version);
      else if (!may_have_written_row(txn, scan.table, got.key)) {
        report("internal", txn, "scanned and got " + name_of_item(item) + " as its own write, but it never wrote it");
      }
    }
  }
}

void Chains::find_index_values() {
  for (const RecordedTransaction& txn : history_.transactions) {
    for (uint64_t i = txn.index_values_begin; txn.committed && i < txn.index_values_begin + txn.index_values_count; ++i) {
      const RecordedIndexValue& value = history_.index_values[i];
      index_values_.push_back({value.table, value.index, value.entry});
    }
  }
  std::sort(index_values_.begin(), index_values_.end());
}

void Chains::check_index_scans(uint32_t txn) {
  const RecordedTransaction& transaction = history_.transactions[txn];
  for (uint64_t s = transaction.index_scans_begin; s < transaction.index_scans_begin + transaction.index_scans_count; ++s) {
    const RecordedIndexScan& scan = history_.index_scans[s];
    for (uint64_t row = scan.rows_begin; row < scan.rows_begin + scan.rows_count; ++row) {
      const IndexEntry& got = history_.index_rows[row];
      const std::string was_given = "scanned and got " + name_of_entry(scan.table, scan.index, got);
      if (got < scan.first || got > scan.last)
        report("scan out of range", txn, was_given + ", which is not in the range that it scanned");
      if (!std::binary_search(index_values_.begin(), index_values_.end(), IndexValue{scan.table, scan.index, got}) &&
          !may_have_written_row(txn, scan.table, got.key))
        report("scan of an index value that was never written", txn, was_given);
      const IndexEntry* before = row == scan.rows_begin ? nullptr : &history_.index_rows[row - 1];
      if (before != nullptr && (scan.reverse ? got >= *before : got <= *before))
        report("scan out of order", txn,
               was_given + " after key " + key_text(history_.tables[scan.table], before->key) + " with value " +
                   std::to_string(before->value));
    }
  }
}

WriteIndex Chains::resolve_read(uint32_t txn, uint32_t item, uint64_t version) {
  const WriteIndex seen = find_version(item, version);
  if (seen == kUnknown) {
    report_bad_read(txn, item, version, seen);
    return seen;
  }
  const ChainWrite& write = writes_[seen];
  if (write.kind == OperationKind::kRemove || write.txn == txn || write.intermediate) report_bad_read(txn, item, version, seen);
  return seen;
}

void Chains::report_bad_read(uint32_t txn, uint32_t item, uint64_t version, WriteIndex seen) {
  const std::string read = "read version " + std::to_string(version) + " of " + name_of_item(item);
  if (seen != kUnknown) {
    const ChainWrite& write = writes_[seen];
    const std::string writer = name_of_txn(write.txn);
    if (write.kind == OperationKind::kRemove) {
      report("read of a removed row", txn, read + " as an existing row, but " + writer + " removed the row with that version");
    } else if (write.txn == txn) {
      report("internal", txn, read + ", which it wrote only at its own commit");
    } else {
      report("G1b (intermediate read)", txn, read + ", which " + writer + " wrote and then overwrote itself");
    }
    return;
  }
  const auto aborted = std::lower_bound(
      aborted_writes_.begin(), aborted_writes_.end(), AbortedWrite{item, 0, version},
      [](const AbortedWrite& a, const AbortedWrite& b) { return std::tie(a.item, a.version) < std::tie(b.item, b.version); });
  if (aborted != aborted_writes_.end() && aborted->item == item && aborted->version == version) {
    report("G1a (aborted read)", txn, read + ", which " + name_of_txn(aborted->txn) + " wrote and then aborted");
  } else {
    report("read of a version that was never written", txn, read);
  }
}

WriteIndex Chains::resolve_absence(uint32_t txn, uint32_t item, uint64_t version) {
  if (version == 0) return kUnresolved;
  // An insert that was rolled back leaves a record with a version that does not belong to any
  // write, so the last write up to that version is used.
  const auto first = writes_.begin() + chain_begin(item);
  const auto after = std::upper_bound(first, writes_.begin() + chain_end(item), version,
                                      [](uint64_t wanted, const ChainWrite& write) { return wanted < write.version; });
  if (after == first) return kInitial;
  const WriteIndex seen = static_cast<WriteIndex>(after - writes_.begin()) - 1;
  if (writes_[seen].kind == OperationKind::kRemove) return seen;
  report(
      "absence of a row that exists", txn,
      "found no row " + name_of_item(item) + " at version " + std::to_string(version) + ", but it existed since " + name_of_version(seen));
  return kUnknown;
}

void Chains::check_writes_follow_reads(uint32_t txn) {
  if (own_.empty()) return;
  const RecordedTransaction& transaction = history_.transactions[txn];
  for (uint64_t i = transaction.operations_begin; i < transaction.operations_begin + transaction.operations_count; ++i) {
    if (is_write(history_.operations[i].kind)) continue;
    const OwnWrite* own = find_own(own_, operation_items_[i]);
    if (own == nullptr || own->version > history_.operations[i].version) continue;
    report("version that goes backwards", txn,
           "read version " + std::to_string(history_.operations[i].version) + " of " + name_of_item(own->item) + " and wrote version " +
               std::to_string(own->version));
  }
}

std::pair<uint32_t, uint32_t> Chains::items_in(uint32_t table, KeyRange range) const {
  if (range.first > range.last) return {0, 0};
  const auto before = [](const Item& item, const Item& wanted) {
    return std::tie(item.table, item.group, item.key) < std::tie(wanted.table, wanted.group, wanted.key);
  };
  const auto first = std::lower_bound(items_.begin(), items_.end(), Item{range.first, table, 0}, before);
  const auto last = std::upper_bound(first, items_.end(), Item{range.last, table, 0}, before);
  return {static_cast<uint32_t>(first - items_.begin()), static_cast<uint32_t>(last - items_.begin())};
}

WriteIndex Chains::next(uint32_t item, WriteIndex seen) const {
  WriteIndex after = seen == kInitial ? chain_begin(item) : seen + 1;
  // Other transactions see all writes of a transaction to an item as a single write.
  while (seen != kInitial && after < chain_end(item) && writes_[after].txn == writes_[seen].txn) ++after;
  return after < chain_end(item) ? after : kInitial;
}

WriteIndex Chains::find_version(uint32_t item, uint64_t version) const {
  const auto first = writes_.begin() + chain_begin(item);
  // The last write with this version is used, because an insert and a removal by one transaction
  // may share a version.
  const auto after = std::upper_bound(first, writes_.begin() + chain_end(item), version,
                                      [](uint64_t wanted, const ChainWrite& write) { return wanted < write.version; });
  if (after == first || (after - 1)->version != version) return kUnknown;
  return static_cast<WriteIndex>(after - writes_.begin()) - 1;
}

void Chains::own_writes(uint32_t txn, std::vector<OwnWrite>* writes) const {
  writes->clear();
  const RecordedTransaction& transaction = history_.transactions[txn];
  for (uint64_t i = transaction.operations_begin; i < transaction.operations_begin + transaction.operations_count; ++i) {
    if (is_write(history_.operations[i].kind)) writes->push_back({operation_items_[i], history_.operations[i].version});
  }
  std::sort(writes->begin(), writes->end(),
            [](const OwnWrite& a, const OwnWrite& b) { return std::tie(a.item, a.version) < std::tie(b.item, b.version); });
}

const Chains::OwnWrite* Chains::find_own(const std::vector<OwnWrite>& writes, uint32_t item) {
  const auto found =
      std::lower_bound(writes.begin(), writes.end(), item, [](const OwnWrite& write, uint32_t wanted) { return write.item < wanted; });
  return found != writes.end() && found->item == item ? &*found : nullptr;
}

// Returns true if the transaction wrote any column group of the row, because a scan then reports
// the row as its transaction's own write. Also returns true if the transaction found the row
// absent. It may have inserted, scanned and removed the row, which does not leave a write.
bool Chains::may_have_written_row(uint32_t txn, uint32_t table, Key key) const {
  const RecordedTransaction& transaction = history_.transactions[txn];
  for (uint64_t i = transaction.operations_begin; i < transaction.operations_begin + transaction.operations_count; ++i) {
    const RecordedOperation& operation = history_.operations[i];
    if (operation.kind != OperationKind::kRead && operation.table == table && operation.key == key) return true;
  }
  return false;
}

std::string Chains::name_of_txn(uint32_t txn) const { return "T" + std::to_string(history_.transactions[txn].line); }

std::string Chains::name_of_item(uint32_t item) const {
  const Item& named = items_[item];
  std::string name = history_.tables[named.table].name + "[" + key_text(history_.tables[named.table], named.key) + "]";
  if (named.group != 0) name += "." + std::to_string(named.group);
  return name;
}

std::string Chains::name_of_version(WriteIndex seen) const {
  if (seen == kInitial) return "no version";
  const ChainWrite& write = writes_[seen];
  return "version " + std::to_string(write.version) + (write.kind == OperationKind::kRemove ? " (removed)" : "");
}

std::string Chains::name_of_entry(uint32_t table, uint32_t index, const IndexEntry& entry) const {
  return history_.tables[table].name + "[" + key_text(history_.tables[table], entry.key) + "] with value " +
         std::to_string(entry.value) + " of index " + std::to_string(index);
}

void Chains::report(std::string kind, uint32_t txn, std::string words) {
  anomalies_.push_back({std::move(kind), name_of_txn(txn) + " " + words, history_.transactions[txn].line});
}

}  // namespace elider::check
