// TransactionBase: the common part of the transactions of all protocols. It contains the state, the
// reason why a transaction is doomed, the argument checks, the memory, the counters and the history
// recorder.
//
// Thread safety: none. A transaction belongs to one worker.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/worker.h"
#include "elider/snapshot_number.h"
#include "elider/transaction.h"
#include "txn/arena.h"
#include "txn/counters.h"
#include "txn/history_recorder.h"
#include "txn/refuse.h"
#include "txn/store.h"

namespace elider::txn {

using detail::KeyRef;

class TransactionBase : public Transaction {
 public:
  // Returns ok, or the reason why the transaction can only be rolled back.
  const Status& why_doomed() const { return doom_; }
  // The snapshot number of the commit. Once all commits up to this number are durable, everything
  // that the transaction read and wrote is durable. Set only if the database has a log.
  SnapshotNumber commit_number() const { return commit_number_; }
  bool active() const { return state_ != State::kFinished; }
  // Called before an attempt that repeats the procedure of the previous attempt.
  void repeat() {
    const uint64_t now = transactions_ended();
    if (last_repeated_ != now - 1) first_of_repeated_ = now - 1;
    last_repeated_ = now;
  }
  void stays_open() {}

 protected:
  // kEditing: the transaction is between do_edit and do_edited, for columns that a secondary index
  // reads.
  enum class State : uint8_t { kFinished, kActive, kEditing, kDoomed };

  TransactionBase(Store& store, Worker& worker, Counters& counters, bool in_regions)
      : store_(store), worker_(worker), counters_(counters), arena_(in_regions), recorder_(store, worker.id()) {}

  void begin_attempt(uint32_t attempt, uint32_t procedure) {
    state_ = State::kActive;
    attempt_ = attempt;
    procedure_ = procedure;
    recorder_.begin();
  }
  [[gnu::always_inline]] inline void end_attempt() {
    state_ = State::kFinished;
    ended_.store(ended_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (!doom_.ok()) [[unlikely]] forget_doom();
    cause_table_ = nullptr;
    arena_.clear();
  }

  [[gnu::noinline]] void forget_doom() { doom_ = {}; }

  // Checks the arguments of an operation and returns the requested columns. Returns null if the
  // operation is not allowed; refuse() then returns the error.
  template <Purpose kPurpose>
  const detail::ColumnSet* check(const TableRef& table, const ColumnsRef& columns) const {
    return state_ == State::kActive ? accept_arguments<kPurpose>(store_.id, table, columns) : nullptr;
  }
  Status refuse(const TableRef& table, const ColumnsRef& columns) const {
    if (state_ == State::kFinished) return Status(Code::kFinished, "the transaction has ended");
    if (state_ == State::kDoomed) return doom_;
    if (state_ == State::kEditing) return refuse_pending_edit(TableRef(edited_table_));
    return refuse_arguments(store_.id, table, columns);
  }

  // Dooms the transaction: it cannot commit and must be rolled back.
  Status doom(detail::TableBase& table, Code code, Cause cause, KeyRef key) {
    state_ = State::kDoomed;
    cause_table_ = &table;
    cause_number_ = table.number_of(key);
    doom_ = table.error(code, cause, key);
    return doom_;
  }
  // Runs operation(), which writes to the row of `key`. If it throws, the write may be incomplete,
  // so the transaction is doomed.
  template <class Operation>
  Status guarded(detail::TableBase& table, KeyRef key, Operation&& operation) {
    try {
      return operation();
    } catch (...) {
      if (state_ == State::kActive || state_ == State::kEditing)
        static_cast<void>(doom(table, Code::kProcedureThrew, Cause::kException, key));
      throw;
    }
  }

  // The number of transactions that have ended in this object.
  uint64_t transactions_ended() const { return ended_.load(std::memory_order_relaxed); }
  // The value of transactions_ended() in the first attempt of the current procedure.
  uint64_t first_attempt() const { return last_repeated_ == transactions_ended() ? first_of_repeated_ : transactions_ended(); }
  // The generation of this transaction's views and their headers (RawView::shows).
  uint32_t generation() const { return static_cast<uint32_t>(transactions_ended()); }
  // Returns ok if a scan may continue after its visitor has returned. `ended` is the value of
  // transactions_ended() before the visit. A scan must call after_visit() before it does anything
  // else, because the visitor may have ended the transaction. Another transaction may then be
  // running in this object, even on another thread.
  [[gnu::always_inline]] inline Status after_visit(uint64_t ended) const {
    if (transactions_ended() != ended) [[unlikely]]
      return Status(Code::kFinished, "a scan's visitor has ended the transaction");
    if (state_ != State::kActive) [[unlikely]] return state_ == State::kEditing ? refuse_pending_edit(TableRef(edited_table_)) : doom_;
    return {};
  }

  // Records the cause, table and key of a failed validation. Always returns false.
  bool failed(Cause cause, detail::TableBase* table, KeyRef key) {
    cause_ = cause;
    cause_table_ = table;
    cause_key_ = key;
    if (table != nullptr) cause_number_ = table->number_of(key);
    return false;
  }
  void count_commit() { counters_.procedures[procedure_].commits.add(1); }
  void count_committed_by(CommittedBy way) { counters_.procedures[procedure_].committed_by[static_cast<size_t>(way)].add(1); }
  void count_abort(Cause cause) {
    counters_.procedures[procedure_].aborts[static_cast<size_t>(cause)].add(1);
    if (cause_table_ != nullptr) counters_.tables[cause_table_->id()].count_abort(cause, cause_number_);
  }

  // Constant after construction.
  Store& store_;
  Worker& worker_;
  Counters& counters_;

  State state_ = State::kFinished;
  uint32_t procedure_ = 0;
  // Incremented when a transaction ends in this object. It is atomic because a visitor may end the
  // transaction and thereby return the worker, which another thread may then use. relaxed: no other
  // data depends on it.
  std::atomic<uint64_t> ended_{0};
  uint64_t last_repeated_ = ~uint64_t{0};  // the last attempt that repeated another one
  uint64_t first_of_repeated_ = 0;         // the first attempt of its procedure
  SnapshotNumber commit_number_ = 0;
  Status doom_;
  Cause cause_ = Cause::kNone;  // the cause of a failed validation; the next members contain its table and key
  detail::TableBase* cause_table_ = nullptr;
  KeyRef cause_key_;
  Key cause_number_ = 0;                     // valid if cause_table_ is set: the key as a number, which outlives the key's bytes
  detail::TableBase* edited_table_ = nullptr;  // while kEditing

  Arena arena_;
  HistoryRecorder recorder_;
};

}  // namespace elider::txn
