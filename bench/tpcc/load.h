// Fills the tables of TPC-C as specified in clause 4.3.3.1. Warehouses and districts are loaded in
// parallel, in transactions of a few hundred rows.
//
// The rows depend only on the seed. They do not depend on the number of threads, or on which thread
// loads which part.
// Thread safety: one thread calls load(), before any other use of the tables.
#pragma once

#include "bench/common/loader.h"
#include "bench/common/options.h"
#include "bench/tpcc/input.h"
#include "bench/tpcc/schema.h"

namespace elider::bench::tpcc {

// Returns the expected number of rows after loading. The number of order lines is random, so their
// average of 10 per order is counted.
uint64_t expected_rows(const Sizes& sizes);

// Loads all tables. If the result's status is an error, it comes from the database (for example
// kMemoryLimit), and the tables are partly filled.
LoadResult load(const CommonOptions& options, Database& db, const Tables& tables, const Workload& workload);

}  // namespace elider::bench::tpcc
