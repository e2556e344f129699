// Durable: stores the number up to which all commits are on the disk, the callers that wait for a
// number, and whether the log has failed.
//
// The log decides what is durable; this class does not write. A failure is final: commits that are
// not durable by then never become durable, and all waiting callers are notified.
//
// Thread safety: all threads may call all functions.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "base/fork.h"
#include "elider/snapshot_number.h"
#include "elider/status.h"

namespace elider::log {

class Durable {
 public:
  using Told = std::function<void(const Status&)>;

  SnapshotNumber number() const { return number_.load(std::memory_order_acquire); }
  bool failed() const { return works_in_.load(std::memory_order_acquire) != process_generation(); }
  Status failure() const {
    if (in_child()) return opened_before_fork("database");
    std::lock_guard lock(mutex_);
    return failure_;
  }
  // A forked child does not have the threads that write the log, so nothing becomes durable there.
  bool in_child() const { return process_.in_child(); }

  // Waits until the number is durable or the log has failed. Returns ok if the number is durable.
  // Otherwise returns the failure, and the commits may be on the disk or not.
  Status wait(SnapshotNumber number);
  // Calls told(what wait() would return) once. The call comes immediately, or from the thread that
  // calls raise() or fail().
  void when(SnapshotNumber number, Told told);

  // Called by the log. Ignores a number that is smaller than an earlier one.
  void raise(SnapshotNumber number);
  // Called by the log. Later failures are ignored.
  void fail(const Status& status);

 private:
  struct Waiter {
    SnapshotNumber number = 0;
    Told told;
  };
  static bool later(const Waiter& a, const Waiter& b) { return a.number > b.number; }
  void tell(SnapshotNumber number, const Status& status);

  std::atomic<SnapshotNumber> number_{0};
  const ForkGuard process_;
  std::atomic<uint32_t> works_in_{process_.generation()};  // the process (base/fork.h) in which the log works; 0: the log has failed

  mutable std::mutex mutex_;  // guards the following members, and changes of number_ and works_in_; a leaf lock
  std::vector<Waiter> waiters_;  // a heap with the smallest number first
  Status failure_;
};

}  // namespace elider::log
