// The TPC-C benchmark from begin to end: opens a database, loads it, runs the mix, checks the
// consistency conditions, and reports. It is not a benchmark result in the sense of the TPC: it is
// not audited, and the deviations that kTpccDeviations lists are deliberate.
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
  int crossing_percent = -1;  // Workload's
  uint32_t zones = 0;         // of all tables; 0: they are not zoned
  bool sequence = false;      // history rows are numbered by a Sequence of the database
  IndexChoice index = IndexChoice::kMixed;
  SnapshotUse snapshots;
  bool groups = true, additions = true;  // TableChoice's
  InstallOptions chopped = {};  // of protocol chopped: how its procedures are cut
  // Each thread's n-th transaction, or group, is a sample of how long it takes until it is
  // durable; 0: none is.
  uint32_t durable_sample_every = 0;

  TableChoice tables() const { return {.index = index, .zones = zones, .groups = groups, .additions = additions}; }
};

// Where the program is not the specification's, a paragraph for --help.
extern const char* const kTpccDeviations;

struct TpccOutcome {
  Report report;
  bool ok = false;  // it ran to the end, and every condition holds; else standard error says why
  Status status() const;  // the same in a line
};
// All but the report. An error: it could not be run, or not be checked.
Result<TpccOutcome> measure_tpcc(const CommonOptions& common, const TpccOptions& options);

// The process's exit code: 0, or kExitFailed where something went wrong or a condition does not
// hold, which standard error then says.
int run_tpcc(const CommonOptions& common, const TpccOptions& options);

}  // namespace elider::bench::tpcc
