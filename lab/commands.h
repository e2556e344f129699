// The commands of `elider-lab`. Each add_... declares one with its options and what it runs
// (tools/common/command.h).
// Thread safety: called by main alone.
#pragma once

#include "bench/common/commands.h"

namespace elider::bench {

void add_protocols(Command lab);
void add_htm(Command lab);
void add_index(Command lab);
void add_scan(Command lab);
void add_articles(Command lab);
void add_tickets(Command lab);
void add_neighbours(Command lab);
void add_elision(Command lab);
void add_figures(Command lab);

}  // namespace elider::bench
