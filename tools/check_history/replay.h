// Replay: runs a history in its commit order against a model. This verifies the history in linear
// time.
//
// The history is strictly serializable if four conditions hold in the commit order: every read sees
// the newest write, every scan returns all rows of its range, every write follows the previous
// version, and if one transaction ended before another began, the order has the former first. If a
// condition does not hold, the fault may be in the recorded order and not in the history, so the
// dependency graph decides (graph.h).
//
// The replay also determines the version of each absence that Chains could not resolve.
// Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/check_history/chains.h"

namespace elider::check {

// An absence without a recorded version, seen by a scan or by a read of a key without a record.
struct Absence {
  uint32_t txn = 0;
  ChainRead read;
};

struct ReplayFailure {
  uint32_t txn = 0;
  std::string words;
};

struct Replay {
  uint64_t failures_count = 0;
  std::vector<ReplayFailure> failures;    // the first kFailuresKept failures
  std::vector<uint32_t> suspects;         // transactions at which the search for cycles begins
  std::vector<Absence> absences;          // in commit order
  uint64_t absences_left_out = 0;         // number of absences above the limit `absences_max`
  bool holds() const { return failures_count == 0; }
};

inline constexpr size_t kFailuresKept = 10;
inline constexpr size_t kSuspectsKept = 1000;

// `absences_max` limits the memory for absences: a scan sees one absence for each row that was
// removed from its range. Absences beyond the limit are missing only from the graph; they are still
// compared with the model.
// `strictly` requires that the order agrees with real time.
Replay replay_in_commit_order(const Chains& chains, uint64_t absences_max, bool strictly);

}  // namespace elider::check
