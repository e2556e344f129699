#include "bench/common/report.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/common/wrapped_output.h"
#include "tools/common/environment.h"

namespace elider::bench {

namespace {

constexpr double kNsPerMicrosecond = 1e3;

double quantile_us(const RunResult& result, const Histogram& ticks, double share) {
  return ticks.quantile(share) * result.ns_per_tick / kNsPerMicrosecond;
}

uint64_t memory_in_use(const Statistics::Memory& memory) {
  return memory.rows + memory.versions + memory.blocks + memory.indexes + memory.free;
}

Json latency_json(const RunResult& result) {
  Json latency = Json::object();
  for (const TypeResult& type : result.types) {
    latency[type.name] = {{"committed", type.committed},
                          {"p50", quantile_us(result, type.latency_ticks, 0.5)},
                          {"p99", quantile_us(result, type.latency_ticks, 0.99)},
                          {"p99_9", quantile_us(result, type.latency_ticks, 0.999)},
                          {"mean", type.latency_ticks.mean() * result.ns_per_tick / kNsPerMicrosecond},
                          {"max", static_cast<double>(type.latency_ticks.max()) * result.ns_per_tick / kNsPerMicrosecond}};
  }
  return latency;
}

Json quantiles_json(const RunResult& result, const Histogram& ticks) {
  return {{"p50", quantile_us(result, ticks, 0.5)},
          {"p99", quantile_us(result, ticks, 0.99)},
          {"p99_9", quantile_us(result, ticks, 0.999)}};
}

void print_groups(std::FILE* out, const CommonOptions& options, const RunResult& result) {
  if (options.group == 0) return;
  fmt::print(out, "  groups       of {}: the first call committed after {:.2f} us (p50; p99 {:.2f}), the last after {:.2f} ({:.2f})\n",
             options.group, quantile_us(result, result.group_first_ticks, 0.5), quantile_us(result, result.group_first_ticks, 0.99),
             quantile_us(result, result.group_last_ticks, 0.5), quantile_us(result, result.group_last_ticks, 0.99));
}

Json aborts_json(const RunResult& result) {
  Json aborts = Json::object();
  for (int cause = 1; cause < kCauseCount; ++cause)
    aborts[std::string(name_of(static_cast<Cause>(cause)))] = result.aborts[static_cast<size_t>(cause)];
  aborts["total"] = result.aborts_total();
  return aborts;
}

Json memory_json(const Report& report) {
  const Statistics::Memory& memory = report.result.at_end.memory;
  Json json = {{"rows", memory.rows},       {"versions", memory.versions}, {"blocks", memory.blocks},
               {"indexes", memory.indexes}, {"free", memory.free},         {"total", memory_in_use(memory)},
               {"reserved", memory.reserved}, {"rss", report.result.resident_bytes}, {"rss_huge_pages", report.result.resident_huge_bytes}};
  if (report.records != 0) json["per_record"] = static_cast<double>(memory_in_use(memory)) / static_cast<double>(report.records);
  return json;
}

Json configuration_json(const CommonOptions& options, const Report& report) {
  Json json = report.configuration;
  json["benchmark"] = report.benchmark;
  json["threads"] = options.threads;
  json["seconds"] = options.seconds;
  json["warmup_seconds"] = options.warmup_seconds;
  json["seed"] = options.seed;
  json["group"] = options.group;
  json["pin"] = options.pin;
  json["sync"] = std::string(name_of(options.sync));
  json["htm"] = std::string(name_of(options.htm));
  json["copied_reads"] = options.copied_reads;
  if (options.aborts_max != CommonOptions::kByCause) json["aborts_max"] = options.aborts_max;
  json["hints"] = options.parts.hints;
  json["reclamation"] = options.parts.reclamation;
  json["own_allocators"] = options.parts.own_allocators;
  json["block_threshold_bytes"] = options.block_threshold_bytes;
  json["protocol"] = std::string(name_of(options.protocol));
  json["memory_limit_bytes"] = options.memory_limit_bytes;
  json["prefault_bytes"] = options.prefault_bytes.value_or(0);
  json["history"] = !options.history_file.empty();
  json["data"] = options.data.folders;
  json["durability"] = options.data.folders.empty() ? "none" : std::string(name_of(options.data.durability));
  json["resume"] = options.data.resume;
  if (!options.data.folders.empty()) {
    json["flush_interval_us"] = options.data.flush_interval_us;
    json["log_buffer_bytes"] = options.data.log_buffer_bytes;
  }
  add_environment(json);
  json["huge_pages"] = options.huge_pages;
  return json;
}

// Formats a value as text. An object becomes the list of its members' values, as in "45,43,4,4,4".
std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object()) return value.dump();
  std::string parts;
  for (const auto& [name, part] : value.items()) parts += (parts.empty() ? "" : ",") + part.dump();
  return parts;
}

