// Regions: single hardware transactions, for studies of what a machine's can do (elider bench htm).
// A database needs none of this: SyncPolicy::kElided runs its own.
//
// A region is tried once; whether and how to go on is the caller's. Not for code that must succeed:
// a region may abort for ever. Thread safety: all, but for configure_emulator().
#pragma once

#include "elider/language.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "elider/elision.h"
#include "elider/function_ref.h"
#include "elider/status.h"

namespace elider {

// What try_region() gives when the region has committed.
inline constexpr uint32_t kRegionCommitted = 0xFFFFFFFFu;

// Ok, and *htm is what kAutomatic stands for on this machine: try_region() may be called with it.
// kUnsupported: it runs no regions here; the message says why.
Status find_regions(HtmBackend* htm);

// One attempt to run body() as one region, which find_regions() has allowed. kRegionCommitted, or
// the status word of the abort, with the bits of Intel's RTM whatever runs the region; all that
// body wrote is undone then. body allocates nothing, makes no system call, throws nothing, and
// writes to no page for the first time.
uint32_t try_region(HtmBackend htm, FunctionRef<void()> body);

// The cause of an abort, for region_cause_name(); of a status that is not kRegionCommitted.
size_t region_cause_of(uint32_t status);

// Sets up the emulated processor, as the environment variable ELIDER_HTM_EMULATOR does:
// "sets=64,ways=12". What is not named stays as that variable, or the default, has it. Only
// while no region runs. kUnsupported: this build has no emulator. A wrong option prints a
// message and ends the process.
Status configure_emulator(std::string_view options);

// Of the calling thread's emulated regions that have committed, parts of others not counted: how
// many, and the cache lines that each of them read without having written them before, and wrote,
// in sum. Not the stack that the region itself took.
struct EmulatedRegions {
  uint64_t committed = 0;
  uint64_t lines_read = 0, lines_written = 0;
};
// kUnsupported: this build has no emulator.
Result<EmulatedRegions> emulated_regions();

}  // namespace elider
