// Regions: single hardware transactions, for studies of what a machine supports (elider-lab htm).
// Databases do not need this header: SyncPolicy::kElided runs its own regions.
//
// A region is tried once, and the caller decides whether to retry. A region may always abort, so
// the caller needs a fallback.
// Thread safety: any thread may call any function, except for configure_emulator().
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

// Checks that regions of *htm can run, and replaces kAutomatic by this machine's backend.
//   kUnsupported  this machine or build cannot run regions of this backend; the message says why
Status find_regions(HtmBackend* htm);

// Runs body() once as a region. find_regions() must have accepted `htm`. Returns kRegionCommitted
// or, after an abort, the status word in the format of Intel's RTM, whatever the backend. An abort
// undoes all writes of body(). body() must not allocate memory, make a system call, throw, or write
// to a page for the first time.
uint32_t try_region(HtmBackend htm, FunctionRef<void()> body);

// Returns the cause of an abort, for region_cause_name(). The status must not be kRegionCommitted.
size_t region_cause_of(uint32_t status);

// Configures the emulated processor, in the format of the environment variable ELIDER_HTM_EMULATOR:
// "sets=64,ways=12". Options that are not given keep the variable's setting, or the default. Must
// be called only while no region runs. An invalid option prints a message and ends the process.
//   kUnsupported  this build does not include the emulator
Status configure_emulator(std::string_view options);

// The calling thread's outermost emulated regions that have committed. It has their number, the
// total number of cache lines that they wrote, and the total number that they read before writing
// them or without writing them. Accesses to the emulator's own stack are not counted.
struct EmulatedRegions {
  uint64_t committed = 0;
  uint64_t lines_read = 0, lines_written = 0;
};
//   kUnsupported  this build does not include the emulator
Result<EmulatedRegions> emulated_regions();

}  // namespace elider
