// TableCursor: visits all row blocks of a table once, through its key index. Several threads may
// share a cursor, and other threads may write concurrently. Checkpoints and the construction of
// secondary indexes use it.
//
// If a row block is in the index during the whole visit, the cursor returns it exactly once. It may
// or may not return other blocks. So it returns every row of a snapshot, because the row's block
// cannot leave the index while the snapshot is being read. The cursor does not read rows.
//
// Thread safety: all threads. The callers must be inside the epoch since before the cursor was
// created.
#pragma once

#include <memory>

#include "index/cursor.h"
#include "txn/table.h"

namespace elider::txn {

template <class Sync>
class TableCursor {
 public:
  using Entries = index::Entries;

  explicit TableCursor(Table<Sync>& table) : table_(table), cursor_(table.keys().cursor()) {}

  Table<Sync>& table() { return table_; }

  // Replaces *entries by about `count` next entries, in key order if the table is ordered. Returns
  // false at the end of the table.
  bool next(size_t count, Entries* entries) {
    entries->clear();
    const bool more = cursor_->next(count, entries);
    if (table_.byte_keys())
      for (auto& [key, handle] : *entries) key = table_.key_of(Table<Sync>::as_row(handle), key);
    return more;
  }

 private:
  Table<Sync>& table_;
  const std::unique_ptr<index::Cursor> cursor_;
};

}  // namespace elider::txn
