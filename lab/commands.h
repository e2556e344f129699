// The commands of `elider-lab`. Each add_...() function declares one command with its options, and
// the function that the command runs (tools/common/command.h). Thread safety: only main() calls
// them.
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
void add_options(Command lab);

}  // namespace elider::bench
