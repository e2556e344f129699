// An asymmetric store-load fence: nearly free for the frequent side, expensive for the rare side.
//
// Thread A stores x, passes light_fence(), and loads y; thread B stores y, passes heavy_fence(),
// and loads x. Then at least one of them sees the other's store. light_fence() only stops the
// compiler; heavy_fence() asks the kernel (membarrier) to run a full fence on every core that runs
// a thread of this process. Wherever A is, that fence falls before its store, after its load, or
// between them, and all three are correct. A light_fence() pairs only with a heavy_fence(): two
// light fences do not order anything between their threads.
//
// Without membarrier in the kernel, both are full fences. TSan does not model fences; under it,
// both are read-modify-writes of a word of the thread: full fences for the processor, but without
// an order between threads that would hide a race from TSan.
// Thread safety: all functions may be called from any thread. Call prepare_asymmetric_fence()
// before the first light_fence().
#pragma once

#include <atomic>

#include "base/sanitizer.h"

namespace elider {

namespace detail {
// Never becomes false again. A light_fence() that still sees false is a full fence, which is always
// correct.
inline std::atomic<bool> light_fence_is_free{false};
inline thread_local std::atomic<unsigned> fence_word{0};
}  // namespace detail

// Registers the process with the kernel once. Further calls are cheap.
void prepare_asymmetric_fence();

[[gnu::always_inline]] inline void light_fence() {
#if ELIDER_TSAN
  detail::fence_word.fetch_add(1, std::memory_order_seq_cst);
#else
  // relaxed: both answers are correct, see above.
  if (detail::light_fence_is_free.load(std::memory_order_relaxed)) [[likely]] {
    asm volatile("" ::: "memory");
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
#endif
}

// Takes several microseconds, also from other running threads, and tens in a virtual machine; about
// 0.1 if no other thread runs.
void heavy_fence();

}  // namespace elider
