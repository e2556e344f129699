// Replay: runs a history in its commit order against a model, and so certifies it in linear time.
//
// If every read sees the newest write of that order, every scan all rows of its range, every write
// follows the version before it, and no transaction stands before one that had ended when it began,
// then the order is a proof that the history is strictly serializable. If not, the order may be at
// fault instead of the history: the dependency graph decides (check_history_graph.h).
//
// The replay also says which version each absence was read at that the history left open.
// Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/check_history/chains.h"

namespace elider::check {

// An absence that a scan, or a read of a key without a record, has seen.
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
  std::vector<uint32_t> suspects;         // transactions to begin the search for cycles with
  std::vector<Absence> absences;          // in commit order
  uint64_t absences_left_out = 0;         // beyond the bound below
  bool holds() const { return failures_count == 0; }
};

inline constexpr size_t kFailuresKept = 10;
inline constexpr size_t kSuspectsKept = 1000;

// `absences_max` bounds memory: a scan of a range where a great many rows have been removed has as
// many absences. The check against the model does not depend on it, only the graph does.
// `strictly`: the order is to agree with real time, too.
Replay replay_in_commit_order(const Chains& chains, uint64_t absences_max, bool strictly);

}  // namespace elider::check
