// Claims: what a transaction claims of a commit group of a row before it reads or writes it, under
// the protocols that detect conflicts at each access. What is claimed does not change until the
// transaction ends, so its commit need not validate it. ReadWriteTransaction (txn/read_write) takes
// the type of the claims as a parameter, and validates what its claims do not cover. It validates
// leaves and absent rows in any case; claims of leaves make it likelier that this succeeds.
//
// A claim is stored in the protocol's own bytes in front of the cell (ProtocolObject::kCellBytes).
//
// Thread safety: an object of claims belongs to one transaction; the bytes are shared.
#pragma once

#include <concepts>

#include "storage/record.h"

namespace elider::txn {

// Optimistic transactions do not claim anything.
struct NoClaims {
  static constexpr bool kReads = false, kWrites = false, kLeaves = false;
};
// Neither do transactions that run in pieces (txn/chopping/piece.h); their commits differ
// otherwise.
template <class C>
concept RunsPieces = requires { requires C::kPieces; };
// Some of those run within one hardware transaction of the backend C::Region
// (txn/chopping/direct.h), which does not track its reads or lock its writes.
template <class C>
concept RunsInRegion = RunsPieces<C> && requires { typename C::Region; };
// The code with which a transaction aborts its region before a step that a region cannot execute.
inline constexpr uint8_t kUnsuitedForRegion = 1;

// Within a region, a claim and the copy of the claimed data are one step (HyPer-HTM, section 4.1):
// read_in_region(cell) and write_in_region(cell) are read() and write() within it. If they return
// false, the caller must claim outside of the region, where a conflict, if any, is handled.
template <class C>
concept ClaimsInRegions = requires { requires C::kInRegions; };

template <class C>
concept Claims = std::same_as<C, NoClaims> || RunsPieces<C> || requires(C claims, const C& seen, storage::Cell& cell, uint32_t attempt) {
  // Whether reads and writes are claimed. Reads that are not claimed are validated.
  { C::kReads } -> std::convertible_to<bool>;
  { C::kWrites } -> std::convertible_to<bool>;
  // If true, read_leaf(address) and write_leaf(address) claim leaves as read() and write() claim
  // cells.
  { C::kLeaves } -> std::convertible_to<bool>;
  claims.begin(attempt);
  // True: the group is claimed now, or was before. False: another transaction conflicts with the
  // claim.
  { claims.read(cell) } -> std::same_as<bool>;
  { claims.write(cell) } -> std::same_as<bool>;
  // Called for a new row block, in this order: before it is created (may throw), while no other
  // transaction can reach it, and once it is in its index.
  claims.make_room_for_new();
  claims.write_new(cell);
  claims.keep_new(cell);
  // Called after a claim was refused: waits until the other transaction has ended, if this
  // transaction is one that waits, and then returns true. False: the attempt is over.
  { claims.await() } -> std::same_as<bool>;
  // From here on no other transaction can take the claims away. False: one already has, and the
  // attempt cannot commit.
  { claims.begin_commit() } -> std::same_as<bool>;
  { seen.stand() } -> std::same_as<bool>;
  // The caller, and not a procedure, ends this transaction.
  claims.stays_open();
  claims.end();
};

}  // namespace elider::txn
