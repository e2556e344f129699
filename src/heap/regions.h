// Update transactions that run in place, each as one hardware transaction ("region"; DUMBO,
// sections 3.1, 3.2 and 5). The procedure reads and writes the heap's words themselves; besides, a
// write goes into a write set, for the log. Readers enter no region and look into no write set:
//
//   a reader that meets a line which a region has written aborts the region;
//   a region that has done its work takes a number, waits until nobody is active below it, and only
//   then commits. So a reader of moment s sees all of the numbers up to s, or, by having looked too
//   early, ends them; and nothing of a number above s.
//
// The wait must not be part of the region: readers who end would abort it. Hence three ways, by
// what the backend can suspend (htm/suspension.h):
//
//   kAll    tracking is suspended; number, state and log record are written while it is. An update
//           transaction is active like a reader, and waited for: so it reads nothing above its own
//           moment, and its durability wait is pruned
//   kLoads  reads are suspended. What a suspended region writes stays its own, so number and state
//           are written last, tracked. The state holds the clock that it saw before it looked for
//           readers: a reader whose moment reaches it may have read the commit, and waits for its
//           durability. Update transactions are not waited for, and may have read all numbers below
//           their own. (Nor does a reader answer too early for those: whose state is above its
//           moment waited until it had read)
//   kNone   as kLoads, but it cannot wait: if somebody is active it aborts, and waits outside
//
// Under kSnapshot a region of kAll suspends its reads from the beginning; elsewhere it tracks them,
// and is serializable. Whatever a region cannot do, or does not get done, the software protocol
// does (attempt.h), alone: regions read the word that says so, and are aborted by it. Thread
// safety: as HeapAttempt.
#pragma once

#include <cstdint>

#include "elider/function_ref.h"
#include "elider/heap.h"
#include "htm/status.h"

namespace elider::heap {

// A transaction that writes more words, or zeroes more ranges, runs in software.
inline constexpr uint32_t kRegionWordsMax = 1024, kRegionZerosMax = 16;
inline constexpr uint64_t kRegionZeroBytesMax = 4096;  // of a range
inline constexpr uint64_t kRegionRecordBytesMax = 16 * (kRegionWordsMax + kRegionZerosMax);

// What a region's explicit abort says; kLockHeldCode, of htm/status.h: somebody runs alone.
inline constexpr uint8_t kSoftwareCode = 1;  // it would abort again
inline constexpr uint8_t kReadersCode = 2;   // a reader is active

// One try. kStarted: it committed, and *status is the transaction's. Else the status of the abort.
using RunInRegion = unsigned (*)(detail::HeapAttempt&, FunctionRef<Status(HeapTransaction&)>, Status*);

struct Regions {
  RunInRegion run = nullptr;  // null: there are none
  const char* name = "software";
};
// kUnsupported: the backend cannot be had here.
Status choose_regions(const HeapOptions& options, Regions* regions);

}  // namespace elider::heap
