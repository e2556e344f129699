// study_heap_tpcc(): TPC-C on the durable heap, with the mixes of DUMBO's figures 1, 4 and 6 to 8.
// The heap runs under both isolation levels and with SPHT's durability wait. The variants take
// turns on one heap, which grows. After each mix the rows are copied back into a database, which is
// checked against TPC-C's twelve consistency conditions.
// Thread safety: one thread calls it.
#pragma once

#include <vector>

#include "bench/heap/heap_study.h"

namespace elider::bench {

// kCorrupt: a condition does not hold; the message says which. If interrupted, it returns the mixes
// that are complete.
Status study_heap_tpcc(const HeapStudyOptions& options, std::vector<HeapFigure>* figures);
// The cache lines that a transaction of each kind reads and writes (DUMBO, table 1).
Status study_heap_lines(const HeapStudyOptions& options, std::vector<HeapFigure>* figures);

}  // namespace elider::bench
