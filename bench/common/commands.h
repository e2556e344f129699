// The commands of `elider bench`. Each add_... function declares one command with its options and
// its callback (tools/common/command.h).
// Thread safety: only main() calls these functions.
#pragma once

#include "tools/common/command.h"

namespace elider::bench {

using namespace tools;  // for the tools' command-line parser and messages

void add_tpcc(Command bench);
void add_ycsb(Command bench);
void add_compare(Command bench);
void add_durability(Command bench);
void add_heap(Command bench);
void add_history(Command bench);

}  // namespace elider::bench
