// Elision: which hardware transactions run critical sections, and when a section gives up and takes
// its lock: the policy as data. docs/lab/hardware-transactions.md tells how to choose.
// Thread safety: values.
#pragma once

#include "elider/language.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace elider {

// What executes the hardware transactions ("regions") of SyncPolicy::kElided.
enum class HtmBackend : uint8_t {
  kAutomatic,     // kRtm where the processor proves that it works, else the emulator where it is built in, else kNone
  kRtm,           // Intel's RTM. Asked for by name it is used without the proof, for simulators
  kNone,          // no regions: every section takes its lock
  kAlwaysAborts,  // for tests: every region aborts as it begins
  kEmulated,      // the emulator; in builds that have it
};
std::string_view name_of(HtmBackend htm);  // "automatic", "rtm", "none", "always-aborts", "emulated"
bool parse(std::string_view name, HtmBackend* htm);

// How often a section is tried as a region before it takes its lock, by the cause of the aborts
// (DBX, section 6.1, for the first three; HyPer-HTM, section 3.4, advises 20 tries or more). Zero:
// the first abort of that cause ends it. Raising a bound costs wasted regions where they cannot
// succeed; lowering it takes locks, which abort everybody else's regions.
struct ElisionPolicy {
  uint32_t conflict_aborts_max = 100;  // also aborts with no more than the retry hint. 0 to 1,000,000
  uint32_t capacity_aborts_max = 10;   // 0 to 1,000,000
  uint32_t system_aborts_max = 2;      // interrupts, page faults, and what never succeeds. 0 to 1,000,000
  // An abort because the lock was held says nothing against the region and counts for
  // none of the above; the section waits until the lock is free. After so many it queues
  // for the lock all the same.
  uint32_t lock_held_aborts_max = 1000;  // 0 to 1,000,000

  // The bounds for conflicts and capacity are divided by the height of the tree that a section
  // descends, as a taller one wastes more an abort (DBX, section 4).
  bool less_for_tall_trees = true;

  // In cache lines. A commit that writes more than write_lines_max uses its region only to set the
  // lock bits, and writes afterwards. One that writes more rows than that, or reads more than
  // read_lines_max, uses no region and takes its locks one by one. A read of a row of more than
  // write_lines_max uses none either.
  uint32_t write_lines_max = 96;   // 1 to 512
  uint32_t read_lines_max = 2048;  // 1 to 65536

  // Whether a read of a row is a region, too. Otherwise it copies and looks
  // again, as without regions.
  bool record_reads = true;

  // A thread looks after each `window_runs` runs of a site how many ended as a region. If
  // fewer than `poor_percent` did, it tries no region there for the next `off_runs` runs; then
  // again, and twice as long (up to 64 times) whenever that does not pay either. window_runs
  // 0: a site never shuts itself off.
  uint32_t window_runs = 256;  // 0 to 1,000,000
  uint32_t poor_percent = 50;  // 0 to 100
  uint32_t off_runs = 4096;    // 1 to 1,000,000
};

// Why regions abort, for statistics; the order of htm::Cause.
inline constexpr size_t kRegionCauseCount = 8;
std::string_view region_cause_name(size_t cause);  // "explicit", "lock-held", "retry", "conflict", ...

}  // namespace elider
