// run_history(): drives one workload on several threads and writes what they did as a history.
//
// It is not a benchmark: it yields the processor between operations, keeps everything in memory
// until the end, and measures nothing.
// Thread safety: called by one thread; it starts its own.
#pragma once

#include <cstdint>
#include <string>

#include "bench/history/workload.h"
#include "elider/status.h"

namespace elider::bench {

struct HistorySummary {
  std::string about;  // what the workload says of itself; "": nothing
  uint64_t committed = 0;
  uint64_t failed = 0;           // certainly not committed: conflicts, rollbacks
  uint64_t unknown = 0;          // a status that should not occur: written as `info`
  uint64_t complaints = 0;       // committed, though an invariant of the workload was broken
  std::string first_unknown;     // its message
  std::string first_complaint;
  double seconds = 0;
  std::string resumed;           // what --resume found, in words; empty without
};

// kInvalidArgument: the options do not go together, or a file cannot be written.
Result<HistorySummary> run_history(const HistoryOptions& options);

}  // namespace elider::bench
