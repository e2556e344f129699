// Resuming: finds what an earlier run has left in a recovered database. The next run continues from
// there, and the consistency checks know which rows are from earlier runs.
//
// Thread safety: one thread calls it, before the run; it reads on several.
#pragma once

#include "bench/tpcc/consistency.h"
#include "bench/tpcc/schema.h"

namespace elider::bench::tpcc {

struct Earlier {
  Sizes sizes;
  RunTotals totals;  // of all runs since loading, as the rows count them
};

// kInvalidArgument: the tables are not those of a database that was loaded completely; the message
// says which.
Result<Earlier> find_earlier(Database& db, const Tables& tables, uint32_t threads);

// The totals of all runs. `mine` has those of this run alone, except for the history keys, which
// count all keys of a thread.
RunTotals add_totals(const RunTotals& earlier, const RunTotals& mine);

}  // namespace elider::bench::tpcc
