// Durable: stores the durable snapshot number, up to which all commits are on the disk. It also
// stores which callers are waiting for a number to become durable, and whether the log has failed.
//
// The log determines the number; this class does not write to files. A failure is final: commits
// that are not durable when the log fails never become durable, and all waiting callers are
// notified.
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
  // A forked child does not have the threads that write the log, so no commit becomes durable in
  // the child.
  bool in_child() const { return process_.in_child(); }

  // Waits until the number is durable or the log has failed. Returns ok if the number is durable.
  // Otherwise returns the failure, and the commits may or may not be on the disk.
  Status wait(SnapshotNumber number);
  // Calls told(status) once, with the status that wait() would return. This happens immediately, or
  // later in the thread that calls raise() or fail().
  void when(SnapshotNumber number, Told told);

  // Called by the log when all commits up to `number` are on the disk. Numbers below the current
  // one are ignored.
  void raise(SnapshotNumber number);
  // Called by the log when it fails. Further failures are ignored.
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
  // The generation (base/fork.h) of the process whose threads write the log, or 0 if the log
  // failed.
  std::atomic<uint32_t> works_in_{process_.generation()};

  mutable std::mutex mutex_;  // guards the members below, and changes of number_ and works_in_; a leaf lock
  std::vector<Waiter> waiters_;  // a min-heap, ordered by number
  Status failure_;
};

}  // namespace elider::log
