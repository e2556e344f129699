// run_tpcc(): one TPC-C run of the durability benchmark. It has one warehouse per thread, and
// checks the consistency conditions.
// Thread safety: called by one thread.
#pragma once

#include "bench/durability/durability.h"
#include "bench/tpcc/tpcc.h"

namespace elider::bench {

enum class Kept { kInMemory, kLogged, kUnderCheckpoints };

// kCorrupt: a consistency condition does not hold.
Result<tpcc::TpccOutcome> run_tpcc(const DurabilityOptions& options, uint32_t threads, Kept kept);  // async.cc

}  // namespace elider::bench
