// DUMBO's figures, from the studies of the heap (`elider bench heap --figure`): those of TPC-C
// over threads, its table of footprints, its replay.
// Thread safety: one thread calls one; it starts its own threads.
#pragma once

#include <span>

#include "bench/common/figure.h"
#include "bench/heap/heap_study.h"

namespace elider::bench {

struct HeapPaperFigure {
  const char* name;
  const char* about;
  // Studies and mixes of the options do not count. An error is one of the study; interrupted, a
  // figure lacks points.
  Result<Figure> (*run)(const HeapStudyOptions& options);
};
// All of them, in the paper's order.
std::span<const HeapPaperFigure> heap_paper_figures();

}  // namespace elider::bench
