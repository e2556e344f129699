// How TrackedReads claims rows when it accesses them, under a protocol with claims
// (txn/claims.h). Under other protocols these functions compile to nothing.
#pragma once

#include "base/bits.h"
#include "elider/laboratory.h"
#include "txn/read_write/tracked_reads.h"

namespace elider::txn {

// Dooms the transaction because a claim was refused and the transaction must not wait for it.
template <class Sync, class Claims>
Status TrackedReads<Sync, Claims>::refuse_claim(TableType& table, KeyRef key) {
  return doom(table, Code::kConflict, Cause::kClaimed, key);
}

template <class Sync, class Claims>
template <Purpose kPurpose>
[[gnu::always_inline]] inline Status TrackedReads<Sync, Claims>::claim(TableType& table, Cell& cell, KeyRef key) {
  constexpr bool kWrites = kPurpose == Purpose::kWrite;
  if constexpr (kClaims<kPurpose>) {
    while (!(kWrites ? claims_.write(cell) : claims_.read(cell))) [[unlikely]]
      if (!claims_.await()) return refuse_claim(table, key);
  }
  return {};
}

template <class Sync, class Claims>
template <Purpose kPurpose>
[[gnu::always_inline]] inline Status TrackedReads<Sync, Claims>::claim_groups(TableType& table, Row* row, KeyRef key,
                                                                                      uint32_t groups) {
  if constexpr (kClaims<kPurpose>)
    for (const uint32_t g : Bits(groups))
      if (Status status = claim<kPurpose>(table, row->cell(table.layout(), g), key); !status.ok()) [[unlikely]] return status;
  return {};
}

// Claims all groups of a row block that no other transaction can reach yet.
template <class Sync, class Claims>
[[gnu::always_inline]] inline void TrackedReads<Sync, Claims>::claim_new(TableType& table, Row* row) {
  for (uint32_t g = 0; g < table.layout().group_count(); ++g) claims_.write_new(row->cell(table.layout(), g));
}

template <class Sync, class Claims>
[[gnu::always_inline]] inline void TrackedReads<Sync, Claims>::keep_claims_of_new(TableType& table, Row* row) {
  for (uint32_t g = 0; g < table.layout().group_count(); ++g) claims_.keep_new(row->cell(table.layout(), g));
}

template <class Sync, class Claims>
[[gnu::always_inline]] inline void TrackedReads<Sync, Claims>::claim_leaf_read(TableType& table, const index::Witness& witness,
                                                                                       KeyRef key) {
  if constexpr (Claims::kLeaves) {
    ELIDER_TEST_POINT("locks.leaf_looked_at");
    if (!claims_.read_leaf(witness.version)) [[unlikely]] return static_cast<void>(refuse_claim(table, key));
    // The leaf was claimed after it was read. If a commit changed the leaf in between, this
    // transaction could see only a part of that commit.
    if (!witness.holds() && !ELIDER_MUTANT(kKeepLeafVersion)) [[unlikely]]
      static_cast<void>(doom(table, Code::kConflict, Cause::kPhantom, key));
  }
}

template <class Sync, class Claims>
[[gnu::always_inline]] inline Status TrackedReads<Sync, Claims>::claim_leaves_written(TableType& table,
                                                                                              const index::InsertResult& result,
                                                                                              KeyRef key) {
  if constexpr (Claims::kLeaves)
    for (const void* const leaf : {result.before.version, result.after.version, result.split_off.version})
      while (leaf != nullptr && !claims_.write_leaf(leaf)) [[unlikely]]
        if (!claims_.await()) return refuse_claim(table, key);
  return {};
}

// Returns the error of a transaction whose claims were revoked. The data that it has read may have
// changed since.
template <class Sync, class Claims>
Status TrackedReads<Sync, Claims>::ended_by_another() {
  return Status(Code::kConflict, Cause::kClaimed, Status(),
                "another transaction that needed the same rows has ended this one; an open transaction can lose its rows after "
                "LaboratoryOptions::open_patience_us (" +
                    std::to_string(store_.laboratory.open_patience_us) + " us)");
}

}  // namespace elider::txn
