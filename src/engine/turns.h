// Turns: where many more threads run transactions than there are processors, some of them run
// theirs at once (Options::threads_at_once); the others wait, parked.
//
// Why: a thread that loses its processor within a transaction keeps, for some time slices of the
// system, what others wait for: the locks of its commit, the grace period, and on a snapshot all
// rows that were removed since, which scans step over meanwhile. With turns a thread gives way
// between two transactions, to the one that has waited longest.
//
// A thread that waits for the disk has no turn: it gives its turn to the thread that has waited
// longest, and takes one again for its next transaction. Otherwise the threads that have turns
// would commit again and again, a sync each time, and share no sync with the threads that wait.
//
// A turn is about speed alone: nothing is wrong with a transaction that runs without one. So who
// has one and does not come back cannot hold the others up: if it is outside of a transaction, the
// first that waits takes its turn over; if it is within, because its procedure waits for something,
// that one goes on beside it after kPatience. One that waits is within no transaction and holds no
// lock.
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

  // So many threads run transactions now and then. Up to at_once they need no turns.
  void set_threads(uint32_t threads) {
    crowded_.store(threads > at_once_, std::memory_order_relaxed);  // relaxed: a hint
  }

  // Whether turns are needed. Who begins or ends without one meanwhile harms nobody.
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
    Waiter* next = nullptr;  // who has come after it
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
  std::atomic<bool> wanted_{false};  // somebody waits, or there are too many turns
  std::atomic<uint64_t> waits_{0};

  std::mutex mutex_;  // guards what follows; a leaf
  Turn* given_ = nullptr;  // a list
  uint32_t given_count_ = 0;
  Waiter* first_ = nullptr;  // of those that wait, in the order of their coming
  Waiter* last_ = nullptr;
};

}  // namespace elider::detail
