// What ReadWriteTransaction records of a scan, leaf by leaf (txn/reads.h; DBX, section 5.3, "range
// query").
#pragma once

#include "txn/read_write/transaction.h"

namespace elider::txn {

template <class Sync, class Claims>
class ReadWriteTransaction<Sync, Claims>::KeyScan {
 public:
  KeyScan(ReadWriteTransaction& txn, TableType& table) : txn_(txn), table_(table) {}

  void leaf(const auto& witnesses, const auto& covered) {
    if (RunsInRegion<Claims>) return;
    for (const index::Witness& witness : witnesses) txn_.claim_leaf_read(table_, witness, {});
    node_ = txn_.track_scanned(table_, witnesses, covered);
  }
  void row(Row* row, bool there) {
    if (RunsInRegion<Claims>) return;
    NodeEntry& node = txn_.nodes_[node_];
    Presence presence;
    if (!txn_.writes_.empty() && txn_.own_presence(table_, row, &presence)) {
      if (presence == Presence::kUnknown) node.seen = NodeEntry::kUnknown;
      there = presence == Presence::kPresent;
    }
    if (there && node.seen != NodeEntry::kUnknown) ++node.seen;
  }
  template <class IndexKey>
  void stop(const IndexKey& key, index::Direction direction) {
    if (RunsInRegion<Claims>) return;
    NodeEntry& node = txn_.nodes_[node_];
    if (direction == index::Direction::kBackward) {
      node.from = kept_key(txn_.arena_, key);
    } else {
      const index::Bound<IndexKey> to = behind(txn_.arena_, key);
      node.to = index::ref_of(to.key);
      node.to_end = to.end;
    }
  }

 private:
  ReadWriteTransaction& txn_;
  TableType& table_;
  uint32_t node_ = 0;  // the entry of the current leaf
};

template <class Sync, class Claims>
class ReadWriteTransaction<Sync, Claims>::IndexScan {
 public:
  IndexScan(ReadWriteTransaction& txn, TableType& table, uint32_t index) : txn_(txn), table_(table), index_(index) {}

  void leaf(const auto& witnesses, const auto& covered) {
    if (RunsInRegion<Claims>) return;
    for (const index::Witness& witness : witnesses) txn_.claim_leaf_read(table_, witness, {});
    range_ = txn_.track_index_range(table_, index_, witnesses, covered);
  }
  // If this transaction has written the row, checks whether the row had the value before these
  // writes.
  void entry(Row* row, uint64_t value, bool matches) {
    if (RunsInRegion<Claims>) return;
    if (!txn_.writes_.empty() && txn_.writes_.find_any(row, table_.layout()) != nullptr) {
      const Presence committed = txn_.committed_match(table_, row, index_, value, nullptr);
      if (committed == Presence::kUnknown) txn_.index_ranges_[range_].seen = NodeEntry::kUnknown;
      matches = committed == Presence::kPresent;
    }
    if (matches && txn_.index_ranges_[range_].seen != NodeEntry::kUnknown) ++txn_.index_ranges_[range_].seen;
  }
  template <class IndexKey>
  void stop(const IndexKey& entry, index::Direction direction) {
    if (RunsInRegion<Claims>) return;
    ScannedEntries& range = txn_.index_ranges_[range_];
    if (direction == index::Direction::kBackward) {
      range.from = kept_entry(txn_.arena_, entry);
    } else {
      const index::Bound<IndexKey> to = behind(txn_.arena_, entry);
      range.to = kept_entry(txn_.arena_, to.key);
      range.to_end = to.end;
    }
  }

 private:
  ReadWriteTransaction& txn_;
  TableType& table_;
  const uint32_t index_;
  uint32_t range_ = 0;  // the range of the current leaf
};

template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::do_scan_rows(const TableRef& table, const RowScanOptions& options,
                                                        FunctionRef<bool(Key, RawView, unsigned)>) {
  if (this->template check<Purpose::kRead>(table, options.columns) == nullptr) return refuse(table, options.columns);
  return refuse_scan_of_rows_in_writing();
}

}  // namespace elider::txn
