// Compares TPC-C under Durability::kAsync to TPC-C without a log, and TPC-C with continuous
// checkpoints to TPC-C without checkpoints.
#include <fmt/format.h>

#include "bench/durability/logged_tpcc.h"

namespace elider::bench {

Result<tpcc::TpccOutcome> run_tpcc(const DurabilityOptions& options, uint32_t threads, Kept kept) {
  const RunFolder folder(options, "async");
  CommonOptions common = options.common;
  common.threads = threads;
  common.quiet = true;
  common.data.durability = Durability::kAsync;
  common.data.folders.clear();
  if (kept != Kept::kInMemory) common.data.folders.push_back(folder.path());
  common.data.checkpoint_log_bytes = kept == Kept::kUnderCheckpoints ? 65536 : 0;  // continuous checkpoints, or none
  tpcc::TpccOptions chosen;
  chosen.sizes.warehouses = threads;
  if (options.small_warehouses) {
    chosen.sizes.items = 1000;
    chosen.sizes.customers = 60;
  }
  auto outcome = tpcc::measure_tpcc(common, chosen);
  if (outcome.ok() && !outcome->ok) return Status(Code::kCorrupt, "the TPC-C run failed or violated a consistency condition");
  return outcome;
}

namespace {

// Runs both configurations in turn. Calls note(report) for each run of the second one.
template <class Note>
Status compare(const DurabilityOptions& options, uint32_t threads, const char* first_name, Kept first, const char* second_name, Kept second,
               DurabilityRow* row, const Note& note) {
  std::vector<double> without, with;
  for (uint32_t round = 0; round < options.repeat; ++round) {
    const auto run = [&](const char* name, Kept kept) {
      const char* const plural = threads == 1 ? "" : "s";
      show_step(options, fmt::format("TPC-C with {} thread{}, round {} of {}: {}", threads, plural, round + 1, options.repeat, name));
      return run_tpcc(options, threads, kept);
    };
    auto plain = run(first_name, first);
    if (!plain.ok()) return plain.status();
    auto other = run(second_name, second);
    if (!other.ok()) return other.status();
    without.push_back(plain->report.result.throughput());
    with.push_back(other->report.result.throughput());
    row->runs.push_back(with.back() / without.back());
    note(other->report);
  }
  row->figures["without_txns_per_s"] = without;
  row->figures["with_txns_per_s"] = with;
  const double median_without = spread_of(without).median, median_with = spread_of(with).median;
  row->details.push_back(fmt::format("{} txn/s without, {} with", short_number(median_without), short_number(median_with)));
  return {};
}

}  // namespace

Status measure_async(const DurabilityOptions& options, DurabilityRows* rows) {
  for (const uint32_t threads : {1u, 2u}) {
    DurabilityRow row;
    row.part = "async";
    row.work = fmt::format("TPC-C, async compared with running without a log, {} thread{}", threads, threads == 1 ? "" : "s");
    row.unit = "x";
    row.at_least = 0.80;
    row.aim = 0.90;
    std::vector<double> lag_us;
    Status status = compare(options, threads, "no log", Kept::kInMemory, "async", Kept::kLogged, &row, [&](const Report& report) {
      lag_us.push_back(static_cast<double>(report.result.log.lag_mean_us));
      row.figures["log"].push_back(to_json(options.common, report)["log"]);
    });
    if (!status.ok()) return status;
    row.details.back() += fmt::format("; on disk {:.1f} ms after the commit", spread_of(lag_us).median / 1e3);
    rows->push_back(std::move(row));
  }
  return {};
}

Status measure_checkpoint(const DurabilityOptions& options, DurabilityRows* rows) {
  constexpr uint32_t kThreads = 2;
  DurabilityRow row;
  row.part = "checkpoint";
  row.work = "TPC-C, async, with continuous checkpoints compared with none, 2 threads";
  row.unit = "x";
  row.at_least = 0.75;
  row.aim = 0.90;
  std::vector<double> taken, bytes, seconds;
  const auto note = [&](const Report& report) {
    const Statistics::Checkpoints& facts = report.result.at_end.checkpoints;
    taken.push_back(static_cast<double>(facts.taken));
    bytes.push_back(static_cast<double>(facts.bytes));
    seconds.push_back(static_cast<double>(facts.duration_us) * 1e-6);
    row.figures["log"].push_back(to_json(options.common, report)["log"]);
  };
  Status status = compare(options, kThreads, "no checkpoint", Kept::kLogged, "with checkpoints", Kept::kUnderCheckpoints, &row, note);
  if (!status.ok()) return status;
  if (spread_of(taken).min == 0) {  // a slow disk, or a short run
    row.at_least = row.aim = 0;
    row.details.push_back("a run ended before its first checkpoint, so this does not measure checkpoints; raise --seconds");
  }
  row.details.push_back(fmt::format("{:.0f} checkpoints per run, including those during loading; the last one wrote {} in {:.2f} s",
                                    spread_of(taken).median, short_bytes(spread_of(bytes).median), spread_of(seconds).median));
  row.figures["checkpoints"] = taken;
  row.figures["checkpoint_bytes"] = bytes;
  row.figures["checkpoint_seconds"] = seconds;
  rows->push_back(std::move(row));
  return {};
}

}  // namespace elider::bench
