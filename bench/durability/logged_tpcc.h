// run_tpcc(): one TPC-C of the durability benchmark, with a warehouse a
// thread, its conditions checked.
// Thread safety: called by one thread.
#pragma once

#include "bench/durability/durability.h"
#include "bench/tpcc/tpcc.h"

namespace elider::bench {

enum class Kept { kInMemory, kLogged, kUnderCheckpoints };

// kCorrupt: a condition does not hold.
Result<tpcc::TpccOutcome> run_tpcc(const DurabilityOptions& options, uint32_t threads, Kept kept);  // async.cc

}  // namespace elider::bench
