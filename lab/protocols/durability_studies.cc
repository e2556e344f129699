#include "lab/protocols/durability_studies.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/common/scratch.h"
#include "bench/common/spread.h"
#include "lab/protocols/points.h"
#include "elider/try.h"

namespace elider::bench::protocols {

namespace {

// If threads do not wait until their transactions are durable, the latency of one in kSampleEvery
// transactions is measured.
constexpr uint32_t kSampleEvery = 16;

// Runs TPC-C with one warehouse per thread, and under occ with the paper's options. If `folder` is
// empty, the database does not have a log. `sample_every` is TpccOptions::durable_sample_every.
Result<Point> run_logged(const StudyOptions& options, Protocol protocol, const Guard& guard, uint32_t threads, const std::string& folder,
                         Durability durability, uint32_t sample_every) {
  ELIDER_ASSIGN(Point point, run_tpcc(options, protocol, threads, threads, [&](CommonOptions* common, tpcc::TpccOptions* tpcc) {
                  common->sync = guard.sync;
                  common->htm = guard.htm;
                  tpcc->durable_sample_every = sample_every;
                  if (protocol == Protocol::kOcc) {
                    common->elision.window_runs = 0;  // as in the paper, sites never stop using hardware transactions
                    tpcc->index = tpcc::IndexChoice::kBtree;
                    tpcc->groups = tpcc->additions = false;
                  }
                  if (folder.empty()) return;
                  common->data.folders = {folder};
                  common->data.durability = durability;
                  common->data.checkpoint_log_bytes = 0;  // the paper does not have checkpoints
                }));
  point.x = threads;
  return point;
}

Result<std::string> path_of(const StudyOptions& options, const Scratch& scratch) {
  if (!scratch.path().empty()) return scratch.path().string();
  return Status(Code::kIoError, fmt::format("cannot create a folder below '{}'; use --data to name another", options.folder));
}

std::string as_the_paper(const StudyOptions& options, const Guard& guard) {
  return fmt::format("{}; B+-trees, neither column groups nor additions, one warehouse per thread, one log, no checkpoints{}",
                     guarded_by(guard), sizes_of(options));
}

// Returns the median of this quantile over all runs of the point, in milliseconds.
double latency_ms(const Point& point, const char* quantile) {
  std::vector<double> values;
  for (const Json& run : point.more["durable_latency_us"]) values.push_back(run[quantile].get<double>() * 1e-3);
  return spread_of(values).median;
}

constexpr const char* kWhenAsked =
    "measured from the beginning of a transaction; a group is written when a transaction requests it, which "
    "every transaction does in \"transactions wait\", and in \"transactions go on\" one in";

// Adds series with the p50 and the p99 latency, both for threads that continue before their
// transactions are durable and for threads that wait.
Status add_latencies(const StudyOptions& options, Protocol protocol, Figure* figure) {
  const Scratch scratch(options.folder, "elider_latency");
  ELIDER_ASSIGN(const std::string folder, path_of(options, scratch));
  for (const auto& [durability, name] : {std::pair{Durability::kAsync, "go on"}, std::pair{Durability::kGroup, "wait"}}) {
    Series p50{fmt::format("p50, transactions {}", name), {}}, p99{fmt::format("p99, transactions {}", name), {}};
    for (const uint32_t threads : thread_counts(options)) {
      ELIDER_ASSIGN(Point point, run_logged(options, protocol, best_guard(), threads, folder, durability,
                                            durability == Durability::kAsync ? kSampleEvery : 1));
      point.more["throughput_txns_per_s"] = point.y;
      point.y = latency_ms(point, "p50");
      Point slow{point.x, latency_ms(point, "p99"), Json::object()};
      p50.points.push_back(std::move(point));
      p99.points.push_back(std::move(slow));
    }
    figure->series.push_back(std::move(p50));
    figure->series.push_back(std::move(p99));
  }
  return {};
}

}  // namespace

Result<Figure> dbx_16(const StudyOptions& options) {
  const Guard guard = best_guard();
  Figure figure{"dbx-16",
                "TPC-C with a log and without",
                "threads",
                "transactions/s",
                "with a log, 30% faster on average than Silo with a log; "
                "beyond 2 threads, the log costs a little, because two loggers share the 4 cores",
                as_the_paper(options, guard) + "; commits return before they are durable; Silo is not measured",
                {}};
  const Scratch scratch(options.folder, "elider_dbx_16");
  ELIDER_ASSIGN(const std::string folder, path_of(options, scratch));
  Series without{"no log", {}}, with{"async", {}};
  for (const uint32_t threads : thread_counts(options)) {
    ELIDER_ASSIGN(Point plain, run_logged(options, Protocol::kOcc, guard, threads, "", Durability::kDefault, 0));
    without.points.push_back(std::move(plain));
    ELIDER_ASSIGN(Point logged, run_logged(options, Protocol::kOcc, guard, threads, folder, Durability::kAsync, 0));
    with.points.push_back(std::move(logged));
  }
  figure.series = {std::move(without), std::move(with)};
  return figure;
}

Result<Figure> dbx_17(const StudyOptions& options) {
  Figure figure{"dbx-17",
                "TPC-C: latency until durable",
                "threads",
                "ms",
                "38 to 63 ms with 1 to 8 threads, because snapshots advance every 40 ms; Silo 117 to 480 ms",
                fmt::format("{}; {} {}", as_the_paper(options, best_guard()), kWhenAsked, kSampleEvery),
                {}};
  ELIDER_TRY(add_latencies(options, Protocol::kOcc, &figure));
  return figure;
}

Result<Figure> dbx_tc_13c(const StudyOptions& options) {
  Figure figure{"dbx-tc-13c",
                "TPC-C in pieces: latency until durable",
                "threads",
                "ms",
                "8 threads: 114 ms, or 54 ms if readers increase the snapshot number; DBX 58 ms",
                fmt::format("{}; one warehouse per thread, one log, no checkpoints{}; {} {}", guarded_by(best_guard()),
                            sizes_of(options), kWhenAsked, kSampleEvery),
                {}};
  ELIDER_TRY(add_latencies(options, Protocol::kChopped, &figure));
  return figure;
}

}  // namespace elider::bench::protocols
