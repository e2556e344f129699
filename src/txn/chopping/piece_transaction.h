// PieceTransaction: the transaction that runs one part of a chopped procedure's call: the head, the
// core or the tail (execution.h).
//
//   head   reads that cannot conflict, so they are not validated
//   core   an ordinary commit, which gives the call its snapshot number and orders it among other
//          calls
//   tail   writes that cannot conflict. They are written at the core's number and not validated.
//
// Invariants:
//   - Before the core reads its number n, the call is listed at n or below (storage/snapshots.h)
//     and announced to the log (log/log.h). This does not change until the tail is written. So
//     neither a snapshot at n or later nor a closed number (docs/design/group-commit.md) can fall
//     between the commits of the call.
//   - The versions of a cell are in the order of their numbers. If the tail and another call with a
//     larger number write the same cell, both only add to it, and a call that adds waits until all
//     calls with smaller numbers have ended. (DBX-TC, Algorithm 1, does not wait, but repeats the
//     addition on the newer versions.)
//
// A piece and its images remain unchanged after the piece's commit until end_call(), because later
// operations may use what the piece has read. Thread safety: none. The object belongs to one
// worker.
#pragma once

#include <string>

#include "txn/chopping/piece.h"
#include "txn/read_write/transaction.h"

namespace elider::txn {

template <class Sync>
class PieceTransaction final : public ReadWriteTransaction<Sync, Piece> {
  using Base = ReadWriteTransaction<Sync, Piece>;
  using typename Base::State;

 public:
  PieceTransaction(Store& store, Worker& worker, Counters& counters)
      : Base(store, worker, counters, nullptr) {
    claims_.piece = claims_.of_call = true;
  }

  uint32_t worker_id() const { return worker_.id(); }
  // Sets whether this commit is only a part of its call (true) or the entire call (false).
  void set_of_call(bool of_call) { claims_.of_call = of_call; }
  size_t reads() const { return this->tracking_.reads().size(); }
  // Drops the recorded reads after the first `count`. They cannot conflict, so they need not be
  // validated.
  void forget_reads_after(size_t count) { this->tracking_.forget_reads_after(count); }
  bool has_writes() const { return !writes_.empty(); }
  SnapshotNumber number() const { return claims_.number; }
  bool adds() const { return claims_.adds_in_order; }
  void set_adds(bool adds) { claims_.adds_in_order = adds; }
  // Sets the publications that restrict the call. Called before the call runs, and each time that
  // it begins again.
  void bind(const Publications* subscribed, Publications* late, Publications::Publisher* publisher) {
    claims_.subscribed = subscribed;
    claims_.late = late;
    claims_.publisher = publisher;
    claims_.missed = false;
    this->recorder_.answers_later(late != nullptr);
  }
  void answered() { this->recorder_.answered(); }
  Publications::Publisher* publisher() const { return claims_.publisher; }
  // Returns true if the last attempt found a listed publisher with a smaller number. The call must
  // then leave and begin again (publications.h).
  bool missed() const { return claims_.missed; }

  // Commits the core, or an entire call. If the result is ok, the call has its snapshot number and
  // can no longer be undone.
  Status commit() {
    if (this->state_ != State::kActive) return Base::commit();
    if (!claims_.of_call) return claims_.subscribed != nullptr && writes_.empty() ? commit_reads_of_subscriber() : Base::commit();
    const SnapshotNumber now = store_.snapshots.current();
    if (claims_.misses_publisher(now)) [[unlikely]] return begin_again();  // otherwise the call and the publisher would wait for each other
    if (adds()) store_.snapshots.await_calls(now - 1, worker_.id());
    if (store_.stopped()) [[unlikely]] {
      this->rollback(Cause::kNone);
      return store_.refusal();
    }
    if (claims_.publisher != nullptr) [[unlikely]]
      claims_.publisher->begin([this] { return store_.snapshots.current(); });
    Listed listed(store_, worker_.id());
    Status status = writes_.empty() ? commit_reads_of_core() : Base::commit();
    if (!status.ok()) [[unlikely]] return status;
    listed.keep();
    store_.snapshots.set_call(worker_.id(), number());
    ELIDER_TEST_POINT("chopped.core_committed");
    return status;
  }

  // Commits the tail at the core's number. Statuses:
  //   kOk
  //   kConflict      a row was unlinked, or changed without a declared conflict; the caller retries
  //   kMemoryLimit   memory is exhausted; the caller retries with more memory
  //   kCorrupt       a row already has a larger number, so the declaration omits a conflict
  Status commit_tail(SnapshotNumber n, uint64_t order) {
    if (this->state_ != State::kActive) [[unlikely]] return Base::commit();
    if (writes_.empty()) return this->finish_piece(n, order, 0);
    if (!this->prepare_blocks()) [[unlikely]] return give_up_tail(0);
    // If the log has failed, the call can no longer become durable. The rows are written
    // nevertheless, because the call would otherwise be incomplete.
    bool logged = store_.log != nullptr;
    if (logged)
      if (Status status = reserve_record(*store_.log, worker_.id(), writes_, &this->log_place_); !status.ok()) [[unlikely]] {
        if (!store_.log->failed()) {
          free_unused(worker_, writes_);
          return status;
        }
        logged = false;
      }
    if (adds() && !ELIDER_MUTANT(kAddBeforeOlder)) store_.snapshots.await_calls(n - 1, worker_.id());
    ELIDER_TEST_POINT("chopped.before_tail_locks");
    const size_t locked = this->lock_writes();
    if (locked != writes_.size()) [[unlikely]] return give_up_tail(locked);
    fence_after_locked_rmw();  // like commit_by_locks()
    for (const WriteEntry& write : writes_)
      if (write.kind != WriteKind::kNone && write.cell->snapshot() > n) [[unlikely]] return refuse_order(write);
    const SnapshotNumber newest_reader = store_.snapshots.newest_reader_before(n, store_.workers.ids_used_max());
    if (newest_reader != 0 && !this->prepare_versions(newest_reader)) [[unlikely]] return give_up_tail(locked);
    if (logged) this->publish(n);
    if (!this->index_entries_.empty()) this->index_entries_.retire_old();
    for (WriteEntry& write : writes_) {
      install(worker_, this->counters_, write, n);
      ELIDER_TEST_POINT("chopped.tail_written_one");
    }
    return this->finish_piece(n, order, newest_reader);
  }

