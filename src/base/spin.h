// Spin: how a thread waits for another's short critical section: pauses that double, then yields.
//
// Not a lock. Thread safety: a Spin belongs to the waiting thread.
#pragma once

#include <sched.h>

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

class Spin {
 public:
  // Waits a little, longer each time. After about a microsecond of pauses it gives up the
  // processor, because the holder may be a thread that waits for this very core.
  void wait() {
    if (round_ < kRoundsOfPauses) {
      for (uint32_t i = 0; i < (1u << round_); ++i) pause();
      ++round_;
      return;
    }
    ++yields_;
    ::sched_yield();
  }
  void reset() {
    round_ = 0;
    yields_ = 0;
  }
  // How often the processor was given up: a caller that bounds its wait counts these.
  uint32_t yields() const { return yields_; }

 private:
  static constexpr uint32_t kRoundsOfPauses = 6;  // 63 pauses in all
  uint32_t round_ = 0;
  uint32_t yields_ = 0;
};

}  // namespace elider
