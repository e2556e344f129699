// ELIDER_CHECK: a broken invariant stops the process with a message, in every build.
//
// Do not use it for invalid input, which is reported as a Status. Do not use it for inconsistent
// data that a transaction may read before validation, because that is a conflict. Thread safety:
// may be used in any thread.
#pragma once

namespace elider {

// Prints "elider: words (condition) at file:line" to stderr and aborts.
[[noreturn]] void check_failed(const char* condition, const char* words, const char* file, int line);

}  // namespace elider

// `words` states the invariant, for the reader of the crash message.
#define ELIDER_CHECK(condition, words)                               \
  do {                                                               \
    if (!(condition)) [[unlikely]]                                   \
      ::elider::check_failed(#condition, words, __FILE__, __LINE__); \
  } while (false)

// Like ELIDER_CHECK, but the condition is not evaluated in release builds, for which it would be
// too slow. It is compiled in every build.
#ifdef NDEBUG
#define ELIDER_DCHECK(condition, words) \
  do {                                  \
    if (false) {                        \
      ELIDER_CHECK(condition, words);   \
    }                                   \
  } while (false)
#else
#define ELIDER_DCHECK(condition, words) ELIDER_CHECK(condition, words)
#endif
