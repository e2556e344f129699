// A measured run of TPC-C or YCSB: a point of a figure.
// Thread safety: as their caller.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/common/figure.h"
#include "lab/protocols/protocols.h"
#include "bench/tpcc/tpcc.h"
#include "bench/ycsb/ycsb.h"
#include "elider/options.h"

namespace elider::bench::protocols {

// Runs TPC-C and checks its conditions. Returns the transactions per second of the median run, and
// other results of the runs. Its data folders are empty afterwards. set() changes the options that
// differ from those of a study's TPC-C.
Result<Point> run_tpcc(const StudyOptions& options, Protocol protocol, uint32_t threads, uint32_t warehouses,
                       const std::function<void(CommonOptions*, tpcc::TpccOptions*)>& set = {});
// Like run_tpcc(), for YCSB and x = threads. Length, seed and repetitions are the study's. The rows
// are not checked.
Result<Point> run_ycsb_point(const StudyOptions& options, YcsbOptions ycsb);

// How nodes and commits are guarded where the papers use regions. They are guarded by regions if
// this machine and this build can run them.
struct Guard {
  SyncPolicy sync = SyncPolicy::kOptimistic;
  HtmBackend htm = HtmBackend::kAutomatic;
  bool regions() const { return sync == SyncPolicy::kElided; }
};
Guard best_guard();
// Texts for a figure: how nodes and commits are guarded; and, if best_guard() does not use regions,
// what is left out ("" otherwise).
std::string guarded_by(const Guard& guard);
std::string left_out();

// 1, 2, 4, ... and the last number of threads.
std::vector<uint32_t> thread_counts(const StudyOptions& options);
std::string sizes_of(const StudyOptions& options);

}  // namespace elider::bench::protocols
