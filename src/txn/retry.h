// Functions that run a procedure as a transaction: a single attempt, and the retry loop for
// protocols in which a conflict ends the attempt.
//
// Thread safety: the worker and the transaction belong to the calling thread.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/thread_ends.h"
#include "base/threw.h"
#include "base/worker.h"
#include "elider/database.h"
#include "elider/function_ref.h"
#include "elider/transaction.h"
#include "txn/counters.h"

namespace elider::txn {

// A procedure to run, its policy, and the worker that runs it.
struct Call {
  FunctionRef<Status(Transaction&)> procedure;
  const RunPolicy& policy;
  Worker& worker;
  Counters& counters;
  bool nested;  // whether this transaction is nested in another one on the same thread
};

// Passes the conflict that ended an attempt to RunPolicy::on_conflict.
inline void tell_conflict(const RunPolicy& policy, const Status& conflict) {
  if (policy.on_conflict != nullptr && *policy.on_conflict) [[unlikely]] (*policy.on_conflict)(conflict);
}
// Waits after failed attempt number `attempt`, for a random time that the policy bounds. Returns
// false if the policy does not allow another attempt, because its deadline has passed or its
// attempts are used up.
bool wait_before_retry(const RunPolicy& policy, uint32_t attempt, uint64_t begin_ns, Random& random);
// Returns true if the policy allows another attempt. Does not wait.
bool may_retry(const RunPolicy& policy, uint32_t attempt, uint64_t begin_ns);
// Returns the time of the policy's deadline, or 0 if the policy does not set one.
uint64_t deadline_of(const RunPolicy& policy, uint64_t begin_ns);
// Counts the abort, and returns kDeadline with the table and the key of the last conflict. The
// message contains the number of attempts and the cause of that conflict. If the policy would have
// allowed another attempt, `why` is the reason for giving up.
Status given_up(Counters& counters, uint32_t procedure_id, uint32_t attempts, const Status& last, const std::string& why = {});
// Returns the error for a RunPolicy::procedure_id that does not exist.
Status refuse_procedure_id(uint32_t id);

// Rolls back after the procedure has returned an error or thrown an exception. If the procedure has
// read an inconsistent state, its result is meaningless, so the conflict is returned instead.
template <class Txn>
[[gnu::noinline]] Status give_up_attempt(Txn& txn, Status status, Cause cause) {
  // If the transaction is doomed because a function of the caller threw, the procedure's own status
  // is more informative.
  Status why = txn.why_doomed();
  if (why.ok() || why.code() == Code::kProcedureThrew) why = txn.reads_hold();
  if (!why.ok()) {
    cause = why.cause();
    status = std::move(why);
  }
  txn.rollback(cause);
  return status;
}

// Runs the procedure in a transaction that has begun, and commits the transaction or rolls it back.
template <class Txn, class Procedure>
[[gnu::always_inline]] inline Status attempt(Txn& txn, const Procedure& procedure) {
  try {
    Status status = procedure(txn);
    if (status.ok()) [[likely]] return txn.commit();
    return give_up_attempt(txn, std::move(status), Cause::kUser);
  } catch (const std::exception& error) {
    return give_up_attempt(txn, threw(error.what()), Cause::kException);
  } catch (...) {
    if (thread_ends()) {
      txn.rollback(Cause::kException);
      throw;
    }
    return give_up_attempt(txn, threw(nullptr), Cause::kException);
  }
}

// Begins the transaction and calls attempt_once(txn, call) -> Status. attempt_once is passed by
// value, and the call is copied only after the first attempt, so both stay in registers if the
// first attempt commits.
template <class Txn, class AttemptOnce>
[[gnu::always_inline]] inline Status begin_and_attempt(Txn& txn, const Call& call, uint32_t number, AttemptOnce attempt_once) {
  const Inside inside(call.worker);
  if (number > 1) txn.repeat();
  txn.begin(number, call.policy.procedure_id);
  return attempt_once(txn, call);
}

// Runs further attempts after the first attempt has ended with a conflict.
template <class Txn, class AttemptOnce>
[[gnu::noinline]] Status retry_after(Status status, Txn& txn, const Call& call, uint64_t begin_ns, AttemptOnce attempt_once) {
  for (uint32_t number = 1; status.retryable(); ++number) {
    tell_conflict(call.policy, status);
    if (!wait_before_retry(call.policy, number, begin_ns, call.worker.random()))
      return given_up(call.counters, call.policy.procedure_id, number, status);
    status = begin_and_attempt(txn, call, number + 1, attempt_once);
  }
  return status;
}

// Makes attempts until one ends without a conflict, or the policy does not allow another attempt.
template <class Txn, class AttemptOnce>
[[gnu::always_inline]] inline Status retry(Txn& txn, const Call& call, AttemptOnce attempt_once) {
  const uint64_t begin_ns = call.policy.deadline_us != 0 ? now_ns() : 0;
  Status status = begin_and_attempt(txn, call, 1, attempt_once);
  if (status.retryable()) [[unlikely]] status = retry_after(std::move(status), txn, Call(call), begin_ns, attempt_once);
  return status;
}

}  // namespace elider::txn
