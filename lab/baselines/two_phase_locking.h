// TwoPhaseLocking: strict two-phase locking, which is a baseline in HyPer-HTM (section 6) and other
// papers. A transaction locks each row when it reads or writes the row. It also locks each index
// leaf that it scans, or in which it finds a key absent. It releases all locks when it ends
// (row_locks.h).
//
// If a procedure requests a lock that an older transaction holds, the procedure is rolled back and
// retried with its original age, so it eventually becomes the oldest. However, the holders may
// never release the lock, for example if they are open transactions. Therefore a procedure fails
// with kDeadline if the same transactions block it for LaboratoryOptions::lock_timeout_us. An open
// transaction cannot be retried. If it is denied a lock, or has waited for a lock for
// LaboratoryOptions::open_patience_us, it can only be rolled back.
//
// Thread safety: like every protocol (txn/protocol.h).
#pragma once

#include <string>
#include <type_traits>

#include "elider/laboratory.h"
#include "sync/elided.h"
#include "lab/baselines/row_locks.h"
#include "txn/read_write/transaction.h"
#include "txn/protocol.h"
#include "txn/snapshot_transaction.h"

namespace elider::txn {

// The locks, as the claims of a transaction (txn/claims.h).
struct LockClaims : RowLocks, TransactionHooks {
  using RowLocks::RowLocks;
};

template <class SyncPolicy>
class TwoPhaseLocking {
 public:
  using Sync = SyncPolicy;
  using Transaction = ReadWriteTransaction<Sync, LockClaims>;
  using Snapshot = SnapshotTransaction<Sync>;
  static constexpr elider::Protocol kName = elider::Protocol::kTwoPhaseLocking;
  static constexpr bool kTakesPolicy = Sync::kConcurrent && !sync::kElides<Sync>;
  static constexpr uint32_t kCellBytes = RowLocks::kCellBytes;

  explicit TwoPhaseLocking(Store& store) : store_(store) {}

  Transaction make_transaction(Worker& worker, Counters& counters) {
    const uint64_t patience_ns = uint64_t{store_.laboratory.open_patience_us} * 1000;
    return Transaction(store_, worker, counters, nullptr, LockClaims(leaves_, worker.id(), patience_ns));
  }

  template <RunnableTransaction Txn>
  [[gnu::always_inline]] inline Status run(Txn& txn, const Call& call) {
    if constexpr (std::is_same_v<Txn, Snapshot>) {
      return retry(txn, call, attempt_it);
    } else {
      const uint64_t begin_ns = call.policy.deadline_us != 0 ? now_ns() : 0;
      Status status = begin_and_attempt(txn, call, 1, attempt_it);
      if (status.retryable()) [[unlikely]] status = run_again(std::move(status), txn, Call(call), begin_ns);
      return status;
    }
  }
  // Runs one attempt of a call in a group. If the attempt has a conflict, the group retries the
  // call. If the holders of a lock have not changed for too long while the call waited, the call
  // fails.
  template <RunnableTransaction Txn>
  Status attempt_once(Txn& txn, const Call& call) {
    Status status = attempt(txn, call.procedure);
    if constexpr (!std::is_same_v<Txn, Snapshot>)
      if (is_stuck(txn, status)) [[unlikely]] return give_up(call, 1, status);
    return status;
  }

  template <class F>
  void for_each_site(F&&) const {}

 private:
  static constexpr auto attempt_it = [](auto& its, const Call& one) { return attempt(its, one.procedure); };

  [[gnu::noinline]] Status run_again(Status status, Transaction& txn, const Call& call, uint64_t begin_ns) {
    for (uint32_t attempts = 1; status.retryable(); ++attempts) {
      tell_conflict(call.policy, status);
      if (is_stuck(txn, status)) return give_up(call, attempts, status);
      if (!wait_before_retry(call.policy, attempts, begin_ns, call.worker.random()))
        return given_up(call.counters, call.policy.procedure_id, attempts, status);
      status = begin_and_attempt(txn, call, attempts + 1, attempt_it);
    }
    return status;
  }
  bool is_stuck(Transaction& txn, const Status& status) const {
    return status.cause() == Cause::kClaimed && store_.laboratory.lock_timeout_us != 0 &&
           txn.claims().stuck_for(uint64_t{store_.laboratory.lock_timeout_us} * 1000);
  }
  Status give_up(const Call& call, uint32_t attempts, const Status& last) const {
    return given_up(
        call.counters, call.policy.procedure_id, attempts, last,
        "other transactions kept a lock for LaboratoryOptions::lock_timeout_us, " +
            std::to_string(store_.laboratory.lock_timeout_us) + " us");
  }

  Store& store_;
  LeafLocks leaves_;
};

}  // namespace elider::txn
