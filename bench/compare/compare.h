// Compare: elider next to other stores, on the same workloads and inputs, in one run. A ratio is
// computed within one repetition, in which the stores take turns, because results from another time
// or machine cannot be compared.
// Thread safety: called by one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/common/report.h"
#include "bench/common/spread.h"
#include "bench/compare/peer.h"

namespace elider::bench {

// The figures of one store on one workload.
struct CompareSeries {
  std::string store;
  std::vector<double> throughput;  // txn/s, by repetition
  uint64_t inserted = 0;           // rows, in all repetitions
};
struct CompareRun {
  YcsbOptions workload;               // resolved
  std::vector<CompareSeries> series;  // elider first
};
struct CompareOutcome {
  std::vector<CompareRun> runs;
  std::vector<std::pair<std::string, std::string>> stores;  // name and Peer::about()
  std::vector<std::string> skipped;                         // why a store is missing
  bool interrupted = false;                                 // the run was interrupted; the results are of the complete repetitions
};

// The options of each workload in order, or of each mix if no workload is given. Incompatible
// options are refused (refuse_option).
std::vector<YcsbOptions> workloads_of(const CompareOptions& options);

// Runs every workload on every store `repeat` times, and checks each store's rows and counters.
// Each workload starts with freshly loaded stores. A workload that inserts rows reloads the stores
// for every repetition. Mixes run one after another on the same stores, because they do not change
// the set of keys. A store that this program was built without is skipped. The run ends early once
// interrupted() is true. An error means that a store failed, or that its rows are not what was
// committed; the message names the store.
Result<CompareOutcome> run_compare(const CompareOptions& options);

// The ratio of a's figures to b's, computed within each repetition.
Spread ratio_of(const CompareSeries& a, const CompareSeries& b);

void print_compare(std::FILE* out, const CompareOptions& options, const CompareOutcome& outcome);
Json to_json(const CompareOptions& options, const CompareOutcome& outcome);

}  // namespace elider::bench
