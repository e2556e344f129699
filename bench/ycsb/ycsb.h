// YCSB: loads a table of records, runs a workload on it, and checks that no update was lost.
// The command line's face of it is ycsb_cli.cc; tests call these directly.
// Thread safety: called by one thread.
#pragma once

#include "bench/common/report.h"
#include "bench/ycsb/workload.h"
#include "elider/status.h"

namespace elider::bench {

// The whole benchmark. An error: it could not be run (a full memory limit, a history that cannot be
// written), or a worker failed. The report's extra "consistency" says whether the values were whole
// and no update lost; `ok` is the same. Options must be resolved.
struct YcsbOutcome {
  Report report;
  bool ok = false;
};
Result<YcsbOutcome> run_ycsb(const YcsbOptions& options);

// What a configuration says of the workload: "workload", "mix", "shares", "distribution".
Json workload_json(const YcsbOptions& options);

}  // namespace elider::bench
