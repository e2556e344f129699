// The papers' studies of databases that use hardware transactions: DBX, figures 9, 10 and 15
// (sections 7.3 and 7.5); DBX-TC, figure 1c (section 2.2); HyPer-HTM, figures 9 and 21 (sections
// 3.3 and 6.2).
#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "lab/htm/studies.h"
#include "bench/tpcc/tpcc.h"
#include "bench/ycsb/ycsb.h"
#include "elider/options.h"
#include "lab/studies/try_region.h"

namespace elider::bench::htm {

namespace {

// Counts how the sections of a run ended, at one site or at all sites.
struct Sections {
  uint64_t regions = 0, aborted = 0, took_lock = 0, runs = 0;
  std::array<uint64_t, kRegionCauseCount> causes{};
};
Sections sections_of(const RunResult& result, const std::string& site = "") {
  Sections sum;
  for (const Statistics::Elision& each : result.elision) {
    if (!site.empty() && each.site != site) continue;
    sum.regions += each.attempts();
    sum.aborted += each.aborts_total();
    sum.took_lock += each.fallbacks + each.direct;
    sum.runs += each.commits + each.in_vain + each.fallbacks + each.direct;
    for (size_t cause = 0; cause < kRegionCauseCount; ++cause) sum.causes[cause] += each.aborts[cause];
  }
  return sum;
}

double percent(uint64_t part, uint64_t whole) { return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole); }

Json more_of(const RunResult& result, const Sections& sections) {
  Json aborts = Json::object();
  for (size_t cause = 0; cause < kRegionCauseCount; ++cause) aborts[std::string(region_cause_name(cause))] = sections.causes[cause];
  return {{"throughput_txns_per_s", result.throughput()}, {"regions", sections.regions}, {"took_lock", sections.took_lock},
          {"runs", sections.runs},                        {"aborts", aborts}};
}

// Returns 1, 2, 4 and further powers of two up to the maximum number of threads, and this maximum.
std::vector<uint32_t> thread_counts(const StudyOptions& options) {
  std::vector<uint32_t> counts;
  for (uint32_t threads = 1; threads < options.threads; threads *= 2) counts.push_back(threads);
  counts.push_back(options.threads);
  return counts;
}

CommonOptions common_of(const StudyOptions& options, uint32_t threads) {
  CommonOptions common;
  common.threads = threads;
  common.seconds = options.seconds;
  common.seed = options.seed;
  common.sync = SyncPolicy::kElided;
  common.htm = options.htm;
  common.elision.window_runs = 0;  // as in the papers, sites never stop using hardware transactions
  common.data = options.data;
  common.history_file = options.history_file;
  common.quiet = true;
  return common;
}

// Runs TPC-C with the given number of warehouses and checks its consistency conditions. The
// warehouses are small in a quick run and on the emulator.
Result<RunResult> run_tpcc(const StudyOptions& options, const CommonOptions& common, uint32_t warehouses, bool snapshots = true) {
  tpcc::TpccOptions tpcc;
  tpcc.sizes.warehouses = warehouses;
  tpcc.snapshots = {snapshots, snapshots};
  tpcc.index = options.mixed_indexes ? tpcc::IndexChoice::kMixed : tpcc::IndexChoice::kBtree;
  tpcc.groups = options.groups;
  tpcc.additions = options.additions;
  if (options.quick || options.emulated()) {
    tpcc.sizes.items = 1000;
    tpcc.sizes.customers = 60;
  }
  auto outcome = tpcc::measure_tpcc(common, tpcc);
  empty_data_folders(common.data);
  if (!outcome.ok()) return outcome.status();
  if (!outcome->ok) return outcome->status();
  return std::move(outcome->report.result);
}

// Returns `policy` with the same limit for every cause of aborts and for trees of any height.
ElisionPolicy uniform(ElisionPolicy policy, uint32_t restarts) {
  policy.conflict_aborts_max = policy.capacity_aborts_max = policy.system_aborts_max = restarts;
  policy.less_for_tall_trees = false;
  return policy;
}

// Returns a note for Figure::here if run_tpcc() uses small warehouses, else "".
std::string of_small_warehouses(const StudyOptions& options) {
  return options.quick || options.emulated() ? "; the warehouses have 1000 items and 600 customers" : "";
}

}  // namespace

