// Ticks: the processor's cheapest clock, which counts in an unspecified unit. A benchmark reads it
// once per transaction, so a read must cost far less than a cache miss. The clock is the time stamp
// counter if that counter runs at a constant rate in every power state; otherwise it is the steady
// clock in nanoseconds. TickScale determines the unit afterwards by comparing an interval of ticks
// with the steady clock. Only ticks that the same thread has read are compared.
// Thread safety: pure functions.
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

// Measures the length of a tick over the duration of a run.
class TickScale {
 public:
  TickScale() : ticks_(ticks()), ns_(steady_ns()) {}
  // Returns the nanoseconds per tick, measured from construction until now. A longer interval gives
  // a more exact result; one millisecond gives an error of about 0.01%.
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
