// Piece: what an OccTransaction (txn/occ) knows of the call that it is a part of, in the place of
// claims (txn/claims.h). It claims nothing.
// Thread safety: one transaction's.
#pragma once

#include <cstdint>

#include "elider/snapshot_number.h"

namespace elider::txn {

struct Piece {
  static constexpr bool kReads = false, kWrites = false, kLeaves = false;
  static constexpr bool kPieces = true;

  bool piece = false;          // it is a part of a call, or all of it
  bool of_call = false;        // its commit is a part of one: the call is counted, told and no longer announced at its end
  bool adds_in_order = false;  // it does not commit while a call of a smaller number is under way
  // Of the commit.
  SnapshotNumber number = 0;
  uint64_t order = 0;
};

// All of a call within one region of the backend B (txn/chopping/direct.h).
template <class B>
struct PieceInRegion : Piece {
  using Region = B;
};

}  // namespace elider::txn
