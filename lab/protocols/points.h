// One TPC-C or YCSB of a study, measured: a point of a figure.
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

// Its conditions are checked; transactions a second of the median run, and what else the runs gave.
// Its data folders are empty afterwards.
// set(): what the study wants otherwise than a study's TPC-C is.
Result<Point> run_tpcc(const StudyOptions& options, Protocol protocol, uint32_t threads, uint32_t warehouses,
                       const std::function<void(CommonOptions*, tpcc::TpccOptions*)>& set = {});
// Like run_tpcc(), for YCSB and x = threads. Length, seed and repetitions are the study's. The rows
// are not checked.
Result<Point> run_ycsb_point(const StudyOptions& options, YcsbOptions ycsb);

// How nodes and commits are guarded where the papers have regions: by regions, if this machine and
// this build run some.
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

// 1, 2, 4, ... and the last.
std::vector<uint32_t> thread_counts(const StudyOptions& options);
std::string sizes_of(const StudyOptions& options);

}  // namespace elider::bench::protocols
