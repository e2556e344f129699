// Chopped: a protocol that runs declared procedures in pieces (DBX-TC). Ordinary transactions run
// as under Occ, concurrently with calls to such procedures.
//
// A call to an installed procedure has three parts: head, core and tail (execution.h). Only the
// core can conflict with other calls, so the head and the tail are not validated. Normally a call
// runs as one commit, because each commit has a cost. If the attempt at a single commit has a
// conflict, the call commits piece by piece (piece_transaction.h). Then only the core is retried,
// and other calls can interfere only during the core. If a worker's calls to a procedure often
// conflict, the worker's next calls to that procedure commit piece by piece from the start.
//
// If the backend B has hardware transactions, core and tail of a call first run in one hardware
// transaction (a region; direct.h). If the region does not succeed, the call falls back to the
// methods above. Deferred parts become visible in publications, and calls that read them wait for
// the publications (publications.h). An ordinary transaction commits only while no call is running,
// and calls do not run during its commit (rooms.h). So calls and ordinary transactions are
// serializable together, although the declaration does not describe ordinary transactions.
//
// Deviations from the paper:
//   - Core and tail are one hardware transaction. Without hardware transactions, a piece is a small
//     optimistic transaction.
//   - If a region fails, the call does not acquire a partition's lock, but sets the lock bits of
//     its rows.
//   - All pieces before the conflicting piece are merged, and so are all pieces after it.
//   - An addition waits for calls with smaller numbers. In the paper, it is instead repeated on
//     newer versions (Algorithm 1).
//   - A snapshot reader waits for the calls that it may see, so that it sees every call that ended
//     before the reader began.
//
// Thread safety: as required of every protocol (txn/protocol.h).
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "base/memory.h"
#include "base/spin.h"
#include "htm/backend.h"
#include "htm/site.h"
#include "sync/elided.h"
#include "txn/chopping/direct.h"
#include "txn/chopping/execution.h"
#include "txn/chopping/piece_transaction.h"
#include "txn/chopping/publications.h"
#include "txn/chopping/rooms.h"
#include "txn/chopping/within_call.h"
#include "txn/protocol.h"
#include "txn/snapshot_transaction.h"

namespace elider::txn {

// Stands in for DirectPiece if the backend does not have hardware transactions.
struct NoDirectPiece {
  NoDirectPiece(Store&, Worker&, Counters&) {}
};

// Estimates how often a worker's calls to one procedure conflict with other calls. Committing a
// call piece by piece is more expensive, and snapshot readers must wait for such a call. Unless a
// call is likely to conflict, it should therefore be a single commit.
class Conflicts {
 public:
  // Returns true if about three of the last 64 calls had a conflict.
  bool often() const { return recent_ > 2 * kWeight; }
  void met_one() { recent_ = std::min(recent_ + kWeight, 3 * kWeight); }
  void met_none() { recent_ -= recent_ != 0 ? 1 : 0; }

 private:
  static constexpr int kWeight = 64;
  int recent_ = 0;
};

// An ordinary transaction, and the pieces of the calls that its worker runs. B is the backend that
// runs core and tail of a call in one hardware transaction.
template <class Sync, htm::Backend B>
class ChoppedTransaction final : public ReadWriteTransaction<Sync, Piece> {
  using Base = ReadWriteTransaction<Sync, Piece>;

 public:
  using PieceType = PieceTransaction<Sync>;
  struct Pieces {
    Pieces(Store& store, Worker& worker, Counters& counters)
        : head(store, worker, counters), core(store, worker, counters), tail(store, worker, counters), direct(store, worker, counters) {}
    PieceType head, core, tail;
    [[no_unique_address]] std::conditional_t<B::kRunsRegions, DirectPiece<Sync, B>, NoDirectPiece> direct;
    std::array<Conflicts, 64> conflicts{};  // indexed by procedure
    uint32_t attempts = 0;                  // the number of attempts of the current call

    // Passes the rows that were looked up in advance for the call. An empty span must be passed
    // when the call has ended.
    void expect(std::span<const TouchedRow> rows) {
      head.expect(rows), core.expect(rows), tail.expect(rows);
      if constexpr (B::kRunsRegions) direct.expect(rows);
    }
  };

  ChoppedTransaction(Store& store, Worker& worker, Counters& counters, Rooms& rooms)
      : Base(store, worker, counters, nullptr), rooms_(rooms) {}

