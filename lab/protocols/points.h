// Measured runs of TPC-C and YCSB. Each gives a point of a figure.
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

// Runs TPC-C and checks its consistency conditions. Returns the transactions per second of the
// median run, and other results of all runs. The data folders are empty afterwards. set() changes
// the options that differ from those of the study's TPC-C.
Result<Point> run_tpcc(const StudyOptions& options, Protocol protocol, uint32_t threads, uint32_t warehouses,
                       const std::function<void(CommonOptions*, tpcc::TpccOptions*)>& set = {});
// Like run_tpcc(), for YCSB, with x = threads. Duration, seed and number of repetitions are the
// study's. The rows are not checked.
Result<Point> run_ycsb_point(const StudyOptions& options, YcsbOptions ycsb);

// How nodes and commits are synchronized where the papers use hardware transactions. Hardware
// transactions are used if this machine and this build support them.
struct Guard {
  SyncPolicy sync = SyncPolicy::kOptimistic;
  HtmBackend htm = HtmBackend::kAutomatic;
  bool regions() const { return sync == SyncPolicy::kElided; }
};
Guard best_guard();
// Texts for a figure. guarded_by() describes how nodes and commits are synchronized. left_out()
// says what is missing if best_guard() does not use hardware transactions, and is "" otherwise.
std::string guarded_by(const Guard& guard);
std::string left_out();

// The numbers of threads: 1, 2, 4, ..., and the maximum.
std::vector<uint32_t> thread_counts(const StudyOptions& options);
std::string sizes_of(const StudyOptions& options);

}  // namespace elider::bench::protocols
