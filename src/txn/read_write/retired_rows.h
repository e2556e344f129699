// How a transaction retires the row blocks that it has removed, or has created but not filled.
//
// Thread safety: the worker must be inside the epoch.
#pragma once

#include "elider/snapshot_number.h"
#include "txn/late_unlinks.h"
#include "txn/reclaim.h"
#include "txn/write_set.h"

namespace elider::txn {

// Retires the row blocks that are absent because of this commit, or that this transaction created
// and did not fill. `n` is the commit's number. `read` means that the commit saw a snapshot reader
// that may need the old versions.
template <class Sync>
void retire_removed_rows(const Store& store, Worker& worker, const WriteSet& writes, SnapshotNumber n, bool read, LateUnlinks<Sync>& late) {
  for (const WriteEntry& write : writes) {
    if (write.group != 0) continue;
    auto& table = static_cast<Table<Sync>&>(*write.table);
    if (write.kind == WriteKind::kRemove) {
      const uint64_t absent_word = word::next(write.locked_from, true);
      if (!read) unlink_row_now(worker, table, write.row, write.key, absent_word);
      else late.retire(store, worker, table, write.row, write.key, absent_word, n);
    } else if (write.created && write.kind == WriteKind::kNone) {
      retire_row(worker, table, write.row, write.key, write.expected);
    }
  }
}

// Retires the row blocks that this transaction has created. They are still absent, because the
// transaction did not commit.
template <class Sync>
void retire_created_rows(Worker& worker, const WriteSet& writes) {
  for (const WriteEntry& write : writes)
    if (write.group == 0 && write.created)
      retire_row(worker, static_cast<Table<Sync>&>(*write.table), write.row, write.key, write.expected);
}

}  // namespace elider::txn
