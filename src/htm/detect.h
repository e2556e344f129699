// detect(): whether this machine has hardware transactions that work. It asks CPUID and the kernel,
// refuses steppings that are known to be broken, and then believes only a self-test: on some
// machines the instructions are there and every region aborts.
//
// Nothing here executes a transactional instruction that CPUID does not promise, but for
// rtm_instructions_exist(), which is for a backend that was asked for by name.
// Thread safety: all.
#pragma once

#include <cstdint>
#include <string>

#include "base/cache_line.h"
#include "elider/hardware.h"
#include "htm/elide.h"

namespace elider::htm {

// Processor, kernel and self-test; `automatic` is left to the engine.
// Found out once, then the same.
const Hardware& detect();

// Executes XBEGIN once, with SIGILL caught: false where it is no instruction.
bool rtm_instructions_exist();

// Whether instruction() runs without SIGILL in this thread. The SIGILL of another thread meanwhile
// goes to the action that the process had for it.
bool runs_without_sigill(void (*instruction)());

// Why the stepping is refused, or "". Family, model and stepping as CPUID's with the extended parts
// added. `fixed_by_microcode`: leaf 7, EDX[13].
std::string known_defect(const std::string& vendor, uint32_t family, uint32_t model, uint32_t stepping, bool fixed_by_microcode);

inline constexpr uint32_t kSelfTestRegions = 1000;
// Of a thousand, so many must commit within their tries.
inline constexpr uint32_t kSelfTestCommitsMin = 990;

// Fills in self_test_...; true if enough regions committed, each with its effect.
template <Backend B>
bool self_test(Hardware& found) {
  constexpr uint32_t kTriesMax = 100;
  CacheLine<uint64_t> line;
  *line = 0;  // touched before the first region
  found.self_test_run = true;
  found.self_test_regions = kSelfTestRegions;
  found.self_test_committed = 0;
  const ElisionPolicy policy{
      .conflict_aborts_max = kTriesMax, .capacity_aborts_max = kTriesMax, .system_aborts_max = kTriesMax, .window_runs = 0};
  Site site(policy);
  for (uint32_t i = 0; i < kSelfTestRegions; ++i) {
    const uint64_t before = *line;
    const bool committed = run_region<B>(site, SubscribedWithin{}, [&] { *line = before + 1; return true; }, [] { return false; });
    if (*line != before + (committed ? 1 : 0)) return false;
    if (committed) ++found.self_test_committed;
    if (i == 9 && found.self_test_committed == 0) break;  // where none commits, a thousand times a hundred tries say no more
  }
  found.self_test_aborts = site.counts().aborts;
  return found.self_test_committed >= kSelfTestCommitsMin;
}

}  // namespace elider::htm
