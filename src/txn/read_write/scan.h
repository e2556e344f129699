// What TrackedReads records of a scan, leaf by leaf (txn/reads.h; DBX, section 5.3, "range
// query").
#pragma once

#include "txn/read_write/tracked_reads.h"

namespace elider::txn {

template <class Sync, class Claims>
class TrackedReads<Sync, Claims>::KeyScan {
 public:
  KeyScan(TrackedReads& txn, TableType& table) : txn_(txn), table_(table) {}

  void leaf(const auto& witnesses, const auto& covered) {
    for (const index::Witness& witness : witnesses) txn_.claim_leaf_read(table_, witness, {});
    node_ = txn_.tracking_.track_range(table_, witnesses, covered);
  }
  void row(Row* row, bool there) {
    if (kRecording == Recording::kNone) return;
    Presence presence = there ? Presence::kPresent : Presence::kAbsent;
    if (!txn_.writes_.empty()) OwnWrites(txn_.writes_).presence(row, table_.layout(), &presence);
    txn_.tracking_.count_row(node_, presence);
  }
  void stop(const auto& key, index::Direction direction) { txn_.tracking_.end_range(node_, key, direction); }

 private:
  TrackedReads& txn_;
  TableType& table_;
  uint32_t node_ = 0;  // the entry of the current leaf
};

template <class Sync, class Claims>
class TrackedReads<Sync, Claims>::IndexScan {
 public:
  IndexScan(TrackedReads& txn, TableType& table, uint32_t index) : txn_(txn), table_(table), index_(index) {}

  void leaf(const auto& witnesses, const auto& covered) {
    for (const index::Witness& witness : witnesses) txn_.claim_leaf_read(table_, witness, {});
    range_ = txn_.tracking_.track_entries(table_, index_, witnesses, covered);
  }
  // If this transaction has written the row, checks whether the row had the value before these
  // writes.
  void entry(Row* row, IndexValue value, bool matches) {
    if constexpr (kRecording != Recording::kNone) {
      Presence presence = matches ? Presence::kPresent : Presence::kAbsent;
      if (!txn_.writes_.empty() && txn_.writes_.find_any(row, table_.layout()) != nullptr)
        presence = txn_.repair_under(Locks::kNone).committed_match(table_, row, index_, value, nullptr);
      txn_.tracking_.count_entry(range_, presence);
    }
  }
  void stop(const auto& entry, index::Direction direction) { txn_.tracking_.end_entries(range_, entry, direction); }

 private:
  TrackedReads& txn_;
  TableType& table_;
  const uint32_t index_;
  uint32_t range_ = 0;  // the range of the current leaf
};

template <class Sync, class Claims>
Status TrackedReads<Sync, Claims>::do_scan_rows(const TableRef& table, const RowScanOptions& options,
                                                typename Base::ScannedRowVisitor) {
  if (this->template check<Purpose::kRead>(table, options.columns) == nullptr) return refuse(table, options.columns);
  return refuse_scan_of_rows_in_writing();
}

}  // namespace elider::txn
