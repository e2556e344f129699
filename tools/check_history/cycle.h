// Cycles of a dependency graph: whether there is one (Tarjan, linear
// time), and a short one to show.
//
// The shortest cycle of the whole graph would cost a search from every transaction. The
// search begins with the transactions that the replay suspects, then goes on with others up
// to a bound on its work, and gives the shortest cycle it met: of the very shortest where
// the bound was not reached.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/check_history/graph.h"

namespace elider::check {

struct CycleStep {
  uint32_t txn = 0;
  EdgeKind kind = EdgeKind::kWw;  // of the edge from this transaction to the next (the last one's: to the first)
};

struct CycleSearch {
  uint64_t components = 0;       // strongly connected, of more than one transaction
  uint64_t transactions = 0;     // in them
  bool exhaustive = true;        // no shorter cycle exists
  std::vector<CycleStep> cycle;  // empty: none
};

CycleSearch find_cycle(const DependencyGraph& graph, const std::vector<uint32_t>& suspects);

// What Adya calls a cycle of these edges: "G0 (write cycle)", ...
std::string name_of_cycle(const std::vector<CycleStep>& cycle);

}  // namespace elider::check
