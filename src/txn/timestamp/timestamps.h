// Timestamps: records which transactions are running, and since when (HyPer-HTM, section 4.1, "safe
// timestamp").
//
// A timestamp consists of the value of a logical clock at the start of the transaction, and the
// worker's id. So timestamps are unique, and the timestamps of a worker increase. While a
// transaction runs, its timestamp is in the worker's slot. Workers do not contend for the clock,
// because a worker advances the clock only if no other worker has advanced it since the worker's
// last transaction.
//
//   63                          14 13        1     0
//  +------------------------------+-----------+------+
//  | clock                        | worker    | flag |
//  +------------------------------+-----------+------+
//
// The flag in a slot means that the transaction is committing. In a row's read timestamp, the flag
// means that the reader with this timestamp may not be the only running reader: older readers may
// also be running (timestamp_claims.h).
//
// Invariant: at any time, the timestamp of every running or future transaction is greater than
// every safe timestamp that was computed before. The computation of a safe timestamp reads the
// clock first and then the slots. If the computation misses a running transaction T, T's slot was
// written after the computation had read the slot. After that write, the clock still had the value
// c that T's worker had put into the slot. So c is not below the value of the clock that the
// computation read, and T's timestamp is above the computed safe timestamp.
//
// Deviations from the paper: the safe timestamp is not computed at the start of each transaction,
// but only if a comparison needs a newer one. This is correct because a safe timestamp stays safe.
// A transaction that waits for another transaction may also abort it, by removing that
// transaction's timestamp from its slot.
//
// Thread safety: all threads may call all functions. A slot is written by its worker, and by a
// worker that aborts the slot's transaction.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/cache_line.h"
#include "base/test_points.h"
#include "base/worker.h"

namespace elider::txn {

using Timestamp = uint64_t;

class Timestamps {
 public:
  static constexpr Timestamp kFlag = 1;
  // How long other transactions wait for a procedure before they abort its attempt. The wait is
  // limited because the procedure's thread may have been preempted, or may itself be waiting for
  // the thread that waits here.
  static constexpr uint64_t kProcedurePatienceNs = 10'000'000;

  explicit Timestamps(const Workers& workers) : workers_(workers), slots_(new CacheLine<Slot>[workers.workers_max()]) {}

  static Timestamp without_flag(Timestamp t) { return t & ~kFlag; }
  static uint32_t worker_of(Timestamp t) { return static_cast<uint32_t>(t >> 1 & kWorkerMask); }

  // Begins the worker's next transaction, and returns its timestamp.
  Timestamp begin(uint32_t worker) {
    Slot& slot = *slots_[worker];
    uint64_t now = clock_->load();
    if (now == slot.last_clock) now = clock_->fetch_add(1) + 1;
    ELIDER_TEST_POINT("timestamp.begin.clock_read");
    for (;;) {
      const Timestamp mine = now << kClockShift | uint64_t{worker} << 1;
      slot.now.store(mine);
      slot.last_clock = now;
      const uint64_t again = clock_->load();
      if (again == now || ELIDER_MUTANT(kPublishTimestampOnce)) return mine;
      now = again;
    }
  }
  // Ends the worker's transaction. Called after all its writes have been made.
  void end(uint32_t worker) { slots_[worker]->now.store(kNone, std::memory_order_release); }

  // After begin_commit(), other workers cannot abort the transaction. Returns false if one of them
  // has already aborted it.
  bool begin_commit(uint32_t worker, Timestamp mine) {
    Timestamp expected = mine;
    return slots_[worker]->now.compare_exchange_strong(expected, mine | kFlag);
  }
  bool under_way(Timestamp t) const { return without_flag(slots_[worker_of(t)]->now.load()) == without_flag(t); }
  // Aborts another worker's transaction, which then cannot commit. Returns false if that
  // transaction is already committing or has ended.
  bool end_other(Timestamp t) {
    Timestamp expected = without_flag(t);
    return slots_[worker_of(t)]->now.compare_exchange_strong(expected, kNone);
  }

