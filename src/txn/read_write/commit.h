// The commit of ReadWriteTransaction (DBX, Algorithm 1; storage/snapshots.h explains the order of
// the steps). This file contains the steps in their order:
//
//   commit()               ends a transaction that is active and not doomed
//     commit_reads()       if it did not write: validates the reads
//     commit_writes()      otherwise: allocates the new blocks and the space in the log
//       commit_in_region() commits in a hardware transaction, if the policy has these
//                          (commit_region.h)
//       commit_by_locks()  locks (write_locks.h), reads the number, validates (validation.h),
//                          publishes the record, and writes (txn/install.h)
//         finish()         counts, retires and forgets (commit_steps.h)
//
// A commit that fails calls give_up() and is rolled back.
#pragma once

#include "base/full_fence.h"
#include "elider/snapshot_number.h"
#include "txn/read_write/transaction.h"

namespace elider::txn {

// Ends the transaction. Other transactions cannot revoke its claims from here on.
template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::commit() {
  if (state_ != State::kActive) [[unlikely]] return refuse_to_commit();
  if (!claims_.begin_commit()) [[unlikely]] return rollback(Cause::kClaimed), ended_by_another();
  return writes_.empty() ? alone([this]() __attribute__((always_inline)) { return commit_reads(); }) : commit_writes();
}

// Commits a transaction that did not write. All its reads must be valid at one instant, that of the
// validation. A transaction that has read only one row need not validate, because it read this row
// at one instant.
template <class Sync, class Claims>
[[gnu::always_inline]] inline Status ReadWriteTransaction<Sync, Claims>::commit_reads() {
  fence_between_loads();  // makes transactions that only read agree on the order of the commits that they saw; partner: itself
  if (!tracking_.is_one_read() || recorder_.on()) return commit_validated_reads();
  return finish_reads();
}

template <class Sync, class Claims>
[[gnu::always_inline]] inline Status ReadWriteTransaction<Sync, Claims>::finish_reads() {
  if (store_.log != nullptr) [[unlikely]] commit_number_ = ELIDER_MUTANT(kReadsHaveNoNumber) ? 0 : store_.snapshots.current();
  this->count_commit();
  end_without_writes();
  return {};
}

template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::commit_validated_reads() {
  SnapshotNumber n = 0;
  uint64_t order = 0;
  const auto take_numbers = [&] {
    if (!recorder_.on()) [[likely]] return;
    n = store_.snapshots.current();
    order = claims_.place(store_);
  };
  take_numbers();
  if (!validate_reads()) [[unlikely]] {
    if (!repair_after_failure(Locks::kHeld)) return give_up(0);
    take_numbers();
    if (!reads_valid()) return give_up(0);
  }
  record_end(true, Cause::kNone, n, order);
  return finish_reads();
}

// Prepares everything that may fail or wait before a row is locked.
template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::commit_writes() {
  if (!prepare_blocks()) [[unlikely]] return give_up(0);
  if (store_.log != nullptr) [[unlikely]]
    if (Status status = reserve_record(*store_.log, worker_.id(), writes_, &log_place_); !status.ok()) [[unlikely]]
      return refuse_commit(status);
  ELIDER_TEST_POINT("occ.commit.before_lock");
  if constexpr (Sync::kRegions)
    if (store_.elision != nullptr) return commit_in_region();
  return alone([this] { return commit_by_locks(); });
}

// Locks all rows that the transaction writes, validates, and then writes the rows. No step after
// the validation can fail, except for the allocation of old versions, which precedes the first
// change.
template <class Sync, class Claims>
[[gnu::always_inline]] inline Status ReadWriteTransaction<Sync, Claims>::commit_by_locks(bool old_entries_retired) {
  const size_t locked = lock_writes();
  if (locked != writes_.size()) [[unlikely]] return give_up(locked);
  // This fence orders the loads of the validation, and of the snapshot number, after the locks. A
  // thread that sees a written byte then also sees the lock. Partners: the same line in other
  // commits, Snapshots::begin_reading(), Cell::unchanged().
  fence_after_locked_rmw();
  ELIDER_TEST_POINT("occ.commit.after_lock");
  log::Log* const log = store_.log;  // loaded only once, so that it stays in a register
  Numbers numbers;
  if (!take_numbers_and_validate(log, &numbers)) [[unlikely]] return give_up(locked);
  if (numbers.newest_reader != 0 && !prepare_versions(numbers.newest_reader)) [[unlikely]] return give_up(locked);
  if (log != nullptr) [[unlikely]] publish(numbers.n);
  if (!old_entries_retired && !index_entries_.empty()) index_entries_.retire_old();
  ELIDER_TEST_POINT("occ.commit.before_write");
  for (WriteEntry& write : writes_) {
    install(worker_, counters_, write, numbers.n);
    ELIDER_TEST_POINT("occ.commit.written_one");
  }
  return finish(numbers.n, numbers.order, numbers.newest_reader);
}

// Reads the snapshot number and the readers' slots, and then validates the reads. If the reads had
// to be repaired, all this is done once more. Returns false if the transaction must not commit.
template <class Sync, class Claims>
[[gnu::always_inline]] inline bool ReadWriteTransaction<Sync, Claims>::take_numbers_and_validate(log::Log* log, Numbers* numbers) {
  const uint64_t early = ELIDER_MUTANT(kNumberEarly) ? store_.snapshots.current() : 0;
  ELIDER_TEST_POINT("occ.commit.before_announcement");
  if (log != nullptr) [[unlikely]] log->begin_commit(worker_.id());
  for (bool repaired = false;; repaired = true) {
    const SnapshotNumber n = ELIDER_MUTANT(kNumberEarly) ? early : store_.snapshots.current();
    const uint64_t order = recorder_.on() ? claims_.place(store_) : 0;
    ELIDER_TEST_POINT("occ.commit.after_snapshot");
    *numbers = {n, order, store_.snapshots.newest_reader_before(n, store_.workers.ids_used_max())};
    ELIDER_TEST_POINT("occ.commit.after_slots");
    if (const Cause refused = claims_.refuses_number(store_, worker_.id(), n); refused != Cause::kNone) [[unlikely]]
      return failed(refused, writes_[0].table, writes_[0].key);
    if (reads_valid()) [[likely]] return true;
    if (repaired || !repair_after_failure(Locks::kHeld)) return false;
  }
}

}  // namespace elider::txn
