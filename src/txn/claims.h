// Claims: reservations of column groups of rows. Protocols that detect conflicts at each access,
// instead of at commit, claim a group before they read or write it. A claimed group does not change
// until the claiming transaction ends, so the commit need not validate it. ReadWriteTransaction
// (txn/read_write) has the claims' type as a template parameter. At commit, it validates all reads
// that its claims do not cover. The commit always validates index leaves and absent rows; a claim
// of a leaf only makes it less likely that their validation fails.
//
// A claim is stored in the bytes that the protocol reserves in front of each cell
// (ProtocolObject::kCellBytes).
//
// Thread safety: a Claims object belongs to one transaction. All transactions share the bytes in
// front of the cells.
#pragma once

#include <concepts>

#include "storage/record.h"

namespace elider::txn {

// Optimistic transactions do not claim anything.
struct NoClaims {
  static constexpr bool kReads = false, kWrites = false, kLeaves = false;
};
// Satisfied by the claims of transactions that are pieces of a procedure (txn/chopping/piece.h).
// Like optimistic transactions, pieces do not claim anything, but they commit in a different way.
template <class C>
concept RunsPieces = requires { requires C::kPieces; };
// Satisfied by the claims of pieces that run within one hardware transaction of the backend
// C::Region (txn/chopping/direct.h). Such a piece does not record its reads, and does not lock the
// rows that it writes.
template <class C>
concept RunsInRegion = RunsPieces<C> && requires { typename C::Region; };
// The abort code of a hardware transaction that ends because its next step cannot be executed in a
// hardware transaction.
inline constexpr uint8_t kUnsuitedForRegion = 1;

// Satisfied by claims that can be made in the same hardware transaction that copies the claimed
// data (HyPer-HTM, section 4.1). read_in_region(cell) and write_in_region(cell) then correspond to
// read(cell) and write(cell) below. If they return false, the caller must make the claim outside of
// the hardware transaction, where conflicts are handled.
template <class C>
concept ClaimsInRegions = requires { requires C::kInRegions; };

template <class C>
concept Claims = std::same_as<C, NoClaims> || RunsPieces<C> || requires(C claims, const C& seen, storage::Cell& cell, uint32_t attempt) {
  // kReads: whether the transaction claims the groups that it reads; otherwise it validates them.
  // kWrites: whether it claims the groups that it writes.
  { C::kReads } -> std::convertible_to<bool>;
  { C::kWrites } -> std::convertible_to<bool>;
  // Whether the transaction also claims index leaves. If so, read_leaf(address) and
  // write_leaf(address) claim a leaf as read() and write() claim a cell.
  { C::kLeaves } -> std::convertible_to<bool>;
  claims.begin(attempt);
  // Returns true if the group is now claimed, or already was. Returns false if another transaction
  // conflicts with the claim.
  { claims.read(cell) } -> std::same_as<bool>;
  { claims.write(cell) } -> std::same_as<bool>;
  // The calls for a new row block, in this order: make_room_for_new() before the block is created
  // (may throw), write_new() before other transactions can reach the block, and keep_new() after
  // the block has been inserted into its index.
  claims.make_room_for_new();
  claims.write_new(cell);
  claims.keep_new(cell);
  // Called after a claim has been refused. If this transaction may wait, waits until the other
  // transaction has ended, and returns true. Otherwise returns false, and the attempt must end.
  { claims.await() } -> std::same_as<bool>;
  // After begin_commit(), other transactions cannot revoke the claims. Returns false if a claim has
  // already been revoked. The attempt then cannot commit.
  { claims.begin_commit() } -> std::same_as<bool>;
  { seen.stand() } -> std::same_as<bool>;
  // Declares that the current transaction is an open transaction (Database::begin), which stays
  // open until the application ends it.
  claims.stays_open();
  claims.end();
};

}  // namespace elider::txn
