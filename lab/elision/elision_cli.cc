// The command `elider-lab elision` shows how many aborts a section should tolerate before it
// acquires its lock. It runs one workload with several bounds on the number of aborts, and several
// numbers of threads. The yDB paper compares bounds of 3 and 100, and HyPer-HTM bounds from 3 to
// 100 (section 3.3).
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lab/commands.h"
#include "tools/common/environment.h"
#include "tools/common/interrupt.h"
#include "bench/ycsb/ycsb.h"
#include "lab/studies/try_region.h"

namespace elider::bench {

namespace {

constexpr uint32_t kBoundMax = 1'000'000;
constexpr uint64_t kRecordsMax = 100'000'000;

struct ElisionStudy {
  YcsbOptions ycsb;
  std::vector<uint32_t> bounds = {3, 10, 20, 30, 100};
  std::vector<uint32_t> threads = {1};
  uint32_t repeat = 1;
};

// Returns the sum of the counters of all sites.
Statistics::Elision sum_of(const RunResult& result) {
  Statistics::Elision sum;
  for (const Statistics::Elision& site : result.elision) {
    sum.commits += site.commits;
    sum.in_vain += site.in_vain;
    sum.fallbacks += site.fallbacks;
    sum.direct += site.direct;
    for (size_t cause = 0; cause < kRegionCauseCount; ++cause) sum.aborts[cause] += site.aborts[cause];
  }
  return sum;
}

double percent(uint64_t part, uint64_t whole) { return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole); }

void print_row(uint32_t threads, uint32_t bound, const RunResult& result) {
  const Statistics::Elision sum = sum_of(result);
  const uint64_t runs = sum.commits + sum.in_vain + sum.fallbacks + sum.direct;
  fmt::print("  {:>7} {:>8} {:>12.0f} {:>14} {:>10.3f} {:>10.3f} {:>10.3f}\n", threads, bound, result.throughput(), sum.attempts(),
             percent(sum.aborts_total(), sum.attempts()), percent(sum.fallbacks, runs), percent(sum.direct, runs));
}

// Runs all bounds once in each round, so that a temporary slowdown of the machine affects all of
// them. Each run creates its own database or, with --resume, recovers the previous run's database
// and continues with it.
Status study(ElisionStudy& options) {
  CommonOptions& common = options.ycsb.common;
  const bool table = !common.quiet;
  if (table)
    fmt::print("  {:>7} {:>8} {:>12} {:>14} {:>10} {:>10} {:>10}\n", "threads", "bound", "txn/s", "regions", "aborted %", "fell bk %",
               "direct %");
  Json runs = Json::array();
  std::vector<std::pair<uint32_t, uint32_t>> points;  // threads and bound
  for (uint32_t round = 0; round < options.repeat; ++round)
    for (uint32_t threads : options.threads)
      for (uint32_t bound : options.bounds) points.emplace_back(threads, bound);
  {
    uint32_t number = 0;
    for (const auto& [threads, bound] : points) {
      if (interrupted()) break;
      const uint32_t round = number++ / static_cast<uint32_t>(points.size() / options.repeat);
      common.threads = threads;
      common.elision.conflict_aborts_max = common.elision.capacity_aborts_max = common.elision.system_aborts_max = bound;
      auto outcome = run_ycsb(options.ycsb);
      if (!common.data.resume) empty_data_folders(common.data);
      if (!outcome.ok()) return outcome.status();
      if (!outcome->ok) return Status::invalid_argument(fmt::format("with the bound {}, the final values are wrong", bound));
      if (table) print_row(threads, bound, outcome->report.result);
      Json run = to_json(common, outcome->report);
      run["configuration"]["benchmark"] = "elision";
      run["configuration"]["aborts_max"] = bound;
      run["configuration"]["round"] = round;
      runs.push_back(std::move(run));
    }
  }
  Json document = {
      {"benchmark", "elision"}, {"htm_used", runs.empty() ? Json() : runs[0]["configuration"]["htm_used"]}, {"runs", runs}};
  if (interrupted()) document["interrupted"] = true;
  if (table && interrupted()) fmt::print("  INTERRUPTED  the last row is from a shorter run, and later runs are missing\n");
  const uint32_t processors = std::max(1u, std::thread::hardware_concurrency());
  if (table && *std::max_element(options.threads.begin(), options.threads.end()) > processors + (processors + 1) / 2)
    fmt::print("  {} processors: threads take turns if there are more than 1.5 per processor\n", processors);
  if (table) fmt::print("  regions by   {}; {}\n", document["htm_used"].get<std::string>(), environment().cpu);
  return common.json_file.empty() ? Status() : write_json(common.json_file, document);
}

}  // namespace

