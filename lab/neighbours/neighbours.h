// Neighbours: a benchmark in which slow transactions concurrently insert rows with adjacent values.
// Each attempt inserts a new value. The transactions write different rows, so they should not delay
// each other, whichever index contains the values. Thread safety: one thread calls
// run_neighbours().
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "elider/options.h"
#include "elider/status.h"

namespace elider::bench {

// The secondary index into which the transactions insert adjacent values, in addition to the key
// index.
enum class Meeting : uint8_t {
  kKey,      // none
  kUnique,   // a unique index on the value
  kScanned,  // an index on the value, which each transaction scans for its value before it inserts the row
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
  uint64_t commits;    // all commits, including those after the measured time
  uint64_t conflicts;  // attempts that ended with a conflict
};

// Measures all three kinds of Meeting with each number of threads, and checks the rows.
// kInvalidArgument: the number of rows differs from the number of commits, or a scan found a row
// with a value that was not inserted.
Result<std::vector<NeighboursFigure>> run_neighbours(const NeighboursOptions& options);

}  // namespace elider::bench
