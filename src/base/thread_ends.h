// thread_ends(): called in a catch (...). Returns true if the exception unwinds the thread because
// of pthread_exit() or a cancellation. Such an exception must be rethrown; otherwise the process
// aborts. Thread safety: may be called from any thread.
#pragma once

#include <exception>

namespace elider {

// An exception that C++ did not throw does not have a std::exception_ptr. Catching a reference to
// abi::__forced_unwind does not work, because the reference is bound to a null pointer, which
// sanitizers report.
inline bool thread_ends() { return std::current_exception() == nullptr; }

}  // namespace elider
