// Update transactions that run in place, each as one hardware transaction ("region"; DUMBO,
// sections 3.1, 3.2 and 5). The procedure reads and writes the heap's words directly. Each write is
// also added to a write set, for the log. Readers do not use regions and do not read these write
// sets. Two rules isolate them:
//
//   - A reader that accesses a cache line that a region has written aborts the region.
//   - A region that has done its work takes a number and waits until no transaction is active
//     below that number. Only then does it commit.
//
// So a reader of moment s sees all numbers up to s. If the reader reads too early, it aborts the
// regions with those numbers. The reader does not see any write with a number above s.
//
// The wait must not be part of the region, because a reader that ends would abort the region. So
// there are three ways, which depend on what the backend can suspend (htm/suspension.h):
//
//   kAll    Tracking is suspended while the number, the state and the log record are written. An
//           update transaction is active like a reader, and other transactions wait for it. So it
//           does not read anything above its own moment, and its durability wait is pruned.
//   kLoads  Reads are suspended. Writes of a region with suspended reads stay private, so number
//           and state are written last, as part of the region. The state holds the clock that the
//           region read before it looked for readers. A reader whose moment reaches that clock may
//           have read the commit, and waits for its durability. Other transactions do not wait for
//           update transactions, which may have read all numbers below their own. A reader does
//           not return too early for those either: if a state is above the reader's moment, its
//           transaction waited until the reader had read.
//   kNone   As kLoads, but a region cannot wait. If a reader is active, the region aborts, and
//           the thread waits outside the region.
//
// Under kSnapshot, a region of kAll suspends its reads from the beginning. Otherwise a region
// tracks its reads and is serializable. If a region cannot execute a transaction, or keeps failing,
// the transaction runs alone under the software protocol (attempt.h). Regions read the word that
// announces such a transaction, so the announcement aborts them. Thread safety: as HeapAttempt.
#pragma once

#include <cstdint>

#include "elider/function_ref.h"
#include "elider/heap.h"
#include "htm/status.h"

namespace elider::heap {

// A transaction that writes more words, or zeroes more ranges, runs under the software protocol.
inline constexpr uint32_t kRegionWordsMax = 1024, kRegionZerosMax = 16;
inline constexpr uint64_t kRegionZeroBytesMax = 4096;  // the largest range
inline constexpr uint64_t kRegionRecordBytesMax = 16 * (kRegionWordsMax + kRegionZerosMax);

// The codes of a region's explicit abort. In addition, kLockHeldCode (htm/status.h) means that a
// transaction runs alone under the software protocol.
inline constexpr uint8_t kSoftwareCode = 1;  // a retry would abort again
inline constexpr uint8_t kReadersCode = 2;   // a reader is active

// Makes one attempt. If the result is kStarted, the attempt committed, and *status is the
// transaction's status. Otherwise the result is the status of the abort.
using RunInRegion = unsigned (*)(detail::HeapAttempt&, FunctionRef<Status(HeapTransaction&)>, Status*);

struct Regions {
  RunInRegion run = nullptr;  // null: regions are not available
  const char* name = "software";
};
// kUnsupported: the backend is not available here.
Status choose_regions(const HeapOptions& options, Regions* regions);

}  // namespace elider::heap
