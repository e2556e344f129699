// The studies of `elider-lab protocols`:
//
//   - TPC-C under each protocol, for several numbers of threads, warehouses, crossed partitions and
//     restarts (HyPer-HTM, figures 1 and 18 to 20; only the shapes of the curves are comparable)
//   - inserts with several numbers of zones (figure 16) and allocators (figure 11), and a counter
//     that all threads increment (figure 12)
//   - DBX's studies of TPC-C and of indexes (dbx_studies.h), and of durability
//     (durability_studies.h)
//   - DBX-TC's studies (chopping_studies.h)
//
// Thread safety: one thread calls a study; the study starts its own threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/common/figure.h"
#include "elider/options.h"
#include "elider/status.h"

namespace elider::bench::protocols {

struct StudyOptions {
  std::vector<Protocol> protocols;  // the protocols to compare
  bool quick = false;               // fewer points and small warehouses, for a rough result
  uint32_t threads = 1;             // the maximum number of threads
  double seconds = 5;               // per run
  uint32_t repeats = 1;             // runs per point, of which the median is reported
  uint64_t seed = 1;
  std::string folder = ".";  // where the studies of durability create their databases, and remove them
};

struct Study {
  const char* name;
  const char* about;
  Result<Figure> (*run)(const StudyOptions& options);
};
// All studies, in the order in which they run.
std::span<const Study> studies();

}  // namespace elider::bench::protocols
