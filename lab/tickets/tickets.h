// Tickets: every transaction takes the next number of one counter, which all threads contend for.
// It then adds to many rows, which does not conflict with other transactions. In a single
// transaction, the counter stays locked, or must stay unchanged, until all additions are done. In
// pieces (Protocol::kChopped), this holds only for the piece of the counter.
// Thread safety: called by one thread.
#pragma once

#include <cstdint>

#include "bench/common/options.h"
#include "bench/common/report.h"
#include "elider/database.h"

namespace elider::bench::tickets {

struct TicketsOptions {
  CommonOptions common;
  uint32_t tail = 100;        // number of additions after the counter
  uint64_t totals = 100'000;  // number of rows for the additions, chosen uniformly
};

struct TicketsOutcome {
  Report report;
  bool ok = false;
};
// An error means that the run failed. `ok` means that no worker failed, that each number was taken
// once, and that the rows' sum equals the number of additions.
Result<TicketsOutcome> run_tickets(const TicketsOptions& options);

}  // namespace elider::bench::tickets