Result<Figure> dbx_9(const StudyOptions& options) {
  Figure figure{"dbx-9", "TPC-C: aborted regions and acquired locks, by number of threads", "threads", "%",
                "aborted regions: 0.05% with 1 thread, 1.4% with 8; locks per transaction: 0.001% and 0.002%",
                "commits that are too large to try a region count as locks" + of_small_warehouses(options), {}};
  Series aborted{"aborted regions", {}}, locks{"locks per transaction", {}};
  for (const uint32_t threads : thread_counts(options)) {
    auto result = run_tpcc(options, common_of(options, threads), threads);
    if (!result.ok()) return result.status();
    const Sections sections = sections_of(*result);
    aborted.points.push_back({static_cast<double>(threads), percent(sections.aborted, sections.regions), more_of(*result, sections)});
    locks.points.push_back({static_cast<double>(threads), percent(sections.took_lock, result->engine_commits), Json::object()});
  }
  figure.series = {std::move(aborted), std::move(locks)};
  return figure;
}

// As in the paper, read-only transactions do not use snapshots.
Result<Figure> dbx_10(const StudyOptions& options) {
  Figure figure{"dbx-10", "TPC-C: transactions that acquire a lock, with one region each and with small regions", "threads",
                "locks per transaction in %", "for whole transactions: 42% with 1 thread, 82% with 8",
                "StockLevel and OrderStatus validate what they read" + of_small_warehouses(options), {}};
  for (const Protocol protocol : {Protocol::kWholeTransaction, Protocol::kOcc}) {
    Series series{std::string(name_of(protocol)), {}};
    for (const uint32_t threads : thread_counts(options)) {
      CommonOptions common = common_of(options, threads);
      common.protocol = protocol;
      auto result = run_tpcc(options, common, threads, false);
      if (!result.ok()) return result.status();
      const Sections sections = sections_of(*result, protocol == Protocol::kWholeTransaction ? "whole transaction" : "");
      const uint64_t transactions = protocol == Protocol::kWholeTransaction ? sections.runs : result->engine_commits;
      series.points.push_back({static_cast<double>(threads), percent(sections.took_lock, transactions), more_of(*result, sections)});
    }
    figure.series.push_back(std::move(series));
  }
  return figure;
}

// Each step includes all changes of the previous steps.
Result<Figure> dbx_15(const StudyOptions& options) {
  Figure figure{"dbx-15",
                "TPC-C: the contribution of each part",
                "run",
                "transactions/s",
                "an allocator, regions, the fallback handler, the node buffer, and no reclamation each improve the throughput; "
                "snapshots cost a little",
                fmt::format("{} threads, one warehouse each; commits under the spinlock also set lock bits; "
                            "the step that runs commits as regions also runs reads as regions{}",
                            options.threads, of_small_warehouses(options)),
                {}};
  constexpr uint32_t kUniform = 100;
  struct Step {
    const char* name;
    Protocol protocol;
    bool own_allocators, by_cause, hints, reclaims, snapshots;
  };
  constexpr Step kSteps[] = {
      {"commits and reads under a spinlock, memory under one lock", Protocol::kSpinlock, false, false, false, true, true},
      {"+ an allocator per thread", Protocol::kSpinlock, true, false, false, true, true},
      {"+ commits as regions, each tried 100 times", Protocol::kOcc, true, false, false, true, true},
      {"+ bounds by the cause of aborts", Protocol::kOcc, true, true, false, true, true},
      {"+ hints", Protocol::kOcc, true, true, true, true, true},
      {"+ no reclamation", Protocol::kOcc, true, true, true, false, true},
      {"+ no snapshots", Protocol::kOcc, true, true, true, false, false}};
  for (const Step& step : kSteps) {
    CommonOptions common = common_of(options, options.threads);
    common.protocol = step.protocol;
    if (!step.by_cause) common.elision = uniform(common.elision, kUniform);
    common.parts = {.hints = step.hints, .reclamation = step.reclaims, .own_allocators = step.own_allocators};
    auto result = run_tpcc(options, common, options.threads, step.snapshots);
    if (!result.ok()) return result.status();
    figure.series.push_back({step.name, {{1, result->throughput(), more_of(*result, sections_of(*result))}}});
  }
  return figure;
}

