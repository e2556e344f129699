// YCSB: loads a table of records, runs a workload on it, and checks that no update was lost.
// ycsb_cli.cc is its command line; tests call these functions directly.
// Thread safety: called by one thread.
#pragma once

#include "bench/common/report.h"
#include "bench/ycsb/workload.h"
#include "elider/status.h"

namespace elider::bench {

// run_ycsb() runs the whole benchmark with resolved options. It returns an error if loading or
// checking the table failed, for example because of the memory limit, or if the history could not
// be written. `ok` is true if no worker failed, all values are undamaged, and no update was lost.
// The report's JSON has the details of the check under "consistency".
struct YcsbOutcome {
  Report report;
  bool ok = false;
};
Result<YcsbOutcome> run_ycsb(const YcsbOptions& options);

// Returns the JSON keys that describe the workload: "workload", "mix", "shares", "distribution".
Json workload_json(const YcsbOptions& options);

}  // namespace elider::bench
