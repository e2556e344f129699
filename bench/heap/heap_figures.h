// Reproduces DUMBO's figures with the studies of the heap (`elider bench heap --figure`): the
// figures of TPC-C over threads, the table of footprints, and the replay.
// Thread safety: one thread calls each function, which starts its own threads.
#pragma once

#include <span>

#include "bench/common/figure.h"
#include "bench/heap/heap_study.h"

namespace elider::bench {

struct HeapPaperFigure {
  const char* name;
  const char* about;
  // Ignores the studies and mixes in the options. An error is one of the study. If the run was
  // interrupted, points are missing from the figure.
  Result<Figure> (*run)(const HeapStudyOptions& options);
};
// All figures, in the paper's order.
std::span<const HeapPaperFigure> heap_paper_figures();

}  // namespace elider::bench
