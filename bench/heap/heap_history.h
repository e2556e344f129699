// Records a history of transactions on the durable heap. Threads read lists and append to them, in
// update transactions and in read-only ones. Each transaction's request and result are written in
// Elle's format, which existing checkers read (docs/history.md).
//
// If a run of a procedure conflicts and is retried, it is recorded as a separate transaction that
// only read. Therefore, if such a history is strictly serializable, the heap is also opaque. A run
// that aborts inside a hardware transaction cannot be recorded. The records go into memory that was
// allocated in advance, so that a procedure can be recorded inside a hardware transaction.
// Thread safety: one thread calls write_heap_history().
#pragma once

#include <cstdint>
#include <string>

#include "elider/heap.h"

namespace elider::bench {

struct HeapHistoryOptions {
  std::string path;  // where the history is written
  HeapMedium medium = HeapMedium::kDelay;
  HeapIsolation isolation = HeapIsolation::kSerializable;
  HeapDurability durability = HeapDurability::kWait;
  HeapWait wait = HeapWait::kPruned;
  HtmBackend backend = HtmBackend::kAutomatic;
  bool suspended_reads = true;
  uint32_t threads = 4;
  uint64_t transactions = 20'000;
  uint32_t operations_max = 4;  // per transaction
  uint32_t lists = 10;          // in use at a time; during the run, new lists replace old ones
  std::string folder;           // the heap's folder; empty: the temporary folder
  uint64_t seed = 1;
};

// *attempts_again receives the number of recorded runs that were retried after a conflict, and
// *in_regions the number of transactions that committed in a hardware transaction. Returns an error
// if a file could not be written or a transaction failed.
Status write_heap_history(const HeapHistoryOptions& options, uint64_t* attempts_again, uint64_t* in_regions);

}  // namespace elider::bench
