// What a comparison found, as a table and as JSON.
#include <algorithm>

#include <fmt/format.h>

#include "bench/common/environment.h"
#include "bench/compare/compare.h"

namespace elider::bench {

namespace {

Json spread_json(const Spread& spread) { return {{"min", spread.min}, {"median", spread.median}, {"max", spread.max}}; }

Json mix_json(const CompareMix& mix) {
  Json stores = Json::object();
  Json ratios = Json::object();
  for (const CompareSeries& series : mix.series) {
    Json of_store = spread_json(spread_of(series.throughput));
    of_store["runs"] = series.throughput;
    stores[series.store] = {{"throughput_txns_per_s", of_store}};
    if (&series != &mix.series.front()) ratios[series.store] = spread_json(ratio_of(mix.series.front(), series));
  }
  return {{"mix", mix.mix}, {"stores", stores}, {"elider_to", ratios}};
}

}  // namespace

Spread ratio_of(const CompareSeries& a, const CompareSeries& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(a.throughput.size(), b.throughput.size()); ++i)
    ratios.push_back(b.throughput[i] > 0 ? a.throughput[i] / b.throughput[i] : 0);
  return spread_of(std::move(ratios));
}

void print_compare(std::FILE* out, const CompareOptions& options, const CompareOutcome& outcome) {
  const YcsbOptions& ycsb = options.ycsb;
  fmt::print(out, "compare: {} records of {} bytes, {}, {} operation{} a transaction, {} thread{}, {} x {} s\n",
             short_number(static_cast<double>(ycsb.records)), ycsb.value_bytes, name_of(ycsb.distribution), ycsb.operations,
             ycsb.operations == 1 ? "" : "s", ycsb.common.threads, ycsb.common.threads == 1 ? "" : "s", options.repeat,
             ycsb.common.seconds);
  fmt::print(out, "  {:<8} {:<8} {:>12} {:>12} {:>12}   {}\n", "mix", "store", "min txn/s", "median", "max",
             "elider is faster by (min/median/max)");
  for (const CompareMix& mix : outcome.mixes)
    for (const CompareSeries& series : mix.series) {
      const Spread spread = spread_of(series.throughput);
      fmt::print(out, "  {:<8} {:<8} {:>12.0f} {:>12.0f} {:>12.0f}", mix.mix, series.store, spread.min, spread.median, spread.max);
      const Spread ratio = ratio_of(mix.series.front(), series);
      if (&series == &mix.series.front()) fmt::print(out, "\n");
      else fmt::print(out, "   {:.2f} / {:.2f} / {:.2f}\n", ratio.min, ratio.median, ratio.max);
    }
  for (const auto& [name, about] : outcome.stores) fmt::print(out, "  {:<8} {}\n", name, about);
  for (const std::string& why : outcome.skipped) fmt::print(out, "  left out {}\n", why);
  const Environment machine = environment();
  fmt::print(out, "  machine  {}, {} processors, huge pages {}; commit {}, {}\n", machine.cpu, machine.cpus, machine.huge_pages,
             machine.commit, machine.build);
}

Json to_json(const CompareOptions& options, const CompareOutcome& outcome) {
  const YcsbOptions& ycsb = options.ycsb;
  const Environment machine = environment();
  Json results = Json::array();
  for (const CompareMix& mix : outcome.mixes) results.push_back(mix_json(mix));
  Json stores = Json::object();
  for (const auto& [name, about] : outcome.stores) stores[name] = about;
  const double first = outcome.mixes.empty() ? 0 : spread_of(outcome.mixes.front().series.front().throughput).median;
  return {{"throughput_txns_per_s", first},
          {"results", results},
          {"stores", stores},
          {"left_out", outcome.skipped},
          {"configuration",
           {{"benchmark", "compare"},
            {"records", ycsb.records},
            {"value_bytes", ycsb.value_bytes},
            {"distribution", name_of(ycsb.distribution)},
            {"theta", ycsb.theta},
            {"operations", ycsb.operations},
            {"batch", ycsb.batch},
            {"index", ycsb.key_index == KeyIndex::kHashed ? "hash" : "btree"},
            {"threads", ycsb.common.threads},
            {"seconds", ycsb.common.seconds},
            {"repeat", options.repeat},
            {"seed", ycsb.common.seed},
            {"pin", ycsb.common.pin},
            {"sync", std::string(elider::name_of(ycsb.common.sync))},
            {"commit", machine.commit},
            {"compiler", machine.compiler},
            {"build", machine.build},
            {"machine",
             {{"cpu", machine.cpu},
              {"cpus", machine.cpus},
              {"system", machine.system},
              {"memory_bytes", machine.memory_bytes},
              {"transparent_huge_pages", machine.huge_pages}}}}}};
}

}  // namespace elider::bench
