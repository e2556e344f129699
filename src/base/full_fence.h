// Two fences that the C++ memory model requires but x86 does not. On x86, a locked instruction is a
// full fence, and all processors observe stores in the same order, so both functions are only
// compiler barriers. On other processors both are seq_cst fences.
// tests/exhaustive/memory_model_test.cc shows the errors that occur without these fences.
//
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

// Call this function after an atomic read-modify-write. No later load is then executed before the
// read-modify-write. If two threads each modify a word, call this function, and load the other
// thread's word, then at least one of them sees the other's modification. A thread that sees a
// later store of the caller also sees the modified word. Pairs with another thread's call to this
// function or to fence_between_loads().
inline void fence_after_locked_rmw() { detail::fence_that_x86_has(); }

// Call this between two loads. All threads that do so agree on the order in which they see the
// stores of other threads. It does not order the caller's own stores before its later loads. Pairs
// with another thread's call to this function or to fence_after_locked_rmw().
inline void fence_between_loads() { detail::fence_that_x86_has(); }

}  // namespace elider
