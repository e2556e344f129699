// LateUnlinks: rows that the commits of one transaction object have removed, but that snapshot
// readers may still need.
//
// Such a row stays in its indexes until these readers have ended, and scans skip it in the
// meantime. Each later commit rechecks some of the rows. Invariant: a row that commit n removed is
// unlinked only when no transaction reads a snapshot older than n, except for a reader that has
// already finished reading the row's table (TableBase::passed_by). Transactions that begin later
// read newer snapshots, in which the row is absent.
//
// Thread safety: none. The object belongs to one transaction, whose worker is inside the epoch.
#pragma once

#include <algorithm>
#include <new>
#include <vector>

#include "base/test_points.h"
#include "elider/snapshot_number.h"
#include "txn/reclaim.h"
#include "txn/store.h"
#include "txn/table.h"

namespace elider::txn {

template <class Sync>
class LateUnlinks {
 public:
  bool empty() const { return rows_.empty(); }

  // Called if commit n has removed a row while there was a snapshot reader. `absent_word` is the
  // row's commit word after the removal. Unlinks the row now if no reader needs it, and otherwise
  // later.
  void retire(const Store& store, Worker& worker, Table<Sync>& table, Row* row, KeyRef key, uint64_t absent_word, SnapshotNumber n) {
    if (!needed(store, table, n)) return unlink_row_now(worker, table, row, key, absent_word);
    retire_row(worker, table, row, key, absent_word);  // unlinks the row even if this object never commits again
    if (rows_.size() == kRowsMax) return;
    try {
      rows_.push_back({{&table, row, {table, key}, absent_word}, n});
    // retire() must not fail, because the commit is final. Without an entry in rows_, the row is
    // unlinked only after a grace period.
    } catch (const std::bad_alloc&) {
    }
  }

  // Rechecks some of the rows, and unlinks those that no reader needs any longer.
  void unlink(const Store& store, Worker& worker) {
    constexpr size_t kAtOnce = 16;
    ELIDER_TEST_POINT("occ.unlink_late");
    // The readers' slots are read once per call. They are read again only if the oldest reader may
    // have finished reading the table (TableBase::passed_by).
    const SnapshotNumber oldest = store.snapshots.oldest_reader(store.workers.ids_used_max());
    for (size_t looks = std::min(kAtOnce, rows_.size()); looks > 0; --looks) {
      if (at_ >= rows_.size()) at_ = 0;
      const Late& late = rows_[at_];
      const detail::TableBase& table = *late.row.table;
      const bool read = oldest < late.n && (oldest != table.passed_by() || needed(store, table, late.n));
      if (read || !reclaim::unlink_absent_row(worker, late.row)) {
        ++at_;
        continue;
      }
      rows_[at_] = rows_.back();
      rows_.pop_back();
    }
  }

 private:
  static constexpr size_t kRowsMax = 256;
  struct Late {
    reclaim::UnlinkTask row;
    SnapshotNumber n;  // the snapshot number of the commit
  };
  static bool needed(const Store& store, const detail::TableBase& table, SnapshotNumber n) {
    return store.snapshots.read_before(n, table.passed_by(), store.workers.ids_used_max());
  }

  std::vector<Late> rows_;  // in any order
  size_t at_ = 0;           // the position of the next row to check
};

}  // namespace elider::txn
