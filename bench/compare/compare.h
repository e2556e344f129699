// Compare: runs elider and other stores on the same workloads and inputs. In each repetition the
// stores take turns, and a ratio is computed within one repetition, because results from another
// time or machine are not comparable.
// Thread safety: called by one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/common/report.h"
#include "bench/common/spread.h"
#include "bench/compare/peer.h"

namespace elider::bench {

// The results of one store on one workload.
struct CompareSeries {
  std::string store;
  std::vector<double> throughput;  // txn/s, by repetition
  uint64_t inserted = 0;           // number of rows inserted in all repetitions
};
struct CompareRun {
  YcsbOptions workload;               // resolved
  std::vector<CompareSeries> series;  // elider first
};
struct CompareOutcome {
  std::vector<CompareRun> runs;
  std::vector<std::pair<std::string, std::string>> stores;  // name and Peer::about()
  std::vector<std::string> skipped;                         // why stores are missing, one reason per store
  bool interrupted = false;                                 // if the run was interrupted, the results cover only the complete repetitions
};

// Returns the options of each workload in order, or of each mix if no workload is given. Refuses
// incompatible options (refuse_option).
std::vector<YcsbOptions> workloads_of(const CompareOptions& options);

// Runs every workload on every store `repeat` times, and checks each store's rows and counters.
// Each workload starts with freshly loaded stores. A workload that inserts rows reloads the stores
// for every repetition. Mixes run one after another on the same stores, because they do not change
// the set of keys. Stores that are not part of this build are skipped. The run ends early once
// interrupted() is true. Returns an error if a store failed or its rows are not what was committed;
// the message names the store.
Result<CompareOutcome> run_compare(const CompareOptions& options);

// Returns the ratio of a's throughput to b's, computed within each repetition.
Spread ratio_of(const CompareSeries& a, const CompareSeries& b);

void print_compare(std::FILE* out, const CompareOptions& options, const CompareOutcome& outcome);
Json to_json(const CompareOptions& options, const CompareOutcome& outcome);

}  // namespace elider::bench
