// Constants that say which sanitizer this translation unit is compiled with, and functions that
// inform ASan about memory that the allocator manages. Thread safety: that of ASan's interface.
#pragma once

#include <cstddef>

// The emulator of hardware transactions uses TSan's instrumentation, but not its rules.
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

// After this call, ASan reports accesses to these bytes.
inline void poison_memory([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#if ELIDER_ASAN
  ASAN_POISON_MEMORY_REGION(begin, bytes);
#endif
}
// After this call, these bytes may be accessed again.
inline void unpoison_memory([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#if ELIDER_ASAN
  ASAN_UNPOISON_MEMORY_REGION(begin, bytes);
#endif
}

}  // namespace elider
