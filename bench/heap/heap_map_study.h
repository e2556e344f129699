// The study of a durable map, a part of `elider bench heap`: puts of 8-byte keys into a HeapMap,
// beside LMDB and RocksDB that sync each transaction, on one disk in turns.
// Thread safety: one thread calls it.
#pragma once

#include "bench/heap/heap_study.h"

namespace elider::bench {

// A store that this program was built without is left out.
Status study_heap_map(const HeapStudyOptions& options, HeapFigure* figure);

}  // namespace elider::bench
