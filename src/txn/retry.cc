#include "txn/retry.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "base/clock.h"

namespace elider::txn {

namespace {
uint64_t allowed_by(const RunPolicy& policy) {
  constexpr uint64_t kNsMax = ~uint64_t{0};
  return policy.deadline_us == 0 || policy.deadline_us > kNsMax / 1000 ? kNsMax : policy.deadline_us * 1000;
}
}  // namespace

bool may_retry(const RunPolicy& policy, uint32_t attempt, uint64_t begin_ns) {
  if (policy.attempts_max != 0 && attempt >= policy.attempts_max) return false;
  return policy.deadline_us == 0 || now_ns() - begin_ns < allowed_by(policy);
}

uint64_t deadline_of(const RunPolicy& policy, uint64_t begin_ns) {
  const uint64_t allowed_ns = allowed_by(policy);
  return allowed_ns > ~uint64_t{0} - begin_ns ? 0 : begin_ns + allowed_ns;
}

bool wait_before_retry(const RunPolicy& policy, uint32_t attempt, uint64_t begin_ns, Random& random) {
  if (policy.attempts_max != 0 && attempt >= policy.attempts_max) return false;
  const uint64_t allowed_ns = allowed_by(policy);
  const uint64_t passed_ns = policy.deadline_us != 0 ? now_ns() - begin_ns : 0;
  if (passed_ns >= allowed_ns) return false;
  uint64_t bound_us = 0;
  if (attempt > 1) bound_us = std::min<uint64_t>(uint64_t{policy.backoff_min_us} << std::min(attempt - 2, 20u), policy.backoff_max_us);
  if (bound_us != 0) {
    const uint64_t wait_ns = std::min(random.below(bound_us * 1000 + 1), allowed_ns - passed_ns);
    // If the system has a coarse clock, a sleep takes 1 to 10 ms. To wait for a shorter time, this
    // thread therefore yields the processor repeatedly until the time is over. If no other thread
    // is ready, a yield returns immediately.
    constexpr uint64_t kShortestSleepNs = 2'000'000;
    if (wait_ns >= kShortestSleepNs) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(wait_ns));
    } else {
      for (const uint64_t until = now_ns() + wait_ns; now_ns() < until;) ::sched_yield();
    }
  }
  return policy.deadline_us == 0 || now_ns() - begin_ns < allowed_ns;
}

Status given_up(Counters& counters, uint32_t procedure_id, uint32_t attempts, const Status& last, const std::string& why) {
  counters.procedures[procedure_id].aborts[static_cast<size_t>(Cause::kDeadline)].add(1);
  try {
    std::string words = "given up after " + std::to_string(attempts) + " attempts";
    if (!why.empty()) words += ": " + why;
    words += "; the last ended with: " + std::string(name_of(last.code()));  // message() appends the table and key of `last`
    if (last.cause() != Cause::kNone) words += ": " + std::string(name_of(last.cause()));
    return Status(Code::kDeadline, Cause::kDeadline, last, std::move(words));
  } catch (const std::bad_alloc&) {  // without a message
    return Status(Code::kDeadline, Cause::kDeadline);
  }
}

Status refuse_procedure_id(uint32_t id) {
  return Status::invalid_argument("RunPolicy::procedure_id is " + std::to_string(id) + "; use a result of Database::procedure_id()");
}

}  // namespace elider::txn
