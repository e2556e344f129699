// Spin: how a thread waits for another's short critical section: pauses that double, then yields,
// then sleeps.
//
// Not a lock. Thread safety: a Spin belongs to the waiting thread.
#pragma once

#include <cstdint>

namespace elider {

// Tells the processor that this is a waiting loop.
inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Sleeps for a moment: some 100 microseconds. A thread is not cancelled there, whatever it holds.
void sleep_shortly();

class Spin {
 public:
  // Waits a little, longer each time. After about a microsecond of pauses it gives up the
  // processor, because the holder may be a thread that waits for this very core. Where that does
  // not help for 400 microseconds, it sleeps: beside threads that compute, and use their whole
  // slices, a yield comes back after milliseconds, and a sleep when it ends.
  void wait();
  void reset() { *this = {}; }
  // Whether the pauses are over: the next wait gives the processor up.
  bool has_paused() const { return round_ == kRoundsOfPauses; }
  // How often the processor was given up, and how often of these by a sleep: a caller that bounds
  // its wait counts one or the other.
  uint32_t yields() const { return yields_; }
  uint32_t sleeps() const { return sleeps_; }

 private:
  static constexpr uint32_t kRoundsOfPauses = 6;  // 63 pauses in all
  uint32_t round_ = 0;
  uint32_t yields_ = 0;
  uint32_t sleeps_ = 0;
  uint64_t yields_until_ns_ = 0;
};

}  // namespace elider
