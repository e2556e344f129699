// A history of the durable heap: threads read lists and append to them, in transactions and in
// reads. The request and the result of each are written in Elle's format, which existing checkers
// read (docs/history.md). A run of a procedure that met a conflict and was retried is recorded as a
// separate transaction that read what the run had read. If such a history is strictly serializable,
// the heap is also opaque. A run in a region that aborted cannot be recorded. The records are kept
// in memory that was allocated before, so that a recorded procedure can run in a region.
// Thread safety: one thread calls it.
#pragma once

#include <cstdint>
#include <string>

#include "elider/heap.h"

namespace elider::bench {

struct HeapHistoryOptions {
  std::string path;  // of the history
  HeapMedium medium = HeapMedium::kDelay;
  HeapIsolation isolation = HeapIsolation::kSerializable;
  HeapDurability durability = HeapDurability::kWait;
  HeapWait wait = HeapWait::kPruned;
  HtmBackend backend = HtmBackend::kAutomatic;
  bool suspended_reads = true;
  uint32_t threads = 4;
  uint64_t transactions = 20'000;
  uint32_t operations_max = 4;  // of a transaction
  uint32_t lists = 10;          // at a time; a list that is long enough gives way to a new one
  std::string folder;           // of the heap; empty: the temporary folder
  uint64_t seed = 1;
};

// *attempts_again: how many runs that met a conflict are in it. *in_regions: transactions that
// committed in a region. An error: a file could not be written, or a transaction failed.
Status write_heap_history(const HeapHistoryOptions& options, uint64_t* attempts_again, uint64_t* in_regions);

}  // namespace elider::bench
