// The commit of ReadWriteTransaction (DBX, Algorithm 1; storage/snapshots.h explains the order of
// the steps).
#pragma once

#include "base/full_fence.h"
#include "elider/snapshot_number.h"
#include "txn/read_write/transaction.h"

namespace elider::txn {

// -- locks ----------------------------------------------------------------------------------------

// Locks the commit word of a write. If kTake is false, only waits until the word is unlocked. In
// both cases, stores the unlocked word in write.locked_from. Returns false if another transaction
// holds the lock for longer than `patience`, or if the row is not in the state that the write
// requires.
template <class Sync, class Claims>
template <bool kTake>
[[gnu::always_inline]] inline bool ReadWriteTransaction<Sync, Claims>::await_word(WriteEntry& write, Patience patience) {
  constexpr uint32_t kSleepsMax = 50;  // 5 to 10 ms
  Cell& cell = *write.cell;
  for (Spin spin;;) {
    uint64_t w = cell.load();
    if (word::locked(w)) [[unlikely]] {
      if (patience == Patience::kLong ? spin.sleeps() == kSleepsMax : spin.has_paused())
        return failed(Cause::kWriteLocked, write.table, write.key);
      spin.wait();
      continue;
    }
    if (write.expected != word::kUnknown ? w != write.expected : word::absent(w) && write.kind != WriteKind::kPresent) [[unlikely]]
      return failed(word::removed(w) ? Cause::kRowRemoved : Cause::kWriteChanged, write.table, write.key);
    if (word::removed(w)) [[unlikely]] return failed(Cause::kRowRemoved, write.table, write.key);
    if constexpr (!kTake) {
      // the region will compare the word
    } else if constexpr (Sync::kConcurrent) {
      if (!cell.lock_from(w)) [[unlikely]] continue;
    } else {
      cell.set_word(w | word::kLocked);
    }
    write.locked_from = w;
    return true;
  }
}

// Locks the commit words of all writes. Returns the number of writes if all are locked. Otherwise
// returns the position of the first write that could not be locked; the writes before it are
// locked.
//
// The first try acquires the locks in the order of the writes, and gives up after a few processor
// pauses. The second try acquires them in the order of their addresses, and waits. Invariant: a
// transaction that waits for a lock does not hold a lock with a greater address. So waits cannot
// form a cycle, and two commits that lock the same rows in opposite orders both succeed.
template <class Sync, class Claims>
[[gnu::always_inline]] inline size_t ReadWriteTransaction<Sync, Claims>::lock_writes() {
  const size_t locked = lock_each(Patience::kShort);
  return locked == writes_.size() ? locked : lock_in_order(locked);
}

template <class Sync, class Claims>
[[gnu::noinline]] size_t ReadWriteTransaction<Sync, Claims>::lock_in_order(size_t locked) {
  if (cause_ != Cause::kWriteLocked) return locked;
  unlock_writes(locked);
  writes_.sort_by_address();
  ELIDER_TEST_POINT("occ.commit.lock_in_order");
  return lock_each(Patience::kLong);
}

template <class Sync, class Claims>
[[gnu::always_inline]] inline size_t ReadWriteTransaction<Sync, Claims>::lock_each(Patience patience) {
  for (size_t i = 0; i < writes_.size(); ++i)
    if (writes_[i].kind != WriteKind::kNone && !await_word<true>(writes_[i], patience)) [[unlikely]] return i;
  return writes_.size();
}

template <class Sync, class Claims>
void ReadWriteTransaction<Sync, Claims>::unlock_writes(size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (writes_[i].kind != WriteKind::kNone) writes_[i].cell->unlock(writes_[i].locked_from);
}

// -- memory that the writes need, taken before anything is changed --------------------------------

template <class Sync, class Claims>
[[gnu::always_inline]] inline bool ReadWriteTransaction<Sync, Claims>::prepare_blocks() {
  const WriteEntry* without = allocate_blocks(worker_, writes_);
  return without == nullptr || failed(Cause::kMemoryLimit, without->table, without->key);
}

template <class Sync, class Claims>
[[gnu::always_inline]] inline bool ReadWriteTransaction<Sync, Claims>::prepare_versions(SnapshotNumber newest_reader) {
  const WriteEntry* without = allocate_versions(worker_, writes_, newest_reader);
  return without == nullptr || failed(Cause::kMemoryLimit, without->table, without->key);
}

// -- the complete commit --------------------------------------------------------------------------

// Rolls back a commit that could not acquire all locks, or whose validation failed. No row has been
// changed yet.
template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::give_up(size_t locked) {
  unlock_writes(locked);
  if (store_.log != nullptr) store_.log->end_commit(worker_.id());
  free_unused(worker_, writes_);
  const bool memory = cause_ == Cause::kMemoryLimit;
  Status status = cause_table_->error(memory ? Code::kMemoryLimit : Code::kConflict, cause_, cause_key_);
  rollback(cause_);
  return status;
}

template <class Sync, class Claims>
[[gnu::always_inline]] inline bool ReadWriteTransaction<Sync, Claims>::validate_reads() {
  if constexpr (Sync::kRegions)
    if (store_.elision != nullptr) return validate_in_region();
  return reads_stand();
}

// Rolls back a commit that the log refuses. No row has been locked yet.
template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::refuse_commit(const Status& status) {
  free_unused(worker_, writes_);
  rollback(Cause::kNone);
  return status;
}

// Publishes the record of commit n. The rows must be locked or already written.
template <class Sync, class Claims>
void ReadWriteTransaction<Sync, Claims>::publish(SnapshotNumber n) {
  bool ends = true;
  if constexpr (RunsPieces<Claims>) ends = !claims_.of_call;
  publish_record(*store_.log, worker_.id(), log_place_, n, writes_, ends);
  commit_number_ = n;
}

// Returns the position that histories record for the commit: its position in the serial order of
// all commits with the same number.
template <class Sync, class Claims>
uint64_t ReadWriteTransaction<Sync, Claims>::take_place() {
  if constexpr (RunsPieces<Claims>)
    if (claims_.late != nullptr) return claims_.late->place();
  return store_.commit_order.fetch_add(1);
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
    order = take_place();
  };
  take_numbers();
  if (!validate_reads()) [[unlikely]] {
    if (!repair_after_failure(Locks::kHeld)) return give_up(0);
    take_numbers();
    if (!reads_stand()) return give_up(0);
  }
  record_end(true, Cause::kNone, n, order);
  return finish_reads();
}

