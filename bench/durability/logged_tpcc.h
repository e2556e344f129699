// run_tpcc(): runs TPC-C once for the durability benchmark, with one warehouse per thread, and
// checks the consistency conditions.
// Thread safety: called by one thread.
#pragma once

#include "bench/durability/durability.h"
#include "bench/tpcc/tpcc.h"

namespace elider::bench {

enum class Kept { kInMemory, kLogged, kUnderCheckpoints };

// Fails with kCorrupt if the run fails or a consistency condition does not hold.
Result<tpcc::TpccOutcome> run_tpcc(const DurabilityOptions& options, uint32_t threads, Kept kept);  // async.cc

}  // namespace elider::bench
