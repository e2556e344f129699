// Regions: each update transaction runs as one hardware transaction (a region) and reads and writes
// the heap's words in place (DUMBO, sections 3.1, 3.2 and 5). Each write is also added to a write
// set, for the log. Read-only transactions do not use regions and do not read these write sets. Two
// rules isolate such readers from regions:
//
//   - A reader that accesses a cache line that a region has written aborts the region.
//   - Before a region commits, it takes a number n and waits until no active transaction has a
//     snapshot below n.
//
// So a reader with snapshot s (slots.h) sees all commits with numbers up to s. If a region with
// such a number has not committed yet when the reader accesses its data, the access aborts the
// region. The reader does not see commits with numbers above s, because these commits wait for the
// reader.
//
// While a region waits, it must not track its reads of the readers' states, because a reader that
// ends changes its state and would thus abort the region. So there are three ways to wait,
// depending on which tracking the backend can suspend (htm/suspension.h):
//
//   kAll    The tracking of reads and writes is suspended while the region takes its number,
//           announces its state, writes its log record, and waits. Update transactions announce
//           themselves as active, like readers, and other transactions wait for them. So an update
//           transaction does not read commits above its own snapshot, and later waits only until
//           the commits up to that snapshot are durable.
//   kLoads  Only the tracking of reads is suspended. Writes remain private to the region, so the
//           number and the state are written after the wait, as part of the region. The state
//           contains the value of the clock that the region read before it checked for readers.
//           A reader whose snapshot is at least that value may have read the commit, so it waits
//           until the commit is durable. A reader with a smaller snapshot cannot have read it,
//           because the region waited for that reader. Update transactions are not announced as
//           active. So they may have read any commit with a smaller number, and wait until all of
//           these are durable.
//   kNone   As with kLoads, but a region cannot wait. If a reader is active, the region aborts,
//           and the thread waits outside the region.
//
// Under HeapIsolation::kSnapshot, a region with kAll suspends its reads from the beginning. In all
// other cases a region tracks its reads and is therefore serializable. If a region cannot execute a
// transaction, or keeps failing, the transaction runs alone under the software protocol
// (attempt.h). Regions read the word that announces such a transaction, so the announcement aborts
// them. Thread safety: see HeapAttempt.
#pragma once

#include <cstdint>

#include "elider/function_ref.h"
#include "elider/heap.h"
#include "htm/status.h"

namespace elider::heap {

// A transaction that writes more words than this, or zeroes more ranges, runs under the software
// protocol.
inline constexpr uint32_t kRegionWordsMax = 1024, kRegionZerosMax = 16;
inline constexpr uint64_t kRegionZeroBytesMax = 4096;  // the largest range that a region can zero
inline constexpr uint64_t kRegionRecordBytesMax = 16 * (kRegionWordsMax + kRegionZerosMax);

// The codes of a region's explicit abort. In addition, kLockHeldCode (htm/status.h) means that a
// transaction runs alone under the software protocol.
inline constexpr uint8_t kSoftwareCode = 1;  // the transaction needs the software protocol; a retry would abort again
inline constexpr uint8_t kReadersCode = 2;   // a reader is active

// Makes one attempt. If the result is kStarted, the attempt committed, and *status is the
// transaction's status. Otherwise the result is the status of the abort.
using RunInRegion = unsigned (*)(detail::HeapAttempt&, FunctionRef<Status(HeapTransaction&)>, Status*);

struct Regions {
  RunInRegion run = nullptr;  // null: regions are not available
  const char* name = "software";
};
// Sets *regions according to HeapOptions::backend. kUnsupported: this machine or this build does
// not support the backend.
Status choose_regions(const HeapOptions& options, Regions* regions);

}  // namespace elider::heap
