// Piece: the data that a ReadWriteTransaction (txn/read_write) stores about the call that it
// belongs to. It is used as the transaction's claims (txn/claims.h), but does not claim anything.
// Thread safety: none. A Piece belongs to one transaction.
#pragma once

#include <array>
#include <cstdint>

#include "base/test_points.h"
#include "elider/snapshot_number.h"
#include "txn/claims.h"
#include "txn/chopping/publications.h"

namespace elider::txn {

struct Piece : NoClaims {
  static constexpr bool kPieces = true;

  bool piece = false;          // the transaction runs a part of a call, or an entire call
  bool of_call = false;        // its commit is one part of the call; the call is counted and reported at its end
  bool adds_in_order = false;  // the piece does not commit while a call with a smaller number is running
  // The publications (publications.h) that restrict the call, or null.
  const Publications* subscribed = nullptr;  // set if the call reads deferred effects
  Publications* late = nullptr;              // set if the call may have seen a publisher's core, or is a publisher
  Publications::Publisher* publisher = nullptr;
  // Set to true if a subscriber has not seen the deferred part of a publisher whose number is below
  // the subscriber's own.
  bool missed = false;
  bool misses_publisher(SnapshotNumber n) {
    missed = subscribed != nullptr && subscribed->listed_below(n) && !ELIDER_MUTANT(kPassPublisher);
    return missed;
  }
  // The snapshot number of the commit, and the commit's position in the serial order.
  SnapshotNumber number = 0;
  uint64_t order = 0;

  // The hooks of TransactionHooks.
  bool ends_call() const { return !of_call; }
  Cause refuses_number(const Store& store, uint32_t worker, SnapshotNumber n) {
    if (adds_in_order && store.snapshots.call_before(n - 1, worker) && !ELIDER_MUTANT(kAddBeforeOlder)) [[unlikely]]
      return Cause::kWriteLocked;
    return misses_publisher(n) ? Cause::kReadChanged : Cause::kNone;
  }
  uint64_t place(Store& store) const { return late != nullptr ? late->place() : store.commit_order.fetch_add(1); }
  void committed(SnapshotNumber n, uint64_t its_order) {
    number = n;
    order = its_order;
  }
  bool uses_views_of_call() const { return piece; }
  static constexpr bool kViewsNameTables = true;
};

// Core and tail of a call, run within one region of the backend B (txn/chopping/direct.h).
template <class B, class Head>
struct PieceInRegion : Piece {
  using Region = B;
  Head* head = nullptr;  // the head of the call, or null
  uint32_t call = 0;     // distinguishes the call from the worker's last million calls; used in views
  // If true, rows are written in place immediately. Writing in place is allowed if neither a record
  // of the writes nor an old version for a snapshot reader is required. `number` then contains the
  // snapshot number that was read before the region.
  bool in_place = false;

  static void leave_region() { B::template abort<kUnsuitedForRegion>(); }
  bool writes_in_place() const { return in_place; }
  SnapshotNumber number_in_place() const { return number; }
  // If the call's head (txn/chopping/execution.h) has read the view, its row block is used.
  storage::Row* row_of_call(const detail::TableBase& table, const detail::ImageHeader& view) const {
    return head != nullptr && head->has_view(table, view) ? static_cast<storage::Row*>(view.row) : nullptr;
  }
  // The number of rows inserted in place, by table.
  struct Inserted {
    uint32_t table, rows;
  };
  std::array<Inserted, 8> inserted;
  uint32_t inserted_tables = 0;
  // Counts a row that was inserted in place. Returns false if rows have been inserted in place into
  // too many tables.
  bool count_inserted(uint32_t table) {
    for (uint32_t i = 0; i < inserted_tables; ++i)
      if (inserted[i].table == table) return ++inserted[i].rows, true;
    if (inserted_tables == inserted.size()) return false;
    inserted[inserted_tables++] = {table, 1};
    return true;
  }
};

}  // namespace elider::txn
