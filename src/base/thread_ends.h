// thread_ends(): in a catch (...), whether what was caught unwinds the thread (pthread_exit, a
// cancellation). Whoever does not throw that on aborts the process. Thread safety: all.
#pragma once

#include <exception>

namespace elider {

// What is no C++ exception has no std::exception_ptr. Not by a reference to abi::__forced_unwind:
// it is bound to a null pointer, which a sanitizer takes for a mistake.
inline bool thread_ends() { return std::current_exception() == nullptr; }

}  // namespace elider
