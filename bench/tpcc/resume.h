// Resuming: what an earlier run has left in a database that was recovered, so that another one goes
// on there and the consistency checks know what is from before.
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

// kInvalidArgument: the tables are not those of a database that was loaded to the
// end; the message says which.
Result<Earlier> find_earlier(Database& db, const Tables& tables, uint32_t threads);

// The totals of all runs. `mine` has those of this run alone, except for the history keys, which
// count all keys of a thread.
RunTotals add_totals(const RunTotals& earlier, const RunTotals& mine);

}  // namespace elider::bench::tpcc
