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

#include "elider/snapshot_number.h"
#include "elider/status.h"
#include "elider/table.h"
#include "storage/record.h"
#include "storage/table.h"
#include "txn/store.h"

namespace elider::txn {

// TransactionHooks: functions that a transaction calls to ask its claims about the call that it
// belongs to. The functions of this struct are for a transaction that is not a part of a call.
// Piece (txn/chopping/piece.h) replaces them for a part of a call. All claims derive from this
// struct.
struct TransactionHooks {
  // Returns true if the commit counts and records the transaction. A piece leaves this to the end
  // of its call.
  static constexpr bool ends_call() { return true; }
  // Called when a commit that holds its locks has read the snapshot number n. Returns kNone, or the
  // reason why the transaction must not commit with this number.
  static constexpr Cause refuses_number(const Store&, uint32_t /*worker*/, SnapshotNumber /*n*/) { return Cause::kNone; }
  // Returns the position that histories record for the commit: its position in the serial order of
  // all commits with the same number.
  static uint64_t place(Store& store) { return store.commit_order.fetch_add(1); }
  // Called after a commit that does not end its call, with its number and its position.
  static constexpr void committed(SnapshotNumber /*n*/, uint64_t /*order*/) {}
  // Called before a step that cannot be executed in a hardware transaction, such as the acquisition
  // of a mutex. If the transaction runs in one (a region), aborts the region.
  static constexpr void leave_region() {}
  // Returns true if the transaction may write rows in place at once, because it runs in a region.
  // number_in_place() is then the snapshot number of these writes. count_inserted() counts a row
  // that is inserted in place, and returns false if the row must be buffered instead.
  static constexpr bool writes_in_place() { return false; }
  static constexpr SnapshotNumber number_in_place() { return 0; }
  static constexpr bool count_inserted(uint32_t /*table*/) { return false; }
  // Returns true if the transaction may update a row through a view that another piece of the same
  // call has read.
  static constexpr bool uses_views_of_call() { return false; }
  // Whether a view's header contains the table, which uses_views_of_call() requires.
  static constexpr bool kViewsNameTables = false;
  // Returns the row block of such a view, or null if the row must be looked up.
  static constexpr storage::Row* row_of_call(const detail::TableBase&, const detail::ImageHeader&) { return nullptr; }
};

// Optimistic transactions do not claim anything. The functions are those that `Claims` describes.
struct NoClaims : TransactionHooks {
  static constexpr bool kReads = false, kWrites = false, kLeaves = false;
  static constexpr void begin(uint32_t /*attempt*/) {}
  static constexpr void make_room_for_new() {}
  static constexpr void write_new(storage::Cell&) {}
  static constexpr void keep_new(storage::Cell&) {}
  static constexpr bool begin_commit() { return true; }
  static constexpr bool valid() { return true; }
  static constexpr void stays_open() {}
  static constexpr void end() {}
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
concept Claims = std::derived_from<C, NoClaims> || requires(C claims, const C& seen, storage::Cell& cell, uint32_t attempt) {
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
  { seen.valid() } -> std::same_as<bool>;
  // Declares that the current transaction is an open transaction (Database::begin), which stays
  // open until the application ends it.
  claims.stays_open();
  claims.end();
} && std::derived_from<C, TransactionHooks>;

}  // namespace elider::txn
