// Declarations of known workloads, for `elider chopping report` and the benchmarks that run them.
// Thread safety: pure functions.
#pragma once

#include <string_view>

#include "elider/chopping.h"

namespace elider::tools {

// The five transactions of TPC-C (bench/tpcc).
chopping::Declaration tpcc_declaration();
// The benchmark "articles" of H-Store. Its users read articles, write comments, and update their
// data.
chopping::Declaration articles_declaration();

// Finds "tpcc" or "articles". Returns false for other names.
bool find_example(std::string_view name, chopping::Declaration* declaration);

}  // namespace elider::tools
