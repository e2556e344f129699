// Fences that the C++ memory model asks for and x86 has already. There a locked instruction is
// a full fence, and loads are seen in their order by everybody; so both stop the compiler
// alone. On other processors both are seq_cst fences. tests/exhaustive/memory_model_test.cc
// shows what goes wrong without them.
// Thread safety: all.
#pragma once

#include <atomic>

namespace elider {

namespace detail {
inline void fence_that_x86_has() {
#if defined(__x86_64__)
  std::atomic_signal_fence(std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}
}  // namespace detail

// After an atomic read-modify-write of the caller's: its loads that follow are not made before
// that. Of two threads that each change a word, pass this, and load the other's word, one sees what
// the other did; and who sees a later store of the caller sees the word changed. Partners: each
// other, and fence_between_loads().
inline void fence_after_locked_rmw() { detail::fence_that_x86_has(); }

// Between loads, with no store of the caller's before it that others must see: all threads that
// pass it agree on the order of the stores that they have met. Partners: each other, and
// fence_after_locked_rmw().
inline void fence_between_loads() { detail::fence_that_x86_has(); }

}  // namespace elider
