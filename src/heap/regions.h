// Update transactions that run in place, each as one hardware transaction ("region"; DUMBO,
// sections 3.1, 3.2 and 5). The procedure reads and writes the heap's words directly; a write is
// also added to a write set, for the log. Readers do not use regions and do not read write sets:
//
//   a reader that accesses a line which a region has written aborts the region;
//   a region that has done its work takes a number, waits until no transaction is active below it,
//   and only then commits. So a reader of moment s sees all of the numbers up to s or, if it reads
//   too early, aborts their regions; and it sees nothing of a number above s.
//
// The wait must not be part of the region, because a reader that ends would abort it. Hence there
// are three ways, depending on what the backend can suspend (htm/suspension.h):
//
//   kAll    tracking is suspended while the number, the state and the log record are written. An
//           update transaction is active like a reader, and others wait for it. So it does not read
//           anything above its own moment, and its durability wait is pruned
//   kLoads  reads are suspended. What a suspended region writes stays private, so number and state
//           are written last, tracked. The state holds the clock that it read before it looked for
//           readers: a reader whose moment reaches it may have read the commit, and waits for its
//           durability. Other transactions do not wait for update transactions, which may have read
//           all numbers below their own. (A reader does not return too early for those either: one
//           whose state is above the reader's moment waited until the reader had read)
//   kNone   as kLoads, but it cannot wait: if a reader is active it aborts, and waits outside
//
// Under kSnapshot a region of kAll suspends its reads from the beginning; otherwise it tracks them
// and is serializable. What a region cannot do, or fails to do, is done by the software protocol
// (attempt.h), which runs alone: regions read the word that announces it, and are aborted by it.
// Thread safety: as HeapAttempt.
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

// The codes of a region's explicit abort; kLockHeldCode, of htm/status.h: a software transaction
// runs alone.
inline constexpr uint8_t kSoftwareCode = 1;  // it would abort again
inline constexpr uint8_t kReadersCode = 2;   // a reader is active

// Makes one attempt. kStarted: it committed, and *status is the transaction's. Otherwise the status
// of the abort.
using RunInRegion = unsigned (*)(detail::HeapAttempt&, FunctionRef<Status(HeapTransaction&)>, Status*);

struct Regions {
  RunInRegion run = nullptr;  // null: regions are not available
  const char* name = "software";
};
// kUnsupported: the backend is not available here.
Status choose_regions(const HeapOptions& options, Regions* regions);

}  // namespace elider::heap
