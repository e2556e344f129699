// Racy accessors: read and write memory that another thread may be writing, as in a sequence lock.
// A reader copies the data, then validates the word that guards the memory, and only then uses the
// copy.
//
// Scalars are accessed as relaxed atomics, which the compiler does not tear or repeat. Larger data
// is copied by plain loads and stores between compiler barriers. In TSan builds, data is copied
// word by word with relaxed atomics, so TSan still reports every access that bypasses these
// functions.
//
// Order: a reader calls racy_read_fence() between its racy reads and the load that validates them.
// The fence pairs with the writer's racy_write_fence(), and with the release store that releases
// the guard. A writer calls racy_write_fence() after it acquires the guard and before its first
// racy write. On x86 both fences are free. Thread safety: all functions are meant for concurrent
// use.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/sanitizer.h"
#include "base/test_points.h"

namespace elider {

template <class T>
concept RacyScalar = std::is_trivially_copyable_v<T> && alignof(T) == sizeof(T) && sizeof(T) <= 8;

// relaxed: the value must not be used before the validation, which orders the accesses.
template <RacyScalar T>
inline T racy_load(const T& shared) {
  T value;
  __atomic_load(const_cast<T*>(&shared), &value, __ATOMIC_RELAXED);
  return value;
}
template <RacyScalar T>
inline void racy_store(T& shared, std::type_identity_t<T> value) {
  __atomic_store(&shared, &value, __ATOMIC_RELAXED);
}

// Loads before this fence are not reordered with loads after it.
inline void racy_read_fence() {
#if !ELIDER_TSAN
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
}
// Stores before this fence are not reordered with stores after it.
inline void racy_write_fence() {
#if !ELIDER_TSAN
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

namespace detail {

inline void compiler_barrier() { asm volatile("" ::: "memory"); }

// Two overlapping moves copy any size from W to 2W, so a small copy needs neither a call nor a
// loop. A move has at most 128 bits, because wider vectors require VZEROUPPER, which aborts a
// hardware transaction.
template <size_t W>
inline void copy_overlapping(void* to, const void* from, size_t bytes) {
  if constexpr (W > 16) {
    copy_overlapping<W / 2>(to, from, W);
    copy_overlapping<W / 2>(static_cast<char*>(to) + bytes - W, static_cast<const char*>(from) + bytes - W, W);
  } else {
    using Move [[gnu::vector_size(W)]] = char;  // not an array, so that it stays in a register despite the barrier
    Move head, tail;
    std::memcpy(&head, from, W);
    std::memcpy(&tail, static_cast<const char*>(from) + bytes - W, W);
    std::memcpy(to, &head, W);
    std::memcpy(static_cast<char*>(to) + bytes - W, &tail, W);
  }
}

// Copies more than 128 bytes. Not inlined, because gcc would then warn about out-of-bounds copies.
[[gnu::noinline]] inline void copy_long(char* to, const char* from, size_t bytes) {
  for (; bytes > 128; to += 64, from += 64, bytes -= 64) copy_overlapping<32>(to, from, 64);
  copy_overlapping<64>(to, from, bytes);
}

// Never calls memcpy. If only the program, but not this library, is compiled with TSan, TSan
// intercepts memcpy without seeing the validation that orders the copies, and reports false races.
[[gnu::always_inline]] inline void copy_inline(void* to, const void* from, size_t bytes) {
  if (bytes > 128) {
    copy_long(static_cast<char*>(to), static_cast<const char*>(from), bytes);
  } else if (bytes > 64) {
    copy_overlapping<64>(to, from, bytes);
  } else if (bytes >= 32) {
    copy_overlapping<32>(to, from, bytes);
  } else if (bytes >= 16) {
    copy_overlapping<16>(to, from, bytes);
  } else if (bytes >= 8) {
    copy_overlapping<8>(to, from, bytes);
  } else if (bytes >= 4) {
    copy_overlapping<4>(to, from, bytes);
  } else {
    for (size_t i = 0; i < bytes; ++i) static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
  }
}

// Copies aligned 8-byte words of the shared memory as words, and all other bytes one by one. The
// division depends only on the shared addresses, so two threads that copy different parts of a row
// divide it into the same words.
template <bool kToShared>
inline void copy_atomically(char* to, const char* from, size_t bytes) {
  size_t i = 0;
  while (i < bytes) {
    const auto shared = reinterpret_cast<uintptr_t>(kToShared ? to + i : from + i);
    if (shared % 8 == 0 && bytes - i >= 8) {
      uint64_t word;
      if constexpr (kToShared) {
        std::memcpy(&word, from + i, 8);
        __atomic_store_n(reinterpret_cast<uint64_t*>(to + i), word, __ATOMIC_RELAXED);
      } else {
        word = __atomic_load_n(reinterpret_cast<const uint64_t*>(from + i), __ATOMIC_RELAXED);
        std::memcpy(to + i, &word, 8);
      }
      i += 8;
    } else {
      if constexpr (kToShared) {
        __atomic_store_n(to + i, from[i], __ATOMIC_RELAXED);
      } else {
        to[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
      }
      ++i;
    }
  }
}

#if defined(ELIDER_EMULATOR)
// Copies without instrumentation, so the emulator does not see the accesses. Used by a mutant.
[[gnu::noinline, gnu::no_sanitize("thread")]] inline void copy_untold(volatile char* to, const char* from, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) to[i] = from[i];
}
#endif

}  // namespace detail

// Copies shared memory to private memory. Validate the copy before use.
[[gnu::always_inline]] inline void racy_copy_in(void* private_to, const void* shared_from, size_t bytes) {
#if ELIDER_TSAN
  detail::copy_atomically<false>(static_cast<char*>(private_to), static_cast<const char*>(shared_from), bytes);
#else
  detail::compiler_barrier();
  detail::copy_inline(private_to, shared_from, bytes);
  detail::compiler_barrier();
#endif
}

// Copies private memory to shared memory. The caller must hold the guard of the shared memory.
inline void racy_copy_out(void* shared_to, const void* private_from, size_t bytes) {
#if defined(ELIDER_EMULATOR)
  if (ELIDER_MUTANT(kRawWrite)) [[unlikely]]
    return detail::copy_untold(static_cast<char*>(shared_to), static_cast<const char*>(private_from), bytes);
#endif
#if ELIDER_TSAN
  detail::copy_atomically<true>(static_cast<char*>(shared_to), static_cast<const char*>(private_from), bytes);
#else
  detail::compiler_barrier();
  detail::copy_inline(shared_to, private_from, bytes);
  detail::compiler_barrier();
#endif
}

// Copies memory that other threads no longer write, or cannot reach yet, so any race is an error.
// Guards of this library order these copies with the accesses of other threads. TSan sees the
// guards only if this library is also compiled with TSan, so in other builds memcpy, which TSan
// intercepts, is not called.
inline void guarded_copy(void* to, const void* from, size_t bytes) {
#if ELIDER_TSAN
  std::memcpy(to, from, bytes);
#else
  detail::copy_inline(to, from, bytes);
#endif
}

}  // namespace elider
