// Studies of protocols (`elider-lab protocols`):
//
//   - TPC-C under each of them, over threads, warehouses, partition crossing and restarts; inserts
//     over zones; one row that all threads change (HyPer-HTM, figures 1, 11, 12 and 18 to 20, in
//     shape)
//   - DBX's studies of TPC-C and of indexes (dbx_studies.h), and of durability
//     (durability_studies.h)
//   - DBX-TC's studies (chopping_studies.h)
//
// Thread safety: one thread calls a study; it starts its own threads.
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
  std::vector<Protocol> protocols;  // that are compared
  bool quick = false;               // fewer points, small warehouses: a look, not a measurement
  uint32_t threads = 1;             // the maximum
  double seconds = 5;               // a run
  uint32_t repeats = 1;             // of which the median counts
  uint64_t seed = 1;
  std::string folder = ".";  // the figures of durability make databases below it, and remove them
};

struct Study {
  const char* name;
  const char* about;
  Result<Figure> (*run)(const StudyOptions& options);
};
// All studies, in the order in which they run.
std::span<const Study> studies();

}  // namespace elider::bench::protocols
