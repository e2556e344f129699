// Limited heap: makes allocations of one thread fail. Exactly one file of a test program includes
// it, because it replaces operator new for the whole program. The operators are not inline, because
// gcc would report a mismatch of new and free().
//
// Thread safety: each thread has a limit of its own.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "elider/status.h"
#include "tests/support/heap_bytes.h"

namespace elider::test {

// Allocations that this thread may still make; below 0: any number.
inline constinit thread_local int64_t allocations_left = -1;
// If true, only the next allocation fails, and then the heap has room again.
inline constinit thread_local bool fails_once = false;

inline void* allocate_or_null(size_t bytes) {
  if (allocations_left == 0) {
    if (fails_once) allocations_left = -1;
    return nullptr;
  }
  if (allocations_left > 0) --allocations_left;
  heap_bytes += bytes;
  return std::malloc(bytes != 0 ? bytes : 1);
}
inline void* allocate_or_throw(size_t bytes) {
  void* const memory = allocate_or_null(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Runs operation() with this many allocations possible. *enough: whether they were enough. Does not
// throw.
template <class Operation>
Status limited(int64_t allocations, Operation&& operation, bool* enough) {
  Status status;
  bool threw = false;
  allocations_left = allocations;
  try {
    status = operation();
  } catch (...) {
    threw = true;
  }
  *enough = allocations_left > 0;
  allocations_left = -1;
  EXPECT_FALSE(threw);
  return status;
}

}  // namespace elider::test

[[gnu::noinline]] void* operator new(size_t bytes) { return elider::test::allocate_or_throw(bytes); }
[[gnu::noinline]] void* operator new[](size_t bytes) { return elider::test::allocate_or_throw(bytes); }
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return elider::test::allocate_or_null(bytes); }
[[gnu::noinline]] void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return elider::test::allocate_or_null(bytes); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
