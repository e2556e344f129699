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
  TickClock() : ticks_(ticks()), ns_(now_ns()) {}

  // The steady clock's reading when ticks() was `stamp`. Never after now.
  uint64_t ns_of(uint64_t stamp) const {
    const uint64_t now_ticks = ticks();
    const uint64_t now = now_ns();
    if (stamp >= now_ticks || now_ticks <= ticks_) return now;
    const double ns_per_tick = static_cast<double>(now - ns_) / static_cast<double>(now_ticks - ticks_);
    const auto age = static_cast<uint64_t>(static_cast<double>(now_ticks - stamp) * ns_per_tick);
    return age < now ? now - age : 0;
  }

 private:
  uint64_t ticks_;
  uint64_t ns_;
};

}  // namespace elider
