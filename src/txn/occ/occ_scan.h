// OccTransaction: what it remembers of a scan, leaf by leaf (txn/reads.h; DBX, section 5.3, "range query").
#pragma once

#include "txn/occ/occ_transaction.h"

namespace elider::txn {

template <class Sync>
class OccTransaction<Sync>::KeyScan {
 public:
  KeyScan(OccTransaction& txn, TableType& table) : txn_(txn), table_(table) {}

  void leaf(const index::Witness& witness, Key from, Key to) { node_ = txn_.track_scanned(table_, witness, from, to); }
  void row(Row* row, bool there) {
    NodeEntry& node = txn_.nodes_[node_];
    Presence presence;
    if (!txn_.writes_.empty() && txn_.own_presence(table_, row, &presence)) {
      if (presence == Presence::kUnknown) node.seen = NodeEntry::kUnknown;
      there = presence == Presence::kPresent;
    }
    if (there && node.seen != NodeEntry::kUnknown) ++node.seen;
  }
  void stop(Key key, bool reverse) { (reverse ? txn_.nodes_[node_].first : txn_.nodes_[node_].last) = key; }

 private:
  OccTransaction& txn_;
  TableType& table_;
  uint32_t node_ = 0;  // of the leaf at hand
};

template <class Sync>
class OccTransaction<Sync>::IndexScan {
 public:
  IndexScan(OccTransaction& txn, TableType& table, uint32_t index) : txn_(txn), table_(table), index_(index) {}

  void leaf(const index::Witness& witness, const index::SecondaryKey& from, const index::SecondaryKey& to) {
    range_ = txn_.track_index_range(table_, index_, witness, from, to);
  }
  // Whether the row had the value before this transaction's writes is for its cells to say, where there are any.
  void entry(Row* row, uint64_t value, bool matches) {
    if (!txn_.writes_.empty() && txn_.writes_.find_any(row, table_.layout()) != nullptr) {
      const Presence committed = txn_.committed_match(table_, row, index_, value, nullptr);
      if (committed == Presence::kUnknown) txn_.index_ranges_[range_].seen = NodeEntry::kUnknown;
      matches = committed == Presence::kPresent;
    }
    if (matches && txn_.index_ranges_[range_].seen != NodeEntry::kUnknown) ++txn_.index_ranges_[range_].seen;
  }
  void stop(const index::SecondaryKey& entry, bool reverse) {
    (reverse ? txn_.index_ranges_[range_].first : txn_.index_ranges_[range_].last) = entry;
  }

 private:
  OccTransaction& txn_;
  TableType& table_;
  const uint32_t index_;
  uint32_t range_ = 0;  // of the leaf at hand
};

}  // namespace elider::txn
