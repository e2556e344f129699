// Finds what earlier runs have left in a recovered database, so that the next run can continue from
// this state and the consistency checks can account for the earlier runs' rows.
//
// Thread safety: one thread calls find_earlier(), which reads with several threads, before the run.
#pragma once

#include "bench/tpcc/consistency.h"
#include "bench/tpcc/schema.h"

namespace elider::bench::tpcc {

struct Earlier {
  Sizes sizes;
  RunTotals totals;  // totals of all runs since loading, computed from the rows
};

// Fails with kInvalidArgument if a table does not have the number of rows of a completely loaded
// database; the message names the table.
Result<Earlier> find_earlier(Database& db, const Tables& tables, uint32_t threads);

// Returns the totals of all runs, including this one. `mine` has the totals of this run only,
// except that its history keys include those of earlier runs.
RunTotals add_totals(const RunTotals& earlier, const RunTotals& mine);

}  // namespace elider::bench::tpcc
