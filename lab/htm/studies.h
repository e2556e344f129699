// The studies with which `elider-lab htm` reproduces figures of the papers:
//
//   region_studies.cc   the capacity and maximum duration of hardware transactions, without a
//                       database
//   footprint_study.cc  the cache lines that each transaction of TPC-C reads and writes
//   engine_studies.cc   how often sections acquire their lock in databases with --sync elided
//
// The results depend on the backend that ran the hardware transactions. The emulator does not
// reproduce the speed of a processor. If the papers report the throughput, figures measured on the
// emulator show the share of sections that acquired their lock instead.
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
  HtmBackend htm = HtmBackend::kAutomatic;  // set to another backend before a study runs
  bool quick = false;                       // fewer points, regions and seconds, for a rough result
  uint32_t threads = 1;                     // the maximum number of threads
  double seconds = 5;                       // per point, in the studies of databases
  uint64_t records = 1'000'000;             // entries of the index, in hyper-9
  uint64_t seed = 1;
  // The options for TPC-C. The defaults are as in the papers.
  bool mixed_indexes = false, groups = false, additions = false;
  DataOptions data;                         // for the databases of engine_studies.cc, one after the other; never resumed
  std::string history_file;                 // where studies of databases record their transactions; empty: do not record

  bool emulated() const { return htm == HtmBackend::kEmulated; }
};

struct Study {
  const char* name;
  const char* about;
  Result<Figure> (*run)(const StudyOptions& options);
  bool needs_emulator = false;  // measures what only the emulator can count
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
