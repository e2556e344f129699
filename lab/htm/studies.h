// Studies: the published figures that `elider-lab htm` reproduces, and how each is measured.
//
//   region_studies.cc   bare regions: how much they hold, how long they last
//   footprint_study.cc  what each transaction of TPC-C reads and writes
//   engine_studies.cc   databases under --sync elided: how often sections take their lock
//
// A figure depends on what ran the regions. The emulator does not show the speed of hardware: where
// the papers give throughput, its figures give the share of sections that took their lock.
// Thread safety: one thread calls a study; it starts its own threads.
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
  HtmBackend htm = HtmBackend::kAutomatic;  // not kAutomatic once a study runs
  bool quick = false;                       // fewer points, regions and seconds: a look, not a measurement
  uint32_t threads = 1;                     // the maximum
  double seconds = 5;                       // a point of the engine's studies
  uint64_t records = 1'000'000;             // of hyper-9
  uint64_t seed = 1;
  // The options of the studies' TPC-C; the defaults are the papers'.
  bool mixed_indexes = false, groups = false, additions = false;
  DataOptions data;                         // of the engine's studies: each of their databases, one after the other; never resumed
  std::string history_file;                 // of the studies that run transactions, all in turn; empty: none

  bool emulated() const { return htm == HtmBackend::kEmulated; }
};

struct Study {
  const char* name;
  const char* about;
  Result<Figure> (*run)(const StudyOptions& options);
  bool needs_emulator = false;  // no processor says what it measures
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
