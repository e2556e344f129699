// ELIDER_CHECK: a broken invariant stops the process with a message, in every build.
//
// Not for bad input: that is a Status. Not for what a transaction may see before it is validated:
// that is a conflict. Thread safety: any thread may fail.
#pragma once

namespace elider {

// Prints "elider: words (condition) at file:line" to stderr and aborts.
[[noreturn]] void check_failed(const char* condition, const char* words, const char* file, int line);

}  // namespace elider

// `words` says what should have held, for the person who reads the crash.
#define ELIDER_CHECK(condition, words)                               \
  do {                                                               \
    if (!(condition)) [[unlikely]]                                   \
      ::elider::check_failed(#condition, words, __FILE__, __LINE__); \
  } while (false)

// The same where the test is too dear for a release build; its condition
// is compiled in all of them.
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
