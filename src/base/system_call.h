// System calls that a signal may interrupt (EINTR) before they have done anything.
//
// close() is not among them: Linux releases the descriptor even if it reports EINTR, so a second
// call could close a descriptor that another thread has opened since.
// Thread safety: all functions may be called from any thread.
#pragma once

#include <cerrno>

namespace elider {

// Repeats the call until it succeeds or fails with another error. For calls that return -1 and
// set errno.
template <class Call>
auto uninterrupted(Call&& call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

// Does the same for calls that return the error instead of setting errno (posix_fallocate).
template <class Call>
int uninterrupted_error(Call&& call) {
  for (;;)
    if (const int error = call(); error != EINTR) return error;
}

}  // namespace elider