// Prints the settings that are needed to repeat the run. The JSON contains the whole configuration.
void print_configuration(std::FILE* out, const CommonOptions& options, const Report& report) {
  const Json configuration = configuration_json(options, report);
  std::string pairs;
  for (const char* key : {"warehouses", "items", "customers", "records", "value_bytes", "workload", "mix", "distribution",
                          "index", "threads", "group", "seconds", "seed", "sync_used", "htm_used"}) {
    const std::string value = configuration.contains(key) ? text_of(configuration[key]) : std::string();
    if (!value.empty() && !(std::string_view(key) == "group" && options.group == 0)) pairs += fmt::format(" {}={}", key, value);
  }
  fmt::print(out, "  configured  {}\n", pairs);
}

void print_latencies(std::FILE* out, const RunResult& result) {
  size_t width = 11;
  for (const TypeResult& type : result.types) width = std::max(width, type.name.size());
  fmt::print(out, "  {:<{}} {:>11} {:>10} {:>8} {:>8} {:>8} {:>8}\n", "transaction", width, "committed", "txn/s", "p50 us", "p99 us",
             "p99.9 us", "max us");
  for (const TypeResult& type : result.types) {
    const double rate = result.seconds > 0 ? static_cast<double>(type.committed) / result.seconds : 0;
    fmt::print(out, "  {:<{}} {:>11} {:>10.0f} {:>8.2f} {:>8.2f} {:>8.2f} {:>8.0f}\n", type.name, width, type.committed, rate,
               quantile_us(result, type.latency_ticks, 0.5), quantile_us(result, type.latency_ticks, 0.99),
               quantile_us(result, type.latency_ticks, 0.999),
               static_cast<double>(type.latency_ticks.max()) * result.ns_per_tick / kNsPerMicrosecond);
  }
}

void print_aborts(std::FILE* out, const RunResult& result) {
  const uint64_t total = result.aborts_total();
  std::string causes;
  for (int cause = 1; cause < kCauseCount; ++cause) {
    const uint64_t count = result.aborts[static_cast<size_t>(cause)];
    if (count != 0) causes += fmt::format("{}{} {}", causes.empty() ? ": " : ", ", name_of(static_cast<Cause>(cause)), count);
  }
  const uint64_t attempts = result.engine_commits + total;
  const double share = attempts == 0 ? 0 : 100 * static_cast<double>(total) / static_cast<double>(attempts);
  fmt::print(out, "  aborts       {} of {} attempts ({:.3f}%){}\n", total, attempts, share, causes);
}

// Prints the keys that caused the most conflicts.
void print_conflicted_keys(std::FILE* out, const RunResult& result) {
  constexpr size_t kShown = 5;
  for (const Statistics::Table& table : result.at_end.tables) {
    std::string keys;
    for (size_t i = 0; i < table.conflicted_keys.size() && i < kShown; ++i) {
      const Statistics::ConflictedKey& one = table.conflicted_keys[i];
      keys += fmt::format("{}{} ({})", keys.empty() ? "" : ", ", one.key, one.aborts_total());
    }
    if (!keys.empty()) fmt::print(out, "  conflicts    at keys of '{}', sampled: {}\n", table.name, keys);
  }
}

// Returns the counters of the sites that run hardware transactions and of the procedures that
// wrote, in the format of Statistics::to_json().
Json counted_json(const RunResult& result) {
  Statistics counted;
  counted.elision = result.elision;
  counted.procedures = result.procedures;
  counted.tables = result.at_end.tables;
  return Json::parse(counted.to_json());
}

void print_committed_by(std::FILE* out, const RunResult& result) {
  if (result.procedures.empty()) return;
  fmt::print(out, "  {:<17} {:>10} {:>10} {:>10}\n", "writing commits", "one region", "lock bits", "locks");
  for (const Statistics::Procedure& one : result.procedures) {
    const auto all = static_cast<double>(one.region_commits + one.lock_bit_commits + one.locked_commits) / 100;
    fmt::print(out, "  {:<17} {:>9.1f}% {:>9.1f}% {:>9.1f}%\n", one.name.empty() ? "(unnamed)" : one.name,
               static_cast<double>(one.region_commits) / all, static_cast<double>(one.lock_bit_commits) / all,
               static_cast<double>(one.locked_commits) / all);
  }
}