  Status commit() {
    if (!this->active()) return Base::commit();
    if (WithinCall::of(this->store_.id)) [[unlikely]] {  // the commit would wait for the call, which waits for the commit
      this->rollback(Cause::kUser);
      return Status::invalid_argument("a transaction cannot commit within an operation of a chopped procedure of the same database");
    }
    const Rooms::Commit alone(rooms_);
    if (this->store_.stopped()) [[unlikely]] {
      this->rollback(Cause::kNone);
      return this->store_.refusal();
    }
    return Base::commit();
  }
  Status reads_hold() {
    const Rooms::Commit alone(rooms_);
    return Base::reads_hold();
  }

  Worker& worker() { return this->worker_; }
  // The first call may throw std::bad_alloc.
  Pieces& pieces() {
    if (pieces_ == nullptr) pieces_ = std::make_unique<Pieces>(this->store_, this->worker_, this->counters_);
    return *pieces_;
  }
  // Called when a call's result is returned, if that is some time after the commit. Sets the call's
  // end time in the history.
  void answered() {
    if (pieces_ == nullptr) return;
    pieces_->core.answered();
    if constexpr (B::kRunsRegions) pieces_->direct.answered();
  }

 private:
  Rooms& rooms_;
  std::unique_ptr<Pieces> pieces_;
};

template <class SyncPolicy, htm::Backend B = htm::None>
class ChoppedProtocol {
 public:
  using Sync = SyncPolicy;
  using Transaction = ChoppedTransaction<Sync, B>;
  using Snapshot = SnapshotTransaction<Sync>;
  static constexpr elider::Protocol kName = elider::Protocol::kChopped;
  static constexpr bool kTakesPolicy = Sync::kConcurrent && !sync::kElides<Sync>;
  static constexpr uint32_t kCellBytes = 0;

  explicit ChoppedProtocol(Store& store)
      : store_(store), rooms_(store.workers.workers_max()), publications_(store.workers.workers_max(), store.commit_order) {
    store.snapshots.list_calls(store.workers.workers_max());
  }

  Transaction make_transaction(Worker& worker, Counters& counters) { return Transaction(store_, worker, counters, rooms_); }

  template <RunnableTransaction Txn>
  [[gnu::always_inline]] inline Status run(Txn& txn, const Call& call) {
    return retry(txn, call, [](Txn& its, const Call& one) __attribute__((always_inline)) { return attempt(its, one.procedure); });
  }
  template <RunnableTransaction Txn>
  [[gnu::always_inline]] inline Status attempt_once(Txn& txn, const Call& call) {
    return attempt(txn, call.procedure);
  }

  // Runs a call that may write. The worker must be inside the epoch. `rows` contains the rows that
  // were looked up for the call since the worker entered the epoch. If the call commits, sets
  // *number to its snapshot number.
  [[gnu::always_inline]] inline Status run_call(Transaction& txn, const Execution& execution, const ExecutableProcedure& procedure,
                                                void* arguments, const Call& call, std::span<const TouchedRow> rows,
                                                SnapshotNumber* number) {
    typename Transaction::Pieces* pieces;
    try {
      pieces = &txn.pieces();
      if constexpr (B::kRunsRegions) pieces->direct.make_room(execution);
    } catch (const std::bad_alloc&) {
      return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
    }
    const Rooms::Call in_room(rooms_, txn.worker().id());
    if (store_.stopped()) [[unlikely]] return store_.refusal();
    if (txn.worker().is_beyond_limit()) [[unlikely]] return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
    const WithinCall within(store_.id);
    std::optional<Expecting<typename Transaction::Pieces>> expecting;
    if (!rows.empty()) expecting.emplace(*pieces, rows);
    const uint64_t begin_ns = call.policy.deadline_us != 0 ? now_ns() : 0;
    pieces->attempts = 0;
    if (!procedure.subscribes) [[likely]] return run_pieces(*pieces, execution, procedure, arguments, call, begin_ns, number);
    return run_subscriber(txn, *pieces, execution, procedure, arguments, call, begin_ns, number);
  }
  // Called after run_call(). If the call may have seen a publisher's core, waits until the call's
  // result may be returned, and sets *status to an error if the database has stopped. The worker
  // need not be inside the epoch.
  [[gnu::always_inline]] inline void await_answer(Transaction& txn, const Execution& execution, const ExecutableProcedure& procedure,
                                                  Status* status) {
    if (procedure.meets_publishers) [[unlikely]] await_publishers(txn, execution, procedure, status);
  }

  template <class F>
  void for_each_site(F&&) const {}  // each procedure has its own site (execution.h)

