// Wrappers for system calls that a signal may interrupt (EINTR) before they have any effect.
//
// Do not use them for close(): Linux releases the descriptor even if it reports EINTR, so a second
// call could close a descriptor that another thread has opened meanwhile.
// Thread safety: all functions may be called from any thread.
#pragma once

#include <cerrno>

namespace elider {

// Repeats the call until it succeeds or fails with another error. The call must return -1 and set
// errno on failure.
template <class Call>
auto uninterrupted(Call&& call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

// Like uninterrupted(), but the call must return the error instead of setting errno, as
// posix_fallocate() does.
template <class Call>
int uninterrupted_error(Call&& call) {
  for (;;)
    if (const int error = call(); error != EINTR) return error;
}

}  // namespace elider