Result<Figure> dbx_tc_1c(const StudyOptions& options) {
  Figure figure{"dbx-tc-1c", "TPC-C with whole transactions as regions, by contention", "threads",
                options.emulated() ? "locks per transaction in %" : "transactions/s",
                "hardly scales, with one warehouse per thread or with one in total; with 1 thread, 88% acquire the lock",
                "a transaction acquires the lock after its first capacity abort; writes are buffered" + of_small_warehouses(options), {}};
  for (const bool local : {true, false}) {
    Series series{local ? "one warehouse per thread" : "one warehouse", {}};
    for (const uint32_t threads : thread_counts(options)) {
      CommonOptions common = common_of(options, threads);
      common.protocol = Protocol::kWholeTransaction;
      common.elision.capacity_aborts_max = 0;
      auto result = run_tpcc(options, common, local ? threads : 1, false);
      if (!result.ok()) return result.status();
      const Sections sections = sections_of(*result, "whole transaction");
      const double share = percent(sections.took_lock, sections.runs);
      series.points.push_back(
          {static_cast<double>(threads), options.emulated() ? share : result->throughput(), more_of(*result, sections)});
    }
    figure.series.push_back(std::move(series));
  }
  return figure;
}

// This workload only reads, so most aborts are transient, and a retry usually succeeds. On the
// emulator, such aborts must be configured.
Result<Figure> hyper_9(const StudyOptions& options) {
  Figure figure{"hyper-9", "lookups in a B+-tree, by restarts before the lock is acquired", "threads",
                options.emulated() ? "sections that took the lock in %" : "transactions/s",
                "28 cores, 64 million entries: lookups scale with 7 restarts or more, but not with fewer", "", {}};
  YcsbOptions ycsb;
  ycsb.records = options.quick || options.emulated() ? std::min<uint64_t>(options.records, 20'000) : options.records;
  ycsb.mix = "100/0";
  ycsb.key_index = KeyIndex::kOrdered;
  ycsb.value_bytes = 8;
  ycsb.skip_check = true;
  figure.here = fmt::format("{} entries, one per transaction", ycsb.records);
  if (options.emulated()) {
    static_cast<void>(configure_emulator("spurious_abort_rate=0.05"));
    figure.here += "; 5% of all regions abort spuriously";
  }
  Status status;
  const auto add_series = [&](std::string name, const std::function<void(CommonOptions*)>& choose) {
    Series series{std::move(name), {}};
    for (const uint32_t threads : thread_counts(options)) {
      ycsb.common = common_of(options, threads);
      choose(&ycsb.common);
      resolve(ycsb);
      auto outcome = run_ycsb(ycsb);
      empty_data_folders(ycsb.common.data);
      if (!outcome.ok()) {
        status = outcome.status();
        break;
      }
      const RunResult& result = outcome->report.result;
      const Sections sections = sections_of(result);
      const double share = percent(sections.took_lock, sections.runs);
      series.points.push_back({static_cast<double>(threads), options.emulated() ? share : result.throughput(), more_of(result, sections)});
    }
    figure.series.push_back(std::move(series));
  };
  for (const uint32_t restarts : {0u, 1u, 3u, 7u, 20u, 30u})
    add_series(fmt::format("{} restarts", restarts), [restarts](CommonOptions* common) {
      common->elision = uniform(common->elision, restarts);
    });
  // The paper also measures a tree without synchronization. Among correct indexes, this one is the
  // closest to it, because its readers do not write to shared memory.
  if (!options.emulated())
    add_series("optimistic latches", [](CommonOptions* common) {
      common->sync = SyncPolicy::kOptimistic;
      common->htm = HtmBackend::kAutomatic;
    });
  if (options.emulated()) static_cast<void>(configure_emulator(""));
  if (!status.ok()) return status;
  return figure;
}

Result<Figure> hyper_21(const StudyOptions& options) {
  Figure figure{"hyper-21", "TPC-C: sections that acquire their lock, and aborted regions, by restarts", "restarts", "%",
                "4 threads: 6% of the sections acquire their lock without restarts, and almost none with a few", "", {}};
  figure.here = fmt::format("{} threads, one warehouse each, tables without zones{}", options.threads, of_small_warehouses(options));
  Series locks{"sections that took the lock", {}}, aborted{"aborted regions", {}};
  for (const uint32_t restarts : {0u, 1u, 2u, 3u, 5u, 7u, 10u}) {
    CommonOptions common = common_of(options, options.threads);
    common.elision = uniform(common.elision, restarts);
    auto result = run_tpcc(options, common, options.threads);
    if (!result.ok()) return result.status();
    const Sections sections = sections_of(*result);
    locks.points.push_back({static_cast<double>(restarts), percent(sections.took_lock, sections.runs), more_of(*result, sections)});
    aborted.points.push_back({static_cast<double>(restarts), percent(sections.aborted, sections.regions), Json::object()});
  }
  figure.series = {std::move(locks), std::move(aborted)};
  return figure;
}

}  // namespace elider::bench::htm
