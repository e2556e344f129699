// heap_bytes: what a thread has asked of the heap, in a program of which one file includes
// tests/support/limited_heap.h.
//
// Thread safety: each thread has its own.
#pragma once

#include <cstdint>

namespace elider::test {

inline constinit thread_local uint64_t heap_bytes = 0;  // the sum over all allocations, freed ones included

}  // namespace elider::test
