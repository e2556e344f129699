#include "lab/protocols/dbx_studies.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/common/spread.h"
#include "lab/index/index.h"
#include "lab/index/lock_free.h"
#include "lab/protocols/points.h"
#include "elider/try.h"

namespace elider::bench::protocols {

namespace {

// A way to synchronize index nodes, reads and commits.
struct Way {
  std::string name;
  SyncPolicy sync;
  HtmBackend htm;
  Protocol protocol = Protocol::kOcc;
  bool copied_reads = false;
  bool rows_apart = false;        // rows are stored apart from their commit words, which point to them
  bool commits_by_locks = false;  // commits lock rows, although trees and reads use hardware transactions
};

Way optimistic_latches() { return {.name = "optimistic latches", .sync = SyncPolicy::kOptimistic, .htm = HtmBackend::kAutomatic}; }
Way regions() { return {.name = "regions", .sync = SyncPolicy::kElided, .htm = best_guard().htm}; }
bool regions_run() { return best_guard().regions(); }
// Hardware transactions if they are supported, otherwise optimistic latches.
Way best_way() { return regions_run() ? regions() : optimistic_latches(); }

// The ways that are compared in figure 5. Each shows the effect of one design choice of DBX.
// Without hardware transactions, only those with latches are measured.
std::vector<Way> ways_of_layers() {
  std::vector<Way> ways;
  if (regions_run()) {
    Way way = regions();
    ways.push_back(way);
    way.name = "regions, rows copied and rechecked";
    way.copied_reads = true;
    ways.push_back(way);
    way = regions();
    way.name = "regions, rows stored apart";
    way.rows_apart = true;
    ways.push_back(way);
    way = regions();
    way.name = "regions in the trees and for reads, row locks for commits";
    way.commits_by_locks = true;
    ways.push_back(way);
  }
  Way way = optimistic_latches();
  ways.push_back(way);
  way.name = "optimistic latches, rows stored apart";
  way.rows_apart = true;
  ways.push_back(way);
  return ways;
}

// The ways that are compared in figure 8.
std::vector<Way> ways_of_commits() {
  std::vector<Way> ways;
  if (regions_run()) {
    ways.push_back(regions());
    ways.push_back({.name = "regions in the trees, a spinlock for commits and reads",
                    .sync = SyncPolicy::kElided,
                    .htm = best_guard().htm,
                    .protocol = Protocol::kSpinlock});
  }
  ways.push_back(optimistic_latches());
  ways.push_back({.name = "spinlocks", .sync = SyncPolicy::kElided, .htm = HtmBackend::kNone, .protocol = Protocol::kSpinlock});
  return ways;
}

// Sets the options for `way` and for TPC-C as in the paper.
void as_the_paper(const Way& way, CommonOptions* common, tpcc::TpccOptions* tpcc) {
  common->sync = way.sync;
  common->htm = way.htm;
  common->copied_reads = way.copied_reads;
  if (way.rows_apart) common->block_threshold_bytes = kBlockThresholdMin;
  if (way.commits_by_locks) common->elision.read_lines_max = 1;
  common->elision.window_runs = 0;  // as in the paper, sites never stop using hardware transactions
  tpcc->index = tpcc::IndexChoice::kBtree;
  tpcc->groups = tpcc->additions = false;
}

std::string sizes_and_guard(const StudyOptions& options) { return fmt::format("{}; {}", sizes_of(options), guarded_by(best_guard())); }

using Set = std::function<void(CommonOptions*, tpcc::TpccOptions*)>;

// Measures TPC-C with each number of threads, and adds the results to the figure as a series.
Status add_tpcc(const StudyOptions& options, std::string name, const Way& way, const Set& set, Figure* figure,
                uint32_t threads_a_warehouse = 1) {
  Series line{std::move(name), {}};
  for (const uint32_t threads : thread_counts(options)) {
    const uint32_t warehouses = (threads + threads_a_warehouse - 1) / threads_a_warehouse;
    ELIDER_ASSIGN(Point point, run_tpcc(options, way.protocol, threads, warehouses, [&](CommonOptions* common, tpcc::TpccOptions* tpcc) {
                    as_the_paper(way, common, tpcc);
                    if (set) set(common, tpcc);
                  }));
    point.x = threads;
    line.points.push_back(std::move(point));
  }
  figure->series.push_back(std::move(line));
  return {};
}

Status add_tpcc_on(const StudyOptions& options, std::initializer_list<tpcc::IndexChoice> indexes, const tpcc::Mix& mix, Figure* figure) {
  for (const tpcc::IndexChoice index : indexes)
    ELIDER_TRY(add_tpcc(
        options, std::string(name_of(index)), best_way(),
        [&](CommonOptions*, tpcc::TpccOptions* tpcc) {
          tpcc->index = index;
          tpcc->mix = mix;
        },
        figure));
  return {};
}

constexpr const char* kPapersTpcc = "B+-trees, neither column groups nor additions, one warehouse per thread";
constexpr const char* kPapersTables = "B+-trees, neither column groups nor additions";

// The percentage of reads in YCSB. The other operations read and write.
constexpr uint32_t kYcsbReadsPct = 80;

// A member of IndexFigure that is shown as a series.
struct IndexValue {
  const char* what;
  double IndexFigure::*value;
};

uint64_t records_of_index(const StudyOptions& options) { return options.quick ? 20'000 : 1'000'000; }

// Measures an index by itself with each number of threads. Adds a series of medians for each of the
// shown values.
Status add_index(const StudyOptions& options, const std::string& name, const std::function<void(IndexStudyOptions*)>& choose,
                 std::span<const IndexValue> shown, Figure* figure) {
  std::vector<Series> lines;
  for (const IndexValue& one : shown) lines.push_back({*one.what == '\0' ? name : fmt::format("{}, {}", name, one.what), {}});
  for (const uint32_t threads : thread_counts(options)) {
    IndexStudyOptions study;
    study.shapes = {KeyShape::kSparse};
    study.records = records_of_index(options);
    study.seconds = options.seconds;
    study.seed = options.seed;
    study.threads = threads;
    choose(&study);
    std::vector<std::vector<double>> values(shown.size());
    for (uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
      ELIDER_ASSIGN(const auto figures, run_index_study(study));
      if (figures.empty()) return {};  // this build does not have such a table
      for (size_t i = 0; i < shown.size(); ++i) values[i].push_back(figures.front().*shown[i].value);
    }
    for (size_t i = 0; i < shown.size(); ++i)
      lines[i].points.push_back({static_cast<double>(threads), spread_of(values[i]).median, {{"runs", values[i]}}});
  }
  for (Series& line : lines) figure->series.push_back(std::move(line));
  return {};
}

// Measures one kind of index under every kind of synchronization. There is a series for lookups,
// for YCSB's mix of lookups and puts, for a mix of 50% lookups with inserts and puts, and for
// inserts.
Status add_index_under_all(const StudyOptions& options, KeyIndex kind, Figure* figure) {
  std::vector<Way> ways;
  if (regions_run()) ways.push_back(regions());
  ways.push_back(optimistic_latches());
  ways.push_back({.name = "one spinlock", .sync = SyncPolicy::kLatched, .htm = HtmBackend::kAutomatic});
  constexpr IndexValue kShown[] = {{"lookups", &IndexFigure::lookups_per_s},
                                   {"20% puts", &IndexFigure::puts_per_s},
                                   {"25% inserts, 25% puts", &IndexFigure::growing_per_s},
                                   {"inserts", &IndexFigure::inserts_per_s}};
  const auto mixes = [](IndexStudyOptions* study) {
    study->lookups_pct = kYcsbReadsPct;
    study->growing_lookups_pct = 50;
    study->growing_inserts_pct = 25;
  };
  for (const Way& way : ways)
    ELIDER_TRY(add_index(
        options, way.name,
        [&](IndexStudyOptions* study) {
          study->indexes = {kind};
          study->sync = way.sync;
          study->htm = way.htm;
          mixes(study);
        },
        kShown, figure));
  if (kind == KeyIndex::kHashed)
    ELIDER_TRY(add_index(
        options, "liburcu's lock-free table",
        [&mixes](IndexStudyOptions* study) {
          study->lock_free = true;
          mixes(study);
        },
        kShown, figure));
  return {};
}

}  // namespace

Result<Figure> dbx_5(const StudyOptions& options) {
  Figure figure{
      "dbx-5",
      "TPC-C with and without regions",
      "threads",
      "transactions/s",
      "8 threads: DBX 442,230 transactions/s, 1.4 times as many as Silo with Masstree's tree; DBX' 356,911/s, 1.13 times as many; "
      "running commits as regions costs less than 10%",
      fmt::format("{}{}{}; Silo has to be run separately", kPapersTpcc, sizes_of(options), left_out()),
      {}};
  for (const Way& way : ways_of_layers()) ELIDER_TRY(add_tpcc(options, way.name, way, {}, &figure));
  return figure;
}

Result<Figure> dbx_6(const StudyOptions& options) {
  Figure figure{
      "dbx-6",
      "The B+-tree by itself",
      "threads",
      "operations/s",
      "8 threads: 7.6% faster than Masstree with 20% puts, 1% faster with inserts; with a spinlock, the tree scales far worse",
      fmt::format("{} random numbers as keys; the inserts add as many again{}", records_of_index(options), left_out()),
      {}};
  ELIDER_TRY(add_index_under_all(options, KeyIndex::kOrdered, &figure));
  return figure;
}

Result<Figure> dbx_7(const StudyOptions& options) {
  Figure figure{
      "dbx-7",
      "The hash table by itself",
      "threads",
      "operations/s",
      "19% slower than a lock-free hash table",
      fmt::format("{} random numbers as keys; the inserts add as many again{}", records_of_index(options), left_out()),
      {}};
  ELIDER_TRY(add_index_under_all(options, KeyIndex::kHashed, &figure));
  return figure;
}

Result<Figure> dbx_8(const StudyOptions& options) {
  Figure figure{"dbx-8",
                "TPC-C by number of threads, and with a spinlock",
                "threads",
                "transactions/s",
                "442,230 transactions/s with 8 threads; with a spinlock, DBX does not scale beyond 4 threads",
                fmt::format("{}{}{}; each commit and each read of a row holds the spinlock; commits also set lock bits", kPapersTpcc,
                            sizes_of(options), left_out()),
                {}};
  for (const Way& way : ways_of_commits()) ELIDER_TRY(add_tpcc(options, way.name, way, {}, &figure));
  return figure;
}

// Compares transactions that read, or read and write, one row with the same operations on the bare
// tree.
Result<Figure> dbx_11(const StudyOptions& options) {
  Figure figure{"dbx-11",
                "Small transactions compared with the bare tree",
                "threads",
                "operations/s",
                "8 threads: transactions have an overhead of 20%; with a spinlock, they scale poorly",
                fmt::format("80% of the transactions read, 20% read and write; values of 8 bytes; random numbers as keys; {}; "
                            "each commit and each read of a row holds the spinlock; commits also set lock bits{}",
                            guarded_by(best_guard()), left_out()),
                {}};
  constexpr IndexValue kMix[] = {{"", &IndexFigure::puts_per_s}};
  const Way best = best_way();
  ELIDER_TRY(add_index(
      options, "the tree alone",
      [&best](IndexStudyOptions* study) {
        study->indexes = {KeyIndex::kOrdered};
        study->sync = best.sync;
        study->htm = best.htm;
        study->lookups_pct = kYcsbReadsPct;
        study->reads_before_puts = true;
      },
      kMix, &figure));
  Way spinlock = best;
  spinlock.name = "transactions, a spinlock for commits and reads";
  spinlock.protocol = Protocol::kSpinlock;
  if (!regions_run()) spinlock.sync = SyncPolicy::kElided, spinlock.htm = HtmBackend::kNone;
  Way transactions = best;
  transactions.name = "transactions";
  for (const Way& way : {transactions, spinlock}) {
    Series line{way.name, {}};
    for (const uint32_t threads : thread_counts(options)) {
      YcsbOptions ycsb;
      ycsb.records = records_of_index(options);
      ycsb.mix = "80/20";
      ycsb.value_bytes = 8;
      ycsb.key_index = KeyIndex::kOrdered;
      ycsb.hashed_keys = true;
      ycsb.common.threads = threads;
      ycsb.common.sync = way.sync;
      ycsb.common.htm = way.htm;
      ycsb.common.protocol = way.protocol;
      ycsb.common.elision.window_runs = 0;
      ELIDER_ASSIGN(Point point, run_ycsb_point(options, ycsb));
      line.points.push_back(std::move(point));
    }
    figure.series.push_back(std::move(line));
  }
  return figure;
}

Result<Figure> dbx_12(const StudyOptions& options) {
  Figure figure{"dbx-12",
                "NewOrder on B+-trees, on hash tables, and on both",
                "threads",
                "transactions/s",
                "with more than 4 threads, hash tables are faster than B+-trees, and a mix of both is the fastest",
                fmt::format("neither column groups nor additions, one warehouse per thread{}; "
                            "the secondary index of orders by customer, which NewOrder updates, is always a B+-tree",
                            sizes_and_guard(options)),
                {}};
  ELIDER_TRY(
      add_tpcc_on(options, {tpcc::IndexChoice::kBtree, tpcc::IndexChoice::kHash, tpcc::IndexChoice::kMixed}, {100, 0, 0, 0, 0}, &figure));
  return figure;
}

Result<Figure> dbx_13(const StudyOptions& options) {
  Figure figure{"dbx-13",
                "TPC-C on B+-trees, and with hash tables for tables that are not scanned",
                "threads",
                "transactions/s",
                "8 threads: 506,817 transactions/s with both kinds of index, 442,230/s with B+-trees",
                fmt::format("neither column groups nor additions, one warehouse per thread{}", sizes_and_guard(options)),
                {}};
  ELIDER_TRY(add_tpcc_on(options, {tpcc::IndexChoice::kBtree, tpcc::IndexChoice::kMixed}, tpcc::kStandardMix, &figure));
  return figure;
}

Result<Figure> dbx_14(const StudyOptions& options) {
  Figure figure{"dbx-14",
                "NewOrder and StockLevel, with and without snapshots",
                "threads",
                "transactions/s",
                "8 threads: 1.41 times the throughput with snapshots; 1.2% of the attempts abort with snapshots, and 10% without them",
                "",
                {}};
  const Way way = best_way();
  for (const bool snapshots : {true, false})
    ELIDER_TRY(add_tpcc(
        options, snapshots ? "snapshots" : "StockLevel validates what it reads", way,
        [&](CommonOptions*, tpcc::TpccOptions* tpcc) {
          tpcc->mix = {50, 0, 0, 0, 50};
          tpcc->snapshots = {snapshots, snapshots};
        },
        &figure, 2));
  std::string aborts;
  for (const Series& line : figure.series)
    aborts += fmt::format("{}{:.2g}", aborts.empty() ? "" : " and ", 100 * line.points.back().more["aborts_a_transaction"].get<double>());
  figure.here = fmt::format("half of each transaction; {}, two threads per warehouse; aborts per 100 commits with all threads: {}{}",
                            kPapersTables, aborts, sizes_and_guard(options));
  return figure;
}

// Runs only NewOrders, to measure the effect of hints (DBX: node buffers).
Result<Figure> dbx_6_2(const StudyOptions& options) {
  Figure figure{"dbx-6.2",
                "NewOrder: lookups that avoid a descent, and the effect on the throughput",
                "threads",
                "%",
                "on B+-trees, nearly 50% of NewOrder's lookups avoid a descent, and NewOrder becomes 6% faster",
                fmt::format("{}{}; lookups in batches (items and stocks) and in a worker's cache of rows are not counted; "
                            "without hints, workers do not cache rows",
                            kPapersTpcc, sizes_and_guard(options)),
                {}};
  Series hits{"lookups in the previous lookup's leaf", {}}, gain{"NewOrders with hints, relative to without", {}};
  for (const uint32_t threads : thread_counts(options)) {
    Point points[2];
    for (const bool hints : {false, true}) {
      ELIDER_ASSIGN(points[hints], run_tpcc(options, Protocol::kOcc, threads, threads, [&](CommonOptions* common, tpcc::TpccOptions* tpcc) {
                      as_the_paper(best_way(), common, tpcc);
                      common->parts.hints = hints;
                      tpcc->mix = {100, 0, 0, 0, 0};
                    }));
    }
    ELIDER_ASSIGN(const Point counted,
                  run_tpcc(options, Protocol::kOcc, threads, threads, [&](CommonOptions* common, tpcc::TpccOptions* tpcc) {
                    as_the_paper(best_way(), common, tpcc);
                    common->parts.counted_lookups = true;
                    tpcc->mix = {100, 0, 0, 0, 0};
                  }));
    const Json& lookups = counted.more["lookups"];
    const double all = lookups["of_trees"].get<double>();
    hits.points.push_back({static_cast<double>(threads), all == 0 ? 0 : 100 * lookups["leaves_kept"].get<double>() / all, lookups});
    gain.points.push_back({static_cast<double>(threads), 100 * points[1].y / points[0].y, Json::object()});
  }
  figure.series = {std::move(hits), std::move(gain)};
  return figure;
}

}  // namespace elider::bench::protocols
