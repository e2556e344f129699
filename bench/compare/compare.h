// Compare: elider beside other stores, on the same inputs, in one run. Ratios are taken within a
// repetition, in which the stores take turns, since figures of another hour or machine say little.
// Thread safety: called by one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/common/report.h"
#include "bench/common/spread.h"
#include "bench/compare/peer.h"

namespace elider::bench {

// The figures of one store on one mix.
struct CompareSeries {
  std::string store;
  std::vector<double> throughput;  // txn/s, by repetition
};
struct CompareMix {
  std::string mix;
  std::vector<CompareSeries> series;  // elider first
};
struct CompareOutcome {
  std::vector<CompareMix> mixes;
  std::vector<std::pair<std::string, std::string>> stores;  // name, what Peer::about() says
  std::vector<std::string> skipped;                         // why a store is missing
};

// Loads every store, runs every mix on every store `repeat` times, and checks each store's counters. An
// error: a store failed, or lost an update; the message names it. A store that this program was built
// without is skipped.
Result<CompareOutcome> run_compare(const CompareOptions& options);

// Of a's figures to b's, repetition by repetition.
Spread ratio_of(const CompareSeries& a, const CompareSeries& b);

void print_compare(std::FILE* out, const CompareOptions& options, const CompareOutcome& outcome);
Json to_json(const CompareOptions& options, const CompareOutcome& outcome);

}  // namespace elider::bench
