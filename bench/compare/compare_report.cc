// Prints the results of a comparison as a table, and writes them as JSON.
#include <algorithm>

#include <fmt/format.h>

#include "tools/common/environment.h"
#include "bench/compare/compare.h"
#include "bench/ycsb/ycsb.h"
#include "bench/common/wrapped_output.h"

namespace elider::bench {

namespace {

Json spread_json(const Spread& spread) { return {{"min", spread.min}, {"median", spread.median}, {"max", spread.max}}; }

Json run_json(const CompareRun& run) {
  Json stores = Json::object();
  Json ratios = Json::object();
  for (const CompareSeries& series : run.series) {
    Json of_store = spread_json(spread_of(series.throughput));
    of_store["runs"] = series.throughput;
    stores[series.store] = {{"throughput_txns_per_s", of_store}, {"inserted_rows", series.inserted}};
    if (&series != &run.series.front()) ratios[series.store] = spread_json(ratio_of(run.series.front(), series));
  }
  Json json = workload_json(run.workload);
  json.update({{"stores", stores}, {"elider_to", ratios}});
  return json;
}

// Returns the distribution if all workloads have the same one, and otherwise "by workload".
std::string distribution_of(const CompareOutcome& outcome) {
  std::string common;
  for (const CompareRun& run : outcome.runs) {
    const std::string own = name_of(run.workload.distribution);
    if (!common.empty() && common != own) return "by workload";
    common = own;
  }
  return common;
}

}  // namespace

Spread ratio_of(const CompareSeries& a, const CompareSeries& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(a.throughput.size(), b.throughput.size()); ++i)
    ratios.push_back(b.throughput[i] > 0 ? a.throughput[i] / b.throughput[i] : 0);
  return spread_of(std::move(ratios));
}

void print_compare(std::FILE* terminal, const CompareOptions& options, const CompareOutcome& outcome) {
  const WrappedOutput wrapped(terminal, 4);
  std::FILE* const out = wrapped.file();
  const YcsbOptions& ycsb = options.ycsb;
  fmt::print(out, "compare: {} records of {} bytes, {} operation{} per transaction, {} thread{}, {} x {} s\n",
             short_number(static_cast<double>(ycsb.records)), ycsb.value_bytes, ycsb.operations, ycsb.operations == 1 ? "" : "s",
             ycsb.common.threads, ycsb.common.threads == 1 ? "" : "s", options.repeat, ycsb.common.seconds);
  fmt::print(out, "  {:<8} {:<7} {:<7} {:>9} {:>9} {:>9}  {}\n", "workload", "keys", "store", "min txn/s", "median", "max",
             "elider is faster by");
  for (const CompareRun& run : outcome.runs)
    for (const CompareSeries& series : run.series) {
      const YcsbOptions& workload = run.workload;
      const Spread spread = spread_of(series.throughput);
      fmt::print(out, "  {:<8} {:<7} {:<7} {:>9.0f} {:>9.0f} {:>9.0f}", workload.workload.empty() ? workload.mix : workload.workload,
                 name_of(workload.distribution), series.store, spread.min, spread.median, spread.max);
      const Spread ratio = ratio_of(run.series.front(), series);
      if (&series == &run.series.front()) fmt::print(out, "\n");
      else fmt::print(out, "  {:.2f}/{:.2f}/{:.2f}\n", ratio.min, ratio.median, ratio.max);
    }
  if (outcome.interrupted) fmt::print(out, "  INTERRUPTED: only complete repetitions are shown\n");
  for (const auto& [name, about] : outcome.stores) fmt::print(out, "  {:<8} {}\n", name, about);
  for (const std::string& why : outcome.skipped) fmt::print(out, "  left out {}\n", why);
  const Environment machine = environment();
  fmt::print(out, "  machine  {}, {} processors, huge pages {}; commit {}, {}\n", machine.cpu, machine.cpus, machine.huge_pages,
             machine.commit, machine.build);
}

Json to_json(const CompareOptions& options, const CompareOutcome& outcome) {
  const YcsbOptions& ycsb = options.ycsb;
  Json results = Json::array();
  for (const CompareRun& run : outcome.runs) results.push_back(run_json(run));
  Json stores = Json::object();
  for (const auto& [name, about] : outcome.stores) stores[name] = about;
  const double first = outcome.runs.empty() ? 0 : spread_of(outcome.runs.front().series.front().throughput).median;
  Json configuration = {{"benchmark", "compare"},
                        {"records", ycsb.records},
                        {"value_bytes", ycsb.value_bytes},
                        {"distribution", distribution_of(outcome)},
                        {"theta", ycsb.theta},
                        {"operations", ycsb.operations},
                        {"batch", ycsb.batch},
                        {"index", name_of(ycsb.key_index)},
                        {"threads", ycsb.common.threads},
                        {"seconds", ycsb.common.seconds},
                        {"repeat", options.repeat},
                        {"seed", ycsb.common.seed},
                        {"pin", ycsb.common.pin},
                        {"data", ycsb.common.data.folders},
                        {"durability", std::string(name_of(durability_of(options)))},
                        {"resume", ycsb.common.data.resume},
                        {"sync", std::string(elider::name_of(ycsb.common.sync))}};
  add_environment(configuration);
  Json json = {{"throughput_txns_per_s", first},
               {"results", results},
               {"stores", stores},
               {"left_out", outcome.skipped},
               {"configuration", configuration}};
  if (outcome.interrupted) json["interrupted"] = true;
  return json;
}

}  // namespace elider::bench
