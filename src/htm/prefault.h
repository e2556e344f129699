// prefault(): writes to each page of fresh memory, so that a region is never the first to touch a
// page. Otherwise the page fault would abort the region. Each retry would fault again, because the
// abort prevents the kernel from handling the fault.
//
// Use it only for memory that no other thread can reach. The contents are arbitrary afterwards.
// Thread safety: a pure function.
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

// Reserves room for `count` elements, and touches the memory, so that regions may write the
// elements.
template <class Vector>
void reserve_prefaulted(Vector& vector, size_t count) {
  if (vector.capacity() >= count) return;
  vector.reserve(count);
  prefault(vector.data() + vector.size(), (vector.capacity() - vector.size()) * sizeof(typename Vector::value_type));
}

}  // namespace elider::htm
