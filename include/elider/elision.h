// Elision: which backend runs critical sections as hardware transactions, and when a section falls
// back to its lock. docs/lab/hardware-transactions.md explains how to choose.
// Thread safety: the types are values.
#pragma once

#include "elider/language.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace elider {

// What executes the hardware transactions ("regions") of SyncPolicy::kElided.
enum class HtmBackend : uint8_t {
  kAutomatic,     // kRtm if a self-test shows that it works, otherwise the emulator if the build has it, otherwise kNone
  kRtm,           // Intel's RTM. If named explicitly, RTM is used without the self-test, for simulators
  kNone,          // no regions: every section takes its lock
  kAlwaysAborts,  // for tests: every region aborts immediately
  kEmulated,      // the emulator, in builds that have it
};
std::string_view name_of(HtmBackend htm);  // "automatic", "rtm", "none", "always-aborts", "emulated"
bool parse(std::string_view name, HtmBackend* htm);

// How often a section is tried as a region before it takes its lock. Each of the first four members
// limits the number of aborts of one cause (DBX, section 6.1, for the first three; HyPer-HTM,
// section 3.4, recommends at least 20 attempts). With a bound of 0, a section takes its lock after
// the first abort of that cause. A higher bound wastes time on regions that cannot succeed. With a
// lower bound, sections take their locks more often, which aborts other threads' regions.
struct ElisionPolicy {
  uint32_t conflict_aborts_max = 100;  // including aborts for which the processor reports only the retry hint. 0 to 1,000,000
  uint32_t capacity_aborts_max = 10;   // 0 to 1,000,000
  uint32_t system_aborts_max = 2;      // interrupts, page faults, and regions that can never succeed. 0 to 1,000,000
  // Aborts caused by a held lock do not count toward the bounds above, because the section waits
  // until the lock is free. After this many such aborts, the section queues for the lock.
  uint32_t lock_held_aborts_max = 1000;  // 0 to 1,000,000

  // Divides the bounds for conflicts and capacity by the height of the tree that a section
  // descends, because an abort in a taller tree wastes more work (DBX, section 4).
  bool less_for_tall_trees = true;

  // Bounds in cache lines. A commit that writes more cache lines than write_lines_max uses its
  // region only to set lock bits, and writes the rows after the region. A commit that writes more
  // rows than write_lines_max, or reads more cache lines than read_lines_max, locks its rows one by
  // one without a region. A read of a row that spans more than write_lines_max cache lines does not
  // use a region either.
  uint32_t write_lines_max = 96;   // 1 to 512
  uint32_t read_lines_max = 2048;  // 1 to 65536

  // If true, reads of rows also run as regions. Otherwise, a read copies the row and validates the
  // copy, as under the other sync policies.
  bool record_reads = true;

  // A site is a place in the code that runs regions. After each `window_runs` runs of a site, a
  // thread checks how many of them completed as a region. If fewer than `poor_percent` percent did,
  // the thread does not try regions at that site for the next `off_runs` runs. Then it tries again.
  // Each time that regions still do not pay off, the pause doubles, up to 64 times `off_runs`. If
  // window_runs is 0, a site is never turned off.
  uint32_t window_runs = 256;  // 0 to 1,000,000
  uint32_t poor_percent = 50;  // 0 to 100
  uint32_t off_runs = 4096;    // 1 to 1,000,000
};

// The number of causes of region aborts, for statistics. The causes are in the order of htm::Cause.
inline constexpr size_t kRegionCauseCount = 8;
std::string_view region_cause_name(size_t cause);  // "explicit", "lock-held", "retry", "conflict", ...

}  // namespace elider
