// ChangedRows: groups the changes from the log by row. In the log they are in commit order.
//
// Changes are grouped with a hash table. Sorting all of them is unnecessary, because most rows have
// few changes, which are already in order. A table's rows are returned in the order of their first
// changes, so rows that were inserted in key order are also returned in key order.
//
// The memory is reused by the next call of group(). Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "txn/row_change.h"

namespace elider::recovery {

class ChangedRows {
 public:
  // Groups the changes in `lists`. All table ids must be below `tables`. All changes of a log
  // record must be in the same list, in the record's order. The results of of_table() point into
  // the lists, which must therefore outlive them.
  void group(std::span<const txn::RowChanges* const> lists, size_t tables);
  // Returns the changed rows of a table. Each row's changes are sorted by (group, generation,
  // version number). Changes that are equal in all three keep the order of their record.
  std::span<const txn::ChangedRow> of_table(size_t table) const {
    return {sorted_.data() + table_begins_[table], table_begins_[table + 1] - table_begins_[table]};
  }

 private:
  struct Met {
    const txn::RowChange* first;
    uint32_t table;
    uint32_t count;  // number of changes; later, the position in changes_ of the row's next change
  };
  struct Change {
    const txn::RowChange* change;
    uint32_t row;  // the row's position in met_
  };
  uint32_t row_of(const txn::RowChange& change, uint32_t shift);

  std::vector<uint32_t> slots_;      // a hash table of positions in met_, each increased by one; 0: a free slot
  std::vector<Met> met_;
  std::vector<Change> all_;          // all changes, in the order of the lists
  std::vector<uint32_t> places_;     // indexed by position in met_: the row's position in sorted_
  std::vector<uint32_t> table_begins_;
  std::vector<txn::ChangedRow> sorted_;
  std::vector<const txn::RowChange*> changes_;
};

}  // namespace elider::recovery
