// Fills the tables of TPC-C as specified in clause 4.3.3.1. Warehouses and districts are loaded in
// parallel, in transactions of a few hundred rows.
//
// The rows depend only on the seed. They do not depend on the number of threads, or on which thread
// loads which part.
// Thread safety: one thread calls it, before any other use of the tables.
#pragma once

#include "bench/common/loader.h"
#include "bench/common/options.h"
#include "bench/tpcc/input.h"
#include "bench/tpcc/schema.h"

namespace elider::bench::tpcc {

// The number of rows after loading. It does not include the order lines, whose number is random: 10
// per order on average.
uint64_t expected_rows(const Sizes& sizes);

// If the result is not ok, the database returned the error (for example kMemoryLimit), and the
// tables are partly filled.
LoadResult load(const CommonOptions& options, Database& db, const Tables& tables, const Workload& workload);

}  // namespace elider::bench::tpcc
