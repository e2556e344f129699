// yDB's study: YCSB with values of 8 bytes, for several numbers of threads and several limits on
// the retries of a hardware transaction before its lock is acquired.
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lab/protocols/dbx_studies.h"
#include "lab/protocols/points.h"
#include "elider/try.h"

namespace elider::bench::protocols {

Result<Figure> ydb(const StudyOptions& options) {
  YcsbOptions ycsb;
  ycsb.records = options.quick ? 20'000 : 10'000'000;
  ycsb.mix = "80/20";
  ycsb.value_bytes = 8;
  ycsb.key_index = KeyIndex::kOrdered;
  struct Line {
    std::string name;
    SyncPolicy sync;
    HtmBackend htm;
    uint32_t aborts_max;
  };
  std::vector<Line> lines{{"optimistic latches", SyncPolicy::kOptimistic, HtmBackend::kAutomatic, CommonOptions::kByCause}};
  const Guard guard = best_guard();
  if (guard.regions()) {
    lines.push_back({"regions, bounds by cause", guard.sync, guard.htm, CommonOptions::kByCause});
    for (const uint32_t retries : {3u, 100u})
      lines.push_back({fmt::format("regions, {} retries", retries), guard.sync, guard.htm, retries});
  }
  Figure figure{"ydb",
                "YCSB with 8-byte values: 80% read, 20% read and write",
                "threads",
                "transactions/s",
                "1.5 M to 7.2 M transactions/s with 1 to 8 threads on 4 cores",
                fmt::format("{} records, one per transaction; with more than 1.5 threads per processor, threads take turns{}",
                            ycsb.records, left_out()),
                {}};
  const std::vector<uint32_t> counts = options.quick ? std::vector{1u, 2u} : std::vector{1u, 2u, 4u, 6u, 8u};
  for (const Line& line : lines) {
    Series series{line.name, {}};
    for (const uint32_t threads : counts) {
      ycsb.common = {};
      ycsb.common.threads = threads;
      ycsb.common.sync = line.sync;
      ycsb.common.htm = line.htm;
      ycsb.common.aborts_max = line.aborts_max;
      if (line.aborts_max != CommonOptions::kByCause) {  // yDB does not adapt limits to the tree's height, and never turns sites off
        ycsb.common.elision.less_for_tall_trees = false;
        ycsb.common.elision.window_runs = 0;
      }
      ELIDER_ASSIGN(Point point, run_ycsb_point(options, ycsb));
      series.points.push_back(std::move(point));
    }
    figure.series.push_back(std::move(series));
  }
  return figure;
}

}  // namespace elider::bench::protocols
