// An asymmetric store-load fence: almost free on the frequent side, expensive on the rare side.
//
// If thread A stores x, calls light_fence() and loads y, and thread B stores y, calls heavy_fence()
// and loads x, then at least one of them sees the other's store. light_fence() is only a compiler
// barrier. heavy_fence() asks the kernel (membarrier) to execute a full fence on every core that
// runs a thread of this process. On A's core that fence may execute before A's store, between A's
// store and load, or after A's load; the guarantee holds in all three cases. A light_fence() pairs
// only with a heavy_fence(): two light fences do not order anything between their threads.
//
// If the kernel lacks membarrier, both functions are full fences. TSan does not model fences, so in
// TSan builds each function is a read-modify-write of a thread-local word. The processor treats the
// read-modify-write as a full fence. TSan does not treat it as synchronization between threads, so
// it does not hide races.
//
// Thread safety: all functions may be called from any thread. Call prepare_asymmetric_fence()
// before the first light_fence().
#pragma once

#include <atomic>

#include "base/sanitizer.h"

namespace elider {

namespace detail {
// Set once, never cleared. A light_fence() that still reads false executes a full fence, which is
// always correct.
inline std::atomic<bool> light_fence_is_free{false};
inline thread_local std::atomic<unsigned> fence_word{0};
}  // namespace detail

// Registers the process with the kernel once. Further calls are cheap.
void prepare_asymmetric_fence();

[[gnu::always_inline]] inline void light_fence() {
#if ELIDER_TSAN
  detail::fence_word.fetch_add(1, std::memory_order_seq_cst);
#else
  // relaxed: either value is correct, as described at light_fence_is_free.
  if (detail::light_fence_is_free.load(std::memory_order_relaxed)) [[likely]] {
    asm volatile("" ::: "memory");
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
#endif
}

// Takes several microseconds (tens of microseconds in a virtual machine), and briefly interrupts
// the other running threads of the process. If no other thread is running, it takes about 0.1
// microseconds.
void heavy_fence();

}  // namespace elider
