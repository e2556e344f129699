#include "engine/runtime/turns.h"

#include "base/clock.h"
#include "base/test_points.h"

namespace elider::detail {

namespace {

// Converts a time to processor ticks. The tick rate is measured from the first call on; until the
// rate is known, the function assumes one tick per nanosecond.
uint64_t ticks_of(std::chrono::nanoseconds time) {
  static const uint64_t begin_ns = now_ns(), begin_ticks = ticks();
  static std::atomic<double> ticks_a_ns{0};
  double known = ticks_a_ns.load(std::memory_order_relaxed);  // relaxed: no other data depends on it
  if (known == 0) {
    constexpr uint64_t kLongEnoughNs = 10'000'000;
    const uint64_t passed_ns = now_ns() - begin_ns;
    if (passed_ns < kLongEnoughNs) return static_cast<uint64_t>(time.count());
    known = static_cast<double>(ticks() - begin_ticks) / static_cast<double>(passed_ns);
    ticks_a_ns.store(known, std::memory_order_relaxed);
  }
  return static_cast<uint64_t>(known * static_cast<double>(time.count()));
}

}  // namespace

void Turns::begin(Turn& turn) {
  State state = State::kOutside;
  // acquire: pairs with the release by the thread that took over this turn or gave it back.
  if (turn.state_.compare_exchange_strong(state, State::kInside, std::memory_order_acquire)) return;
  if (state == State::kInside) return;  // turns were not needed when the last transaction ended
  std::unique_lock lock(mutex_);
  if (first_ == nullptr && (given_count_ < at_once_ || take_over_from_idle(false))) return give(turn);
  Waiter self(turn);
  append(self);
  wanted_.store(true, std::memory_order_relaxed);
  waits_.fetch_add(1, std::memory_order_relaxed);
  const auto came = std::chrono::steady_clock::now();
  while (!self.has_turn) {
    if (!self.is_first) {
      self.called.wait(lock);
      continue;
    }
    // A thread that has a turn might not run another transaction. It would then not give the turn
    // back. The first waiter therefore checks for idle turns.
    if (self.called.wait_for(lock, kSlice) != std::cv_status::timeout || self.has_turn) continue;
    if (!take_over_from_idle(true) && std::chrono::steady_clock::now() - came < kPatience) continue;
    drop_first();
    give(turn);
    call_next();
    return;
  }
  turn.since_ticks_ = ticks();
}

void Turns::end(Turn& turn) {
  if (turn.state_.load(std::memory_order_relaxed) == State::kNone) return;  // relaxed: the thread did not need a turn when it began
  const uint64_t now = ticks();
  if (wanted_.load(std::memory_order_relaxed)) [[unlikely]] {
    if (now - turn.since_ticks_ >= ticks_of(kSlice)) return forget(turn);
  }
  turn.ended_ticks_.store(now, std::memory_order_relaxed);
  turn.state_.store(State::kOutside, std::memory_order_release);
}

void Turns::forget(Turn& turn) {
  if (turn.state_.load(std::memory_order_relaxed) == State::kNone) return;
  const std::lock_guard lock(mutex_);
  take(turn);
  call_next();
}

void Turns::give(Turn& turn) {
  turn.next_ = given_;
  given_ = &turn;
  ++given_count_;
  turn.since_ticks_ = ticks();
  turn.state_.store(State::kInside, std::memory_order_release);
}

void Turns::take(Turn& turn) {
  for (Turn** at = &given_; *at != nullptr; at = &(*at)->next_) {
    if (*at != &turn) continue;
    *at = turn.next_;
    --given_count_;
    break;
  }
  turn.state_.store(State::kNone, std::memory_order_release);
}

void Turns::append(Waiter& waiter) {
  waiter.is_first = first_ == nullptr;
  (waiter.is_first ? first_ : last_->next) = &waiter;
  last_ = &waiter;
}

void Turns::drop_first() { first_ = first_->next; }

// Gives free turns to the threads that have waited longest.
void Turns::call_next() {
  while (given_count_ < at_once_ && first_ != nullptr) {
    Waiter& next = *first_;
    drop_first();
    give(next.turn);
    next.has_turn = true;
    next.called.notify_one();
  }
  if (first_ != nullptr && !first_->is_first) {
    first_->is_first = true;
    first_->called.notify_one();
  }
  wanted_.store(first_ != nullptr || given_count_ > at_once_, std::memory_order_relaxed);
}

// Takes over the turn of a thread that has been between two transactions for longer than kIdle or,
// if `however_short` is true, for any time. Returns false if it does not find such a thread.
bool Turns::take_over_from_idle(bool however_short) {
  const uint64_t now = ticks(), idle = however_short ? 0 : ticks_of(kIdle);
  for (Turn* turn = given_; turn != nullptr; turn = turn->next_) {
    const uint64_t ended = turn->ended_ticks_.load(std::memory_order_relaxed);
    State state = State::kOutside;
    if (now < ended + idle) continue;
    ELIDER_TEST_POINT("turns.take_over");
    if (!turn->state_.compare_exchange_strong(state, State::kNone, std::memory_order_acq_rel)) continue;
    take(*turn);
    ELIDER_TEST_POINT("turns.taken_over");
    return true;
  }
  return false;
}

}  // namespace elider::detail
