// The studies of the durable heap (`elider bench heap`): each measures variants of one work in
// turns, a repetition at a time, so that a ratio compares what ran side by side (DUMBO, section 4).
//
//   reads    read-only transactions beside one writer: plain memory without any synchronization,
//            the heap, and the heap with SPHT's durability wait and with Pisces's order
//   updates  transactions that change words, with DUMBO's wait, SPHT's and Pisces's order
//   map      puts into a durable map, in groups that wait for the disk once, beside LMDB and
//            RocksDB that sync each
//   tpcc     TPC-C, by the mixes of the paper's figures, under both isolations, with SPHT's wait,
//            and with Pisces's order and isolation
//   lines    the cache lines that each transaction of TPC-C reads and writes
//   replay   the log of many small transactions, replayed by markers and by links from record to
//            record, as SPHT does
// Thread safety: one thread calls it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/tpcc/schema.h"
#include "elider/heap.h"

namespace elider::bench {

struct HeapStudyOptions {
  std::vector<std::string> studies;        // empty: all
  HeapMedium medium = HeapMedium::kDelay;  // of reads and updates
  HeapIsolation isolation = HeapIsolation::kSerializable;
  HtmBackend backend = HtmBackend::kAutomatic;  // of reads, updates and tpcc
  bool suspended_reads = true;                  // HeapOptions'
  uint32_t flush_ns = 310;
  uint32_t threads = 2;  // of reads: one of them writes
  double seconds = 2;    // of each figure
  uint32_t repeat = 3;
  uint64_t words = 1u << 20;              // that reads and updates draw from
  uint32_t reads = 100;                   // words that a reader reads, and an update
  uint32_t writes = 10;                   // words that an update writes
  uint32_t group = 64;                    // of map: puts of a thread before it waits
  uint64_t replayed = 400'000;            // transactions of replay, of 1 to 20 words
  uint64_t replay_words = 1u << 24;       // that they go to: 128 MiB, as in the paper (section 4.5)
  tpcc::Sizes sizes = {.warehouses = 0};  // of tpcc; 0 warehouses: as many as threads
  std::string figure_of_tpcc;             // of tpcc: the mixes of this figure of the paper; empty: all
  std::string folder;                     // where files are made; empty: the temporary folder
  uint64_t seed = 1;
  bool quiet = false;
};

struct HeapSeries {
  std::string variant;
  std::vector<double> values;  // by repetition
};
struct HeapFigure {
  static constexpr size_t kNone = ~size_t{0};
  std::string study, unit;
  std::string mix;  // of tpcc
  std::vector<HeapSeries> series;
  size_t subject = 0;  // the variant that the others are compared with, or kNone
};

// An error: a file could not be created, or a variant found an impossible state; the message names
// it. If interrupted, it returns the figures that are complete.
Result<std::vector<HeapFigure>> run_heap_study(const HeapStudyOptions& options);
// The names of the studies: reads, updates, map, tpcc, lines, replay.
const std::vector<std::string>& heap_studies();

}  // namespace elider::bench