// Returns `part` as a percentage of `whole`.
double percent(uint64_t part, uint64_t whole) { return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole); }

void print_lookups(std::FILE* out, const CommonOptions& options, const RunResult& result) {
  if (!options.parts.counted_lookups) return;
  const Statistics::Lookups& lookups = result.lookups;
  fmt::print(out, "  lookups      {} in B+-trees, {:.1f}% of them in the previous lookup's leaf; {} of cached rows, {:.1f}% found\n",
             short_number(static_cast<double>(lookups.of_trees)), percent(lookups.leaves_kept, lookups.of_trees),
             short_number(static_cast<double>(lookups.of_rows)), percent(lookups.rows_kept, lookups.of_rows));
}

void print_elision(std::FILE* out, const RunResult& result) {
  if (result.elision.empty()) return;
  fmt::print(out, "  {:<17} {:>10} {:>10} {:>8} {:>9} {:>8}  aborts\n", "elided", "regions", "committed", "useless", "fell back", "direct");
  for (const Statistics::Elision& site : result.elision) {
    std::string causes;
    for (size_t cause = 0; cause < kRegionCauseCount; ++cause)
      if (site.aborts[cause] != 0)
        causes += fmt::format("{}{} {}", causes.empty() ? "" : ", ", region_cause_name(cause), site.aborts[cause]);
    fmt::print(out, "  {:<17} {:>10} {:>10} {:>8} {:>9} {:>8}  {}\n", site.site, site.attempts(), site.commits, site.in_vain,
               site.fallbacks, site.direct, causes.empty() ? "none" : causes);
  }
}

// Returns the mean log bytes per writing commit. Commits that only read do not write to the log.
double bytes_per_record(const LogUse& log) {
  return log.records == 0 ? 0 : static_cast<double>(log.bytes) / static_cast<double>(log.records);
}

Json log_json(const RunResult& result) {
  const LogUse& log = result.log;
  return {{"bytes", log.bytes},
          {"bytes_per_s", result.seconds > 0 ? static_cast<double>(log.bytes) / result.seconds : 0},
          {"records", log.records},
          {"bytes_per_record", bytes_per_record(log)},
          {"bytes_per_transaction", result.committed == 0 ? 0 : static_cast<double>(log.bytes) / static_cast<double>(result.committed)},
          {"groups", log.frames},
          {"syncs", log.syncs},
          {"room_waits", log.room_waits},
          {"durable_lag_us", {{"mean", log.lag_mean_us}, {"max", log.lag_max_us}}}};
}

void print_log(std::FILE* out, const CommonOptions& options, const RunResult& result) {
  const LogUse& log = result.log;
  if (!log.kept) return;
  fmt::print(out, "  log          {} ({}), {}/s; {:.0f} bytes per writing commit, {} syncs, {} waits for buffer space\n",
             short_bytes(static_cast<double>(log.bytes)), name_of(options.data.durability),
             short_bytes(result.seconds > 0 ? static_cast<double>(log.bytes) / result.seconds : 0), bytes_per_record(log), log.syncs,
             log.room_waits);
  fmt::print(out, "  durable      mean {:.2f} ms after a group's oldest commit; maximum {:.2f} ms since opening\n",
             static_cast<double>(log.lag_mean_us) / 1e3, static_cast<double>(log.lag_max_us) / 1e3);
}

void print_memory(std::FILE* out, const Report& report) {
  const Statistics::Memory& memory = report.result.at_end.memory;
  const double total = static_cast<double>(memory_in_use(memory));
  fmt::print(out, "  memory       {}: rows {}, versions {}, blocks {}, indexes {}, free {}; resident {}\n", short_bytes(total),
             short_bytes(static_cast<double>(memory.rows)), short_bytes(static_cast<double>(memory.versions)),
             short_bytes(static_cast<double>(memory.blocks)), short_bytes(static_cast<double>(memory.indexes)),
             short_bytes(static_cast<double>(memory.free)), short_bytes(static_cast<double>(report.result.resident_bytes)));
  if (report.records == 0) return;
  const double records = static_cast<double>(report.records);
  fmt::print(out, "  per record   {:.1f} bytes: rows {:.1f}, indexes {:.1f}\n", total / records, static_cast<double>(memory.rows) / records,
             static_cast<double>(memory.indexes) / records);
}

}  // namespace

std::string short_number(double value) {
  if (value >= 1e9) return fmt::format("{:.3g} G", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.3g} M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.3g} K", value / 1e3);
  return fmt::format("{:.0f}", value);
}