 private:
  using PieceType = PieceTransaction<Sync>;
  static constexpr uint32_t kMissesMax = 8;          // after this many restarts of a subscriber, publishers wait for it

  [[gnu::noinline]] void await_publishers(Transaction& txn, const Execution& execution, const ExecutableProcedure& procedure,
                                          Status* status) {
    if (!procedure.publishes() && !execution.answers_at_once && !ELIDER_MUTANT(kAnswerBeforePublishers)) {
      publications_.await_listed(Publications::kAll);
      if (store_.stopped()) [[unlikely]] *status = store_.refusal();  // the call may have seen the core of an incomplete publisher
    }
    txn.answered();
  }
  [[gnu::noinline]] Status run_subscriber(Transaction& txn, typename Transaction::Pieces& pieces, const Execution& execution,
                                          const ExecutableProcedure& procedure, void* arguments, const Call& call, uint64_t begin_ns,
                                          SnapshotNumber* number) {
    Publications::Subscriber subscriber(publications_, txn.worker().id());
    for (uint32_t misses = 1;; ++misses) {
      subscriber.enter();
      if (store_.stopped()) [[unlikely]] return store_.refusal();
      Status status = run_pieces(pieces, execution, procedure, arguments, call, begin_ns, number);
      if (!pieces.core.missed()) [[likely]] return status;
      subscriber.leave();
      if (misses == kMissesMax) subscriber.keep_publishers_out();
      publications_.await_listed(store_.snapshots.current());
      tell_conflict(call.policy, status);
      if (!wait_before_retry(call.policy, pieces.attempts, begin_ns, call.worker.random()))
        return given_up(call.counters, call.policy.procedure_id, pieces.attempts, status);
    }
  }

  [[gnu::always_inline]] inline Status run_pieces(typename Transaction::Pieces& pieces, const Execution& execution,
                                                  const ExecutableProcedure& procedure, void* arguments, const Call& call,
                                                  uint64_t begin_ns, SnapshotNumber* number) {
    const Publications* const subscribed = procedure.subscribes ? &publications_ : nullptr;
    Publications* const late = procedure.meets_publishers ? &publications_ : nullptr;
    std::optional<Publications::Publisher> publisher;
    if (procedure.publishes()) [[unlikely]] publisher.emplace(publications_, pieces.core.worker_id());
    pieces.core.bind(subscribed, late, publisher ? &*publisher : nullptr);
    if constexpr (B::kRunsRegions) {
      pieces.direct.bind(subscribed, late);
      htm::Site& site = *procedure.site;
      if (site.mine().tries(site.policy()) && !execution.always_in_pieces && !procedure.publishes()) [[likely]]
        if (Status status; run_directly(site, pieces, execution, procedure, arguments, call, number, &status)) [[likely]] return status;
    }
    Status status = run_by_locks(pieces, execution, procedure, arguments, call, begin_ns, number);
    if constexpr (B::kRunsRegions)
      if (status.ok()) call.counters.procedures[call.policy.procedure_id].committed_by[static_cast<size_t>(CommittedBy::kLocks)].add(1);
    return status;
  }

  // Runs the head as a separate transaction, and then core and tail as one region. Returns false if
  // nothing took effect; the call must then run without a region. Otherwise sets *status to the
  // outcome of the call.
  bool run_directly(htm::Site& site, typename Transaction::Pieces& pieces, const Execution& execution, const ExecutableProcedure& procedure,
                    void* arguments, const Call& call, SnapshotNumber* number, Status* status) {
    const Ended ended{pieces};
    const uint32_t id = call.policy.procedure_id;
    if (!procedure.head.empty()) {
      pieces.head.begin(1, id);
      *status =
          attempt_head(pieces.head, [&](elider::Transaction& its) { return run_operations(its, execution, procedure.head, arguments); });
      if (!status->ok()) [[unlikely]] return true;
    }
    pieces.direct.look_on_from(pieces.head);
    pieces.direct.set_adds(procedure.core_adds || procedure.tail_adds);
    const auto operations = [&](elider::Transaction& its) -> Status {
      Status done = run_operations(its, execution, procedure.core, arguments);
      return done.ok() && !procedure.tail.empty() ? run_operations(its, execution, procedure.tail, arguments) : done;
    };
    if (!pieces.direct.run(site, id, procedure.head.empty() ? nullptr : &pieces.head, operations)) [[unlikely]] return false;
    *number = pieces.direct.commit_number();
    return true;
  }

