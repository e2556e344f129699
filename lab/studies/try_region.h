// Regions: single hardware transactions, for studies of what a machine supports (elider-lab htm).
// Databases do not need this header: SyncPolicy::kElided runs its own regions.
//
// try_region() tries a region once, and the caller decides whether to retry. Any region may abort
// every time, so the caller needs a fallback. Thread safety: any thread may call any function,
// except for configure_emulator().
#pragma once

#include "elider/language.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "elider/elision.h"
#include "elider/function_ref.h"
#include "elider/status.h"

namespace elider {

// The result of try_region() if the region has committed.
inline constexpr uint32_t kRegionCommitted = 0xFFFFFFFFu;

// Checks that the backend *htm can run regions. If *htm is kAutomatic, first sets it to this
// machine's backend.
//   kUnsupported  this machine or build cannot run regions with this backend; the message says why
Status find_regions(HtmBackend* htm);

// Runs body() once as a region. find_regions() must have accepted `htm`. Returns kRegionCommitted
// or, after an abort, a status word in the format of Intel's RTM, even if another backend ran the
// region. An abort undoes all writes of body(). body() must not throw. It must not allocate memory,
// make a system call, or write to a page for the first time, because this aborts the region.
uint32_t try_region(HtmBackend htm, FunctionRef<void()> body);

// Returns the cause of an abort, for region_cause_name(). The status must not be kRegionCommitted.
size_t region_cause_of(uint32_t status);

// Configures the emulated processor. `options` has the format of the environment variable
// ELIDER_HTM_EMULATOR, for example "sets=64,ways=12". An option that `options` does not name is
// reset to its value in the variable or, if the variable does not name the option either, to its
// default. Call it only while no region runs. If an option is invalid, prints a message and ends
// the process.
//   kUnsupported  this build does not include the emulator
Status configure_emulator(std::string_view options);

// Counters of the emulated regions that the calling thread has committed. Nested regions are parts
// of the outermost one. lines_read is the sum of the cache lines that each region read without
// having written them before. lines_written is the sum of the lines that each region wrote. Lines
// of the stack frame that began the region, and of the stack below it, are not counted.
struct EmulatedRegions {
  uint64_t committed = 0;
  uint64_t lines_read = 0, lines_written = 0;
};
//   kUnsupported  this build does not include the emulator
Result<EmulatedRegions> emulated_regions();

}  // namespace elider
