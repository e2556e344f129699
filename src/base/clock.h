// Clocks: now_ns() for times that people read, ticks() for timestamps on a hot path. Thread safety:
// all functions may be called from any thread.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace elider {

// Returns the steady clock's time in nanoseconds. A call takes about 20 ns.
inline uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

// Returns an increasing counter: the processor's time-stamp counter on x86-64, and now_ns()
// elsewhere. TickClock converts it to nanoseconds. The counters of two cores may differ by some
// nanoseconds.
inline uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return now_ns();
#endif
}

// Converts ticks to nanoseconds of the steady clock. It computes the tick rate from how far both
// clocks have advanced since its construction. Once the TickClock is several milliseconds old, the
// error is about 0.1% of the time since its construction.
class TickClock {
 public:
  TickClock() : TickClock(now()) {}

  // Returns the steady clock's time when ticks() returned `stamp`, but never a time after now.
  uint64_t ns_of(uint64_t stamp) const {
    const Reading at = now();
    if (stamp >= at.ticks || at.ticks <= begin_.ticks) return at.ns;
    const double ns_per_tick = static_cast<double>(at.ns - begin_.ns) / static_cast<double>(at.ticks - begin_.ticks);
    const auto age = static_cast<uint64_t>(static_cast<double>(at.ticks - stamp) * ns_per_tick);
    return age < at.ns ? at.ns - age : 0;
  }

 private:
  // Values of both clocks that were read at about the same time.
  struct Reading {
    uint64_t ticks, ns;
  };
  explicit TickClock(Reading begin) : begin_(begin) {}

  // The thread may be preempted between reading the two clocks, so the fastest of several readings
  // is used.
  static Reading now() {
    Reading best{};
    uint64_t least = 0;
    for (int i = 0; i < 4; ++i) {
      const uint64_t before = elider::ticks(), ns = now_ns(), took = elider::ticks() - before;
      if (i == 0 || took < least) best = {before, ns}, least = took;
    }
    return best;
  }

  Reading begin_;
};

}  // namespace elider