template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::commit() {
  if (state_ != State::kActive) [[unlikely]] return refuse_to_commit();
  if constexpr (Claims::kWrites)
    if (!claims_.begin_commit()) [[unlikely]] return rollback(Cause::kClaimed), ended_by_another();
  return writes_.empty() ? alone([this]() __attribute__((always_inline)) { return commit_reads(); }) : commit_writes();
}

// Returns the reason why commit() cannot commit: the transaction has ended, is doomed, or has a
// pending edit.
template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::refuse_to_commit() {
  if (state_ == State::kFinished) return Status(Code::kFinished, "the transaction has ended");
  Status status = state_ == State::kEditing ? refuse_pending_edit(TableRef(edited_table_)) : doom_;
  // The procedure may have thrown because it read an inconsistent state.
  if (status.code() == Code::kProcedureThrew)
    if (Status held = this->reads_hold(); !held.ok()) status = std::move(held);
  rollback(status.cause() == Cause::kNone ? Cause::kUser : status.cause());
  return status;
}

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
  const uint64_t early = ELIDER_MUTANT(kNumberEarly) ? store_.snapshots.current() : 0;
  ELIDER_TEST_POINT("occ.commit.before_announcement");
  if (log != nullptr) [[unlikely]] log->begin_commit(worker_.id());
  SnapshotNumber n, newest_reader;
  uint64_t order;
  for (bool repaired = false;; repaired = true) {
    n = ELIDER_MUTANT(kNumberEarly) ? early : store_.snapshots.current();
    order = recorder_.on() ? take_place() : 0;
    ELIDER_TEST_POINT("occ.commit.after_snapshot");
    newest_reader = store_.snapshots.newest_reader_before(n, store_.workers.ids_used_max());
    ELIDER_TEST_POINT("occ.commit.after_slots");
    if constexpr (RunsPieces<Claims>) {
      if (claims_.adds_in_order && store_.snapshots.call_before(n - 1, worker_.id()) && !ELIDER_MUTANT(kAddBeforeOlder)) [[unlikely]] {
        failed(Cause::kWriteLocked, writes_[0].table, writes_[0].key);
        return give_up(locked);
      }
      if (claims_.misses_publisher(n)) [[unlikely]] {
        failed(Cause::kReadChanged, writes_[0].table, writes_[0].key);
        return give_up(locked);
      }
    }
    if (reads_stand()) [[likely]] break;
    if (repaired || !repair_after_failure(Locks::kHeld)) return give_up(locked);
  }
  if (newest_reader != 0 && !prepare_versions(newest_reader)) [[unlikely]] return give_up(locked);
  if (log != nullptr) [[unlikely]] publish(n);
  if (!old_entries_retired && !index_changes_.empty()) retire_old_entries();
  ELIDER_TEST_POINT("occ.commit.before_write");
  for (WriteEntry& write : writes_) {
    install(worker_, counters_, write, n);
    ELIDER_TEST_POINT("occ.commit.written_one");
  }
  return finish(n, order, newest_reader);
}

