// Turns: if there are many more threads than processors, only some threads run transactions at a
// time (Options::threads_at_once). The other threads wait and do not use a processor.
//
// Reason: a thread that is descheduled within a transaction holds the locks of its commit, and
// delays the end of the grace period (base/worker.h), for several time slices. Other threads must
// wait for it. While a snapshot reader is descheduled, rows that were removed after its start
// cannot be unlinked, and scans must skip these rows. With turns, a thread gives way between two
// transactions, to the thread that has waited longest.
//
// A thread does not keep its turn while it waits for the disk. It gives the turn to the thread that
// has waited longest, and requests a turn again for its next transaction. Otherwise the threads
// with turns would commit repeatedly, with one sync per commit, and the waiting threads could not
// share these syncs.
//
// Turns affect only speed, because a transaction that runs without a turn is also correct. So a
// thread that has a turn and does not give it back cannot block the other threads:
//
//   - If the thread is between two transactions, the first waiter takes over its turn.
//   - If the thread is inside a transaction, for example because its procedure waits for something,
//     the first waiter runs concurrently with it after kPatience.
//
// A thread that waits for a turn is not inside a transaction and does not hold a lock.
//
// Thread safety: all threads may use a Turns object. A Turn belongs to one thread at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace elider::detail {

// The state of one worker with respect to turns.
class Turn {
  friend class Turns;
  // kNone: the worker does not have a turn. kOutside: it has a turn and is between two
  // transactions, so that another thread may take the turn over. kInside: it has a turn and is
  // inside a transaction.
  enum class State : uint8_t { kNone, kOutside, kInside };
  std::atomic<State> state_{State::kNone};
  std::atomic<uint64_t> ended_ticks_{0};  // when state_ became kOutside
  uint64_t since_ticks_ = 0;              // when the worker got this turn; used by the owner only
  Turn* next_ = nullptr;                  // the next turn in the list Turns::given_
};

class Turns {
 public:
  static constexpr std::chrono::milliseconds kSlice{5};      // how long a thread keeps its turn if other threads wait
  static constexpr std::chrono::microseconds kIdle{50};      // a thread that has been outside for longer does other work
  static constexpr std::chrono::milliseconds kPatience{10};  // how long the first waiter waits before it runs without a free turn

  // `at_once` must be at least 1.
  explicit Turns(uint32_t at_once) : at_once_(at_once) {}

  // Sets the number of threads that use the database. Turns are not needed if there are at most
  // at_once threads.
  void set_threads(uint32_t threads) {
    crowded_.store(threads > at_once_, std::memory_order_relaxed);  // relaxed: a hint
  }

  // Returns true if turns are needed. If the result changes during a transaction, the transaction
  // is still correct.
  bool crowded() const { return crowded_.load(std::memory_order_relaxed); }

  // Called before a transaction, outside of the epoch. May wait.
  void begin(Turn& turn);
  // Called after a transaction.
  void end(Turn& turn);
  // Gives the worker's turn back, if it has one. Called when the thread ends, is about to wait for
  // the disk, or has kept other threads waiting for long enough.
  void forget(Turn& turn);

  // Returns how often threads have waited for a turn.
  uint64_t waits() const { return waits_.load(std::memory_order_relaxed); }

 private:
  using State = Turn::State;
  struct Waiter {
    explicit Waiter(Turn& its) : turn(its) {}
    Turn& turn;
    std::condition_variable called;  // signaled when this waiter has a turn or has become the first
    bool has_turn = false;
    bool is_first = false;
    Waiter* next = nullptr;  // the next waiter, which came later
  };

  // The following functions require mutex_.
  void give(Turn& turn);
  void take(Turn& turn);
  void append(Waiter& waiter);
  void drop_first();
  void call_next();
  bool take_over_from_idle(bool however_short);

  const uint32_t at_once_;
  std::atomic<bool> crowded_{false};
  std::atomic<bool> wanted_{false};  // a thread is waiting, or more than at_once_ turns are given
  std::atomic<uint64_t> waits_{0};

  std::mutex mutex_;  // guards the following members; a leaf in the lock order
  Turn* given_ = nullptr;  // the turns that are given, linked by next_
  uint32_t given_count_ = 0;
  Waiter* first_ = nullptr;  // the list of waiters, oldest first
  Waiter* last_ = nullptr;
};

}  // namespace elider::detail
