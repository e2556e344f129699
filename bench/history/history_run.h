// run_history(): runs one workload on several threads and writes a history of their transactions.
//
// It is not a benchmark: it yields the processor between operations, keeps the whole history in
// memory until the end, and does not measure anything.
// Thread safety: called by one thread; it starts its own threads.
#pragma once

#include <cstdint>
#include <string>

#include "bench/history/workload.h"
#include "elider/status.h"

namespace elider::bench {

struct HistorySummary {
  std::string about;  // the workload's note for the summary; may be empty
  uint64_t committed = 0;
  uint64_t failed = 0;           // certainly not committed: conflicts, rollbacks
  uint64_t unknown = 0;          // transactions with an unexpected status; they are recorded as `info`
  uint64_t complaints = 0;       // committed transactions that saw a broken invariant of the workload
  std::string first_unknown;     // the message of the first unexpected status
  std::string first_complaint;
  double seconds = 0;
  std::string resumed;           // describes what --resume found; empty without --resume
};

// Fails with kInvalidArgument if the options are incompatible or a file cannot be written, with
// kNotFound or kCorrupt if the workload cannot resume with the database, and with any error of the
// database.
Result<HistorySummary> run_history(const HistoryOptions& options);

}  // namespace elider::bench
