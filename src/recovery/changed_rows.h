// ChangedRows: groups changes by row; a log has them in the order of its commits.
//
// Rows are found with a hash table, not by sorting all changes: most rows have few changes, which
// are already in order. The rows of a table remain in the order of their first changes, so rows
// that were inserted in key order are also returned in key order.
//
// Memory is kept between calls. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "txn/row_change.h"

namespace elider::recovery {

class ChangedRows {
 public:
  // Takes the changes, which all belong to tables with ids below `tables`. The changes of one
  // record are in one list, in the record's order. The results of of_table() point into the lists.
  void group(std::span<const txn::RowChanges* const> lists, size_t tables);
  // The changes of a row are in the order of (group, generation, sequence); equal ones are in the
  // order of their record.
  std::span<const txn::ChangedRow> of_table(size_t table) const {
    return {sorted_.data() + table_begins_[table], table_begins_[table + 1] - table_begins_[table]};
  }

 private:
  struct Met {
    Key key;
    uint32_t table;
    uint32_t count;  // of changes; then where the next one's place is
  };
  struct Change {
    const txn::RowChange* change;
    uint32_t row;  // its position in met_
  };
  uint32_t row_of(const txn::RowChange& change, uint32_t shift);

  std::vector<uint32_t> slots_;      // a hash table of positions in met_, plus one
  std::vector<Met> met_;
  std::vector<Change> all_;          // as they are met
  std::vector<uint32_t> places_;     // by position in met_, that in sorted_
  std::vector<uint32_t> table_begins_;
  std::vector<txn::ChangedRow> sorted_;
  std::vector<const txn::RowChange*> changes_;
};

}  // namespace elider::recovery
