// ELIDER_CHECK: a broken invariant stops the process with a message, in every build.
//
// Do not use it for invalid input, for which functions return a Status. Do not use it for what a
// transaction may see before validation, which is a conflict. Thread safety: any thread may fail.
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

// Like ELIDER_CHECK, for checks that are too slow for release builds, where they are compiled but
// not evaluated.
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
