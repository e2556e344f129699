// Piece: what a ReadWriteTransaction (txn/read_write) stores of the call that it is a part of, in
// place of claims (txn/claims.h). It does not claim anything. Thread safety: belongs to one
// transaction.
#pragma once

#include <array>
#include <cstdint>

#include "elider/snapshot_number.h"
#include "txn/chopping/publications.h"

namespace elider::txn {

struct Piece {
  static constexpr bool kReads = false, kWrites = false, kLeaves = false;
  static constexpr bool kPieces = true;

  bool piece = false;          // it is a part of a call, or all of it
  bool of_call = false;        // its commit is a part of one: the call is counted, told and no longer announced at its end
  bool adds_in_order = false;  // it does not commit while a call of a smaller number is under way
  // Publications (publications.h) that bind the call; null: none do.
  const Publications* subscribed = nullptr;  // it reads deferred effects
  Publications* late = nullptr;              // it may have seen a publisher's core, or is a publisher's
  Publications::Publisher* publisher = nullptr;
  // Set if a subscriber's number is above that of a publisher whose deferred part it has not seen.
  bool missed = false;
  bool misses_publisher(SnapshotNumber n) {
    missed = subscribed != nullptr && subscribed->listed_below(n) && !ELIDER_MUTANT(kPassPublisher);
    return missed;
  }
  // The snapshot number of the commit, and its position in the serial order.
  SnapshotNumber number = 0;
  uint64_t order = 0;
};

// A call without its head, within one region of the backend B (txn/chopping/direct.h).
template <class B, class Head>
struct PieceInRegion : Piece {
  using Region = B;
  Head* head = nullptr;  // of the call, or null
  uint32_t call = 0;     // a number of its own among the last million of its worker's; in views
  // Rows are written in place at once: neither a record of the writes nor the old versions for a
  // snapshot reader are required. Then `number` is the region's number from its begin on.
  bool in_place = false;
  // The number of rows inserted in place, by table.
  struct Inserted {
    uint32_t table, rows;
  };
  std::array<Inserted, 8> inserted;
  uint32_t inserted_tables = 0;
  // Returns false if there are too many tables.
  bool count_inserted(uint32_t table) {
    for (uint32_t i = 0; i < inserted_tables; ++i)
      if (inserted[i].table == table) return ++inserted[i].rows, true;
    if (inserted_tables == inserted.size()) return false;
    inserted[inserted_tables++] = {table, 1};
    return true;
  }
};

}  // namespace elider::txn
