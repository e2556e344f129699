// The complete TPC-C benchmark: it opens a database, loads it, runs the mix, checks the consistency
// conditions, and reports the results. They are not official TPC results, because they are not
// audited and the benchmark deviates from the specification (kTpccDeviations).
// Thread safety: one thread calls these functions.
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
  uint32_t zones = 0;         // Schema::zones of all tables; 0: the tables are not zoned
  bool sequence = false;      // whether a Sequence of the database numbers the history rows
  IndexChoice index = IndexChoice::kMixed;
  SnapshotUse snapshots;
  bool groups = true, additions = true;  // TableChoice::groups and TableChoice::additions
  InstallOptions chopped = {};  // how the protocol `chopped` divides its procedures
  // The time until a commit is durable is measured for every n-th transaction or group of each
  // thread; 0 disables this measurement.
  uint32_t durable_sample_every = 0;

  TableChoice tables() const { return {.index = index, .zones = zones, .groups = groups, .additions = additions}; }
};

// The deviations from the specification, as paragraphs for --help.
extern const char* const kTpccDeviations;

struct TpccOutcome {
  Report report;
  bool ok = false;  // the run completed and every condition holds; otherwise standard error has the reason
  Status status() const;  // `ok` as a status that gives the reason
};
// Runs the benchmark without printing the report. Returns an error if the database could not be
// opened, loaded or closed. If the run or a check failed, TpccOutcome::ok is false.
Result<TpccOutcome> measure_tpcc(const CommonOptions& common, const TpccOptions& options);

// Returns the process's exit code: 0, or kExitFailed if an error occurred or a condition does not
// hold. The reason is printed to standard error.
int run_tpcc(const CommonOptions& common, const TpccOptions& options);

}  // namespace elider::bench::tpcc
