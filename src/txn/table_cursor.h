// TableCursor: visits all row blocks of a table once, through its key index. Several threads may
// share a cursor, and other threads may write concurrently. Checkpoints and the construction of
// secondary indexes use it.
//
// A row block that is in the index during the whole visit is returned exactly once. A block that
// enters or leaves the index during the visit may or may not be returned. A snapshot reader
// therefore gets every row of its snapshot, because the blocks of these rows cannot leave the index
// while the snapshot is being read. The cursor itself does not read rows.
//
// Thread safety: all threads may call next(). Their workers must be inside the epoch
// (base/worker.h), but may leave it between two calls. The entries of a call are then valid only if
// no thread removes rows meanwhile.
#pragma once

#include <memory>

#include "index/cursor.h"
#include "txn/any_table.h"

namespace elider::txn {

class TableCursor {
 public:
  using Entries = index::Entries;

  explicit TableCursor(AnyTable& table) : table_(table), cursor_(table.cursor()) {}

  AnyTable& table() { return table_; }

  // Replaces the contents of *entries with the next entries, about `count` of them, in key order if
  // the table is ordered. Returns false at the end of the table.
  bool next(size_t count, Entries* entries) {
    entries->clear();
    const bool more = cursor_->next(count, entries);
    if (table_.byte_keys())
      for (auto& [key, handle] : *entries) key = table_.key_of(AnyTable::as_row(handle), key);
    return more;
  }

 private:
  AnyTable& table_;
  const std::unique_ptr<index::Cursor> cursor_;
};

}  // namespace elider::txn
