// OccTransaction: the commit (DBX, Algorithm 1; the order of its steps: storage/snapshots.h).
#pragma once

#include "base/full_fence.h"
#include "txn/occ/occ_transaction.h"

namespace elider::txn {

template <class Sync>
bool OccTransaction<Sync>::failed(Cause cause, detail::TableBase* table, Key key) {
  cause_ = cause;
  cause_table_ = table;
  cause_key_ = key;
  return false;
}

template <class Sync>
void OccTransaction<Sync>::count_abort(Cause cause) {
  counters_.procedures[procedure_].aborts[static_cast<size_t>(cause)].add(1);
  if (cause_table_ != nullptr) counters_.tables[cause_table_->id()].aborts[static_cast<size_t>(cause)].add(1);
}

// -- locks -----------------------------------------------------------------------------------------------

// Takes the word's lock, or, with kTake false, only waits until nobody holds it; locked_from is then the word.
// False: somebody else holds it for longer than `waits_max` waits, or the row is not what the write needs.
template <class Sync>
template <bool kTake>
bool OccTransaction<Sync>::await_word(WriteEntry& write, unsigned waits_max) {
  Cell& cell = *write.cell;
  Spin spin;
  for (unsigned waits = 0;;) {
    uint64_t w = cell.load();
    if (word::locked(w)) [[unlikely]] {
      if (++waits > waits_max) return failed(Cause::kWriteLocked, write.table, write.key);
      spin.wait();
      continue;
    }
    if (write.expected != word::kUnknown ? w != write.expected : word::absent(w) && write.kind != WriteKind::kPresent) [[unlikely]]
      return failed(word::removed(w) ? Cause::kRowRemoved : Cause::kWriteChanged, write.table, write.key);
    if (word::removed(w)) [[unlikely]] return failed(Cause::kRowRemoved, write.table, write.key);
    if constexpr (!kTake) {
      // The region compares.
    } else if constexpr (Sync::kConcurrent) {
      if (!cell.lock_from(w)) [[unlikely]] continue;
    } else {
      cell.set_word(w | word::kLocked);
    }
    write.locked_from = w;
    return true;
  }
}

// How many are locked: all of them, or those before the one that failed.
//
// In the order of the writes, without a wait worth the name, or else in the order of the addresses. Invariant:
// who waits for a lock holds none of a greater address, and who locks in another order does not wait, so
// nobody waits in a circle; two commits that meet in opposite orders both get through.
template <class Sync>
size_t OccTransaction<Sync>::lock_writes() {
  constexpr unsigned kPauses = 6;  // of Spin: it does not give the processor up
  const size_t locked = lock_each(kPauses);
  if (locked == writes_.size()) [[likely]] return locked;
  if (cause_ != Cause::kWriteLocked) return locked;
  unlock_writes(locked);
  std::sort(writes_.begin(), writes_.end(), [](const WriteEntry& a, const WriteEntry& b) { return std::less<>()(a.cell, b.cell); });
  write_positions_.clear();
  for (size_t i = 0; i < writes_.size(); ++i) write_positions_.insert(writes_[i].cell, static_cast<uint32_t>(i));
  ELIDER_TEST_POINT("occ.commit.lock_in_order");
  return lock_each(kWaitsMax);
}

template <class Sync>
[[gnu::always_inline]] inline size_t OccTransaction<Sync>::lock_each(unsigned waits_max) {
  for (size_t i = 0; i < writes_.size(); ++i)
    if (writes_[i].kind != WriteKind::kNone && !await_word<true>(writes_[i], waits_max)) [[unlikely]] return i;
  return writes_.size();
}

template <class Sync>
void OccTransaction<Sync>::unlock_writes(size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (writes_[i].kind != WriteKind::kNone) writes_[i].cell->unlock(writes_[i].locked_from);
}

// -- memory that the writes need, taken before anything is changed --------------------------------------

template <class Sync>
bool OccTransaction<Sync>::prepare_blocks() {
  for (WriteEntry& write : writes_) {
    const storage::Group& group = write.table->layout().group(write.group);
    if (!group.block || write.kind == WriteKind::kRemove || write.kind == WriteKind::kNone) [[likely]] continue;
    write.block = static_cast<std::byte*>(worker_.allocate(group.payload_bytes, MemoryPart::kBlocks));
    if (write.block == nullptr) return failed(Cause::kMemoryLimit, write.table, write.key);
  }
  return true;
}

// An old version is kept where a reader may need it: one that reads at this cell's number or later.
template <class Sync>
bool OccTransaction<Sync>::needs_version(const WriteEntry& write, uint64_t newest_reader) {
  if (write.kind == WriteKind::kNone || write.cell->snapshot() > newest_reader) return false;
  return write.cell->snapshot() != 0 || !word::absent(write.locked_from);  // before it was nothing: no version says so
}

template <class Sync>
bool OccTransaction<Sync>::prepare_versions(uint64_t newest_reader) {
  for (WriteEntry& write : writes_) {
    if (!needs_version(write, newest_reader)) continue;
    const storage::Group& group = write.table->layout().group(write.group);
    const bool absent = word::absent(write.locked_from);
    const size_t bytes = sizeof(storage::Version) + (absent ? 0 : group.block ? sizeof(void*) : group.payload_bytes);
    auto* version = static_cast<storage::Version*>(worker_.allocate(bytes, MemoryPart::kVersions));
    if (version == nullptr) return failed(Cause::kMemoryLimit, write.table, write.key);
    write.version = new (version) storage::Version{write.cell->snapshot() + (ELIDER_MUTANT(kOldVersionNewer) ? 1 : 0),
                                                   word::sequence(write.locked_from), write.cell->previous(),
                                                   &store_.versions_alive, static_cast<uint32_t>(bytes), absent, group.block};
  }
  return true;
}

// -- validation --------------------------------------------------------------------------------------------

// Whether everything that was read stands as it was read, at the instant of the call. What updates have read stands in the
// writes alone: a commit compares it as it locks them.
template <class Sync>
template <bool kHeld>
bool OccTransaction<Sync>::reads_stand() {
  if (ELIDER_MUTANT(kSkipPairValidation) && reads_.size() + nodes_.size() == 2) return true;
  if (!ELIDER_MUTANT(kSkipReadValidation)) {
    for (const ReadEntry& read : reads_) {
      if (read.cell == nullptr) continue;  // a write expects its word
      const uint64_t w = read.cell->load();
      if (w == read.word) [[likely]] continue;
      if (word::locked(w) && (!kHeld || (w & ~word::kLocked) == read.word)) {
        if (kHeld && (write_positions_.find(read.cell) != PointerMap::kNone || ELIDER_MUTANT(kIgnoreLockBit))) continue;  // by this commit
        return failed(Cause::kReadLocked, read.table, read.key);
      }
      return failed(word::removed(w) ? Cause::kRowRemoved : Cause::kReadChanged, read.table, read.key);
    }
    for (const WriteEntry& write : writes_) {
      if (kHeld ? write.kind != WriteKind::kNone : write.expected == word::kUnknown) [[likely]] continue;
      const uint64_t w = write.cell->load();
      if (w == write.expected) [[likely]] continue;
      if (!kHeld && word::locked(w)) return failed(Cause::kWriteLocked, write.table, write.key);
      return failed(!kHeld && word::removed(w) ? Cause::kRowRemoved : Cause::kWriteChanged, write.table, write.key);
    }
  }
  for (const NodeEntry& node : nodes_)
    if (!node.witness.holds() && !ELIDER_MUTANT(kKeepLeafVersion)) [[unlikely]]
      return failed(Cause::kPhantom, node.table, node.secondary() ? 0 : node.first);
  return true;
}

// After reads_stand() said no: whether what changed lies beside what was read. Then reads_stand() is to be asked once more,
// and a commit takes its numbers once more before it: what the second look saw may be of a larger one than it has.
template <class Sync>
[[gnu::noinline]] bool OccTransaction<Sync>::repair_after_failure(Locks locks) {
  if (!may_be_repaired()) return false;
  repairing_under_ = locks;
  bool repaired = false;
  try {
    repaired = repair();
  } catch (const std::bad_alloc&) {
    failed(Cause::kMemoryLimit, cause_table_, cause_key_);  // rows may be locked: no exception leaves
  }
  repairing_under_ = Locks::kNone;
  return repaired;
}

// Of a transaction that ends without a commit: the same validation, with nothing locked.
template <class Sync>
Status OccTransaction<Sync>::reads_hold() {
  if (reads_stand<false>() || (repair_after_failure(Locks::kNone) && reads_stand<false>())) return {};
  return cause_table_->error(cause_ == Cause::kMemoryLimit ? Code::kMemoryLimit : Code::kConflict, cause_, cause_key_);
}

// -- installing ----------------------------------------------------------------------------------------------

inline void reclaim_version(Worker& worker, void* object, uint64_t) {
  auto* version = static_cast<storage::Version*>(object);
  version->alive->fetch_sub(1, std::memory_order_relaxed);  // relaxed: a count
  worker.free(version, version->bytes, MemoryPart::kVersions);
}

template <class Sync>
void OccTransaction<Sync>::keep_version(WriteEntry& write) {
  storage::Version* version = write.version;
  const storage::Group& group = write.table->layout().group(write.group);
  if (!version->absent) {
    if (group.block) {
      std::byte* block = write.cell->block();
      std::memcpy(version->payload_inside(), &block, sizeof block);
    } else {
      guarded_copy(version->payload_inside(), write.cell->payload_inside(), group.payload_bytes);
    }
  }
  write.cell->set_previous(version);
  store_.versions_alive.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
  worker_.retire(reclaim_version, version, 0, version->bytes);
}

template <class Sync>
void OccTransaction<Sync>::write_payload(WriteEntry& write) {
  const storage::Group& group = write.table->layout().group(write.group);
  std::byte* payload = write.cell->payload_inside();
  if (group.block) [[unlikely]] {
    // A copy with the changes; readers keep the old block until the grace period ends.
    std::byte* old_block = write.cell->block();
    if (old_block != nullptr) {
      if (write.kind == WriteKind::kUpdate) guarded_copy(write.block, old_block, group.payload_bytes);
      worker_.retire_memory(old_block, group.payload_bytes, MemoryPart::kBlocks);
    }
    payload = write.block;
  }
  storage::copy_to_payload(*write.columns, write.group, payload, write.image);
  if (write.additions != nullptr)
    for (const Addition& a : *write.additions)
      if (!ELIDER_MUTANT(kLoseAddition) || &a == &write.additions->front())
        storage::add_to_payload(a.type, payload + a.payload_offset, &a.delta);
  if (group.block) [[unlikely]] write.cell->set_block(write.block);
}

// Of group 0's write, as it takes effect: whether there is a row more or less.
template <class Sync>
void OccTransaction<Sync>::count_row(const WriteEntry& write) {
  if (write.kind == WriteKind::kNone) return;
  const bool absent = write.kind == WriteKind::kRemove;
  if (write.group == 0 && absent != word::absent(write.locked_from)) counters_.tables[write.table->id()].rows.add(absent ? -1 : 1);
}

template <class Sync>
void OccTransaction<Sync>::install(WriteEntry& write, uint64_t n) {
  if (write.kind == WriteKind::kNone) return;
  if (ELIDER_MUTANT(kUnlockEarly)) write.cell->unlock(write.locked_from);
  ELIDER_TEST_POINT("occ.commit.before_payload");
  if (write.version != nullptr) [[unlikely]] keep_version(write);
  if (write.kind != WriteKind::kRemove) write_payload(write);
  write.cell->set_snapshot(n);
  count_row(write);
  write.cell->unlock(word::next(write.locked_from, write.kind == WriteKind::kRemove));
}

// -- the whole -------------------------------------------------------------------------------------------------

// What is left when locks or validation fail: nothing has been changed yet.
template <class Sync>
Status OccTransaction<Sync>::give_up(size_t locked) {
  unlock_writes(locked);
  if (store_.log != nullptr) store_.log->end_commit(worker_.id());
  for (WriteEntry& write : writes_) {
    if (write.block != nullptr) worker_.free(write.block, write.table->layout().group(write.group).payload_bytes, MemoryPart::kBlocks);
    if (write.version != nullptr) worker_.free(write.version, write.version->bytes, MemoryPart::kVersions);
  }
  const bool memory = cause_ == Cause::kMemoryLimit;
  Status status = cause_table_->error(memory ? Code::kMemoryLimit : Code::kConflict, cause_, cause_key_);
  rollback(cause_);
  return status;
}

template <class Sync>
[[gnu::always_inline]] inline bool OccTransaction<Sync>::validate_reads() {
  if constexpr (Sync::kRegions)
    if (store_.spinlock == nullptr) return validate_in_region();
  return reads_stand();
}

// No writes: what was read was all there at the instant of the validation.
template <class Sync>
Status OccTransaction<Sync>::commit_reads() {
  fence_between_loads();  // two that only read agree on the order of what they met; partner: the same line of another one
  uint64_t n = 0, order = 0;
  const auto take_numbers = [&] {
    if (!recording()) [[likely]] return;
    n = store_.snapshots.current();
    order = store_.commit_order.fetch_add(1);
  };
  take_numbers();
  // One row was read at one instant already.
  const bool single = reads_.size() == 1 && nodes_.empty();
  if ((!single || recording()) && !validate_reads()) [[unlikely]] {
    if (!repair_after_failure(Locks::kHeld)) return give_up(0);
    take_numbers();
    if (!reads_stand()) return give_up(0);
  }
  if (store_.log != nullptr) [[unlikely]] commit_number_ = ELIDER_MUTANT(kReadsHaveNoNumber) ? 0 : store_.snapshots.current();
  counters_.procedures[procedure_].commits.add(1);
  if (recording()) [[unlikely]] record_end(true, Cause::kNone, n, order);
  end();
  return {};
}

template <class Sync>
Status OccTransaction<Sync>::commit() {
  if (state_ != State::kActive) [[unlikely]] {
    if (state_ == State::kFinished) return Status(Code::kFinished, "the transaction has ended");
    Status status = state_ == State::kEditing ? refuse_pending_edit(TableRef(edit_.table)) : doom_;
    // What threw may have seen rows that never stood together.
    if (status.code() == Code::kProcedureThrew)
      if (Status held = reads_hold(); !held.ok()) status = std::move(held);
    rollback(status.cause() == Cause::kNone ? Cause::kUser : status.cause());
    return status;
  }
  if (writes_.empty()) return alone([this] { return commit_reads(); });
  if (!prepare_blocks()) [[unlikely]] return give_up(0);
  if (store_.log != nullptr) [[unlikely]]
    if (Status status = log_reserve(); !status.ok()) [[unlikely]] return refuse_commit(status);
  ELIDER_TEST_POINT("occ.commit.before_lock");
  if constexpr (Sync::kRegions)
    if (store_.spinlock == nullptr) return commit_in_region();
  return alone([this] { return commit_by_locks(); });
}

template <class Sync>
[[gnu::always_inline]] inline Status OccTransaction<Sync>::commit_by_locks(bool old_entries_retired) {
  const size_t locked = lock_writes();
  if (locked != writes_.size()) [[unlikely]] return give_up(locked);
  // Validation's loads, and S, come after the locks, and whoever sees a byte that is written sees its lock. Partners: the same
  // line of other commits, Snapshots::begin_reading(), Cell::unchanged().
  fence_after_locked_rmw();
  ELIDER_TEST_POINT("occ.commit.after_lock");
  log::Log* const log = store_.log;  // once: a commit in memory alone should know it from a register
  const uint64_t early = ELIDER_MUTANT(kNumberEarly) ? store_.snapshots.current() : 0;
  ELIDER_TEST_POINT("occ.commit.before_announcement");
  if (log != nullptr) [[unlikely]] log->begin_commit(worker_.id());
  uint64_t n, order, newest_reader;
  for (bool repaired = false;; repaired = true) {
    n = ELIDER_MUTANT(kNumberEarly) ? early : store_.snapshots.current();
    order = recording() ? store_.commit_order.fetch_add(1) : 0;
    ELIDER_TEST_POINT("occ.commit.after_snapshot");
    newest_reader = store_.snapshots.newest_reader_before(n, store_.workers.ids_used_max());
    ELIDER_TEST_POINT("occ.commit.after_slots");
    if (reads_stand()) [[likely]] break;
    if (repaired || !repair_after_failure(Locks::kHeld)) return give_up(locked);
  }
  if (newest_reader != 0 && !prepare_versions(newest_reader)) [[unlikely]] return give_up(locked);
  if (log != nullptr) [[unlikely]] log_publish(n);
  if (!old_entries_retired && !index_changes_.empty()) retire_old_entries();
  ELIDER_TEST_POINT("occ.commit.before_write");
  for (WriteEntry& write : writes_) {
    install(write, n);
    ELIDER_TEST_POINT("occ.commit.written_one");
  }
  return finish(n, order, newest_reader);
}

// Everything is written and released.
template <class Sync>
[[gnu::always_inline]] inline Status OccTransaction<Sync>::finish(uint64_t n, uint64_t order, uint64_t newest_reader) {
  ELIDER_TEST_POINT("occ.commit.after_release");
  counters_.procedures[procedure_].commits.add(1);
  count_table_commits();
  if (recording()) [[unlikely]] record_end(true, Cause::kNone, n, order);
  retire_rows(n, newest_reader != 0);
  if (!index_changes_.empty()) index_finish(true);
  if (!late_unlinks_.empty()) [[unlikely]] unlink_late();
  end();
  return {};
}

template <class Sync>
[[gnu::always_inline]] inline void OccTransaction<Sync>::count_table_commits() {
  for (uint64_t rest = tables_written_ & ~kOtherTables; rest != 0; rest &= rest - 1)
    counters_.tables[static_cast<uint32_t>(std::countr_zero(rest))].commits.add(1);
  if (!(tables_written_ & kOtherTables)) [[likely]] return;
  std::bitset<kTablesMax> counted;  // on the stack: the commit stands, and nothing may fail any more
  for (const WriteEntry& write : writes_) {
    const uint32_t id = write.table->id();
    if (id < kTablesWithBit || counted[id]) continue;
    counted[id] = true;
    counters_.tables[id].commits.add(1);
  }
}

template <class Sync>
void OccTransaction<Sync>::rollback(Cause cause) {
  if (state_ == State::kFinished) return;
  count_abort(cause);
  if (recording()) [[unlikely]] record_end(false, cause, 0, 0);
  if (!writes_.empty()) give_up_rows();
  if (!index_changes_.empty()) index_finish(false);
  end();
}

// Row blocks that are absent by this commit, whose number is n, or still are. read: it saw a reader.
template <class Sync>
void OccTransaction<Sync>::retire_rows(uint64_t n, bool read) {
  for (const WriteEntry& write : writes_) {
    if (write.group != 0) continue;
    auto& table = static_cast<TableType&>(*write.table);
    if (write.kind == WriteKind::kRemove) {
      const uint64_t absent_word = word::next(write.locked_from, true);
      if (!read || !needed_by_reader(table, n)) unlink_row_now(worker_, table, write.row, write.key, absent_word);
      else retire_read_row(table, write.row, write.key, absent_word, n);
    } else if (write.created && write.kind == WriteKind::kNone) {
      retire_row(worker_, table, write.row, write.key, write.expected);
    }
  }
}

// The transaction did not commit: what it created stays absent.
template <class Sync>
void OccTransaction<Sync>::give_up_rows() {
  for (const WriteEntry& write : writes_)
    if (write.group == 0 && write.created) retire_row(worker_, static_cast<TableType&>(*write.table), write.row, write.key, write.expected);
}

// -- rows that were removed while somebody read them -------------------------------------------------------
//
// They wait for the end of the readers, and scans pass them until then: a queue would take the time of its whole past for
// each look at its head. So they are looked at again after later commits. Invariant: a row is unlinked once nobody reads
// at a number below that of the commit that removed it, but for readers that have passed its table; whoever begins later
// finds the row absent at its own number.

template <class Sync>
bool OccTransaction<Sync>::needed_by_reader(const detail::TableBase& table, uint64_t n) const {
  return store_.snapshots.read_before(n, table.passed_by(), store_.workers.ids_used_max());
}

template <class Sync>
void OccTransaction<Sync>::retire_read_row(TableType& table, Row* row, Key key, uint64_t absent_word, uint64_t n) {
  constexpr size_t kLateUnlinksMax = 256;
  retire_row(worker_, table, row, key, absent_word);  // in case that nothing commits here any more
  if (late_unlinks_.size() == kLateUnlinksMax) return;
  try {
    late_unlinks_.push_back({{&table, row, key, absent_word}, n});
  } catch (const std::bad_alloc&) {  // the commit stands: the row waits for a grace period
  }
}

template <class Sync>
void OccTransaction<Sync>::unlink_late() {
  constexpr size_t kAtOnce = 16;
  ELIDER_TEST_POINT("occ.unlink_late");
  // Other slots are looked at once a call, unless it may be that the oldest reader has passed the table.
  const uint64_t oldest = store_.snapshots.oldest_reader(store_.workers.ids_used_max());
  for (size_t looks = std::min(kAtOnce, late_unlinks_.size()); looks > 0; --looks) {
    if (late_at_ >= late_unlinks_.size()) late_at_ = 0;
    const LateUnlink& late = late_unlinks_[late_at_];
    const detail::TableBase& table = *late.row.table;
    const bool read = oldest < late.n && (oldest != table.passed_by() || needed_by_reader(table, late.n));
    if (read || !reclaim::unlink_absent_row(worker_, late.row)) {
      ++late_at_;
      continue;
    }
    late_unlinks_[late_at_] = late_unlinks_.back();
    late_unlinks_.pop_back();
  }
}

}  // namespace elider::txn
