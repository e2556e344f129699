// Timestamp: the protocol of HyPer-HTM (section 4). A transaction claims each row with timestamps
// before it accesses the row, so it detects a conflict at the access and not at its commit
// (timestamp_claims.h).
//
// When a procedure has a conflict, it is rolled back and waits until the conflicting transaction
// has ended. If the procedure is called in a group, the group runs its other calls meanwhile. After
// LaboratoryOptions::restarts_max restarts, the procedure runs alone until it has committed. A
// procedure that runs alone aborts every transaction that conflicts with its claims, and other
// threads do not begin transactions until it has ended. These threads wait at most 10 ms, because
// the procedure may itself be waiting for one of them. After that, they begin their transactions,
// which may abort the procedure's attempt if they conflict with its claims. The limit doubles with
// each attempt, up to the procedure's deadline, so that a long procedure can finish. Calls in a
// group never run alone.
//
// An open transaction (Database::begin) cannot be retried, so it waits for conflicting
// transactions. Once an open transaction has been open for LaboratoryOptions::open_patience_us, a
// transaction that conflicts with its claims may abort it. The abort releases the open
// transaction's claims, and its commit fails. Similarly, a transaction that has waited for a
// procedure for 10 ms aborts the procedure's attempt. So no transaction waits forever, not even for
// a transaction of its own thread.
//
// Lock order: alone_ comes before all other locks, and is acquired outside of the epoch.
// Thread safety: as required of every protocol (txn/protocol.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <type_traits>

#include "base/cache_line.h"
#include "base/clock.h"
#include "base/spin.h"
#include "sync/elided.h"
#include "sync/exclusive.h"
#include "txn/read_write/transaction.h"
#include "txn/protocol.h"
#include "txn/snapshot_transaction.h"
#include "txn/timestamp/timestamp_claims.h"

namespace elider::txn {

template <class SyncPolicy, bool kReadsToo>
class TimestampOrdering {
 public:
  using Sync = SyncPolicy;
  using Claims = TimestampClaims<kReadsToo>;
  using Transaction = ReadWriteTransaction<Sync, Claims>;
  using Snapshot = SnapshotTransaction<Sync>;
  static constexpr elider::Protocol kName = kReadsToo ? elider::Protocol::kTimestamp : elider::Protocol::kTimestampValidated;
  static constexpr bool kTakesPolicy = true;
  static constexpr uint32_t kCellBytes = Claims::kCellBytes;

  explicit TimestampOrdering(Store& store) : store_(store), timestamps_(store.workers) {
    if constexpr (sync::kElides<Sync>) store.elision = std::make_unique<ElisionSites>(store.laboratory.elision);
  }

  Transaction make_transaction(Worker& worker, Counters& counters) {
    return Transaction(store_, worker, counters, nullptr, Claims(timestamps_, worker.id(), patience_ns()));
  }

  template <RunnableTransaction Txn>
  Status run(Txn& txn, const Call& call) {
    if constexpr (std::is_same_v<Txn, Snapshot>) return retry(txn, call, attempt_it);
    else return run_writing(txn, call);
  }
  template <RunnableTransaction Txn>
  Status attempt_once(Txn& txn, const Call& call) {
    return attempt(txn, call.procedure);
  }

  template <class F>
  void for_each_site(F&&) const {}

 private:
  static constexpr auto attempt_it = [](auto& its, const Call& one) { return attempt(its, one.procedure); };
  uint64_t patience_ns() const { return uint64_t{store_.laboratory.open_patience_us} * 1000; }

  // While an Alone object exists, its transaction runs alone. The destructor ends this state even
  // if an attempt throws, for example because its thread ends.
  class Alone {
   public:
    // The caller must hold alone_. The destructor releases it.
    Alone(TimestampOrdering& protocol, Transaction& txn)
        : lock_(*protocol.alone_, std::adopt_lock), alone_for_ns_(*protocol.alone_for_ns_), claims_(txn.claims()) {}
    ~Alone() {
      claims_.set_alone(false, Timestamps::kProcedurePatienceNs);
      alone_for_ns_.store(0);
    }
    // Sets how long other threads wait for the next attempt: at most until `deadline_ns` (0: no
    // deadline), but at least kProcedurePatienceNs.
    void begin(uint32_t attempt, uint64_t deadline_ns) {
      uint64_t patience_ns = Timestamps::kProcedurePatienceNs << std::min(attempt, kDoublingsMax);
      if (deadline_ns != 0) {
        const uint64_t now = now_ns();
        patience_ns = std::min(patience_ns, std::max(Timestamps::kProcedurePatienceNs, deadline_ns > now ? deadline_ns - now : 0));
      }
      claims_.set_alone(true, patience_ns);
      alone_for_ns_.store(patience_ns);
    }

