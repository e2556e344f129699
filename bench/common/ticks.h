// Ticks: the cheapest clock of this processor, in units of its own. A benchmark reads it once a
// transaction, so it must cost far less than a cache miss: the time stamp counter where it runs at
// one rate in every power state, else the steady clock's nanoseconds. The unit is found afterwards,
// by comparing one stretch of ticks with the steady clock (TickScale).
// Ticks of two processors are not compared anywhere. Thread safety: pure functions.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace elider::bench {

inline uint64_t steady_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

#if defined(__x86_64__)
inline bool has_invariant_counter() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1u << 8)) != 0;
}
inline const bool kCountsTicks = has_invariant_counter();
inline uint64_t ticks() { return kCountsTicks ? __rdtsc() : steady_ns(); }
#else
inline uint64_t ticks() { return steady_ns(); }
#endif

// How long a tick is, measured over the life of a run.
class TickScale {
 public:
  TickScale() : ticks_(ticks()), ns_(steady_ns()) {}
  // Nanoseconds a tick, from construction to now. The longer the stretch, the more exact: a
  // millisecond gives about 0.01%.
  double ns_per_tick() const {
    const uint64_t ticks_passed = ticks() - ticks_;
    const uint64_t ns_passed = steady_ns() - ns_;
    return ticks_passed == 0 || ns_passed == 0 ? 1.0 : static_cast<double>(ns_passed) / static_cast<double>(ticks_passed);
  }

 private:
  uint64_t ticks_;
  uint64_t ns_;
};

}  // namespace elider::bench
