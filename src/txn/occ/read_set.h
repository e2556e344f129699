// What an optimistic transaction remembers of what it has read (DBX, section 5.2).
#pragma once

#include <cstdint>

#include "index/index.h"
#include "storage/record.h"
#include "storage/table.h"

namespace elider::txn {

// A commit group of a row, and the word it had when it was copied, or found absent.
struct ReadEntry {
  storage::Cell* cell;
  uint64_t word;
  Key key;
  detail::TableBase* table;
};

// A leaf or bucket whose coverage must not have changed: a scan, or a read of an absent key. Of it the keys
// from first to last were looked at, and `seen` rows were there, own writes apart. A leaf of a secondary index has
// a list of ranges instead, so that the many unique checks of one transaction need one entry a leaf.
struct NodeEntry {
  static constexpr uint32_t kUnknown = ~uint32_t{0};
  index::Witness witness;
  detail::TableBase* table;
  Key first, last;
  uint32_t seen;  // kUnknown: an own blind write covers one of them; of a secondary index: the newest of its IndexRanges
  bool secondary() const { return last < first; }
  bool is_of(const index::Witness& w) const { return witness.version == w.version && witness.value == w.value; }
};

// What was looked at of a leaf of a secondary index: the entries from first to last; `seen` of them were of rows that were
// there and had that value, own writes apart.
struct IndexRange {
  static constexpr uint32_t kNone = ~uint32_t{0};
  index::SecondaryKey first, last;
  uint32_t index;
  uint32_t seen;  // NodeEntry::kUnknown: that could not be told
  uint32_t next;  // an older one of the leaf, or kNone
};

}  // namespace elider::txn
