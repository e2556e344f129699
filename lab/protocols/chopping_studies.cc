#include "lab/protocols/chopping_studies.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lab/articles/articles.h"
#include "bench/common/scratch.h"
#include "bench/common/spread.h"
#include "lab/protocols/points.h"
#include "elider/chopping.h"
#include "elider/try.h"

namespace elider::bench::protocols {

namespace {

// A protocol, and how index nodes and commits are synchronized.
struct Competitor {
  std::string name;
  Protocol protocol;
  Guard guard;
};

// The protocols of the paper: whole transactions as hardware transactions, DBX (occ), DBX-TC
// (chopped) and two-phase locking. In addition, occ and chopped without hardware transactions.
std::vector<Competitor> competitors() {
  const Guard regions = best_guard(), latches;
  std::vector<Competitor> all;
  if (regions.regions()) {
    all.push_back({"whole transactions as regions", Protocol::kWholeTransaction, regions});
    all.push_back({"occ, regions", Protocol::kOcc, regions});
    all.push_back({"chopped, regions", Protocol::kChopped, regions});
  }
  all.push_back({"two-phase locking", Protocol::kTwoPhaseLocking, latches});
  all.push_back({"occ", Protocol::kOcc, latches});
  all.push_back({"chopped", Protocol::kChopped, latches});
  return all;
}

using Set = std::function<void(CommonOptions*, tpcc::TpccOptions*)>;

// Runs TPC-C. As in the paper, read-only transactions use snapshots, except when whole transactions
// run as hardware transactions.
Result<Point> run_pieces(const StudyOptions& options, const Competitor& who, uint32_t threads, uint32_t warehouses, const Set& set = {}) {
  ELIDER_ASSIGN(Point point, run_tpcc(options, who.protocol, threads, warehouses, [&](CommonOptions* common, tpcc::TpccOptions* tpcc) {
                  common->sync = who.guard.sync;
                  common->htm = who.guard.htm;
                  if (who.protocol == Protocol::kWholeTransaction) tpcc->snapshots = {false, false};
                  if (set) set(common, tpcc);
                }));
  point.x = threads;
  return point;
}

Status add_line(const StudyOptions& options, std::string name, const Competitor& who, bool one_warehouse, const Set& set, Figure* figure) {
  Series line{std::move(name), {}};
  for (const uint32_t threads : thread_counts(options)) {
    ELIDER_ASSIGN(Point point, run_pieces(options, who, threads, one_warehouse ? 1 : threads, set));
    line.points.push_back(std::move(point));
  }
  figure->series.push_back(std::move(line));
  return {};
}

Competitor in_pieces() { return {"chopped", Protocol::kChopped, best_guard()}; }

}  // namespace

Result<Figure> dbx_tc_12(const StudyOptions& options) {
  Figure figure{"dbx-tc-12",
                "TPC-C in pieces and whole, by contention",
                "threads",
                "transactions/s",
                "8 threads with one warehouse each: 604,220 transactions/s, 5.77 times as many as whole transactions as regions, "
                "and 36 to 43% more than DBX; with one warehouse in total: 102% more than DBX",
                fmt::format("Silo is not measured; readers use the newest snapshot{}{}", sizes_of(options), left_out()),
                {}};
  for (const bool one_warehouse : {false, true})
    for (const Competitor& who : competitors())
      ELIDER_TRY(add_line(options, fmt::format("{}, {}", who.name, one_warehouse ? "one warehouse" : "one warehouse per thread"), who,
                          one_warehouse, {}, &figure));
  return figure;
}

Result<Figure> dbx_tc_13a(const StudyOptions& options) {
  Figure figure{"dbx-tc-13a",
                "TPC-C in pieces, with and without snapshots",
                "threads",
                "transactions/s",
                "if all threads use one warehouse, DBX-TC without snapshots does not scale beyond 4 threads",
                fmt::format("one warehouse; {}; without snapshots, OrderStatus and StockLevel are ordinary transactions{}",
                            guarded_by(best_guard()), sizes_of(options)),
                {}};
  for (const bool snapshots : {true, false})
    ELIDER_TRY(add_line(
        options, snapshots ? "snapshots" : "readers validate what they read", in_pieces(), true,
        [&](CommonOptions*, tpcc::TpccOptions* tpcc) {
          tpcc->snapshots = {snapshots, snapshots};
        },
        &figure));
  return figure;
}

Result<Figure> dbx_tc_13b(const StudyOptions& options) {
  Figure figure{"dbx-tc-13b",
                "TPC-C in pieces and whole, with and without a log",
                "threads",
                "transactions/s",
                "8 threads with one warehouse each: a log costs DBX-TC 11 to 16%, and DBX 9 to 18%",
                fmt::format("one warehouse per thread; {}; one log, no checkpoints; commits return before they are durable{}",
                            guarded_by(best_guard()), sizes_of(options)),
                {}};
  const Scratch scratch(options.folder, "elider_dbx_tc_13b");
  if (scratch.path().empty())
    return Status(Code::kIoError, fmt::format("cannot create a folder below '{}'; use --data to name another", options.folder));
  for (const Competitor& who : {in_pieces(), Competitor{"occ", Protocol::kOcc, best_guard()}})
    for (const bool logged : {false, true})
      ELIDER_TRY(add_line(
          options, fmt::format("{}, {}", who.name, logged ? "async" : "no log"), who, false,
          [&](CommonOptions* common, tpcc::TpccOptions*) {
            if (!logged) return;
            common->data.folders = {scratch.path().string()};
            common->data.durability = Durability::kAsync;
            common->data.checkpoint_log_bytes = 0;
          },
          &figure));
  return figure;
}

// Each step includes all changes of the previous steps.
Result<Figure> dbx_tc_14(const StudyOptions& options) {
  Figure figure{"dbx-tc-14",
                "TPC-C in pieces: the contribution of each part",
                "run",
                "transactions/s",
                "chopping, snapshots, the cache of fresh rows, and deferral each improve the throughput",
                fmt::format("{} threads, one warehouse; {}; without a cache of fresh rows; "
                            "our additional steps are finer conflicts, and pieces only if calls conflict{}{}",
                            options.threads, guarded_by(best_guard()), sizes_of(options), left_out()),
                {}};
  struct Step {
    const char* name;
    Competitor who;
    bool snapshots = true, fine = true, deferring = true, where_calls_meet = true;
    std::vector<double> throughputs = {};
  };
  std::vector<Step> steps;
  if (best_guard().regions()) steps.push_back({"whole transactions as regions", {"", Protocol::kWholeTransaction, best_guard()}, false});
  steps.push_back({"in pieces: conflicts by table, additions commute, reordered", in_pieces(), false, false, false, false});
  steps.push_back({"+ snapshots for readers", in_pieces(), true, false, false, false});
  steps.push_back({"+ conflicts by column group, and rows that belong to a claimed row", in_pieces(), true, true, false, false});
  steps.push_back({"+ customers of a Delivery deferred", in_pieces(), true, true, true, false});
  steps.push_back({"without deferral, in pieces only if calls conflict", in_pieces(), true, true, false, true});
  // The steps take turns, so that a slowdown of the machine affects all of them.
  StudyOptions once = options;
  once.repeats = 1;
  for (uint32_t repeat = 0; repeat < options.repeats; ++repeat)
    for (Step& step : steps) {
      ELIDER_ASSIGN(const Point point, run_pieces(once, step.who, options.threads, 1, [&](CommonOptions*, tpcc::TpccOptions* tpcc) {
                      tpcc->snapshots = {step.snapshots, step.snapshots};
                      tpcc->chopped.always_in_pieces = !step.where_calls_meet;
                      tpcc->chopped.choices.granularity = step.fine ? chopping::Granularity::kGroup : chopping::Granularity::kTable;
                      tpcc->chopped.choices.tokens = step.fine;
                      tpcc->chopped.choices.deferring = step.deferring;
                    }));
      step.throughputs.push_back(point.y);
    }
  for (const Step& step : steps)
    figure.series.push_back({step.name, {{1, spread_of(step.throughputs).median, {{"runs", step.throughputs}}}}});
  return figure;
}

Result<Figure> dbx_tc_15(const StudyOptions& options) {
  Figure figure{"dbx-tc-15",
                "Articles, under each protocol",
                "threads",
                "transactions/s",
                "8 threads: DBX-TC 475,875 transactions/s, about 10% more than DBX and 30% more than two-phase locking",
                fmt::format("Silo is not measured{}", left_out()),
                {}};
  for (const Competitor& who : competitors()) {
    Series line{who.name, {}};
    for (const uint32_t threads : thread_counts(options)) {
      articles::ArticlesOptions study;
      if (options.quick) study.articles = 10'000, study.users = 1000;
      study.common.protocol = who.protocol;
      study.common.sync = who.guard.sync;
      study.common.htm = who.guard.htm;
      study.common.threads = threads;
      study.common.seconds = options.seconds;
      study.common.seed = options.seed;
      study.common.quiet = true;
      std::vector<double> throughputs;
      for (uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
        ELIDER_ASSIGN(const auto outcome, articles::run_articles(study));
        if (!outcome.ok)
          return Status(Code::kCorrupt,
                        outcome.report.result.failure.empty() ? "Articles: the final rows are wrong" : outcome.report.result.failure);
        throughputs.push_back(outcome.report.result.throughput());
      }
      line.points.push_back({static_cast<double>(threads), spread_of(throughputs).median, {{"runs", throughputs}}});
    }
    figure.series.push_back(std::move(line));
  }
  return figure;
}

}  // namespace elider::bench::protocols