  // Called on the core when the call ends. Counts the call, and reports all pieces of the call to
  // the history as one record. After that, the log and snapshot readers no longer wait for the
  // call.
  void tell_call(PieceTransaction* head, PieceTransaction* tail) {
    if (store_.log != nullptr) [[unlikely]] store_.log->end_commit(worker_.id());
    store_.snapshots.end_call(worker_.id());
    this->count_commit();
    if (!this->recorder_.on()) [[likely]] return;
    if (head != nullptr) this->recorder_.take_from(head->recorder_);
    if (tail != nullptr) this->recorder_.take_from(tail->recorder_);
    this->recorder_.end({true, false, Cause::kNone, number(), claims_.order, this->attempt_, this->procedure_}, nullptr, nullptr);
  }
  // Returns true if this transaction created the view and has read its row.
  bool has_view(const detail::TableBase& table, const detail::ImageHeader& view) {
    return this->arena_.holds(&view) && this->has_read(table, view);
  }
  // Moves the head's recorded reads to the recorder of the transaction that runs the other parts of
  // the call (direct.h).
  void give_reads_to(HistoryRecorder& recorder) { recorder.take_from(this->recorder_); }
  uint64_t order() const { return claims_.order; }
  // Ends a piece after its call has ended. If the call committed, the core has already reported the
  // piece.
  void end_call() {
    if (!this->active()) return;
    this->recorder_.take_back_to(0);
    this->end();
  }

 private:
  // Lists the call in the store's snapshots while a Listed object exists. After keep(), the call
  // remains listed.
  class Listed {
   public:
    Listed(Store& store, uint32_t worker) : store_(&store), worker_(worker) { store.snapshots.begin_call(worker); }
    ~Listed() {
      if (store_ != nullptr) store_->snapshots.end_call(worker_);
    }
    Listed(const Listed&) = delete;
    Listed& operator=(const Listed&) = delete;
    void keep() { store_ = nullptr; }

   private:
    Store* store_;
    const uint32_t worker_;
  };
  using Base::claims_;
  using Base::store_;
  using Base::worker_;
  using Base::writes_;

  // Commits a core that only reads. Its commit orders the call among other calls, so all its reads
  // must be valid at one instant.
  Status commit_reads_of_core() {
    if (store_.log != nullptr) [[unlikely]] store_.log->begin_commit(worker_.id());
    for (bool repaired = false;; repaired = true) {
      const SnapshotNumber n = store_.snapshots.current();
      const uint64_t order = this->recorder_.on() ? claims_.place(store_) : 0;
      if (claims_.misses_publisher(n)) [[unlikely]] {
        if (store_.log != nullptr) store_.log->end_commit(worker_.id());
        return begin_again();
      }
      if (this->reads_valid()) [[likely]] {
        this->commit_number_ = n;
        return this->finish_piece(n, order, 0);
      }
      if (repaired || !this->repair_after_failure(Locks::kHeld)) return this->give_up(0);
    }
  }

  // Commits a subscriber's call that does not write. Publications restrict even such a call,
  // because its reads order it among other calls.
  Status commit_reads_of_subscriber() {
    for (bool repaired = false;; repaired = true) {
      const SnapshotNumber n = store_.snapshots.current();
      const uint64_t order = this->recorder_.on() ? claims_.place(store_) : 0;
      if (claims_.misses_publisher(n)) [[unlikely]] return begin_again();
      if (this->reads_valid()) [[likely]] {
        this->record_end(true, Cause::kNone, n, order);
        return this->finish_reads();
      }
      if (repaired || !this->repair_after_failure(Locks::kHeld)) return this->give_up(0);
    }
  }
  // Rolls back a call that must first see a publisher's deferred part, so that the call begins
  // again.
  [[gnu::noinline]] Status begin_again() {
    this->rollback(Cause::kReadChanged);
    return Status(Code::kConflict, Cause::kReadChanged);
  }
  // Rolls back a tail that has not written anything yet. The call's number remains announced to the
  // log.
  Status give_up_tail(size_t locked) {
    unlock(writes_, locked);
    free_unused(worker_, writes_);
    const bool memory = this->cause_ == Cause::kMemoryLimit;
    return this->cause_table_->error(memory ? Code::kMemoryLimit : Code::kConflict, this->cause_, this->cause_key_);
  }
  Status refuse_order(const WriteEntry& write) {
    const detail::TableBase& table = *write.table;
    const KeyRef key = write.key;         // a byte key is stored in the row, which outlives this call
    unlock(writes_, writes_.size());  // first, because composing the message may throw
    free_unused(worker_, writes_);
    return Status(Code::kCorrupt, "table '" + table.schema().name + "', key " + table.key_text(key) +
                                      ": another call has written this row with a larger snapshot number, but the declarations do not "
                                      "show this conflict");
  }
};

}  // namespace elider::txn
