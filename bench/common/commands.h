// The commands of `elider bench`. Each add_... declares one with its options and what it runs
// (tools/common/command.h).
// Thread safety: called by main alone.
#pragma once

#include "tools/common/command.h"

namespace elider::bench {

using namespace tools;  // the benchmarks are one of the tools, and speak as they do

void add_tpcc(Command bench);
void add_ycsb(Command bench);
void add_compare(Command bench);
void add_durability(Command bench);
void add_heap(Command bench);
void add_history(Command bench);

}  // namespace elider::bench
