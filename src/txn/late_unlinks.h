// LateUnlinks: rows that commits of one transaction object removed while another transaction read
// them.
//
// The rows wait until those readers end, and scans pass them until then. Each later commit rechecks
// some of them. Invariant: a row is unlinked once no transaction reads at a number below that of
// the commit that removed it, except readers that have already passed its table. A transaction that
// begins later finds the row absent at its own number.
//
// Thread safety: none; it belongs to one transaction, whose worker is inside.
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

  // The row has been absent with this word since commit n, which saw a reader. Unlinks it now if
  // the reader does not need it, or else later.
  void retire(const Store& store, Worker& worker, Table<Sync>& table, Row* row, KeyRef key, uint64_t absent_word, SnapshotNumber n) {
    if (!needed(store, table, n)) return unlink_row_now(worker, table, row, key, absent_word);
    retire_row(worker, table, row, key, absent_word);  // in case that nothing commits here any more
    if (rows_.size() == kRowsMax) return;
    try {
      rows_.push_back({{&table, row, {table, key}, absent_word}, n});
    // The commit is final: the row waits for a grace period instead.
    } catch (const std::bad_alloc&) {
    }
  }

  // Rechecks some of the rows.
  void unlink(const Store& store, Worker& worker) {
    constexpr size_t kAtOnce = 16;
    ELIDER_TEST_POINT("occ.unlink_late");
    // The readers' slots are read once per call, except where the oldest reader may have passed
    // the table.
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
    SnapshotNumber n;  // of the commit
  };
  static bool needed(const Store& store, const detail::TableBase& table, SnapshotNumber n) {
    return store.snapshots.read_before(n, table.passed_by(), store.workers.ids_used_max());
  }

  std::vector<Late> rows_;  // in any order
  size_t at_ = 0;           // which of them to look at next
};

}  // namespace elider::txn
