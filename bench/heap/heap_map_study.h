// Part of `elider bench heap`. Compares puts of 8-byte keys into a HeapMap with puts into LMDB and
// RocksDB, which sync each transaction. The three stores use the same disk and take turns.
// Thread safety: one thread calls study_heap_map().
#pragma once

#include "bench/heap/heap_study.h"

namespace elider::bench {

// Skips stores that are not part of this build.
Status study_heap_map(const HeapStudyOptions& options, HeapFigure* figure);

}  // namespace elider::bench