  // Sets how long transactions of other threads wait for this worker's transactions before they
  // abort them. Other transactions of the calling thread wait only kProcedurePatienceNs, because
  // the worker's transaction cannot continue while its own thread waits.
  void set_patience(uint32_t worker, uint64_t ns) {
    slots_[worker]->thread.store(this_thread(), std::memory_order_relaxed);  // relaxed: other threads only compare it with their own
    slots_[worker]->patience_ns.store(ns, std::memory_order_relaxed);        // relaxed: only a duration
  }
  uint64_t patience_with(Timestamp t) const {
    const Slot& slot = *slots_[worker_of(t)];
    const uint64_t ns = slot.patience_ns.load(std::memory_order_relaxed);  // relaxed: as above
    return ns == kProcedurePatienceNs || slot.thread.load(std::memory_order_relaxed) == this_thread() ? kProcedurePatienceNs : ns;
  }

  // Sets the time at which the worker's open transaction (one that the application ends) began. 0
  // means that the worker runs a procedure instead of an open transaction.
  void set_open_since(uint32_t worker, uint64_t ns) { slots_[worker]->open_since_ns.store(ns, std::memory_order_relaxed); }
  // Returns the time at which the transaction began if it is an open transaction, and 0 if it is a
  // procedure.
  uint64_t open_since(Timestamp t) const { return slots_[worker_of(t)]->open_since_ns.load(std::memory_order_relaxed); }

  // Returns a timestamp up to which all transactions have ended, except for the worker's own.
  Timestamp safe(uint32_t worker) const {
    const Timestamp early = ELIDER_MUTANT(kSlotsBeforeClock) ? oldest_beside(worker) : kNone;
    const Timestamp next = clock_->load() << kClockShift;  // must be read before the slots
    return std::min(next, ELIDER_MUTANT(kSlotsBeforeClock) ? early : oldest_beside(worker)) - 1;
  }
  // Returns the timestamp of the oldest transaction that any other worker is running, or 0 if that
  // transaction is younger than `t` or no other worker is running one.
  Timestamp oldest_up_to(Timestamp t, uint32_t worker) const {
    const Timestamp oldest = oldest_beside(worker);
    return oldest <= t ? oldest : 0;
  }
  // Advances the clock beyond `t`, so that `t` can become a safe timestamp.
  void let_pass(Timestamp t) {
    uint64_t now = t >> kClockShift;
    clock_->compare_exchange_strong(now, now + 1);
  }

 private:
  static constexpr unsigned kClockShift = 14;
  static constexpr uint64_t kWorkerMask = (uint64_t{1} << (kClockShift - 1)) - 1;
  static constexpr Timestamp kNone = ~uint64_t{0} - kFlag;  // younger than all timestamps

  // Returns the timestamp of the oldest transaction that any other worker is running, or kNone if
  // all other workers are idle.
  Timestamp oldest_beside(uint32_t worker) const {
    Timestamp oldest = kNone;
    for (uint32_t i = 0, used = workers_.ids_used_max(); i < used; ++i) {
      if (i == worker) continue;
      const Timestamp now = slots_[i]->now.load();
      if (ELIDER_MUTANT(kForgetCommitting) && (now & kFlag) != 0) continue;
      oldest = std::min(oldest, without_flag(now));
    }
    ELIDER_TEST_POINT("timestamp.slots_read");
    return oldest;
  }

  static const void* this_thread() {
    static thread_local const char mark = 0;
    return &mark;
  }

  struct Slot {
    std::atomic<Timestamp> now{kNone};
    std::atomic<uint64_t> open_since_ns{0};  // when an open transaction began; 0 for a procedure
    std::atomic<uint64_t> patience_ns{kProcedurePatienceNs};
    std::atomic<const void*> thread{nullptr};  // the thread that called set_patience(); its own transactions do not wait longer than usual
    uint64_t last_clock = 0;  // when the slot's last transaction began; stored here because a worker id may pass to another thread
  };

  const Workers& workers_;
  CacheLine<std::atomic<uint64_t>> clock_{std::in_place, 1};
  std::unique_ptr<CacheLine<Slot>[]> slots_;
};

}  // namespace elider::txn