void add_elision(Command bench) {
  auto options = std::make_shared<ElisionStudy>();
  Command command = bench.add("elision", "Measure one YCSB workload under --sync elided, with several bounds on aborts");
  YcsbOptions& ycsb = options->ycsb;
  ycsb.common.sync = SyncPolicy::kElided;
  ycsb.key_index = KeyIndex::kOrdered;  // as in the papers
  ycsb.common.elision.less_for_tall_trees = false;  // use exactly the given bound for trees of any height
  ycsb.common.elision.window_runs = 0;              // sites never stop using hardware transactions
  command.option("--bounds", options->bounds, "Aborts by conflict, capacity or the system before a section acquires its lock")
      .between_commas()
      .in(0u, kBoundMax)
      .shows_default();
  command.option("--repeat", options->repeat, "Rounds of all bounds (1 to 100)").in(1u, 100u).shows_default();
  command.option("--value-bytes", ycsb.value_bytes, "Size of a value in bytes; 8 in yDB's study").in(8u, kRowBytesMax).shows_default();
  command.option("--records", ycsb.records, "Records loaded").in(uint64_t{1}, kRecordsMax).shows_default();
  command.option("--mix", ycsb.mix, "Percentages of reads/read-modify-writes").shows_default();
  command.option("--operations", ycsb.operations, "Operations per transaction (1 to 16)").in(1u, kOperationsMax).shows_default();
  add_index_option(command, ycsb.key_index, "hash, btree or art [btree]");
  command.option("--distribution", ycsb.distribution_name, "Distribution of keys: uniform, zipfian, latest [uniform]").type("NAME");
  command.option("--threads", options->threads, "Numbers of worker threads (1 to 256), measured one after the other")
      .between_commas()
      .in(1u, 256u)
      .shows_default();
  add_options_but_threads(command, ycsb.common);
  command.footer(
      "  elider-lab elision --value-bytes 8 --records 10000000 --threads 1,2,4,8 --bounds 3,100\n\n"
      "The bounds do not depend on the height of the tree, and sites are never turned off, so runs differ only in the bound.\n"
      "The last line names the backend that ran the regions. Results of the emulator do not apply to processors.\n"
      "Exit code 3: this machine cannot run regions (see elider hardware). --htm always-aborts measures the cost of trying.\n"
      "With --data, each run begins with an empty folder, and empties it when it ends. With --resume, all runs continue with\n"
      "an existing database that elider-lab elision --resume or elider bench ycsb --index btree created with the same --records.");
  command.runs([options] {
    CommonOptions& common = options->ycsb.common;
    common.threads = *std::max_element(options->threads.begin(), options->threads.end());
    check_common_options(common);
    if (common.aborts_max != CommonOptions::kByCause) refuse_option("--aborts-max", "cannot be set here; use --bounds");
    if (common.sync != SyncPolicy::kElided) refuse_option("--sync", "must be elided in this study");
    resolve(options->ycsb);
    if (Status status = find_regions(&common.htm); !status.ok()) {
      fmt::print(stderr, "elider-lab elision: {}\n", status.message());
      set_exit_code(kExitUnsupported);
      return;
    }
    if (Status status = study(*options); !status.ok()) {
      fmt::print(stderr, "elider-lab elision: {}\n", status.message());
      set_exit_code(kExitFailed);
    }
  });
}

}  // namespace elider::bench
