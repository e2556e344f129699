// thread_ends(): for use in a catch (...) block. Returns true if the exception unwinds the thread
// because of pthread_exit() or a cancellation. Such an exception must be rethrown; otherwise the
// process aborts. Thread safety: may be called from any thread.
#pragma once

#include <exception>

namespace elider {

// pthread_exit() and cancellation unwind the thread with an exception that is not a C++ exception,
// for which std::current_exception() returns null. Catching abi::__forced_unwind& instead does not
// work: the reference would be bound to a null pointer, which sanitizers report.
inline bool thread_ends() { return std::current_exception() == nullptr; }

}  // namespace elider
