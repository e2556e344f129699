// Fills the tables of TPC-C as clause 4.3.3.1 of the specification says, in parallel by warehouse
// and district, in transactions of a few hundred rows.
//
// The rows depend on the seed alone: not on the number of threads, nor on which of them loads what.
// Thread safety: one thread calls it, before anything else uses the tables.
#pragma once

#include "bench/common/loader.h"
#include "bench/common/options.h"
#include "bench/tpcc/input.h"
#include "bench/tpcc/schema.h"

namespace elider::bench::tpcc {

// The number of rows after loading, without the order lines, whose number is drawn: 10 per order on
// average.
uint64_t expected_rows(const Sizes& sizes);

// A result that is not ok is the database's (kMemoryLimit, say): the tables are then partly filled.
LoadResult load(const CommonOptions& options, Database& db, const Tables& tables, const Workload& workload);

}  // namespace elider::bench::tpcc
