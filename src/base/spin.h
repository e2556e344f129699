// Spin: waits for another thread's short critical section. The waiting thread first executes pause
// instructions, twice as many each time, then yields the processor, and then sleeps.
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
  // Waits a little longer at each call. After about a microsecond of pauses, the thread yields the
  // processor, because the lock's holder may be waiting for this core. After 400 microseconds of
  // yielding, it sleeps instead. If other threads use up their time slices, a yield takes
  // milliseconds, but a sleep does not.
  void wait();
  void reset() { *this = {}; }
  // Returns true if the pauses are over, so that the next wait() yields or sleeps.
  bool has_paused() const { return round_ == kRoundsOfPauses; }
  // The numbers of yields and sleeps since the construction or reset(). Callers use one of them to
  // limit their wait.
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
