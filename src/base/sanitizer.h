// Constants that say which sanitizers this translation unit is compiled with, and functions that
// tell ASan which memory of the allocator is free. Thread safety: the same as for ASan's interface.
#pragma once

#include <cstddef>

// The emulator of hardware transactions is compiled with TSan's instrumentation, but replaces
// TSan's runtime, so this is not a TSan build.
#if defined(ELIDER_EMULATOR)
#define ELIDER_TSAN 0
#elif defined(__SANITIZE_THREAD__)
#define ELIDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ELIDER_TSAN 1
#endif
#endif
#ifndef ELIDER_TSAN
#define ELIDER_TSAN 0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define ELIDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ELIDER_ASAN 1
#endif
#endif
#ifndef ELIDER_ASAN
#define ELIDER_ASAN 0
#endif

#if ELIDER_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace elider {

inline constexpr bool kThreadSanitizer = ELIDER_TSAN;
inline constexpr bool kAddressSanitizer = ELIDER_ASAN;

// Makes ASan report accesses to these bytes.
inline void poison_memory([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#if ELIDER_ASAN
  ASAN_POISON_MEMORY_REGION(begin, bytes);
#endif
}
// Makes these bytes accessible again.
inline void unpoison_memory([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#if ELIDER_ASAN
  ASAN_UNPOISON_MEMORY_REGION(begin, bytes);
#endif
}

}  // namespace elider
