// Tickets: every transaction takes the next number of one counter, which all threads want, and then
// has a long tail of work that conflicts with nothing: it adds to many rows. As one transaction the
// counter is held, or must stay as it was read, for all of the tail; in pieces (Protocol::kChopped)
// for its own piece alone.
// Thread safety: called by one thread.
#pragma once

#include <cstdint>

#include "bench/common/options.h"
#include "bench/common/report.h"
#include "elider/database.h"

namespace elider::bench::tickets {

struct TicketsOptions {
  CommonOptions common;
  uint32_t tail = 100;        // additions after the counter
  uint64_t totals = 100'000;  // rows that they go to, drawn uniformly
};

struct TicketsOutcome {
  Report report;
  bool ok = false;
};
// An error: it could not be run. `ok`: no worker failed, each number was taken once, and the rows
// come to what was added.
Result<TicketsOutcome> run_tickets(const TicketsOptions& options);

}  // namespace elider::bench::tickets
