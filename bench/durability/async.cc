// TPC-C with `async` against the same without a log.
#include <fmt/format.h>

#include "bench/durability/durability.h"
#include "bench/tpcc/tpcc.h"

namespace elider::bench {

namespace {

Result<tpcc::TpccOutcome> run_once(const DurabilityOptions& options, uint32_t threads, const std::string& folder) {
  CommonOptions common = options.common;
  common.threads = threads;
  common.quiet = true;
  common.data.durability = Durability::kAsync;
  common.data.folders.clear();
  if (!folder.empty()) common.data.folders.push_back(folder);
  tpcc::TpccOptions chosen;
  chosen.sizes.warehouses = threads;
  auto outcome = tpcc::measure_tpcc(common, chosen);
  if (outcome.ok() && !outcome->ok) return Status(Code::kCorrupt, "TPC-C's conditions do not hold after a run");
  return outcome;
}

Status measure(const DurabilityOptions& options, uint32_t threads, DurabilityRow* row) {
  std::vector<double> without, with, lag_us;
  for (uint32_t round = 0; round < options.repeat; ++round) {
    show_step(options, fmt::format("TPC-C with {} thread{}, round {} of {}: no log", threads, threads == 1 ? "" : "s", round + 1, options.repeat));
    auto plain = run_once(options, threads, "");
    if (!plain.ok()) return plain.status();
    show_step(options, fmt::format("TPC-C with {} thread{}, round {} of {}: async", threads, threads == 1 ? "" : "s", round + 1, options.repeat));
    const RunFolder folder(options, "async");
    auto logged = run_once(options, threads, folder.path());
    if (!logged.ok()) return logged.status();
    without.push_back(plain->report.result.throughput());
    with.push_back(logged->report.result.throughput());
    lag_us.push_back(static_cast<double>(logged->report.result.log.lag_mean_us));
    row->runs.push_back(with.back() / without.back());
    row->figures["log"].push_back(to_json(options.common, logged->report)["log"]);
  }
  row->figures["without_txns_per_s"] = without;
  row->figures["with_txns_per_s"] = with;
  row->details.push_back(fmt::format("{} txn/s without, {} with; on the disk {:.1f} ms after the commit", short_number(spread_of(without).median),
                                     short_number(spread_of(with).median), spread_of(lag_us).median / 1e3));
  return {};
}

}  // namespace

Status measure_async(const DurabilityOptions& options, DurabilityRows* rows) {
  for (const uint32_t threads : {1u, 2u}) {
    DurabilityRow row;
    row.part = "async";
    row.work = fmt::format("TPC-C, async against no log, {} thread{}", threads, threads == 1 ? "" : "s");
    row.unit = "x";
    row.at_least = 0.80;
    row.aim = 0.90;
    if (Status status = measure(options, threads, &row); !status.ok()) return status;
    rows->push_back(std::move(row));
  }
  return {};
}

}  // namespace elider::bench
