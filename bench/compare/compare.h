// Compare: elider next to other stores, on the same workloads and inputs, in one run. A ratio is
// computed within a repetition, in which the stores take turns, because figures of another hour or
// machine cannot be compared.
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
  std::vector<std::pair<std::string, std::string>> stores;  // name, what Peer::about() says
  std::vector<std::string> skipped;                         // why a store is missing
  bool interrupted = false;                                 // then of repetitions that were whole
};

// The options of each workload in order, or of each mix if no workload is given. Refuses
// combinations that do not make sense (refuse_option).
std::vector<YcsbOptions> workloads_of(const CompareOptions& options);

// Runs every workload on every store `repeat` times, and checks each store's rows and counters. A
// workload starts from freshly loaded stores; one that inserts does so in every repetition. Mixes
// run one after another on the same stores, since they do not change the set of keys. A store that
// this program was built without is skipped. The run ends early once interrupted(). An error: a
// store failed, or its rows are not what committed; the message names it.
Result<CompareOutcome> run_compare(const CompareOptions& options);

// The ratio of a's figures to b's, computed within each repetition.
Spread ratio_of(const CompareSeries& a, const CompareSeries& b);

void print_compare(std::FILE* out, const CompareOptions& options, const CompareOutcome& outcome);
Json to_json(const CompareOptions& options, const CompareOutcome& outcome);

}  // namespace elider::bench
