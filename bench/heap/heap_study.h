// The studies of the durable heap (`elider bench heap`). Each study compares variants of the same
// work. Within a repetition the variants take turns, and a ratio is computed within one repetition
// (DUMBO, section 4).
//
//   reads    read-only transactions concurrent with one writer: on plain memory without
//            synchronization, on the heap, and on the heap with SPHT's durability wait and with
//            Pisces's order
//   updates  transactions that change words, with DUMBO's wait, SPHT's wait and Pisces's order
//   map      puts into a durable map, in groups that sync once, compared with LMDB and RocksDB,
//            which sync each put
//   tpcc     TPC-C with the mixes of the paper's figures: under both isolation levels, with SPHT's
//            wait, and with Pisces's order and isolation
//   lines    the number of cache lines that each TPC-C transaction reads and writes
//   replay   the replay of a log of many small transactions, in the order of the heap's markers,
//            compared with following links from record to record, as in SPHT
// Thread safety: one thread calls run_heap_study().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/tpcc/schema.h"
#include "elider/heap.h"

namespace elider::bench {

struct HeapStudyOptions {
  std::vector<std::string> studies;        // empty: all
  HeapMedium medium = HeapMedium::kDelay;  // for reads and updates
  HeapIsolation isolation = HeapIsolation::kSerializable;
  HtmBackend backend = HtmBackend::kAutomatic;  // for reads, updates and tpcc
  bool suspended_reads = true;                  // HeapOptions::suspended_reads
  uint32_t flush_ns = 310;
  uint32_t threads = 2;  // for reads, one of these threads writes
  double seconds = 2;    // measured for each value
  uint32_t repeat = 3;
  uint64_t words = 1u << 20;              // number of words that reads and updates choose from
  uint32_t reads = 100;                   // words that one reader reads, and that one update reads
  uint32_t writes = 10;                   // words that one update writes
  uint32_t group = 64;                    // for map: number of puts after which a thread waits for the disk
  uint64_t replayed = 400'000;            // for replay: number of transactions, each of 1 to 20 words
  uint64_t replay_words = 1u << 24;       // for replay: number of words; the default is 128 MiB, as in the paper (section 4.5)
  tpcc::Sizes sizes = {.warehouses = 0};  // for tpcc; 0 warehouses: one per thread
  std::string figure_of_tpcc;             // for tpcc: run only the mixes of this figure of the paper; empty: all
  std::string folder;                     // where files are created; empty: the temporary folder
  uint64_t seed = 1;
  bool quiet = false;
};

struct HeapSeries {
  std::string variant;
  std::vector<double> values;  // one value per repetition
};
struct HeapFigure {
  static constexpr size_t kNone = ~size_t{0};
  std::string study, unit;
  std::string mix;  // for tpcc: the name of the mix
  std::vector<HeapSeries> series;
  size_t subject = 0;  // index of the variant that is compared with the others; kNone: no comparison
};

// Runs the studies. Returns an error if a file could not be created, or if a check of a variant's
// results failed. If the run is interrupted, the result covers only what was complete: whole mixes
// of tpcc, and whole repetitions of the other studies.
Result<std::vector<HeapFigure>> run_heap_study(const HeapStudyOptions& options);
// Returns the names of the studies: reads, updates, map, tpcc, lines, replay.
const std::vector<std::string>& heap_studies();

}  // namespace elider::bench
