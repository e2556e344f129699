// The whole TPC-C benchmark: it opens a database, loads it, runs the mix, checks the consistency
// conditions, and reports. Its result is not a TPC result: it is not audited, and the deviations in
// kTpccDeviations are deliberate.
// Thread safety: one thread calls it, once per run.
#pragma once

#include <cstdint>

#include "bench/common/options.h"
#include "bench/common/report.h"
#include "bench/tpcc/input.h"
#include "bench/tpcc/schema.h"
#include "bench/tpcc/terminal.h"
#include "elider/procedure.h"

namespace elider::bench::tpcc {

struct TpccOptions {
  Sizes sizes;
  Mix mix = kStandardMix;
  int crossing_percent = -1;  // Workload::crossing_percent
  uint32_t zones = 0;         // of all tables; 0: they are not zoned
  bool sequence = false;      // history rows are numbered by a Sequence of the database
  IndexChoice index = IndexChoice::kMixed;
  SnapshotUse snapshots;
  bool groups = true, additions = true;  // TableChoice::groups and TableChoice::additions
  InstallOptions chopped = {};  // for the protocol chopped: how its procedures are cut
  // Selects which transactions are measured until they are durable: every n-th transaction or group
  // of each thread. 0: none.
  uint32_t durable_sample_every = 0;

  TableChoice tables() const { return {.index = index, .zones = zones, .groups = groups, .additions = additions}; }
};

// The deviations from the specification, as paragraphs for --help.
extern const char* const kTpccDeviations;

struct TpccOutcome {
  Report report;
  bool ok = false;  // the run completed and every condition holds; otherwise standard error has the reason
  Status status() const;  // the same as a status
};
// Runs the benchmark without the report. An error means that the run or the checks failed.
Result<TpccOutcome> measure_tpcc(const CommonOptions& common, const TpccOptions& options);

// Returns the process's exit code: 0, or kExitFailed if an error occurred or a condition does not
// hold. The reason is printed to standard error.
int run_tpcc(const CommonOptions& common, const TpccOptions& options);

}  // namespace elider::bench::tpcc
