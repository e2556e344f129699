// Finds cycles in a dependency graph. Tarjan's algorithm decides in linear time whether the graph
// has a cycle. A second search then looks for a short cycle to print.
//
// To find the shortest cycle in the whole graph, the second search would have to start from every
// transaction. Instead, it starts from the transactions that the replay suspects, and then from
// others, until it has visited a fixed maximum number of edges. It returns the shortest cycle that
// it found. If the search ended before it reached the maximum, this cycle is the shortest in the
// graph.
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
  uint64_t components = 0;       // number of strongly connected components with several nodes
  uint64_t transactions = 0;     // number of transactions in these components
  bool exhaustive = true;        // a shorter cycle does not exist
  std::vector<CycleStep> cycle;  // empty if the graph is acyclic
};

CycleSearch find_cycle(const DependencyGraph& graph, const std::vector<uint32_t>& suspects);

// Returns Adya's name for a cycle with these edges, for example "G0 (write cycle)".
std::string name_of_cycle(const std::vector<CycleStep>& cycle);

}  // namespace elider::check
