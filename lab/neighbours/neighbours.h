// Neighbours: transactions that take time and insert adjacent values, a fresh one each
// attempt. What they write does not overlap, so they should not hold each other up,
// whichever index they meet in.
// Thread safety: run_neighbours is called by one thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "elider/options.h"
#include "elider/status.h"

namespace elider::bench {

// Where the transactions meet besides in the key index.
enum class Meeting : uint8_t {
  kKey,      // nowhere
  kUnique,   // in a unique index of the value that they insert
  kScanned,  // in an index of that value, which they scan first for rows that have it
};
std::string_view name_of(Meeting meeting);

struct NeighboursOptions {
  std::vector<uint32_t> threads = {1, 2, 4, 8};
  double seconds = 1;         // of each figure
  uint32_t think_ms = 5;      // that a transaction sleeps between its insert and its commit
  SyncPolicy sync = SyncPolicy::kAutomatic;
};

struct NeighboursFigure {
  Meeting meeting;
  uint32_t threads;
  double commits_per_s;
  uint64_t commits;    // in all, the last ones after the time included
  uint64_t conflicts;  // attempts that ended with one
};

// Returns a figure for each meeting and number of threads; the meetings take turns. It also returns
// kInvalidArgument if the table does not hold exactly the rows that were committed.
Result<std::vector<NeighboursFigure>> run_neighbours(const NeighboursOptions& options);

}  // namespace elider::bench