   private:
    static constexpr uint32_t kDoublingsMax = 16;  // limits the time to 11 minutes
    const std::lock_guard<sync::SpinLatch> lock_;
    std::atomic<uint64_t>& alone_for_ns_;
    Claims& claims_;
  };

  [[gnu::always_inline]] inline Status run_writing(Transaction& txn, const Call& call) {
    const uint64_t begin_ns = call.policy.deadline_us != 0 ? now_ns() : 0;
    if (!call.nested && alone_for_ns_->load(std::memory_order_relaxed) != 0) [[unlikely]] let_alone(call.policy, begin_ns);
    Status status = begin_and_attempt(txn, call, 1, attempt_it);
    if (status.retryable()) [[unlikely]] status = run_again(std::move(status), txn, Call(call), begin_ns);
    return status;
  }
  [[gnu::noinline]] Status run_again(Status status, Transaction& txn, const Call& call, uint64_t begin_ns) {
    uint32_t attempts = 1;
    for (; status.retryable() && (attempts <= store_.laboratory.restarts_max || call.nested); ++attempts) {
      tell_conflict(call.policy, status);
      const bool go_on = may_retry(call.policy, attempts, begin_ns) &&
                         (status.cause() != Cause::kClaimed || txn.claims().await_end(deadline_of(call.policy, begin_ns))) &&
                         wait_before_retry(call.policy, attempts, begin_ns, call.worker.random());
      if (!go_on) return given_up(call.counters, call.policy.procedure_id, attempts, status);
      if (!call.nested && alone_for_ns_->load(std::memory_order_relaxed) != 0) let_alone(call.policy, begin_ns);
      status = begin_and_attempt(txn, call, attempts + 1, attempt_it);
    }
    return status.retryable() ? run_alone(std::move(status), txn, call, begin_ns, attempts) : status;
  }
  Status run_alone(Status status, Transaction& txn, const Call& call, uint64_t begin_ns, uint32_t attempts) {
    tell_conflict(call.policy, status);
    for (Spin spin; !alone_->try_lock(); spin.wait())
      if (!may_retry(call.policy, attempts, begin_ns)) return given_up(call.counters, call.policy.procedure_id, attempts, status);
    Alone alone(*this, txn);
    for (uint32_t attempt = 0; status.retryable(); ++attempts, ++attempt) {
      if (attempt != 0) tell_conflict(call.policy, status);
      if (!may_retry(call.policy, attempts, begin_ns)) {
        status = given_up(call.counters, call.policy.procedure_id, attempts, status);
        break;
      }
      alone.begin(attempt, deadline_of(call.policy, begin_ns));
      status = begin_and_attempt(txn, call, attempts + 1, attempt_it);
    }
    return status;
  }
  // Called while another procedure runs alone. Waits until that procedure has ended, but only for a
  // limited time, because it may itself be waiting for this thread.
  [[gnu::noinline]] void let_alone(const RunPolicy& policy, uint64_t begin_ns) const {
    const uint64_t since_ns = now_ns(), deadline_ns = deadline_of(policy, begin_ns);
    Spin spin;
    for (uint64_t now = since_ns; now - since_ns < alone_for_ns_->load() && (deadline_ns == 0 || now < deadline_ns); now = now_ns())
      spin.wait();
  }

  Store& store_;
  Timestamps timestamps_;
  CacheLine<sync::SpinLatch> alone_;
  CacheLine<std::atomic<uint64_t>> alone_for_ns_;  // how long other threads wait for the procedure that runs alone; 0 if none does
};

template <class Sync>
using TimestampClaiming = TimestampOrdering<Sync, true>;
template <class Sync>
using TimestampValidated = TimestampOrdering<Sync, false>;

}  // namespace elider::txn
