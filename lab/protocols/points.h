// Runs TPC-C or YCSB to measure one point of a figure.
// Thread safety: one thread calls these functions.
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

// Runs TPC-C `options.repeats` times and checks its consistency conditions. The point's y is the
// median of the transactions per second; Point::more has the results of each run. The caller sets
// x. set() changes options for this point. The data folders are empty afterwards.
Result<Point> run_tpcc(const StudyOptions& options, Protocol protocol, uint32_t threads, uint32_t warehouses,
                       const std::function<void(CommonOptions*, tpcc::TpccOptions*)>& set = {});
// Like run_tpcc(), but runs YCSB, does not check the rows, and sets x to the number of threads.
// Duration, seed and number of runs are taken from `options`.
Result<Point> run_ycsb_point(const StudyOptions& options, YcsbOptions ycsb);

// How index nodes and commits are synchronized if the paper uses hardware transactions.
// best_guard() uses hardware transactions if this machine and this build support them, and
// optimistic latches otherwise.
struct Guard {
  SyncPolicy sync = SyncPolicy::kOptimistic;
  HtmBackend htm = HtmBackend::kAutomatic;
  bool regions() const { return sync == SyncPolicy::kElided; }
};
Guard best_guard();
// Strings for Figure::here. guarded_by() describes how nodes and commits are synchronized. If
// best_guard() does not use hardware transactions, left_out() returns a note that series are
// missing. Otherwise it returns "".
std::string guarded_by(const Guard& guard);
std::string left_out();

// Returns 1, 2, 4 and further powers of two up to the maximum number of threads, and this maximum.
std::vector<uint32_t> thread_counts(const StudyOptions& options);
std::string sizes_of(const StudyOptions& options);

}  // namespace elider::bench::protocols
