// Tickets: a benchmark in which every transaction takes the next number from one counter, and then
// adds to many random rows. All threads contend for the counter, whereas additions never conflict.
// A transaction that is not divided into pieces must keep the counter locked or unchanged until all
// of its additions are done. If it runs in pieces (Protocol::kChopped), only the first piece uses
// the counter, and this piece ends before the additions begin. Thread safety: one thread calls
// run_tickets().
#pragma once

#include <cstdint>

#include "bench/common/options.h"
#include "bench/common/report.h"
#include "elider/database.h"

namespace elider::bench::tickets {

struct TicketsOptions {
  CommonOptions common;
  uint32_t tail = 100;        // additions per transaction
  uint64_t totals = 100'000;  // rows to which the additions are made; chosen uniformly
};

struct TicketsOutcome {
  Report report;
  bool ok = false;
};
// Loads the rows, runs the transactions, and checks the final rows. Returns an error if the run
// failed. TicketsOutcome::ok is true if no worker failed, each number was taken exactly once, and
// the rows add up to the number of additions.
Result<TicketsOutcome> run_tickets(const TicketsOptions& options);

}  // namespace elider::bench::tickets
