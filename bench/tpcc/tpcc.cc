#include "bench/tpcc/tpcc.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bench/common/commands.h"
#include "bench/common/driver.h"
#include "tools/common/environment.h"
#include "bench/common/report.h"
#include "bench/tpcc/consistency.h"
#include "bench/tpcc/load.h"
#include "bench/tpcc/resume.h"

namespace elider::bench::tpcc {
namespace {

using TerminalOutcome = Outcome<Terminal>;

// Returns how much memory to prefault. It suffices for loading, and for a run at a speed that no
// known machine exceeds, but is at most half of the available memory. Without prefaulting, the
// measured time would include the time in which the system clears pages.
uint64_t memory_to_prefault(const CommonOptions& common, const Sizes& sizes) {
  if (common.prefault_bytes) return *common.prefault_bytes;
  if (common.memory_limit_bytes != 0) return 0;
  const uint64_t warehouse_bytes = uint64_t{sizes.items} * 600 + uint64_t{sizes.customers} * kDistricts * 3000;
  constexpr double kBytesPerSecond = 160e6;  // per processor
  const double running = std::min<double>(common.threads, std::max(1u, std::thread::hardware_concurrency()));
  const double run_bytes = kBytesPerSecond * running * (common.seconds + common.warmup_seconds);
  const uint64_t wanted = sizes.warehouses * warehouse_bytes + static_cast<uint64_t>(std::min(run_bytes, 1e15));
  return std::min(wanted, available_bytes() / 2);
}

TerminalOutcome run_terminals(const CommonOptions& common, const TpccOptions& options, Database& db, const Tables& tables,
                              const Workload& workload, Sequence* history_ids, const ChoppedTransactions* chopped) {
  std::vector<std::string> names;
  for (uint32_t kind = 0; kind < kKinds; ++kind) names.emplace_back(name_of(static_cast<Kind>(kind)));
  auto outcome = drive<Terminal>(common, &db, std::move(names), [&](uint32_t thread) {
    return std::make_unique<Terminal>(db, tables, workload, options.snapshots, thread, common.group, history_ids, chopped,
                                      options.durable_sample_every);
  });
  for (const auto& terminal : outcome.workers) terminal->let_snapshot_go();
  return outcome;
}

RunTotals totals_of(const TerminalOutcome& outcome) {
  RunTotals totals;
  for (const auto& terminal : outcome.workers) {
    totals.new_orders += terminal->counts().new_orders;
    totals.payments += terminal->counts().payments;
    totals.delivered += terminal->counts().delivered;
    totals.history_keys.push_back(terminal->history_keys_used());
  }
  return totals;
}

Json configuration_json(const TpccOptions& options, const Workload& workload) {
  Json mix = Json::object();
  for (uint32_t kind = 0; kind < kKinds; ++kind) mix[std::string(name_of(static_cast<Kind>(kind)))] = options.mix[kind];
  const NonUniformConstants& c = workload.constants;
  return {{"warehouses", workload.sizes.warehouses},
          {"items", workload.sizes.items},
          {"customers", workload.sizes.customers},
          {"index", std::string(name_of(options.index))},
          {"mix", mix},
          {"sequence", options.sequence},
          {"zones", options.zones},
          {"groups", options.groups},
          {"additions", options.additions},
          {"durable_sample_every", options.durable_sample_every},
          {"partition_crossing_percent", options.crossing_percent >= 0 ? Json(options.crossing_percent) : Json()},
          {"snapshots",
           {{"order_status", options.snapshots.order_status},
            {"stock_level", options.snapshots.stock_level},
            {"held", options.snapshots.held}}},
          {"nurand", {{"c_last_load", c.last_name_load}, {"c_last_run", c.last_name_run}, {"c_customer", c.customer}, {"c_item", c.item}}}};
}

Json consistency_json(const ConsistencyReport& consistency) {
  Json conditions = Json::array();
  for (const Condition& condition : consistency.conditions) {
    conditions.push_back({{"clause", condition.clause},
                          {"statement", condition.statement},
                          {"ok", condition.violations == 0},
                          {"checked", condition.checked},
                          {"violations", condition.violations},
                          {"examples", condition.examples}});
  }
  return {{"ok", consistency.ok()}, {"seconds", consistency.seconds}, {"conditions", conditions}};
}

// Adds the results that are specific to TPC-C to the report, as text and as JSON.
void describe_run(const TerminalOutcome& outcome, Report* report) {
  TerminalCounts sum;
  for (const auto& terminal : outcome.workers) {
    sum.new_orders += terminal->counts().new_orders;
    sum.rolled_back += terminal->counts().rolled_back;
    sum.delivered += terminal->counts().delivered;
    sum.skipped += terminal->counts().skipped;
  }
  const double seconds = outcome.result.seconds;
  const double new_orders_measured = static_cast<double>(outcome.result.types[0].committed);
  const double per_minute = seconds > 0 ? new_orders_measured / seconds * 60 : 0;
  report->notes.push_back(fmt::format("new orders   {} per minute; {} of {} rolled back (specified: 1 in 100)", short_number(per_minute),
                                      sum.rolled_back, sum.new_orders + sum.rolled_back));
  report->notes.push_back(fmt::format("deliveries   {} orders; {} times no order was waiting", sum.delivered, sum.skipped));
  report->extra["new_orders_per_minute"] = per_minute;
  report->extra["new_orders_rolled_back"] = sum.rolled_back;
  report->extra["orders_delivered"] = sum.delivered;
  report->extra["deliveries_skipped"] = sum.skipped;
}

// Adds how long the sampled transactions took to become durable.
void describe_durable(const TpccOptions& options, const TerminalOutcome& outcome, Report* report) {
  const uint32_t every = options.durable_sample_every;
  if (every == 0) return;
  Histogram all;  // in nanoseconds
  for (const auto& terminal : outcome.workers) all.merge(terminal->samples().latency_ns());
  const auto ms = [&](double share) { return all.quantile(share) * 1e-6; };
  report->notes.push_back(fmt::format("acknowledged {:.2f} ms after the start (p50; p99 {:.2f}, maximum {:.2f}), {} samples", ms(0.5),
                                      ms(0.99), static_cast<double>(all.max()) * 1e-6, all.count()));
  report->extra["durable_latency_us"] = {{"sample_every", every},
                                         {"samples", all.count()},
                                         {"p50", all.quantile(0.5) * 1e-3},
                                         {"p99", all.quantile(0.99) * 1e-3},
                                         {"p99_9", all.quantile(0.999) * 1e-3},
                                         {"mean", all.mean() * 1e-3},
                                         {"max", static_cast<double>(all.max()) * 1e-3}};
}

// Returns false if a condition does not hold or the rows could not be read.
bool check_run(Database& db, const Tables& tables, const Workload& workload, const RunTotals& totals, Report* report) {
  auto checked = check_consistency(db, tables, workload, totals);
  if (!checked.ok()) {
    fmt::print(stderr, "tpcc: cannot check the consistency conditions: {}\n", checked.status().message());
    report->notes.push_back("consistency  COULD NOT BE CHECKED");
    report->extra["consistency"] = {{"ok", false}, {"failure", checked.status().message()}, {"conditions", Json::array()}};
    return false;
  }
  for (const std::string& line : checked->complaints()) fmt::print(stderr, "tpcc: {}\n", line);
  size_t broken = 0, specified = 0;
  for (const Condition& condition : checked->conditions) {
    broken += condition.violations != 0;
    specified += condition.clause.starts_with("3.3.2.");
  }
  const size_t all = checked->conditions.size();
  report->notes.push_back(broken == 0 ? fmt::format("consistency  all {} conditions hold: {} of TPC-C, {} of our own (checked in {:.2f} s)",
                                                    all, specified, all - specified, checked->seconds)
                                      : fmt::format("consistency  VIOLATED: {} of {} conditions do not hold", broken, all));
  report->extra["consistency"] = consistency_json(*checked);
  return broken == 0;
}

// Loads the tables. With --resume, finds what an earlier run left in them and checks its
// consistency.
Status fill(const CommonOptions& common, Database& db, const Tables& tables, Workload* workload, RunTotals* earlier, Report* report) {
  if (!common.data.resume) {
    report->load = load(common, db, tables, *workload);
    if (report->load.status.ok()) return {};
    return Status(report->load.status.code(), "loading failed: " + report->load.status.message());
  }
  auto found = find_earlier(db, tables, common.threads);
  if (!found.ok()) return found.status();
  workload->sizes = found->sizes;
  workload->history_keys = found->totals.history_keys;
  *earlier = found->totals;
  auto checked = check_consistency(db, tables, *workload, *earlier);
  if (!checked.ok()) return checked.status();
  if (!checked->ok()) return Status(Code::kCorrupt, "the recovered database is not consistent: " + checked->complaints().front());
  report->notes.push_back(fmt::format("resumed      {}; {} NewOrders and {} Payments from earlier runs, consistent",
                                      describe_recovery(db.recovery()), earlier->new_orders, earlier->payments));
  report->extra["recovery"] = recovery_json(db.recovery());
  return {};
}

}  // namespace

const char* const kTpccDeviations =
    "TPC-C revision 5.11, with nine tables, five transactions, and the specification's sizes and input distributions.\n"
    "Deviations: terminals, keying times and think times are left out. Each thread runs one transaction after\n"
    "the other, with a random district and a random one of its warehouses; a terminal would always use the same ones.\n"
    "Delivery runs immediately instead of through a queue. 1% of the NewOrders roll back and count as\n"
    "completed, as specified. d_next_o_id is read and incremented inside NewOrder. Without --data, the database\n"
    "is not written to disk. Memory is allocated before the run (--prefault). Order-Status and Stock-Level\n"
    "read a snapshot unless --no-snapshot is given.\n"
    "After the run, the consistency conditions 3.3.2.1 to 12 and four of our own are checked: no committed NewOrder,\n"
    "Payment or Delivery is lost, and stock matches the order lines. If one is violated, the exit code is 1.\n"
    "The result is not audited, and not comparable to published TPC-C results.";

Result<TpccOutcome> measure_tpcc(const CommonOptions& asked, const TpccOptions& options) {
  CommonOptions common = asked;
  common.prefault_bytes = memory_to_prefault(asked, options.sizes);
  common.partitions = asked.data.resume ? kWarehousesMax : options.sizes.warehouses;  // --resume finds the number of warehouses later
  if (!common.quiet)
    fmt::print(stderr, "allocating {:.1f} GB of memory before the run (--prefault)\n", static_cast<double>(*common.prefault_bytes) * 1e-9);
  auto opened = Session::open(common, indexed_schemas(options.tables()));
  if (!opened.ok()) return opened.status();
  Session session = std::move(*opened);
  if (common.data.resume && !session.db().table("warehouse").ok())
    return Status(Code::kNotFound, "--resume: this is not a TPC-C database: it does not have a table 'warehouse'");
  auto tables = create_tables(session.db(), options.tables());
  if (!tables.ok()) return tables.status();
  Workload workload{.sizes = options.sizes,
                    .mix = options.mix,
                    .crossing_percent = options.crossing_percent,
                    .constants = NonUniformConstants::draw(common.seed),
                    .seed = common.seed,
                    .threads = common.threads};
  TpccOutcome made;
  Report& report = made.report;
  report.benchmark = "tpcc";
  RunTotals earlier;
  if (Status status = fill(common, session.db(), *tables, &workload, &earlier, &report); !status.ok()) return status;
  report.configuration = configuration_json(options, workload);
  report.configuration["sync_used"] = std::string(elider::name_of(session.db().sync()));
  report.configuration["htm_used"] = std::string(elider::name_of(session.db().htm()));

  Sequence history_ids;
  if (options.sequence) {
    auto sequence = session.db().sequence("tpcc_history");
    if (!sequence.ok()) return sequence.status();
    history_ids = *sequence;
  }
  ChoppedTransactions chopped;
  const bool in_pieces = session.db().protocol() == Protocol::kChopped;
  if (in_pieces)
    if (Status status = install_chopped(session.db(), *tables, &chopped, options.chopped); !status.ok()) return status;
  TerminalOutcome outcome = run_terminals(common, options, session.db(), *tables, workload, options.sequence ? &history_ids : nullptr,
                                          in_pieces ? &chopped : nullptr);
  describe_run(outcome, &report);
  describe_durable(options, outcome, &report);
  const bool consistent = check_run(session.db(), *tables, workload, add_totals(earlier, totals_of(outcome)), &report);
  const bool completed = outcome.result.failure.empty();
  if (!completed) fmt::print(stderr, "tpcc: the run ended early: {}\n", outcome.result.failure);
  report.result = std::move(outcome.result);
  if (Status status = session.close(); !status.ok()) return status;
  made.ok = consistent && completed;
  return made;
}

Status TpccOutcome::status() const {
  if (ok) return {};
  const std::string& why = report.result.failure;
  if (why.empty()) return Status(Code::kCorrupt, "TPC-C violated a consistency condition");
  return Status(report.result.at_end.log_failure.empty() ? Code::kInvalidArgument : Code::kIoError, "TPC-C ended early: " + why);
}

int run_tpcc(const CommonOptions& common, const TpccOptions& options) {
  auto outcome = measure_tpcc(common, options);
  Status status = outcome.status();
  if (status.ok()) status = publish(common, outcome->report);
  if (!status.ok()) fmt::print(stderr, "tpcc: {}\n", status.message());
  return status.ok() && outcome->ok ? 0 : kExitFailed;
}

}  // namespace elider::bench::tpcc
