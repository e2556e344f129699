// TableCursor: goes through a table's row blocks once, by its key index, for several threads at a
// time and while others write: what a checkpoint reads, and what secondary indexes are built from.
//
// It promises each row block that is in the index throughout, once; of others, each may come or
// not. So every row of a snapshot comes, for its block cannot leave the index while the snapshot
// is read. It reads no rows.
//
// Thread safety: all. Callers are within a grace period that began before the cursor was made.
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

  // Replaces *entries with the next entries, about `count`, in key order if the table is ordered.
  // Returns false at the end of the table.
  bool next(size_t count, Entries* entries) {
    entries->clear();
    const bool more = cursor_->next(count, entries);
    if constexpr (Table<Sync>::kByteKeys)
      for (auto& [key, handle] : *entries) key = table_.key_of(Table<Sync>::as_row(handle), key);
    return more;
  }

 private:
  Table<Sync>& table_;
  const std::unique_ptr<index::Cursor> cursor_;
};

}  // namespace elider::txn
