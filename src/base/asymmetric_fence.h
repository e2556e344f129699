// An asymmetric store-load fence: nearly free for the many, dear for the few.
//
// Thread A stores x, passes light_fence(), and loads y; thread B stores y, passes heavy_fence(),
// and loads x. Then at least one of them sees the other's store. light_fence() stops the compiler
// alone; heavy_fence() asks the kernel (membarrier) to run a full fence on every core that runs a
// thread of this process: wherever A is, that fence falls before its store, after its load, or
// between them, and each of these is right. A light_fence() pairs with a heavy_fence() and with
// nothing else: two light ones see nothing of each other.
//
// Where the kernel has no membarrier both are full fences. Under TSan, which models no fence, both
// are read-modify-writes of a word of the thread's own: full fences for the processor, and no order
// between threads that would hide a race from TSan.
// Thread safety: all. prepare_asymmetric_fence() comes before the first light_fence().
#pragma once

#include <atomic>

#include "base/sanitizer.h"

namespace elider {

namespace detail {
// Once true it stays true; a light_fence() that still sees false is a full
// fence, which is always right.
inline std::atomic<bool> light_fence_is_free{false};
inline thread_local std::atomic<unsigned> fence_word{0};
}  // namespace detail

// Registers the process with the kernel, once. Cheap to call again.
void prepare_asymmetric_fence();

[[gnu::always_inline]] inline void light_fence() {
#if ELIDER_TSAN
  detail::fence_word.fetch_add(1, std::memory_order_seq_cst);
#else
  // relaxed: either answer is right, see above.
  if (detail::light_fence_is_free.load(std::memory_order_relaxed)) [[likely]] {
    asm volatile("" ::: "memory");
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
#endif
}

// Some microseconds where other threads run, and some of theirs, tens in a virtual machine;
// about 0.1 where none does.
void heavy_fence();

}  // namespace elider