std::string short_bytes(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.1f} MB", bytes / 1e6);
  if (bytes >= 1e3) return fmt::format("{:.1f} kB", bytes / 1e3);
  return fmt::format("{:.0f} B", bytes);
}

Json to_json(const Statistics::Lookups& lookups) {
  return {
      {"of_rows", lookups.of_rows}, {"rows_kept", lookups.rows_kept}, {"of_trees", lookups.of_trees}, {"leaves_kept", lookups.leaves_kept}};
}

Json to_json(const CommonOptions& options, const Report& report) {
  const RunResult& result = report.result;
  Json json = {{"throughput_txns_per_s", result.throughput()},
               {"committed", result.committed},
               {"seconds", result.seconds},
               {"aborts", aborts_json(result)},
               {"latency_us", latency_json(result)},
               {"memory_bytes", memory_json(report)},
               {"load", {{"rows", report.load.rows}, {"seconds", report.load.seconds}, {"rows_per_s", report.load.rows_per_s()}}},
               {"configuration", configuration_json(options, report)}};
  if (options.group != 0)
    json["group_us"] = {{"first", quantiles_json(result, result.group_first_ticks)},
                        {"last", quantiles_json(result, result.group_last_ticks)}};
  const Json counted = counted_json(result);
  if (!result.elision.empty()) json["elision"] = counted["elision"];
  if (!result.procedures.empty()) json["procedures"] = counted["procedures"];
  if (counted.contains("conflicted_keys")) json["conflicted_keys"] = counted["conflicted_keys"];
  if (options.parts.counted_lookups) json["lookups"] = to_json(result.lookups);
  if (result.log.kept) json["log"] = log_json(result);
  if (result.interrupted) json["interrupted"] = true;
  if (!result.failure.empty()) json["failure"] = result.failure;
  for (const auto& [key, value] : report.extra.items()) json[key] = value;
  return json;
}

void print_table(std::FILE* terminal, const CommonOptions& options, const Report& report) {
  const WrappedOutput wrapped(terminal);
  std::FILE* const out = wrapped.file();
  const RunResult& result = report.result;
  const Environment machine = environment();
  fmt::print(out, "{}: {} txn/s ({:.0f}), {} committed in {:.2f} s by {} thread{}\n", report.benchmark, short_number(result.throughput()),
             result.throughput(), result.committed, result.seconds, options.threads, options.threads == 1 ? "" : "s");
  print_configuration(out, options, report);
  print_latencies(out, result);
  print_groups(out, options, result);
  if (result.has_statistics) {
    print_aborts(out, result);
    print_conflicted_keys(out, result);
    print_elision(out, result);
    print_committed_by(out, result);
    print_lookups(out, options, result);
    print_log(out, options, result);
    print_memory(out, report);
  }
  if (report.load.rows != 0)
    fmt::print(out, "  loading      {} rows in {:.2f} s, {} rows/s\n", report.load.rows, report.load.seconds,
               short_number(report.load.rows_per_s()));
  for (const std::string& note : report.notes) fmt::print(out, "  {}\n", note);
  fmt::print(out, "  machine      {}, {} processors, huge pages {}; commit {}, {}\n", machine.cpu, machine.cpus,
             options.huge_pages ? machine.huge_pages : "off", machine.commit, machine.build);
  if (result.interrupted)
    fmt::print(out, "  INTERRUPTED  after {:.2f} s of {} s: the figures cover that time\n", result.seconds, options.seconds);
  if (!result.failure.empty()) fmt::print(out, "  FAILED       {}\n", result.failure);
}

std::string describe_recovery(const Recovery& recovery) {
  const double seconds = static_cast<double>(recovery.duration_us) * 1e-6;
  return fmt::format(
      "{} rows from {} of log in {:.2f} s{}", recovery.rows, short_bytes(static_cast<double>(recovery.log_bytes)), seconds,
      recovery.cuts.empty() ? std::string() : fmt::format(", {} torn tail{}", recovery.cuts.size(), recovery.cuts.size() == 1 ? "" : "s"));
}

Json recovery_json(const Recovery& recovery) {
  return {{"snapshot", recovery.snapshot}, {"records", recovery.records},     {"records_void", recovery.records_void},
          {"rows", recovery.rows},         {"log_bytes", recovery.log_bytes}, {"seconds", static_cast<double>(recovery.duration_us) * 1e-6},
          {"cuts", recovery.cuts}};
}

Status publish(const CommonOptions& options, const Report& report) {
  if (!options.quiet) print_table(stdout, options, report);
  return options.json_file.empty() ? Status() : write_json(options.json_file, to_json(options, report));
}

}  // namespace elider::bench
