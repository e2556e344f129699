// thread_ends(): returns, in a catch (...), whether the exception unwinds the thread (pthread_exit,
// a cancellation). Such an exception must be rethrown; otherwise the process aborts. Thread safety:
// may
// be called from any thread.
#pragma once

#include <exception>

namespace elider {

// An exception that is not from C++ does not have a std::exception_ptr. Catching a reference to
// abi::__forced_unwind does not work: it is bound to a null pointer, which sanitizers report.
inline bool thread_ends() { return std::current_exception() == nullptr; }

}  // namespace elider
