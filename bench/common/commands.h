// The commands of `elider bench`. Each add_... function declares one command, its options and the
// function that it runs (tools/common/command.h).
// Thread safety: only main() calls them.
#pragma once

#include "tools/common/command.h"

namespace elider::bench {

using namespace tools;  // the benchmarks share the command line and the messages of the tools

void add_tpcc(Command bench);
void add_ycsb(Command bench);
void add_compare(Command bench);
void add_durability(Command bench);
void add_heap(Command bench);
void add_history(Command bench);

}  // namespace elider::bench