// Ends a commit after all writes are installed and all locks are released.
template <class Sync, class Claims>
[[gnu::always_inline]] inline Status ReadWriteTransaction<Sync, Claims>::finish(SnapshotNumber n, uint64_t order,
                                                                                SnapshotNumber newest_reader) {
  ELIDER_TEST_POINT("occ.commit.after_release");
  if constexpr (RunsPieces<Claims>)
    if (claims_.of_call) return finish_piece(n, order, newest_reader);
  this->count_commit();
  writes_.count_tables(counters_);
  record_end(true, Cause::kNone, n, order);
  retire_rows(n, newest_reader != 0);
  if (!index_changes_.empty()) index_finish(true);
  if (!late_unlinks_.empty()) [[unlikely]] late_unlinks_.unlink(store_, worker_);
  end();
  return {};
}

template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::finish_piece(SnapshotNumber n, uint64_t order, SnapshotNumber newest_reader) {
  if constexpr (RunsPieces<Claims>) claims_.number = n, claims_.order = order;
  writes_.count_tables(counters_);
  recorder_.keep_writes(writes_, index_changes_);
  retire_rows(n, newest_reader != 0);
  if (!index_changes_.empty()) index_finish(true);
  if (!late_unlinks_.empty()) [[unlikely]] late_unlinks_.unlink(store_, worker_);
  writes_.clear();
  index_changes_.clear();
  tracking_.clear();
  return {};
}

// Clears all records of the transaction, but keeps their memory for the next transaction.
template <class Sync, class Claims>
[[gnu::always_inline]] inline void ReadWriteTransaction<Sync, Claims>::end() {
  // A region that writes rows in place notes their table without adding write entries.
  if (RunsInRegion<Claims> || !writes_.empty()) {
    writes_.clear();
    index_changes_.clear();
  }
  end_without_writes();
}

template <class Sync, class Claims>
[[gnu::always_inline]] inline void ReadWriteTransaction<Sync, Claims>::end_without_writes() {
  tracking_.clear();
  if constexpr (Claims::kWrites) claims_.end();
  this->end_attempt();
}

template <class Sync, class Claims>
void ReadWriteTransaction<Sync, Claims>::rollback(Cause cause) {
  if (state_ == State::kFinished) return;
  count_abort(cause);
  record_end(false, cause, 0, 0);
  if (!writes_.empty()) give_up_rows();
  if (!index_changes_.empty()) index_finish(false);
  end();
}

// Retires the row blocks that are absent because of this commit, or that this transaction created
// and did not fill. `n` is the commit's number. `read` means that the commit saw a snapshot reader
// that may need the old versions.
template <class Sync, class Claims>
void ReadWriteTransaction<Sync, Claims>::retire_rows(SnapshotNumber n, bool read) {
  for (const WriteEntry& write : writes_) {
    if (write.group != 0) continue;
    auto& table = static_cast<TableType&>(*write.table);
    if (write.kind == WriteKind::kRemove) {
      const uint64_t absent_word = word::next(write.locked_from, true);
      if (!read) unlink_row_now(worker_, table, write.row, write.key, absent_word);
      else late_unlinks_.retire(store_, worker_, table, write.row, write.key, absent_word, n);
    } else if (write.created && write.kind == WriteKind::kNone) {
      retire_row(worker_, table, write.row, write.key, write.expected);
    }
  }
}

// Retires the row blocks that this transaction has created. They are still absent, because the
// transaction did not commit.
template <class Sync, class Claims>
void ReadWriteTransaction<Sync, Claims>::give_up_rows() {
  for (const WriteEntry& write : writes_)
    if (write.group == 0 && write.created) retire_row(worker_, static_cast<TableType&>(*write.table), write.row, write.key, write.expected);
}

}  // namespace elider::txn
