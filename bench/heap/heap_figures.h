// Reproduces DUMBO's figures with the studies of the heap (`elider bench heap --figure`): TPC-C for
// increasing numbers of threads, the table of footprints, and the replay.
// Thread safety: one thread calls each function, which starts its own threads.
#pragma once

#include <span>

#include "bench/common/figure.h"
#include "bench/heap/heap_study.h"

namespace elider::bench {

struct HeapPaperFigure {
  const char* name;
  const char* about;
  // Runs the figure's study, and ignores the studies and mixes in `options`. Returns any error of
  // the study. If the run is interrupted, the figure lacks some points.
  Result<Figure> (*run)(const HeapStudyOptions& options);
};
// All figures, in the paper's order.
std::span<const HeapPaperFigure> heap_paper_figures();

}  // namespace elider::bench
