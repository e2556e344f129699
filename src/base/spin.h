// Spin: a thread's wait for another thread's short critical section. The thread first pauses, each
// time twice as long, then yields, then sleeps.
//
// It is not a lock. Thread safety: a Spin belongs to the waiting thread.
#pragma once

#include <cstdint>

namespace elider {

// Tells the processor that this is a spin loop.
inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Sleeps for about 100 microseconds. It is not a cancellation point, so the thread may hold locks.
void sleep_shortly();

class Spin {
 public:
  // Waits, longer at each call. After about a microsecond of pauses, the thread yields the
  // processor, because the holder may be waiting for this core. After 400 microseconds, the thread
  // sleeps. If other threads compute and use their whole time slices, a yield takes milliseconds,
  // but a sleep does not.
  void wait();
  void reset() { *this = {}; }
  // Returns true if the pauses are over and the next wait yields the processor.
  bool has_paused() const { return round_ == kRoundsOfPauses; }
  // The number of yields and the number of sleeps. A caller that limits its wait counts one of the
  // two.
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
