#include "htm/code_pages.h"

#include <link.h>

#include <cstddef>
#include <cstring>
#include <vector>

namespace elider::htm {

namespace {

constexpr uintptr_t kPageBytes = 4096;

struct Range {
  uintptr_t begin, end;
};

uintptr_t address_of(const void* code) { return reinterpret_cast<uintptr_t>(code); }

int find_segments(dl_phdr_info* object, size_t, void* to) {
  std::vector<Range> segments;
  bool mine = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    segments.push_back({begin, begin + segment.p_filesz});
    const uintptr_t here = address_of(reinterpret_cast<const void*>(&read_code_pages));
    mine = mine || (here >= begin && here < begin + segment.p_filesz);
  }
  if (!mine) return 0;
  *static_cast<std::vector<Range>*>(to) = std::move(segments);
  return 1;
}

std::vector<Range> find_ranges() {
  std::vector<Range> ranges;
  dl_iterate_phdr(find_segments, &ranges);
  const uintptr_t copy = address_of(reinterpret_cast<const void*>(static_cast<void* (*)(void*, const void*, size_t)>(&std::memcpy)));
  ranges.push_back({copy, copy + kPageBytes});
  return ranges;
}

}  // namespace

// Not checked for poison: constants have red zones between them.
[[gnu::no_sanitize("address", "thread")]] void read_code_pages() {
  static const std::vector<Range> ranges = find_ranges();
  for (const Range& range : ranges)
    for (uintptr_t at = range.begin; at < range.end; at = (at / kPageBytes + 1) * kPageBytes)
      static_cast<void>(*reinterpret_cast<const volatile char*>(at));
}

void read_code_pages_now_and_then() {
  constexpr uint32_t kSeldom = 256;
  thread_local uint32_t runs = 0;
  ++runs;
  if ((runs & (runs - 1)) == 0 || runs % kSeldom == 0) read_code_pages();
}

}  // namespace elider::htm
