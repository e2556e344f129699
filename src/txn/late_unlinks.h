// LateUnlinks: rows that a transaction object's commits have removed while a snapshot reader might
// still need them.
//
// The rows stay in their indexes until these readers have ended, and scans skip them until then.
// Each later commit checks some of them again. Invariant: a row is unlinked only when no
// transaction reads at a number below that of the commit that removed the row, except for readers
// that have already passed its table. A transaction that begins later finds the row absent at its
// own number.
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

namespace elider::txn {

template <class Sync>
class LateUnlinks {
 public:
  bool empty() const { return rows_.empty(); }

  // Called for a row that has been absent with this word since commit n, which saw a reader.
  // Unlinks the row now if the reader does not need it, and otherwise later.
  void retire(const Store& store, Worker& worker, Table<Sync>& table, Row* row, KeyRef key, uint64_t absent_word, SnapshotNumber n) {
    if (!needed(store, table, n)) return unlink_row_now(worker, table, row, key, absent_word);
    retire_row(worker, table, row, key, absent_word);  // in case this object does not commit again
    if (rows_.size() == kRowsMax) return;
    try {
      rows_.push_back({{&table, row, {table, key}, absent_word}, n});
    // The commit is final, so this must not fail. The row waits for a grace period instead.
    } catch (const std::bad_alloc&) {
    }
  }

  // Checks some of the rows again.
  void unlink(const Store& store, Worker& worker) {
    constexpr size_t kAtOnce = 16;
    ELIDER_TEST_POINT("occ.unlink_late");
    // The readers' slots are read once per call. They are read again only if the oldest reader may
    // have passed the table.
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
    reclaim::UnlinkTask<Sync> row;
    SnapshotNumber n;  // the number of the commit
  };
  static bool needed(const Store& store, const detail::TableBase& table, SnapshotNumber n) {
    return store.snapshots.read_before(n, table.passed_by(), store.workers.ids_used_max());
  }

  std::vector<Late> rows_;  // in any order
  size_t at_ = 0;           // the position of the next row to check
};

}  // namespace elider::txn
