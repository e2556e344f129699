// How ReadWriteTransaction commits in hardware transactions, under a sync policy that uses them
// (DBX, Algorithm 1; storage/snapshots.h explains the order of a commit's steps).
//
// Such a hardware transaction (a region) elides the lock bits of the cells: it reads the lock bit
// of every cell that it reads or writes, so a commit that sets one of these bits aborts the region.
// No other lock is needed. In DBX, all commits that fall back from a hardware transaction share one
// lock. Here, such a commit excludes only the commits that use the same rows.
//
// A commit's region does at one instant what a commit by locks does step by step. It compares the
// expected commit words, reads the snapshot number S and the readers' slots, and validates. The
// last step depends on the writes:
//   whole      The region writes the rows. Used if they have few cache lines, are not stored as
//              blocks, and old versions need not be kept.
//   lock bits  The region sets only the lock bits. The writes follow outside of the region, while
//              these bits are set. Used for large write sets, for rows stored as blocks, and if the
//              commit must keep an old version for a snapshot reader.
// Both are as correct as a commit by locks. All steps up to the last lock (lock bits) or up to the
// last unlock (whole) happen at one instant. Readers outside of regions (snapshot readers,
// reclamation) see the commit words as they were before or after that instant.
//
// If there is a log, the worker announces the commit before the region, because the region reads S.
// It publishes the record after the region, either under the lock bits or after everything has been
// written. Invariant: from the read of S until the record of number n is in the buffer, n is
// announced, so neither n nor a later number is closed (docs/design/group-commit.md). A transaction
// that has read the rows commits with n or a later number (storage/snapshots.h). So a commit that
// depends on these rows cannot be durable before the record is.
//
// Cache lines read: two per write (its cell and its entry); one per read and one per witness; the
// entries of the reads (32 bytes each) and witnesses (48 bytes each); S; and the slot of each
// worker that was ever used. Cache lines written: the lines of the rows (whole), or one per write
// (lock bits).
#pragma once

#include <bit>

#include "base/bits.h"
#include "htm/elide.h"
#include "txn/read_write/transaction.h"
#include "txn/read_in_region.h"

