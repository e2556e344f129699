// The study of full scans (`elider-lab scan`). It measures scans of a table through the table's
// B+-tree and, if requested, scans of a zoned table in memory order. In the same run, it measures
// how fast the processor reads plain memory. It also measures how fast threads insert into a zoned
// table (HyPer-HTM, section 5.1). Thread safety: one thread at a time calls these functions.
#pragma once

#include <cstdint>
#include <vector>

#include "elider/elider.h"

namespace elider::bench {

struct ScanStudyOptions {
  uint64_t rows = 5'000'000;  // 100 bytes each, inserted in random order of their keys
  uint32_t threads = 2;       // each figure is measured with 1 thread and with this number
  double seconds = 3;         // per figure
  bool zoned = false;         // also measure zoned tables
  uint32_t zones = kZonesAutomatic;
  uint64_t seed = 1;
  bool quiet = false;
};

// The figures for one number of threads.
struct ScanFigure {
  uint32_t threads = 0;
  double memory_bytes_per_s = 0;        // reads of a plain array as large as the zoned table's rows
  double tree_rows_per_s = 0;           // through the B+-tree; only with one thread
  double zoned_rows_per_s = 0;          // 0: not measured
  double zoned_bytes_per_s = 0;         // zoned_rows_per_s times ScanStudy::bytes_a_row
  double zoned_inserts_per_s = 0;
};
struct ScanStudy {
  std::vector<ScanFigure> figures;
  double bytes_a_row = 0;  // memory of the zoned table per row, including headers; 0: not measured
  uint64_t row_bytes = 0;
};

// Options of the table that measure_inserts() creates in a database of its own.
struct InsertTarget {
  uint32_t zones = kZonesAutomatic;  // 0: the table is not zoned
  bool own_allocators = true;        // EngineParts::own_allocators
  bool prefaulted = true;            // memory is allocated and written before the measurement
};
// Inserts the given number of rows, one per transaction, from the given number of threads. The keys
// of each thread ascend. Returns inserts per second.
Result<double> measure_inserts(uint64_t rows, uint32_t threads, const InsertTarget& target);

// Returns an error if a table could not be filled, or if a scan did not find exactly the inserted
// rows (kCorrupt).
Result<ScanStudy> run_scan_study(const ScanStudyOptions& options);

}  // namespace elider::bench
