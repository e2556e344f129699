// detect(): reports whether this machine has working hardware transactions. It queries CPUID and
// the kernel, and rejects steppings with known defects. It then requires that a self-test succeeds,
// because on some machines the instructions exist but every region aborts.
//
// Only rtm_instructions_exist() executes a transactional instruction that CPUID does not report. It
// is called if a user requests the backend by name. Thread safety: all threads may call all
// functions.
#pragma once

#include <cstdint>
#include <string>

#include "base/cache_line.h"
#include "elider/hardware.h"
#include "htm/elide.h"

namespace elider::htm {

// Returns the features of the processor, the settings of the kernel, and the result of the
// self-test. The engine sets `automatic`. The result is computed once.
const Hardware& detect();

// Executes XBEGIN once and catches SIGILL. Returns false if the instruction does not exist.
bool rtm_instructions_exist();

// Returns true if instruction() does not raise SIGILL in this thread. If another thread raises
// SIGILL meanwhile, the process's previous action handles it.
bool runs_without_sigill(void (*instruction)());

// Returns the known defect because of which this stepping is rejected, or "". Family, model and
// stepping are those of CPUID, including the extended parts. `fixed_by_microcode` is EDX[13] of
// leaf 7.
std::string known_defect(const std::string& vendor, uint32_t family, uint32_t model, uint32_t stepping, bool fixed_by_microcode);

inline constexpr uint32_t kSelfTestRegions = 1000;
// The self-test succeeds if at least this many of its regions commit within the allowed retries.
inline constexpr uint32_t kSelfTestCommitsMin = 990;

// Sets the self_test_... members of `found`. Returns true if enough regions committed, and each of
// them had its effect.
template <Backend B>
bool self_test(Hardware& found) {
  constexpr uint32_t kTriesMax = 100;
  CacheLine<uint64_t> line;
  *line = 0;  // touched before the first region, to avoid a page fault
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
    if (i == 9 && found.self_test_committed == 0) break;  // if ten regions failed after a hundred tries each, more would fail too
  }
  found.self_test_aborts = site.counts().aborts;
  return found.self_test_committed >= kSelfTestCommitsMin;
}

}  // namespace elider::htm
