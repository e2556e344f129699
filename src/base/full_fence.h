// Two fences that the C++ memory model requires. On x86 they only stop the compiler, because there
// a locked instruction is a full fence, and all processors agree on the order of loads. On other
// processors both are seq_cst fences. tests/exhaustive/memory_model_test.cc shows the errors that
// occur without these fences.
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

// Call this after an atomic read-modify-write. No later load is executed before the
// read-modify-write. If two threads each change a word, pass this fence, and load the other
// thread's word, then at least one of the two sees the other's change. A thread that sees a later
// store of the caller also sees the changed word. Partners: this function in another thread, and
// fence_between_loads().
inline void fence_after_locked_rmw() { detail::fence_that_x86_has(); }

// Call this between two loads. All threads that call it agree on the order of the stores that they
// have seen. It does not make the caller's own earlier stores visible. Partners: this function in
// another thread, and fence_after_locked_rmw().
inline void fence_between_loads() { detail::fence_that_x86_has(); }

}  // namespace elider
