// The study of full scans (`elider-lab scan`). It visits the rows of a table through its B+-tree
// and, for a zoned table, in the order of memory. It compares this with the rate at which the
// processor reads plain memory in the same run. It also measures how quickly threads insert into
// one zoned table (HyPer-HTM, section 5.1).
// Thread safety: one thread calls it, once per run.
#pragma once

#include <cstdint>
#include <vector>

#include "elider/elider.h"

namespace elider::bench {

struct ScanStudyOptions {
  uint64_t rows = 5'000'000;  // of 100 bytes, inserted in random order of their keys
  uint32_t threads = 2;       // figures are measured with 1 and with this many
  double seconds = 3;         // measured, for each figure
  bool zoned = false;         // the zoned table's figures, too
  uint32_t zones = kZonesAutomatic;
  uint64_t seed = 1;
  bool quiet = false;
};

// The figures for one number of threads.
struct ScanFigure {
  uint32_t threads = 0;
  double memory_bytes_per_s = 0;        // plain memory, as much as the zoned table's rows take
  double tree_rows_per_s = 0;           // through the B+-tree: one thread alone
  double zoned_rows_per_s = 0;          // 0: not measured
  double zoned_bytes_per_s = 0;         // the same, in bytes of the rows' memory
  double zoned_inserts_per_s = 0;
};
struct ScanStudy {
  std::vector<ScanFigure> figures;
  double bytes_a_row = 0;  // of a zoned table's memory, headers and all; 0: not measured
  uint64_t row_bytes = 0;
};

// The table that rows are inserted into, in a database of its own.
struct InsertTarget {
  uint32_t zones = kZonesAutomatic;  // 0: the table is not zoned
  bool own_allocators = true;        // EngineParts::own_allocators
  bool prefaulted = true;            // the system has given the memory before
};
// Inserts the given number of rows, one per transaction, from the given number of threads, each
// with rising keys. Returns inserts per second.
Result<double> measure_inserts(uint64_t rows, uint32_t threads, const InsertTarget& target);

// An error: a table could not be filled, or a scan did not find what had been inserted.
Result<ScanStudy> run_scan_study(const ScanStudyOptions& options);

}  // namespace elider::bench
