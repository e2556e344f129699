// ChangedRows: groups changes by row. The log contains them in the order of its commits.
//
// Rows are found with a hash table. Sorting all changes is unnecessary, because most rows have few
// changes, which are already in order. The rows of a table remain in the order of their first
// changes. So rows that were inserted in key order are also returned in key order.
//
// Memory is kept for the next call. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "txn/row_change.h"

namespace elider::recovery {

class ChangedRows {
 public:
  // Groups the changes, which all belong to tables with ids below `tables`. The changes of one
  // record are in one list, in the record's order. The results of of_table() point into the lists.
  void group(std::span<const txn::RowChanges* const> lists, size_t tables);
  // Returns the changed rows of a table. The changes of a row are in the order of (group,
  // generation, sequence). Changes that are equal in this order remain in the order of their
  // record.
  std::span<const txn::ChangedRow> of_table(size_t table) const {
    return {sorted_.data() + table_begins_[table], table_begins_[table + 1] - table_begins_[table]};
  }

 private:
  struct Met {
    const txn::RowChange* first;
    uint32_t table;
    uint32_t count;  // number of changes; later the place of the row's next change
  };
  struct Change {
    const txn::RowChange* change;
    uint32_t row;  // the row's position in met_
  };
  uint32_t row_of(const txn::RowChange& change, uint32_t shift);

  std::vector<uint32_t> slots_;      // a hash table that holds positions in met_ plus one
  std::vector<Met> met_;
  std::vector<Change> all_;          // in the order in which they were found
  std::vector<uint32_t> places_;     // indexed by position in met_: the row's position in sorted_
  std::vector<uint32_t> table_begins_;
  std::vector<txn::ChangedRow> sorted_;
  std::vector<const txn::RowChange*> changes_;
};

}  // namespace elider::recovery
