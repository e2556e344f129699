// Clocks: now_ns() for what people read, ticks() for stamps on a hot path. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace elider {

// Nanoseconds of the steady clock (about 20 ns a call).
inline uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

// A counter that rises steadily, in a unit that TickClock finds out. It is the processor's where
// that is cheap to read; it may run backwards by some nanoseconds between two cores.
inline uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return now_ns();
#endif
}

// Turns ticks into steady-clock nanoseconds by comparing both clocks with how they stood when it
// was made. Exact to about 0.1% of the age asked for once it is some milliseconds old.
class TickClock {
 public:
  TickClock() : TickClock(now()) {}

  // The steady clock's reading when ticks() was `stamp`. Never after now.
  uint64_t ns_of(uint64_t stamp) const {
    const Reading at = now();
    if (stamp >= at.ticks || at.ticks <= begin_.ticks) return at.ns;
    const double ns_per_tick = static_cast<double>(at.ns - begin_.ns) / static_cast<double>(at.ticks - begin_.ticks);
    const auto age = static_cast<uint64_t>(static_cast<double>(at.ticks - stamp) * ns_per_tick);
    return age < at.ns ? at.ns - age : 0;
  }

 private:
  // Both clocks at one moment.
  struct Reading {
    uint64_t ticks, ns;
  };
  explicit TickClock(Reading begin) : begin_(begin) {}

  // A thread may lose its processor between the two clocks. Of some readings the one that took the
  // least time counts.
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
