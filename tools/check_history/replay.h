// Replay: runs a history in its commit order against a model, and so verifies it in linear time.
//
// The order proves that the history is strictly serializable if every read sees the newest write,
// every scan returns all rows of its range, every write follows the previous version, and a
// transaction never comes before one that had ended when it began. Otherwise the order may be wrong
// instead of the history, and the dependency graph decides (graph.h).
//
// The replay also determines the version of each absence that the history left open.
// Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/check_history/chains.h"

namespace elider::check {

// An absence that was seen by a scan, or by a read of a key without a record.
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
  std::vector<ReplayFailure> failures;    // the first ones
  std::vector<uint32_t> suspects;         // transactions at which the search for cycles begins
  std::vector<Absence> absences;          // in commit order
  uint64_t absences_left_out = 0;         // beyond the bound below
  bool holds() const { return failures_count == 0; }
};

inline constexpr size_t kFailuresKept = 10;
inline constexpr size_t kSuspectsKept = 1000;

// `absences_max` limits memory, because a scan of a range from which many rows were removed has as
// many absences. Only the graph depends on it, not the comparison with the model.
// `strictly` requires that the order agrees with real time.
Replay replay_in_commit_order(const Chains& chains, uint64_t absences_max, bool strictly);

}  // namespace elider::check
