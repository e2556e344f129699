// LateUnlinks: rows that commits of one transaction object removed while somebody read them.
//
// They wait for the end of the readers, and scans pass them until then: a queue would take the
// time of its whole past for each look at its head. So they are looked at again after later
// commits. Invariant: a row is unlinked once nobody reads at a number below that of the commit
// that removed it, but for readers that have passed its table; whoever begins later finds the row
// absent at its own number.
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

  // The row is absent with this word since commit n, which saw a reader: it is unlinked now, if the
  // reader does not need it, or later.
  void retire(const Store& store, Worker& worker, Table<Sync>& table, Row* row, KeyRef key, uint64_t absent_word, SnapshotNumber n) {
    if (!needed(store, table, n)) return unlink_row_now(worker, table, row, key, absent_word);
    retire_row(worker, table, row, key, absent_word);  // in case that nothing commits here any more
    if (rows_.size() == kRowsMax) return;
    try {
      rows_.push_back({{&table, row, {table, key}, absent_word}, n});
    } catch (const std::bad_alloc&) {  // the commit stands: the row waits for a grace period
    }
  }

  // Looks at some of them.
  void unlink(const Store& store, Worker& worker) {
    constexpr size_t kAtOnce = 16;
    ELIDER_TEST_POINT("occ.unlink_late");
    // Other slots are looked at once a call, unless it may be that the oldest
    // reader has passed the table.
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
