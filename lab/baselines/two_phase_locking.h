// TwoPhaseLocking: strict two-phase locking. It locks each row when the row is read or written, and
// each leaf that a scan or an absent key depends on. All locks are released when the transaction
// ends (row_locks.h). It is the baseline of HyPer-HTM (section 6) and other papers.
//
// If a procedure requests a lock that an older transaction holds, it is rolled back and retried
// with its original age, so it eventually becomes the oldest. The holders may also never release
// the lock, for example if they are open transactions. So if the same transactions block a
// procedure for LaboratoryOptions::lock_timeout_us, it fails with kDeadline. An open transaction
// cannot be retried. If it is refused a lock, or has waited for one for
// LaboratoryOptions::open_patience_us, it can only be rolled back.
//
// Thread safety: that of a protocol (txn/protocol.h).
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

template <class SyncPolicy>
class TwoPhaseLocking {
 public:
  using Sync = SyncPolicy;
  using Transaction = ReadWriteTransaction<Sync, RowLocks>;
  using Snapshot = SnapshotTransaction<Sync>;
  static constexpr elider::Protocol kName = elider::Protocol::kTwoPhaseLocking;
  static constexpr bool kTakesPolicy = Sync::kConcurrent && !sync::kElides<Sync>;
  static constexpr uint32_t kCellBytes = RowLocks::kCellBytes;

  explicit TwoPhaseLocking(Store& store) : store_(store) {}

  Transaction make_transaction(Worker& worker, Counters& counters) {
    const uint64_t patience_ns = uint64_t{store_.laboratory.open_patience_us} * 1000;
    return Transaction(store_, worker, counters, nullptr, RowLocks(leaves_, worker.id(), patience_ns));
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
  // The group retries its calls, except those that are stuck.
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
