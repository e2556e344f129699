// Finds what earlier runs have left in a recovered database. The next run continues from this
// state, and the consistency checks know which rows are from earlier runs.
//
// Thread safety: one thread calls it before the run; it reads on several threads.
#pragma once

#include "bench/tpcc/consistency.h"
#include "bench/tpcc/schema.h"

namespace elider::bench::tpcc {

struct Earlier {
  Sizes sizes;
  RunTotals totals;  // totals of all runs since loading, computed from the rows
};

// kInvalidArgument: a table does not have the rows that complete loading creates; the message names
// the table.
Result<Earlier> find_earlier(Database& db, const Tables& tables, uint32_t threads);

// The totals of all runs. `mine` has the totals of only this run, but its history keys include
// those of earlier runs.
RunTotals add_totals(const RunTotals& earlier, const RunTotals& mine);

}  // namespace elider::bench::tpcc
