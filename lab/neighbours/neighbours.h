// Neighbours: transactions that take some time and insert adjacent values, a new value in each
// attempt. They write different rows, so they should not delay each other, whichever index they
// share.
// Thread safety: run_neighbours() is called by one thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "elider/options.h"
#include "elider/status.h"

namespace elider::bench {

// The index in which the transactions insert adjacent values, in addition to the key index.
enum class Meeting : uint8_t {
  kKey,      // none
  kUnique,   // a unique index of the value
  kScanned,  // an index of the value; each transaction first scans it for rows with its value
};
std::string_view name_of(Meeting meeting);

struct NeighboursOptions {
  std::vector<uint32_t> threads = {1, 2, 4, 8};
  double seconds = 1;         // per figure
  uint32_t think_ms = 5;      // time that a transaction sleeps between its insert and its commit
  SyncPolicy sync = SyncPolicy::kAutomatic;
};

struct NeighboursFigure {
  Meeting meeting;
  uint32_t threads;
  double commits_per_s;
  uint64_t commits;    // total, including those after the measured time
  uint64_t conflicts;  // attempts that ended with a conflict
};

// Returns a figure for each meeting and number of threads; the meetings take turns.
// kInvalidArgument: the table does not have exactly the committed rows.
Result<std::vector<NeighboursFigure>> run_neighbours(const NeighboursOptions& options);

}  // namespace elider::bench
