// Fences that the C++ memory model requires and x86 does not need: there a locked instruction is a
// full fence, and all processors agree on the order of loads, so both functions only stop the
// compiler. On other processors both are seq_cst fences. tests/exhaustive/memory_model_test.cc
// shows what goes wrong without them.
// Thread safety: all functions may be called from any thread.
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

// Call it after an atomic read-modify-write: later loads are not executed before it. If two threads
// each change a word, pass this fence, and load the other's word, then at least one of them sees
// the other's change. A thread that sees a later store of the caller also sees the changed word.
// Partners: each other, and fence_between_loads().
inline void fence_after_locked_rmw() { detail::fence_that_x86_has(); }

// Call it between loads, if the caller's earlier stores need not be visible: all threads that pass
// it agree on the order of the stores that they have seen. Partners: each other, and
// fence_after_locked_rmw().
inline void fence_between_loads() { detail::fence_that_x86_has(); }

}  // namespace elider
