// The steps of a commit, and the ends of a transaction. commit.h shows their order.
#pragma once

#include "elider/snapshot_number.h"
#include "txn/read_write/transaction.h"

namespace elider::txn {

// -- before the first change ----------------------------------------------------------------------

template <class Sync, class Claims>
[[gnu::always_inline]] inline size_t ReadWriteTransaction<Sync, Claims>::lock_writes() {
  Conflict conflict;
  const size_t locked = lock_all<Sync>(writes_, &conflict);
  if (locked != writes_.size()) [[unlikely]] failed(conflict);
  return locked;
}

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

template <class Sync, class Claims>
[[gnu::always_inline]] inline bool ReadWriteTransaction<Sync, Claims>::validate_reads() {
  if constexpr (Sync::kRegions)
    if (store_.elision != nullptr) return validate_in_region();
  return reads_valid();
}

// Publishes the record of commit n. The rows must be locked or already written.
template <class Sync, class Claims>
void ReadWriteTransaction<Sync, Claims>::publish(SnapshotNumber n) {
  publish_record(*store_.log, worker_.id(), log_place_, n, writes_, claims_.ends_call());
  commit_number_ = n;
}

// -- ends -----------------------------------------------------------------------------------------

// Ends a commit after all writes are installed and all locks are released.
template <class Sync, class Claims>
[[gnu::always_inline]] inline Status ReadWriteTransaction<Sync, Claims>::finish(SnapshotNumber n, uint64_t order,
                                                                                SnapshotNumber newest_reader) {
  ELIDER_TEST_POINT("occ.commit.after_release");
  if (!claims_.ends_call()) return finish_piece(n, order, newest_reader);
  this->count_commit();
  writes_.count_tables(counters_);
  record_end(true, Cause::kNone, n, order);
  retire_removed_rows<Sync>(store_, worker_, writes_, n, newest_reader != 0, late_unlinks_);
  if (!index_entries_.empty()) index_entries_.retire_unused(true, writes_);
  if (!late_unlinks_.empty()) [[unlikely]] late_unlinks_.unlink(store_, worker_);
  end();
  return {};
}

template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::finish_piece(SnapshotNumber n, uint64_t order, SnapshotNumber newest_reader) {
  claims_.committed(n, order);
  writes_.count_tables(counters_);
  recorder_.keep_writes(writes_, index_entries_);
  retire_removed_rows<Sync>(store_, worker_, writes_, n, newest_reader != 0, late_unlinks_);
  if (!index_entries_.empty()) index_entries_.retire_unused(true, writes_);
  if (!late_unlinks_.empty()) [[unlikely]] late_unlinks_.unlink(store_, worker_);
  writes_.clear();
  index_entries_.clear();
  tracking_.clear();
  return {};
}

// Rolls back a commit that could not acquire all locks, or whose validation failed. No row has been
// changed yet.
template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::give_up(size_t locked) {
  unlock(writes_, locked);
  if (store_.log != nullptr) store_.log->end_commit(worker_.id());
  free_unused(worker_, writes_);
  const bool memory = cause_ == Cause::kMemoryLimit;
  Status status = cause_table_->error(memory ? Code::kMemoryLimit : Code::kConflict, cause_, cause_key_);
  rollback(cause_);
  return status;
}

// Rolls back a commit that the log refuses. No row has been locked yet.
template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::refuse_commit(const Status& status) {
  free_unused(worker_, writes_);
  rollback(Cause::kNone);
  return status;
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
void ReadWriteTransaction<Sync, Claims>::rollback(Cause cause) {
  if (state_ == State::kFinished) return;
  count_abort(cause);
  record_end(false, cause, 0, 0);
  if (!writes_.empty()) retire_created_rows<Sync>(worker_, writes_);
  if (!index_entries_.empty()) index_entries_.retire_unused(false, writes_);
  end();
}

// Clears all records of the transaction, but keeps their memory for the next transaction.
template <class Sync, class Claims>
[[gnu::always_inline]] inline void ReadWriteTransaction<Sync, Claims>::end() {
  // A region that writes rows in place notes their tables, but does not add write entries.
  if (RunsInRegion<Claims> || !writes_.empty()) {
    writes_.clear();
    index_entries_.clear();
  }
  end_without_writes();
}

template <class Sync, class Claims>
[[gnu::always_inline]] inline void ReadWriteTransaction<Sync, Claims>::end_without_writes() {
  tracking_.clear();
  claims_.end();
  this->end_attempt();
}

}  // namespace elider::txn