  // Runs the call without a region. The call is one commit, unless calls to the procedure have
  // recently had conflicts, the procedure is a publisher, or the options require pieces.
  [[gnu::always_inline]] inline Status run_by_locks(typename Transaction::Pieces& pieces, const Execution& execution,
                                                    const ExecutableProcedure& procedure, void* arguments, const Call& call,
                                                    uint64_t begin_ns, SnapshotNumber* number) {
    Conflicts& conflicts = pieces.conflicts[procedure.position % pieces.conflicts.size()];
    if (!conflicts.often() && !execution.always_in_pieces && !procedure.publishes()) [[likely]] {
      Status status = run_at_once(pieces.core, execution, procedure, arguments, call.policy.procedure_id, ++pieces.attempts);
      if (!status.retryable() || pieces.core.missed()) [[likely]] {
        conflicts.met_none();
        *number = pieces.core.commit_number();
        return status;
      }
      conflicts.met_one();
      tell_conflict(call.policy, status);
      if (!wait_before_retry(call.policy, pieces.attempts, begin_ns, call.worker.random()))
        return given_up(call.counters, call.policy.procedure_id, pieces.attempts, status);
      return run_in_pieces(pieces, execution, procedure, arguments, call, begin_ns, number);
    }
    Status status = run_in_pieces(pieces, execution, procedure, arguments, call, begin_ns, number);
    if (pieces.core.attempt() > 1) conflicts.met_one();
    else conflicts.met_none();
    return status;
  }

  // Makes one attempt to run all pieces as one commit, which validates only the core's reads.
  [[gnu::always_inline]] static inline Status run_at_once(PieceType& whole, const Execution& execution,
                                                          const ExecutableProcedure& procedure, void* arguments, uint32_t id,
                                                          uint32_t attempt_number) {
    whole.set_of_call(false);
    whole.set_adds(procedure.core_adds || procedure.tail_adds);
    whole.begin(attempt_number, id);
    return attempt(whole, [&](elider::Transaction& its) __attribute__((always_inline)) -> Status {
      if (!procedure.head.empty()) {
        if (Status status = run_operations(its, execution, procedure.head, arguments); !status.ok()) [[unlikely]] return status;
        whole.forget_reads_after(0);
      }
      Status status = run_operations(its, execution, procedure.core, arguments);
      if (!status.ok() || procedure.tail.empty()) return status;
      const size_t of_core = whole.reads();
      status = run_operations(its, execution, procedure.tail, arguments);
      whole.forget_reads_after(of_core);
      return status;
    });
  }

  // Runs head, core and tail as separate commits.
  [[gnu::noinline]] Status run_in_pieces(typename Transaction::Pieces& pieces, const Execution& execution,
                                         const ExecutableProcedure& procedure, void* arguments, const Call& call, uint64_t begin_ns,
                                         SnapshotNumber* number) {
    const Ended ended{pieces};
    const uint32_t id = call.policy.procedure_id;
    const auto operations = [&](const auto& part) {
      return [&](elider::Transaction& its) { return run_operations(its, execution, part, arguments); };
    };
    if (!procedure.head.empty()) {
      pieces.head.begin(pieces.attempts + 1, id);
      if (Status status = attempt_head(pieces.head, operations(procedure.head)); !status.ok()) [[unlikely]] return status;
    }
    pieces.core.look_on_from(pieces.head);
    pieces.core.set_of_call(true);
    pieces.core.set_adds(procedure.core_adds);
    for (;;) {
      const uint32_t attempts = ++pieces.attempts;
      pieces.core.begin(attempts, id);
      Status status = attempt(pieces.core, operations(procedure.core));
      if (status.ok()) [[likely]] break;
      if (!status.retryable() || pieces.core.missed()) return status;
      tell_conflict(call.policy, status);
      if (!wait_before_retry(call.policy, attempts, begin_ns, call.worker.random())) return given_up(call.counters, id, attempts, status);
    }
    *number = pieces.core.number();
    // Deferred operations look up their rows during the publication, because a subscriber that is
    // ordered before it may have inserted or removed the rows.
    const auto tail = [&](elider::Transaction& its) -> Status {
      Status status = run_operations(its, execution, procedure.tail, arguments);
      if (!status.ok() || procedure.deferred.empty()) [[likely]] return status;
      pieces.core.publisher()->open();
      return run_operations(its, execution, procedure.deferred, arguments);
    };
    const bool has_tail = !procedure.tail.empty() || !procedure.deferred.empty();
    if (has_tail) {
      pieces.tail.look_on_from(pieces.core);
      pieces.tail.set_adds(procedure.tail_adds);
      if (Status status = finish_call(pieces, id, procedure, tail); !status.ok()) [[unlikely]] return status;
    }
    pieces.core.tell_call(procedure.head.empty() ? nullptr : &pieces.head, has_tail ? &pieces.tail : nullptr);
    if (pieces.core.publisher() != nullptr) [[unlikely]] pieces.core.publisher()->end();
    return {};
  }

