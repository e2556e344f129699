// What tests of the heap share: the path of a heap in a file system of a test's own; and which
// backend heaps run their update transactions on: ELIDER_HEAP_BACKEND is "rtm", "emulated" or
// "always-aborts"; without it, software. With ELIDER_HEAP_TRACKED_READS regions suspend nothing.
#pragma once

#include <cstdlib>

#include "elider/heap.h"

namespace elider::test {

inline constexpr const char* kPath = "/disk/a.heap";

inline HtmBackend heap_backend() {
  HtmBackend backend = HtmBackend::kAutomatic;
  if (const char* const name = std::getenv("ELIDER_HEAP_BACKEND"); name != nullptr && !parse(name, &backend)) std::abort();
  return backend;
}
inline void set_backend(HeapOptions& options) {
  options.backend = heap_backend();
  options.suspended_reads = std::getenv("ELIDER_HEAP_TRACKED_READS") == nullptr;
}

}  // namespace elider::test
