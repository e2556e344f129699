// Claims: what a transaction claims of a commit group of a row before it reads or writes it, under
// the protocols that find conflicts as they meet them. What is claimed stays as it is until the
// transaction ends, so that its commit need not look at it again: ReadWriteTransaction
// (txn/read_write) takes the kind of claims as a parameter, and validates what its claims do not
// cover. Leaves, and rows that are absent, it validates in any case; claims of leaves make it
// likelier that they stand.
//
// A claim is put down in the protocol's own bytes in front of the cell
// (ProtocolObject::kCellBytes).
//
// Thread safety: an object of claims belongs to one transaction; the bytes are shared.
#pragma once

#include <concepts>

#include "storage/record.h"

namespace elider::txn {

// Of optimistic transactions: none.
struct NoClaims {
  static constexpr bool kReads = false, kWrites = false, kLeaves = false;
};
// Nor has who runs in pieces (txn/chopping/piece.h), whose commits differ in other ways.
template <class C>
concept RunsPieces = requires { requires C::kPieces; };
// And some of those run within one hardware transaction, of the backend C::Region
// (txn/chopping/direct.h): it tracks nothing that it reads, and locks nothing that it writes.
template <class C>
concept RunsInRegion = RunsPieces<C> && requires { typename C::Region; };
// The code with which it aborts its region where it comes to what is not for one.
inline constexpr uint8_t kUnsuitedForRegion = 1;

// Where a region runs, a claim and the copy of what is claimed are one (HyPer-HTM, section 4.1):
// read_in_region(cell) and write_in_region(cell) are read() and write(), within it. False: what
// stands against the claim, if anything, is for outside.
template <class C>
concept ClaimsInRegions = requires { requires C::kInRegions; };

template <class C>
concept Claims = std::same_as<C, NoClaims> || RunsPieces<C> || requires(C claims, const C& seen, storage::Cell& cell, uint32_t attempt) {
  // What is claimed; reads that are not are validated.
  { C::kReads } -> std::convertible_to<bool>;
  { C::kWrites } -> std::convertible_to<bool>;
  // With read_leaf(address) and write_leaf(address), as read() and write() are.
  { C::kLeaves } -> std::convertible_to<bool>;
  claims.begin(attempt);
  // The group is claimed, or was before. False: another transaction stands against it.
  { claims.read(cell) } -> std::same_as<bool>;
  { claims.write(cell) } -> std::same_as<bool>;
  // Of a row block that is about to be made (may throw); that nobody else can reach yet; and once
  // it is in its index.
  claims.make_room_for_new();
  claims.write_new(cell);
  claims.keep_new(cell);
  // After that false: waits until the other one has ended, where this transaction is one that
  // waits, and is true then. False: the attempt is over.
  { claims.await() } -> std::same_as<bool>;
  // From here on nobody takes the claims away. False: somebody has, and the attempt cannot commit.
  { claims.begin_commit() } -> std::same_as<bool>;
  { seen.stand() } -> std::same_as<bool>;
  // The caller, and not a procedure, ends this transaction.
  claims.stays_open();
  claims.end();
};

}  // namespace elider::txn