  // Ends the pieces that are still open, regardless of how the call ends.
  struct Ended {
    typename Transaction::Pieces& pieces;
    ~Ended() {
      pieces.tail.end_call();
      pieces.core.end_call();
      pieces.head.end_call();
    }
  };

  // The head's reads need not be validated, because other calls do not change what it reads.
  template <class Operations>
  static Status attempt_head(PieceType& head, const Operations& operations) {
    const auto give_up = [&](Status status, Cause cause) {
      head.rollback(cause);
      return status;
    };
    try {
      Status status = operations(head);
      if (status.ok() && head.has_writes()) status = Status::invalid_argument("an operation that is declared read-only has written");
      return status.ok() ? status : give_up(std::move(status), Cause::kUser);
    } catch (const std::exception& error) {
      return give_up(threw(error.what()), Cause::kException);
    } catch (...) {
      head.rollback(Cause::kException);
      if (thread_ends()) throw;
      return threw(nullptr);
    }
  }

  // Makes one attempt to run and commit the tail. If the attempt fails, the tail is rolled back.
  template <class Operations>
  Status attempt_tail(typename Transaction::Pieces& pieces, uint32_t attempt, uint32_t id, const ExecutableProcedure& procedure,
                      const Operations& operations) {
    Status status;
    pieces.tail.begin(attempt, id);
    try {
      status = operations(pieces.tail);
      if (status.ok()) status = pieces.tail.commit_tail(pieces.core.number(), pieces.core.order());
    } catch (const std::bad_alloc&) {
      status = Status(Code::kMemoryLimit, Cause::kMemoryLimit);
    } catch (const std::exception& error) {
      status = threw(error.what());
    } catch (...) {
      status = threw(nullptr);
      if (thread_ends()) {
        pieces.tail.rollback(Cause::kException);
        static_cast<void>(stop(pieces, procedure, status));
        throw;
      }
    }
    if (status.ok()) [[likely]] return status;
    // If the attempt had a conflict, that conflict is more informative than an error that the body
    // returned because of it.
    if (const Status& why = pieces.tail.why_doomed(); !why.ok() && why.code() != Code::kProcedureThrew) status = why;
    pieces.tail.rollback(status.cause());
    return status;
  }

  // Repeats the tail until it has committed, or stops the database if it cannot commit. The call
  // can no longer be undone, because other transactions may have seen its core.
  template <class Operations>
  Status finish_call(typename Transaction::Pieces& pieces, uint32_t id, const ExecutableProcedure& procedure,
                     const Operations& operations) {
    constexpr uint32_t kAttemptsWithoutMemory = 100;
    uint32_t without_memory = 0;
    for (uint32_t attempt = 1;; ++attempt) {
      Status status = attempt_tail(pieces, attempt, id, procedure, operations);
      if (status.code() == Code::kMemoryLimit) [[unlikely]] {
        const BeyondLimit beyond;  // this call can no longer be refused, so the memory limit does not apply
        status = attempt_tail(pieces, ++attempt, id, procedure, operations);
      }
      if (status.ok()) [[likely]] return status;
      if (!status.retryable() && (status.code() != Code::kMemoryLimit || ++without_memory > kAttemptsWithoutMemory))
        return stop(pieces, procedure, status);
      ::sched_yield();
    }
  }

  // Stops the database, because a call is incomplete and cannot be undone. The call's number stays
  // announced to the log, so a commit that depends on it cannot become durable.
  [[gnu::noinline]] Status stop(typename Transaction::Pieces& pieces, const ExecutableProcedure& procedure, const Status& why) {
    Status status(Code::kCorrupt, Cause::kNone);
    try {
      status = Status(Code::kCorrupt, "procedure '" + procedure.name + "' failed after its ordering piece had committed, so the call is " +
                                          "incomplete; the database has stopped: " + why.message());
    } catch (const std::bad_alloc&) {
    }
    store_.stop(status);
    store_.snapshots.end_call(pieces.core.worker_id());
    return status;
  }

  Store& store_;
  Rooms rooms_;
  Publications publications_;
};

}  // namespace elider::txn