namespace elider::txn {

// Returns how much of the commit the region may do. Returns kNone if the region would exceed the
// limits of ElisionPolicy.
template <class Sync, class Claims>
auto ReadWriteTransaction<Sync, Claims>::reach_of_region() const -> Reach {
  const ElisionPolicy& policy = store_.laboratory.elision;
  const size_t lines_read = 4 * writes_.size() + 2 * tracking_.size() + store_.workers.ids_used_max();
  if (writes_.size() > policy.write_lines_max || lines_read > policy.read_lines_max) return Reach::kNone;
  size_t lines_written = 0;
  for (const WriteEntry& write : writes_) {
    const storage::Group& group = write.layout_group();
    if (group.block) return Reach::kLockBits;
    lines_written += write.columns->lines_written[write.group][reinterpret_cast<uintptr_t>(write.cell) / 8 % 8];
    if (write.additions != nullptr) lines_written += write.additions->size();
  }
  return lines_written <= policy.write_lines_max ? Reach::kWhole : Reach::kLockBits;
}

// The region's body. The reads precede the writes, so that a region that fails in validation does
// not abort other regions.
template <class Sync, class Claims>
auto ReadWriteTransaction<Sync, Claims>::commit_at_once(Reach reach) -> AtOnce {
  AtOnce result;
  for (const WriteEntry& write : writes_) {
    if (write.kind == WriteKind::kNone || write.cell->load() == write.locked_from || ELIDER_MUTANT(kSkipExpectedWords)) [[likely]] continue;
    result.end = AtOnce::End::kMoved;
    return result;
  }
  ELIDER_TEST_POINT("occ.commit.after_lock");
  result.n = store_.snapshots.current();
  ELIDER_TEST_POINT("occ.commit.after_snapshot");
  result.newest_reader = store_.snapshots.newest_reader_before(result.n, store_.workers.ids_used_max());
  ELIDER_TEST_POINT("occ.commit.after_slots");
  if (!reads_valid()) [[unlikely]] {
    result.end = AtOnce::End::kFailed;
    return result;
  }
  result.order = recorder_.on() ? store_.commit_order.fetch_add(1) : 0;  // all recorded commits write this counter, so they conflict
  bool whole = reach == Reach::kWhole;
  if (result.newest_reader != 0) [[unlikely]]
    for (const WriteEntry& write : writes_) whole = whole && !needs_version(write, result.newest_reader);
  ELIDER_TEST_POINT("occ.commit.before_write");
  for (WriteEntry& write : writes_) {
    if (write.kind == WriteKind::kNone) continue;
    if (!whole) {
      write.cell->set_word(write.locked_from | word::kLocked);
      continue;
    }
    if (write.kind != WriteKind::kRemove) write_payload(worker_, write);
    write.cell->set_snapshot(result.n);
    write.cell->unlock(word::next(write.locked_from, write.kind == WriteKind::kRemove));
  }
  result.end = whole ? AtOnce::End::kWritten : AtOnce::End::kLocked;
  return result;
}

// Returns true if the region's result decides the commit. A failed validation that cannot be
// repaired decides it, because a commit by locks would find the same conflict at a greater cost.
// Returns false if the region was wasted, because the commit must continue with another region or
// with locks.
template <class Sync, class Claims>
bool ReadWriteTransaction<Sync, Claims>::settles(const AtOnce& done) const {
  return done.end != AtOnce::End::kMoved && !(done.end == AtOnce::End::kFailed && may_be_repaired());
}

template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::commit_in_region() {
  const Reach reach = reach_of_region();
  if (reach == Reach::kNone) {
    store_.elision->commit.mine().went_direct();
  } else {
    if (!index_entries_.empty()) index_entries_.retire_old();
    if (Status status; try_regions(reach, &status)) return status;
  }
  // If a region was tried, IndexEntries::retire_old() has listed the old entries as stale. They
  // need not be listed again: this worker has been inside the epoch since then, so their grace
  // periods have not ended. If another transaction has taken over an entry, it will list the entry
  // again, or it has committed a change of the row. In the latter case this commit fails.
  Status status = commit_by_locks(reach != Reach::kNone);
  if (status.ok()) this->count_committed_by(CommittedBy::kLocks);
  return status;
}

// Returns true if the commit has ended, with *status. Returns false if it must acquire its locks.
template <class Sync, class Claims>
bool ReadWriteTransaction<Sync, Claims>::try_regions(Reach reach, Status* status) {
  // If the expected words have changed this often before a region could compare them, the commit
  // acquires locks.
  constexpr unsigned kMovesMax = 16;
  for (unsigned moves = 0; moves < kMovesMax; ++moves) {
    // Read the expected commit words before the region begins, because this may wait until they are
    // unlocked.
    if (Conflict conflict; !await_all<Sync>(writes_, &conflict)) [[unlikely]] {
      failed(conflict);
      *status = give_up(0);
      return true;
    }
    ELIDER_TEST_POINT("occ.commit.before_announcement");
    if (store_.log != nullptr) [[unlikely]] store_.log->begin_commit(worker_.id());
    const AtOnce done = htm::run_region<typename Sync::Backend>(
        store_.elision->commit, htm::SubscribedWithin{}, [&]() -> AtOnce { return commit_at_once(reach); }, []() -> AtOnce { return {}; },
        [this](const AtOnce& at_once) { return settles(at_once); });
    if (done.end == AtOnce::End::kLocked || done.end == AtOnce::End::kWritten) {
      *status = finish_region(done);
      return true;
    }
    if (store_.log != nullptr) [[unlikely]] store_.log->end_commit(worker_.id());  // else it would delay durability
    if (done.end == AtOnce::End::kMoved) continue;
    if (done.end == AtOnce::End::kUnsuited || may_be_repaired()) return false;  // repair does not run in a region
    *status = give_up(0);
    return true;
  }
  return false;
}

// Ends a commit whose region has set all lock bits, or has written everything.
template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::finish_region(const AtOnce& done) {
  const bool locked = done.end == AtOnce::End::kLocked;
  if (locked && done.newest_reader != 0 && !prepare_versions(done.newest_reader)) [[unlikely]] return give_up(writes_.size());
  if (store_.log != nullptr) [[unlikely]] publish(done.n);
  this->count_committed_by(locked ? CommittedBy::kLockBits : CommittedBy::kRegion);
  for (WriteEntry& write : writes_) {
    locked ? install(worker_, counters_, write, done.n) : count_row(counters_, write);
    ELIDER_TEST_POINT("occ.commit.written_one");
  }
  return finish(done.n, done.order, done.newest_reader);
}

// Validates a commit without writes: all its reads must be valid at one instant. If the region
// finds a change, the repair runs outside of the region.
template <class Sync, class Claims>
bool ReadWriteTransaction<Sync, Claims>::validate_in_region() {
  htm::Site& site = store_.elision->commit;
  if (2 * tracking_.size() > store_.laboratory.elision.read_lines_max) {
    site.mine().went_direct();
    return reads_valid();
  }
  enum class Seen { kValid, kFails, kNothing };
  const Seen seen = htm::run_region<typename Sync::Backend>(
      site, htm::SubscribedWithin{}, [&]() -> Seen { return reads_valid() ? Seen::kValid : Seen::kFails; },
      []() -> Seen { return Seen::kNothing; }, [this](Seen looked) { return looked == Seen::kValid || !may_be_repaired(); });
  return seen == Seen::kNothing ? reads_valid() : seen == Seen::kValid;
}

}  // namespace elider::txn
