// YCSB: loads a table of records, runs a workload on it, and checks that no update was lost.
// ycsb_cli.cc is its command line; tests call these functions directly.
// Thread safety: called by one thread.
#pragma once

#include "bench/common/report.h"
#include "bench/ycsb/workload.h"
#include "elider/status.h"

namespace elider::bench {

// The outcome of run_ycsb(), which runs the whole benchmark with resolved options. run_ycsb()
// returns an error if the run failed, for example because of the memory limit or because the
// history could not be written, or if a worker failed. `ok` says whether all values were undamaged
// and no update was lost. The report's extra "consistency" says the same.
struct YcsbOutcome {
  Report report;
  bool ok = false;
};
Result<YcsbOutcome> run_ycsb(const YcsbOptions& options);

// The JSON keys that describe the workload: "workload", "mix", "shares", "distribution".
Json workload_json(const YcsbOptions& options);

}  // namespace elider::bench
