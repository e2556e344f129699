#include "htm/code_pages.h"

#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/sanitizer.h"

namespace elider::htm {

namespace {

constexpr uintptr_t kPageBytes = 4096;

struct Range {
  uintptr_t begin, end;
  bool has(uintptr_t address) const { return address >= begin && address < end; }
};

// Called for the program and for each loaded library. If the program or library contains this
// file's code, collects its read-only segments; if it contains memcpy, collects the start of
// memcpy.
int find_ranges(dl_phdr_info* object, size_t, void* to) {
  auto& ranges = *static_cast<std::vector<Range>*>(to);
  const auto here = reinterpret_cast<uintptr_t>(&read_code_pages);
  const auto copy = reinterpret_cast<uintptr_t>(static_cast<void* (*)(void*, const void*, size_t)>(&std::memcpy));
  std::vector<Range> segments;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & (PF_R | PF_W)) != PF_R) continue;
    const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    segments.push_back({begin, begin + segment.p_filesz});
    if (segments.back().has(copy)) ranges.push_back({copy, std::min(copy + kPageBytes, segments.back().end)});
  }
  if (std::any_of(segments.begin(), segments.end(), [here](const Range& segment) { return segment.has(here); }))
    ranges.insert(ranges.end(), segments.begin(), segments.end());
  return 0;
}

// Computed once and never destroyed, because threads may run, and databases may be closed, after
// static destructors.
const std::vector<Range>& all_ranges() {
  static const std::vector<Range>& ranges = []() -> const std::vector<Range>& {
    auto* found = new std::vector<Range>;
    dl_iterate_phdr(find_ranges, found);
    return *found;
  }();
  return ranges;
}

}  // namespace

void read_code_pages() {
#if defined(ELIDER_EMULATOR)
  return;  // page faults on code do not abort emulated regions
#endif
  // Sanitizers put red zones, which must not be read, between constants. Sanitizer builds need not
  // be fast.
  if constexpr (kAddressSanitizer || kThreadSanitizer) return;
  for (const Range& range : all_ranges())
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
