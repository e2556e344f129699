// What an optimistic transaction remembers: what it has read, what it will write (DBX, section 5.2).
#pragma once

#include <cstdint>
#include <vector>

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

// column += delta, not yet applied.
struct Addition {
  uint32_t row_offset;
  uint32_t payload_offset;
  ColumnType type;
  uint64_t delta;  // the number's own bytes, the first ones
};

enum class WriteKind : uint8_t {
  kUpdate,   // some columns of a row that is there
  kPresent,  // the whole group; the row is there afterwards, whether or not it was before
  kRemove,   // the row is not there afterwards
  kNone,     // inserted and removed again by this transaction: it must still be absent
};

// What becomes of one commit group of a row.
struct WriteEntry {
  WriteEntry(storage::Cell* its_cell, storage::Row* its_row, detail::TableBase* its_table, Key its_key, std::byte* its_image,
             const storage::ColumnSet* its_columns, uint64_t its_expected, uint32_t its_group, WriteKind its_kind)
      : cell(its_cell),
        row(its_row),
        table(its_table),
        key(its_key),
        image(its_image),
        columns(its_columns),
        expected(its_expected),
        group(its_group),
        kind(its_kind) {}

  storage::Cell* cell;
  storage::Row* row;
  detail::TableBase* table;
  Key key;
  std::byte* image;                             // the row's own layout; shared by all groups of the row
  const storage::ColumnSet* columns;            // which of it are written
  uint64_t expected;                            // the word it must still have; word::kUnknown: any that fits the kind
  uint64_t locked_from = 0;                     // during the commit: the word it had
  storage::Version* version = nullptr;          // during the commit: the old version to keep, or null
  std::byte* block = nullptr;                   // during the commit: the new block of a group kept as one
  std::vector<Addition>* additions = nullptr;   // or null
  uint32_t group;
  WriteKind kind;
  bool created = false;                         // an absent row that this transaction put into the index, or found absent there
};

// A change of a row's value in a secondary index: the new entry is in the index since the operation;
// the old one leaves it some time after the commit.
struct IndexChange {
  storage::Row* row;
  detail::TableBase* table;
  Key key;
  uint32_t index;
  bool has_old;
  uint64_t old_value;
  uint64_t new_value;
  bool inserted;    // the new entry is this transaction's: it put it there, or took it over
  bool superseded;  // a later change of this transaction gives the row another value
};

}  // namespace elider::txn
