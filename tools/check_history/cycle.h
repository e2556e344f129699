// Cycles of a dependency graph. Tarjan's algorithm decides in linear time whether there is a cycle.
// A second search looks for a short cycle to print.
//
// To find the shortest cycle of the whole graph, the second search would have to start from every
// transaction. It starts from the transactions that the replay suspects, then from others, until a
// bound on its work is reached. It returns the shortest cycle that it found, which is the shortest
// of all if the bound was not reached.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/check_history/graph.h"

namespace elider::check {

struct CycleStep {
  uint32_t txn = 0;
  EdgeKind kind = EdgeKind::kWw;  // kind of the edge to the next transaction; for the last transaction, to the first
};

struct CycleSearch {
  uint64_t components = 0;       // strongly connected components of several transactions
  uint64_t transactions = 0;     // transactions in these components
  bool exhaustive = true;        // a shorter cycle does not exist
  std::vector<CycleStep> cycle;  // empty if the graph does not have a cycle
};

CycleSearch find_cycle(const DependencyGraph& graph, const std::vector<uint32_t>& suspects);

// Adya's name for a cycle of these edges: "G0 (write cycle)", ...
std::string name_of_cycle(const std::vector<CycleStep>& cycle);

}  // namespace elider::check
