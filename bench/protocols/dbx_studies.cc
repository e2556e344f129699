#include "bench/protocols/dbx_studies.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/common/spread.h"
#include "bench/index/index.h"
#include "bench/index/lock_free.h"
#include "bench/protocols/tpcc_point.h"
#include "bench/ycsb/ycsb.h"
#include "elider/regions.h"
#include "elider/try.h"

namespace elider::bench::protocols {

namespace {

// How shared nodes are guarded, and commits. Without regions there are fewer.
struct Way {
  std::string name;
  SyncPolicy sync;
  HtmBackend htm;
  Protocol protocol = Protocol::kOcc;
  bool copied_reads = false;
};

bool regions_run(HtmBackend* backend) {
  *backend = HtmBackend::kAutomatic;
  return find_regions(backend).ok();
}

std::vector<Way> ways_of_commits(bool with_spinlock, bool with_copied_reads) {
  std::vector<Way> ways;
  HtmBackend backend;
  if (regions_run(&backend)) {
    ways.push_back({"regions", SyncPolicy::kElided, backend});
    if (with_copied_reads)
      ways.push_back({"regions, but rows are copied and looked at again", SyncPolicy::kElided, backend, Protocol::kOcc, true});
    if (with_spinlock) ways.push_back({"regions in the trees, a spinlock for commits", SyncPolicy::kElided, backend, Protocol::kSpinlock});
  }
  ways.push_back({"optimistic latches", SyncPolicy::kOptimistic, HtmBackend::kAutomatic});
  if (with_spinlock) ways.push_back({"spinlocks", SyncPolicy::kElided, HtmBackend::kNone, Protocol::kSpinlock});
  return ways;
}

std::string left_out() {
  HtmBackend backend;
  return regions_run(&backend) ? "" : "; nothing runs regions here: their lines are left out";
}

// TPC-C as the paper has it.
void as_the_paper(const Way& way, CommonOptions* common, tpcc::TpccOptions* tpcc) {
  common->sync = way.sync;
  common->htm = way.htm;
  common->copied_reads = way.copied_reads;
  tpcc->index = tpcc::IndexChoice::kBtree;
  tpcc->groups = tpcc->additions = false;
}

using Set = std::function<void(CommonOptions*, tpcc::TpccOptions*)>;

// A line over threads, a warehouse each.
Status add_tpcc(const StudyOptions& options, std::string name, const Way& way, const Set& set, Figure* figure) {
  Series line{std::move(name), {}};
  for (const uint32_t threads : thread_counts(options)) {
    ELIDER_ASSIGN(Point point, run_tpcc(options, way.protocol, threads, threads, [&](CommonOptions* common, tpcc::TpccOptions* tpcc) {
                    as_the_paper(way, common, tpcc);
                    if (set) set(common, tpcc);
                  }));
    point.x = threads;
    line.points.push_back(std::move(point));
  }
  figure->series.push_back(std::move(line));
  return {};
}

constexpr const char* kPapersTpcc = "B+-trees, neither commit groups nor additions, a warehouse a thread";

// An index by itself: the median of what the figure says, over threads.
Status add_index(const StudyOptions& options, const std::string& name, const std::function<void(IndexStudyOptions*)>& choose,
                 double IndexFigure::*value, Figure* figure) {
  Series line{name, {}};
  for (const uint32_t threads : thread_counts(options)) {
    IndexStudyOptions study;
    study.shapes = {KeyShape::kSparse};
    study.records = options.quick ? 20'000 : 1'000'000;
    study.seconds = options.quick ? 0.05 : options.seconds;
    study.seed = options.seed;
    study.threads = threads;
    choose(&study);
    std::vector<double> values;
    for (uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
      ELIDER_ASSIGN(const auto figures, run_index_study(study));
      if (figures.empty()) return {};  // there is no such table in this build
      values.push_back(figures.front().*value);
    }
    line.points.push_back({static_cast<double>(threads), spread_of(values).median, {{"runs", values}}});
  }
  figure->series.push_back(std::move(line));
  return {};
}

// Lookups, and lookups beside keys that go and come again, of one kind of index under every way to guard it.
Status add_index_under_all(const StudyOptions& options, KeyIndex kind, Figure* figure) {
  std::vector<Way> ways;
  HtmBackend backend;
  if (regions_run(&backend)) ways.push_back({"regions", SyncPolicy::kElided, backend});
  ways.push_back({"optimistic latches", SyncPolicy::kOptimistic, HtmBackend::kAutomatic});
  ways.push_back({"latches", SyncPolicy::kLatched, HtmBackend::kAutomatic});
  for (const auto& [what, value] :
       {std::pair{"lookups", &IndexFigure::lookups_per_s}, std::pair{"half of them changes", &IndexFigure::mixed_per_s}}) {
    for (const Way& way : ways)
      ELIDER_TRY(add_index(
          options, fmt::format("{}, {}", way.name, what),
          [&](IndexStudyOptions* study) {
            study->indexes = {kind};
            study->sync = way.sync;
            study->htm = way.htm;
          },
          value, figure));
    if (kind == KeyIndex::kHashed)
      ELIDER_TRY(add_index(
          options, fmt::format("liburcu's lock-free table, {}", what), [](IndexStudyOptions* study) { study->lock_free = true; }, value,
          figure));
  }
  return {};
}

}  // namespace

Result<Figure> dbx_5(const StudyOptions& options) {
  Figure figure{"dbx-5",
                "TPC-C with and without regions",
                "threads",
                "transactions/s",
                "442,230 a second of 8 threads, 1.4 times Silo with Masstree's tree",
                fmt::format("{}{}{}; Silo is to be run beside it", kPapersTpcc, sizes_of(options), left_out()),
                {}};
  for (const Way& way : ways_of_commits(false, true)) ELIDER_TRY(add_tpcc(options, way.name, way, {}, &figure));
  return figure;
}

Result<Figure> dbx_6(const StudyOptions& options) {
  Figure figure{"dbx-6",
                "The B+-tree by itself",
                "threads",
                "operations/s",
                "7.6% faster than Masstree's, 8 threads",
                fmt::format("random numbers as keys{}", left_out()),
                {}};
  ELIDER_TRY(add_index_under_all(options, KeyIndex::kOrdered, &figure));
  return figure;
}

Result<Figure> dbx_7(const StudyOptions& options) {
  Figure figure{"dbx-7",
                "The hash table by itself",
                "threads",
                "operations/s",
                "19% slower than one without locks",
                fmt::format("random numbers as keys{}", left_out()),
                {}};
  ELIDER_TRY(add_index_under_all(options, KeyIndex::kHashed, &figure));
  return figure;
}

Result<Figure> dbx_8(const StudyOptions& options) {
  Figure figure{"dbx-8",
                "TPC-C over threads, and with a spinlock",
                "threads",
                "transactions/s",
                "442,230 a second of 8 threads; with a spinlock it does not scale beyond 4",
                fmt::format("{}{}{}; under the spinlock the lock bits of rows are set besides", kPapersTpcc, sizes_of(options), left_out()),
                {}};
  for (const Way& way : ways_of_commits(true, false)) ELIDER_TRY(add_tpcc(options, way.name, way, {}, &figure));
  return figure;
}

// One read a transaction, and the same lookups in the tree alone.
Result<Figure> dbx_11(const StudyOptions& options) {
  Figure figure{"dbx-11",
                "Small transactions beside the bare tree",
                "threads",
                "reads/s",
                "20% of overhead, 8 threads",
                "one read a transaction, random numbers as keys",
                {}};
  ELIDER_TRY(add_index(
      options, "the tree alone",
      [](IndexStudyOptions* study) {
        study->indexes = {KeyIndex::kOrdered};
        study->sync = SyncPolicy::kOptimistic;
      },
      &IndexFigure::lookups_per_s, &figure));
  Series line{"transactions", {}};
  for (const uint32_t threads : thread_counts(options)) {
    YcsbOptions ycsb;
    ycsb.records = options.quick ? 20'000 : 1'000'000;
    ycsb.mix = "100/0";
    ycsb.value_bytes = 8;
    ycsb.key_index = KeyIndex::kOrdered;
    ycsb.hashed_keys = true;
    ycsb.skip_check = true;
    ycsb.common.threads = threads;
    ycsb.common.seconds = options.quick ? 0.1 : options.seconds;
    ycsb.common.seed = options.seed;
    ycsb.common.quiet = true;
    resolve(ycsb);
    std::vector<double> values;
    for (uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
      ELIDER_ASSIGN(const auto outcome, run_ycsb(ycsb));
      values.push_back(outcome.report.result.throughput());
    }
    line.points.push_back({static_cast<double>(threads), spread_of(values).median, {{"runs", values}}});
  }
  figure.series.push_back(std::move(line));
  return figure;
}

Result<Figure> dbx_12(const StudyOptions& options) {
  Figure figure{"dbx-12",
                "TPC-C on B+-trees, and on hash tables where nothing is scanned",
                "threads",
                "transactions/s",
                "506,817 a second mixed, 442,230 B+-trees, 8 threads",
                fmt::format("a warehouse a thread{}; no TPC-C of hash tables alone, for it scans", sizes_of(options)),
                {}};
  const Way way = ways_of_commits(false, false).front();
  for (const tpcc::IndexChoice index : {tpcc::IndexChoice::kBtree, tpcc::IndexChoice::kMixed})
    ELIDER_TRY(add_tpcc(
        options, index == tpcc::IndexChoice::kBtree ? "B+-trees" : "mixed", way,
        [&](CommonOptions*, tpcc::TpccOptions* tpcc) { tpcc->index = index; }, &figure));
  return figure;
}

Result<Figure> dbx_14(const StudyOptions& options) {
  Figure figure{"dbx-14",
                "NewOrder and StockLevel, with and without snapshots",
                "threads",
                "transactions/s",
                "1.41 times with snapshots, 8 threads",
                fmt::format("half of each; {}{}", kPapersTpcc, sizes_of(options)),
                {}};
  const Way way = ways_of_commits(false, false).front();
  for (const bool snapshots : {true, false})
    ELIDER_TRY(add_tpcc(
        options, snapshots ? "snapshots" : "StockLevel validates what it reads", way,
        [&](CommonOptions*, tpcc::TpccOptions* tpcc) {
          tpcc->mix = {50, 0, 0, 0, 50};
          tpcc->snapshots = {snapshots, snapshots};
        },
        &figure));
  return figure;
}

}  // namespace elider::bench::protocols
