// An asymmetric store-load fence. It is nearly free for the frequent side and expensive for the
// rare side.
//
// Thread A stores x, passes light_fence(), and loads y; thread B stores y, passes heavy_fence(),
// and loads x. Then at least one of them sees the other's store. light_fence() only stops the
// compiler. heavy_fence() asks the kernel (membarrier) to run a full fence on every core that runs
// a thread of this process. That fence falls before A's store, after A's load, or between the two,
// and each of these is correct. A light_fence() pairs only with a heavy_fence(): two light fences
// do not order anything between their threads.
//
// If the kernel lacks membarrier, both functions are full fences. TSan does not model fences, so in
// TSan builds each function is a read-modify-write of a thread-local word. For the processor that
// is a full fence. For TSan it does not order two threads, so it does not hide a race.
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
  // relaxed: both values are correct, as described above.
  if (detail::light_fence_is_free.load(std::memory_order_relaxed)) [[likely]] {
    asm volatile("" ::: "memory");
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
#endif
}

// Takes several microseconds, in which it also delays other running threads. In a virtual machine
// it takes tens of microseconds; if no other thread runs, about 0.1.
void heavy_fence();

}  // namespace elider
