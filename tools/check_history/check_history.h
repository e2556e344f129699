// check_history: decides whether a recorded history is strictly serializable or, on request,
// serializable, and explains why not.
//
// A history is checked in three steps. Chains finds faults that no order can explain. The replay
// runs the history in commit order. The dependency graph is searched for cycles. Unless
// CheckOptions::graph is false, all steps run even if an earlier one finds a fault.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include "tools/check_history/cycle.h"
#include "tools/check_history/model.h"

namespace elider::check {

struct CheckOptions {
  uint64_t absences_max = 50'000'000;  // maximum number of absences in the graph, at 16 bytes each
  bool strictly = true;                // false: the order may differ from real time
  bool graph = true;                   // false: search for cycles only if the replay fails
};

struct Verdict {
  std::vector<Anomaly> anomalies;
  uint64_t replay_failures = 0;
  std::vector<ReplayFailure> failures;
  uint64_t absences_left_out = 0;
  bool graph_built = false;
  uint64_t edges = 0;
  CycleSearch search;
  std::vector<std::string> cycle_words;  // one per step of search.cycle

  bool strictly = true;  // the requested property
  // True if the history has the requested property.
  bool holds() const { return anomalies.empty() && replay_failures == 0 && search.cycle.empty(); }
  bool strictly_serializable() const { return strictly && holds(); }
};

Verdict check_history(const RecordedHistory& history, const CheckOptions& options = {});

// Prints the counts, the verdict, and the transactions, keys and versions of each failure.
void print(std::ostream& out, const RecordedHistory& history, const Verdict& verdict);

}  // namespace elider::check
