// Studies: how `elider-lab htm` reproduces published figures.
//
//   region_studies.cc   hardware transactions without a database: their capacity and duration
//   footprint_study.cc  the cache lines that each transaction of TPC-C reads and writes
//   engine_studies.cc   databases under --sync elided: how often sections acquire their lock
//
// The results depend on the backend that ran the regions. The emulator does not reproduce the speed
// of hardware. Where the papers report throughput, its figures show the share of sections that
// acquired their lock.
// Thread safety: one thread calls a study; the study starts its own threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bench/common/data_options.h"
#include "bench/common/figure.h"
#include "elider/elision.h"
#include "elider/status.h"

namespace elider::bench::htm {

struct StudyOptions {
  HtmBackend htm = HtmBackend::kAutomatic;  // never kAutomatic when a study runs
  bool quick = false;                       // fewer points, regions and seconds, for a rough result
  uint32_t threads = 1;                     // the maximum
  double seconds = 5;                       // per point, in the studies of databases
  uint64_t records = 1'000'000;             // in hyper-9
  uint64_t seed = 1;
  // The options of the studies' TPC-C; the defaults are the papers'.
  bool mixed_indexes = false, groups = false, additions = false;
  DataOptions data;                         // used by the databases of the engine's studies, one after the other; never resumed
  std::string history_file;                 // used by the studies that run transactions, one after the other; empty: none

  bool emulated() const { return htm == HtmBackend::kEmulated; }
};

struct Study {
  const char* name;
  const char* about;
  Result<Figure> (*run)(const StudyOptions& options);
  bool needs_emulator = false;  // processors do not report what it measures
};
// All studies, in the order in which they run.
std::span<const Study> studies();

Result<Figure> dbx_1a(const StudyOptions& options);
Result<Figure> dbx_1b(const StudyOptions& options);
Result<Figure> dbx_1c(const StudyOptions& options);
Result<Figure> dbx_1d(const StudyOptions& options);
Result<Figure> hyper_5(const StudyOptions& options);
Result<Figure> hyper_6(const StudyOptions& options);
Result<Figure> dbx_tc_1b(const StudyOptions& options);

Result<Figure> dbx_9(const StudyOptions& options);
Result<Figure> dbx_10(const StudyOptions& options);
Result<Figure> dbx_15(const StudyOptions& options);
Result<Figure> dbx_tc_1c(const StudyOptions& options);
Result<Figure> hyper_9(const StudyOptions& options);
Result<Figure> hyper_21(const StudyOptions& options);

Result<Figure> dbx_tc_table_1(const StudyOptions& options);

}  // namespace elider::bench::htm
