// prefault(): writes to each page of fresh memory, so that no region is the first to
// touch one: a page fault aborts a region, and would again, since the abort also takes
// back that the page was asked for.
//
// Only for memory that nobody else has seen; its contents are arbitrary
// afterwards. Thread safety: pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace elider::htm {

inline void prefault(void* memory, size_t bytes) {
  constexpr uintptr_t kPageBytes = 4096;
  if (memory == nullptr || bytes == 0) return;
  auto* const first = static_cast<volatile char*>(memory);
  *first = 0;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(memory);
  for (uintptr_t page = (begin / kPageBytes + 1) * kPageBytes; page < begin + bytes; page += kPageBytes) first[page - begin] = 0;
}

// Room for `count` elements, which regions are then the first to write.
template <class Vector>
void reserve_prefaulted(Vector& vector, size_t count) {
  if (vector.capacity() >= count) return;
  vector.reserve(count);
  prefault(vector.data() + vector.size(), (vector.capacity() - vector.size()) * sizeof(typename Vector::value_type));
}

}  // namespace elider::htm
