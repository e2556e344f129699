// Turns: if many more threads run transactions than there are processors, only some of them run
// transactions at a time (Options::threads_at_once). The others wait, parked.
//
// Reason: a thread that loses its processor within a transaction keeps resources that other threads
// wait for, for several time slices of the system. These are the locks of its commit, the grace
// period and, on a snapshot, all rows that were removed since, which scans must skip meanwhile.
// Threads that take turns give way between two transactions, to the thread that has waited longest.
//
// A thread that waits for the disk does not keep its turn. It gives the turn to the thread that has
// waited longest, and requests one again for its next transaction. Otherwise the threads with turns
// would commit again and again, with one sync each time, and the waiting threads could not share
// these syncs.
//
// Turns only affect speed: a transaction that runs without one is correct. So a thread that has a
// turn and does not come back cannot block the others:
//
//   - If it is outside a transaction, the first waiter takes over its turn.
//   - If it is inside one, because its procedure waits for something, the first waiter runs
//     concurrently with it after kPatience.
//
// A thread that waits for a turn is outside of any transaction, and does not hold a lock.
//
// Thread safety: all; a Turn belongs to one thread at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace elider::detail {

// What one worker has of the turns.
class Turn {
  friend class Turns;
  // kNone: none. kOutside: one, between two transactions: then it may be taken over. kInside: one,
  // within a transaction.
  enum class State : uint8_t { kNone, kOutside, kInside };
  std::atomic<State> state_{State::kNone};
  std::atomic<uint64_t> ended_ticks_{0};  // when it became kOutside
  uint64_t since_ticks_ = 0;              // the owner's: when it got this turn
  Turn* next_ = nullptr;                  // another that is given
};

class Turns {
 public:
  static constexpr std::chrono::milliseconds kSlice{5};      // that a turn lasts where others wait
  static constexpr std::chrono::microseconds kIdle{50};      // outside for longer: it does other work
  static constexpr std::chrono::milliseconds kPatience{10};  // of the first that waits

  // at_once: at least 1.
  explicit Turns(uint32_t at_once) : at_once_(at_once) {}

  // The number of threads that sometimes run transactions. Up to at_once threads do not need turns.
  void set_threads(uint32_t threads) {
    crowded_.store(threads > at_once_, std::memory_order_relaxed);  // relaxed: a hint
  }

  // Whether turns are needed. A transaction that begins or ends without one meanwhile does no harm.
  bool crowded() const { return crowded_.load(std::memory_order_relaxed); }

  // Before a transaction, outside of the epoch; it may wait.
  void begin(Turn& turn);
  // After it.
  void end(Turn& turn);
  // Gives its turn back, if it has one. The thread ends, is about to wait for the disk, or others
  // have waited long enough.
  void forget(Turn& turn);

  // How often a thread has waited for its turn.
  uint64_t waits() const { return waits_.load(std::memory_order_relaxed); }

 private:
  using State = Turn::State;
  struct Waiter {
    explicit Waiter(Turn& its) : turn(its) {}
    Turn& turn;
    std::condition_variable called;  // it has its turn, or is the first now
    bool has_turn = false;
    bool is_first = false;
    Waiter* next = nullptr;  // the one that came after it
  };

  // These with the mutex held.
  void give(Turn& turn);
  void take(Turn& turn);
  void append(Waiter& waiter);
  void drop_first();
  void call_next();
  bool take_over_from_idle(bool however_short);

  const uint32_t at_once_;
  std::atomic<bool> crowded_{false};
  std::atomic<bool> wanted_{false};  // a thread waits, or there are too many turns
  std::atomic<uint64_t> waits_{0};

  std::mutex mutex_;  // guards what follows; a leaf
  Turn* given_ = nullptr;  // a list
  uint32_t given_count_ = 0;
  Waiter* first_ = nullptr;  // of those that wait, in the order of their coming
  Waiter* last_ = nullptr;
};

}  // namespace elider::detail
