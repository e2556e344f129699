// detect(): finds out whether this machine has working hardware transactions. It asks CPUID and the
// kernel, rejects steppings with known defects, and then requires that a self-test succeeds,
// because on some machines the instructions exist but every region aborts.
//
// No function here executes a transactional instruction that CPUID does not announce, except for
// rtm_instructions_exist(), which is for a backend that was requested by name. Thread safety: all
// threads may call all functions.
#pragma once

#include <cstdint>
#include <string>

#include "base/cache_line.h"
#include "elider/hardware.h"
#include "htm/elide.h"

namespace elider::htm {

// Returns what is known of processor, kernel and self-test; the engine sets `automatic`. The result
// is computed once.
const Hardware& detect();

// Executes XBEGIN once and catches SIGILL. Returns false if the instruction does not exist.
bool rtm_instructions_exist();

// Returns whether instruction() runs without SIGILL in this thread. A SIGILL of another thread
// meanwhile is passed on to the process's previous action.
bool runs_without_sigill(void (*instruction)());

// Returns why the stepping is rejected, or "". Family, model and stepping are CPUID's, including
// the extended parts. `fixed_by_microcode` is leaf 7, EDX[13].
std::string known_defect(const std::string& vendor, uint32_t family, uint32_t model, uint32_t stepping, bool fixed_by_microcode);

inline constexpr uint32_t kSelfTestRegions = 1000;
// The self-test succeeds if at least this many of its regions commit within their tries.
inline constexpr uint32_t kSelfTestCommitsMin = 990;

// Fills in self_test_...; returns true if enough regions committed, each with its effect.
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
    if (i == 9 && found.self_test_committed == 0) break;  // if none commits, further regions with a hundred tries each do not say more
  }
  found.self_test_aborts = site.counts().aborts;
  return found.self_test_committed >= kSelfTestCommitsMin;
}

}  // namespace elider::htm
