// Claims: reservations that a transaction makes on a commit group of a row before it reads or
// writes the group. The protocols that detect conflicts at each access use them. A claimed group
// does not change until the claiming transaction ends, so the commit need not validate it.
// ReadWriteTransaction (txn/read_write) takes the type of the claims as a template parameter, and
// validates what its claims do not cover. It always validates leaves and absent rows. Claims of
// leaves only make a failure of this validation less likely.
//
// A claim is stored in the protocol's own bytes in front of the cell (ProtocolObject::kCellBytes).
//
// Thread safety: a Claims object belongs to one transaction. The bytes in front of a cell are
// shared.
#pragma once

#include <concepts>

#include "storage/record.h"

namespace elider::txn {

// Optimistic transactions do not claim anything.
struct NoClaims {
  static constexpr bool kReads = false, kWrites = false, kLeaves = false;
};
// The claims of transactions that run in pieces (txn/chopping/piece.h). They do not claim anything
// either, but their commits are different.
template <class C>
concept RunsPieces = requires { requires C::kPieces; };
// The claims of pieces that run within one hardware transaction of the backend C::Region
// (txn/chopping/direct.h). Such a piece does not record its reads or lock its writes.
template <class C>
concept RunsInRegion = RunsPieces<C> && requires { typename C::Region; };
// The code with which a transaction aborts its region before a step that a region cannot execute.
inline constexpr uint8_t kUnsuitedForRegion = 1;

// Claims that can be made within a hardware transaction, together with the copy of the claimed data
// (HyPer-HTM, section 4.1). read_in_region(cell) and write_in_region(cell) correspond to read() and
// write(). If they return false, the caller must make the claim outside of the region, where
// conflicts are handled.
template <class C>
concept ClaimsInRegions = requires { requires C::kInRegions; };

template <class C>
concept Claims = std::same_as<C, NoClaims> || RunsPieces<C> || requires(C claims, const C& seen, storage::Cell& cell, uint32_t attempt) {
  // Whether reads are claimed, and whether writes are. Reads that are not claimed are validated.
  { C::kReads } -> std::convertible_to<bool>;
  { C::kWrites } -> std::convertible_to<bool>;
  // Whether leaves are claimed. If so, read_leaf(address) and write_leaf(address) claim leaves in
  // the same way as read() and write() claim cells.
  { C::kLeaves } -> std::convertible_to<bool>;
  claims.begin(attempt);
  // Returns true if the group is now claimed, or already was. Returns false if another transaction
  // conflicts with the claim.
  { claims.read(cell) } -> std::same_as<bool>;
  { claims.write(cell) } -> std::same_as<bool>;
  // Called for a new row block, in this order: before the block is created (may throw), while other
  // transactions cannot reach it, and after it has been inserted into its index.
  claims.make_room_for_new();
  claims.write_new(cell);
  claims.keep_new(cell);
  // Called after a claim has been refused. If this transaction may wait, waits until the other
  // transaction has ended, and returns true. Otherwise returns false, and the attempt must end.
  { claims.await() } -> std::same_as<bool>;
  // After this, other transactions cannot take the claims away. Returns false if one of them
  // already has, so that the attempt cannot commit.
  { claims.begin_commit() } -> std::same_as<bool>;
  { seen.stand() } -> std::same_as<bool>;
  // Declares that the caller, not a procedure, will end the current transaction.
  claims.stays_open();
  claims.end();
};

}  // namespace elider::txn
