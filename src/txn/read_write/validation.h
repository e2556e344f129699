// How TrackedReads validates what it has read, and repairs it if only data that it did not read has
// changed (repair.h).
#pragma once

#include <new>

#include "txn/read_write/tracked_reads.h"

namespace elider::txn {

// Returns true if everything that the transaction has read is unchanged at the instant of the call.
// The read of an update is recorded only in the update's write, so a commit validates this read
// when it locks the row.
template <class Sync, class Claims>
template <bool kHeld>
bool TrackedReads<Sync, Claims>::reads_valid() {
  if (ELIDER_MUTANT(kSkipPairValidation) && tracking_.size() == 2) return true;
  const OwnWrites own(writes_);
  Conflict conflict;
  const bool rows = ELIDER_MUTANT(kSkipReadValidation) ||
                    (tracking_.template rows_hold<kHeld>(own, &conflict) && own.template hold<kHeld>(&conflict));
  return (rows && tracking_.leaves_hold(&conflict)) || failed(conflict);
}

// Called after reads_valid() has returned false. Returns true if only data that the transaction did
// not read has changed (repair.h). The caller must then call reads_valid() again. Before that, a
// commit must read the snapshot number again, because the repair may have read the effects of a
// commit with a larger number.
template <class Sync, class Claims>
[[gnu::noinline]] bool TrackedReads<Sync, Claims>::repair_after_failure(Locks locks) {
  if (!may_be_repaired()) return false;
  Conflict conflict;
  try {
    return repair_under(locks).run(&conflict) || failed(conflict);
  } catch (const std::bad_alloc&) {
    return failed(Cause::kMemoryLimit, cause_table_, cause_key_);  // an exception must not leave this function, because rows may be locked
  }
}

// Validates the reads of a transaction that ends without a commit. Such a transaction has not
// locked anything.
template <class Sync, class Claims>
Status TrackedReads<Sync, Claims>::reads_hold() {
  if (!claims_.valid()) [[unlikely]] return ended_by_another();
  if (reads_valid<false>() || (repair_after_failure(Locks::kNone) && reads_valid<false>())) return {};
  return cause_table_->error(cause_ == Cause::kMemoryLimit ? Code::kMemoryLimit : Code::kConflict, cause_, cause_key_);
}

}  // namespace elider::txn
