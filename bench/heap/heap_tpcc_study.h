// study_heap_tpcc(): TPC-C on the durable heap, with the mixes of DUMBO's figures 1, 4 and 6 to 8.
// The variants are both isolation levels, SPHT's durability wait, and Pisces's order. They take
// turns on one heap, which grows. After each mix, the rows are copied into a Database, in which
// TPC-C's consistency conditions are checked.
// Thread safety: one thread calls it.
#pragma once

#include <vector>

#include "bench/heap/heap_study.h"

namespace elider::bench {

// Adds a figure per mix to *figures. Fails with kCorrupt if a consistency condition does not hold;
// the message says which. If interrupted, adds only the mixes that were complete.
Status study_heap_tpcc(const HeapStudyOptions& options, std::vector<HeapFigure>* figures);
// Adds two figures: the numbers of cache lines that a transaction of each kind reads and writes
// (DUMBO, table 1).
Status study_heap_lines(const HeapStudyOptions& options, std::vector<HeapFigure>* figures);

}  // namespace elider::bench
