// TableCursor: visits all row blocks of a table once, by its key index. Several threads may share
// it, and other threads may write meanwhile. Checkpoints, and the construction of secondary
// indexes, use it.
//
// It returns each row block that is in the index throughout exactly once, and may or may not return
// others. So it returns every row of a snapshot, since its block cannot leave the index while the
// snapshot is read. It does not read rows.
//
// Thread safety: any thread may call it. Callers are within a grace period that began before the
// cursor was created.
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
