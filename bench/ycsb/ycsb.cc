#include "bench/ycsb/ycsb.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/common/driver.h"
#include "bench/common/loader.h"
#include "bench/ycsb/key_chooser.h"
#include "bench/ycsb/value.h"
#include "bench/ycsb/worker.h"

namespace elider::bench {

namespace {

constexpr uint64_t kLoadRowsPerTransaction = 256;
constexpr uint64_t kCheckRowsPerTransaction = 512;
// Limits the memory that one transaction of the final check uses for its copies of the values,
// which may be large.
constexpr uint64_t kCheckBytesPerTransaction = uint64_t{4} << 20;

// Divides the numbers 0 to total - 1 into `parts` ranges, and returns the begin and the end of the
// range with the index `part`.
std::pair<uint64_t, uint64_t> stretch(uint64_t total, uint64_t part, uint64_t parts) {
  const auto begin = [&](uint64_t i) { return static_cast<uint64_t>(static_cast<unsigned __int128>(total) * i / parts); };
  return {begin(part), begin(part + 1)};
}

Result<TableRef> create_table(Database& db, const YcsbOptions& options) {
  Schema schema;
  schema.name = "usertable";
  schema.key_index = options.key_index;
  schema.row_bytes = options.value_bytes;
  if (options.inline_rows) schema.inline_rows = options.records;
  options.key_format.describe(&schema);
  schema.columns.push_back({"value", ColumnType::kBytes, 0, options.value_bytes, 0});
  return db.create_table(schema);
}

// Looks up many keys with one call.
Status get_all(Transaction& txn, TableRef table, const YcsbOptions& options, std::span<const Key> keys, RawView* views) {
  if (options.key_format.is_number()) return txn.multi_get(table, keys.data(), keys.size(), ColumnsRef(), views);
  std::vector<std::byte> memory(keys.size() * KeyFormat::kBytesMax);
  std::vector<Bytes> stored(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) stored[i] = options.key_format.key_of(keys[i], memory.data() + i * KeyFormat::kBytesMax);
  return txn.multi_get(table, stored.data(), stored.size(), ColumnsRef(), views);
}

// Each thread loads one range of records, so that records with adjacent keys are close to each
// other in memory.
LoadResult load(Database& db, TableRef table, const YcsbOptions& options, const KeySpace& space) {
  const uint32_t parts = options.common.threads;
  const auto load_part = [&](uint32_t, uint64_t part, LoadProgress& progress) -> Status {
    std::vector<std::byte> row(options.value_bytes);
    const auto [first, end] = stretch(options.records, part, parts);
    for (uint64_t begin = first; begin < end; begin += kLoadRowsPerTransaction) {
      const uint64_t until = std::min(end, begin + kLoadRowsPerTransaction);
      Status status = db.run([&](Transaction& txn) -> Status {
        for (uint64_t record = begin; record < until; ++record) {
          const Key key = space.key(record);
          fill_value(row.data(), options.value_bytes, key, 0);
          Status inserted = options.key_format.with_key(key, [&](auto at) { return txn.insert(table, at, row); });
          if (!inserted.ok()) return inserted;
        }
        return {};
      });
      if (!status.ok()) return status;
      progress.add(until - begin);
    }
    return {};
  };
  return load_parallel(options.common, "loading records", parts, options.records, load_part);
}

// The results of the final check.
struct Check {
  LoadResult pass;
  std::atomic<uint64_t> counters{0};  // sum of all rows' counters
  std::atomic<uint64_t> damaged{0};   // number of missing or damaged rows
  std::atomic<Key> damaged_key{0};    // the key of one of these rows
};

// Reads the records record_at(0) to record_at(total - 1) in read-only transactions, and adds up
// their counters.
template <class RecordAt>
Status check_records(Database& db, TableRef table, const YcsbOptions& options, const KeySpace& space, uint64_t total, RecordAt&& record_at,
                     LoadProgress& progress, Check& check) {
  const uint64_t rows = std::clamp<uint64_t>(kCheckBytesPerTransaction / options.value_bytes, 1, kCheckRowsPerTransaction);
  std::vector<Key> keys(rows);
  std::vector<RawView> views(rows);
  uint64_t counters = 0;
  for (uint64_t begin = 0; begin < total; begin += rows) {
    const size_t count = static_cast<size_t>(std::min(rows, total - begin));
    for (size_t i = 0; i < count; ++i) keys[i] = space.key(record_at(begin + i));
    uint64_t sum = 0;
    Status status = db.run_read_only([&](Transaction& txn) -> Status {
      sum = 0;
      if (Status got = get_all(txn, table, options, std::span(keys).first(count), views.data()); !got.ok()) return got;
      for (size_t i = 0; i < count; ++i) {
        if (views[i] && value_is_whole(views[i].bytes(), options.value_bytes, keys[i])) {
          sum += value_counter(views[i].bytes());
        } else {
          check.damaged.fetch_add(1, std::memory_order_relaxed);
          check.damaged_key.store(keys[i], std::memory_order_relaxed);
        }
      }
      return {};
    });
    if (!status.ok()) return status;
    counters += sum;
    progress.add(count);
  }
  check.counters.fetch_add(counters, std::memory_order_relaxed);
  return {};
}

Status check_rows(Database& db, TableRef table, const YcsbOptions& options, const KeySpace& space, Check& check) {
  const uint32_t parts = options.common.threads;
  // A part is a range of the loaded records, and the records that one thread has inserted.
  const auto check_part = [&](uint32_t, uint64_t part, LoadProgress& progress) -> Status {
    const auto [first, end] = stretch(options.records, part, parts);
    const auto loaded = [&, first = first](uint64_t i) { return first + i; };
    if (Status status = check_records(db, table, options, space, end - first, loaded, progress, check); !status.ok()) return status;
    const auto inserted = [&](uint64_t i) { return options.records + i * parts + part; };
    return check_records(db, table, options, space, space.inserted(static_cast<uint32_t>(part)), inserted, progress, check);
  };
  check.pass = load_parallel(options.common, "checking", parts, options.records, check_part);
  return check.pass.status;
}

Json configuration(const YcsbOptions& options, const Database& db) {
  Json json = {{"records", options.records}, {"value_bytes", options.value_bytes}};
  json.update(workload_json(options));
  json.update({{"theta", options.theta},
               {"clustered", options.clustered},
               {"operations", options.operations},
               {"batch", options.batch},
               {"inline_rows", options.inline_rows},
               {"snapshot_reads", options.snapshot_reads},
               {"index", name_of(options.key_index)},
               {"key_order", options.hashed_keys ? "hashed" : "sequential"},
               {"key_kind", name_of(options.key_form)},
               {"key_bytes", options.key_form == KeyForm::kBytes ? options.key_format.bytes() : 0},
               {"skip_check", options.skip_check},
               {"sync_used", std::string(elider::name_of(db.sync()))},
               {"htm_used", std::string(elider::name_of(db.htm()))}});
  return json;
}

std::string describe(const YcsbOptions& options) {
  return fmt::format("{}, {} records of {} bytes, {}, {} operation{} per transaction{}, {}", title_of(options),
                     short_number(static_cast<double>(options.records)), options.value_bytes, name_of(options.distribution),
                     options.operations, options.operations == 1 ? "" : "s", options.batch ? ", batched" : "", name_of(options.key_index));
}

// -- resuming -------------------------------------------------------------------------------------

// Finds the number of records that a thread has inserted in earlier runs. The thread inserted them
// in order, so all records before the first missing one exist.
Result<uint64_t> find_inserted(Database& db, TableRef table, const YcsbOptions& options, const KeySpace& space, uint32_t thread) {
  const auto exists = [&](uint64_t count) -> Result<bool> {
    bool found = false;
    Status status = db.run_read_only([&](Transaction& txn) -> Status {
      RawView view;
      const Key key = space.key(options.records + count * options.common.threads + thread);
      Status got = options.key_format.with_key(key, [&](auto at) { return txn.get(table, at, ColumnsRef(), &view); });
      found = got.ok();
      return got.not_found() ? Status() : got;
    });
    if (!status.ok()) return status;
    return found;
  };
  uint64_t below = 0, above = 1;  // at least `below` and fewer than `above` records exist
  for (;; above *= 2) {
    const auto found = exists(above - 1);
    if (!found.ok()) return found.status();
    if (!*found) break;
    below = above;
  }
  while (above - below > 1) {
    const uint64_t middle = below + (above - below) / 2;
    const auto found = exists(middle - 1);
    if (!found.ok()) return found.status();
    (*found ? below : above) = middle;
  }
  return below;
}

// Finds what earlier runs have left. Records their inserts in `space`, and stores the sum of all
// counters in *counters.
Status find_earlier(Database& db, TableRef table, const YcsbOptions& options, KeySpace& space, uint64_t* counters) {
  uint64_t known = options.records;
  for (uint32_t thread = 0; thread < options.common.threads; ++thread) {
    const auto inserted = find_inserted(db, table, options, space, thread);
    if (!inserted.ok()) return inserted.status();
    space.resume(thread, *inserted);
    known += *inserted;
  }
  const uint64_t rows = db.statistics().tables.front().rows;
  if (rows != known)
    return Status::invalid_argument(
        fmt::format("--resume: {} rows were recovered, but --records {} and --threads {} imply {}; use the previous run's values "
                    "(and its --key-order)",
                    rows, options.records, options.common.threads, known));
  Check check;
  if (Status status = check_rows(db, table, options, space, check); !status.ok()) return status;
  if (check.damaged.load() != 0)
    return Status(Code::kCorrupt, fmt::format("--resume: {} of the recovered rows are missing or damaged, including key {}",
                                              check.damaged.load(), check.damaged_key.load()));
  *counters = check.counters.load();
  return {};
}

// Loads the table or, with --resume, finds what earlier runs have left in it.
Status fill(Database& db, TableRef table, const YcsbOptions& options, KeySpace& space, uint64_t* counters, Report* report) {
  if (!options.common.data.resume) {
    report->load = load(db, table, options, space);
    return report->load.status;
  }
  if (Status status = find_earlier(db, table, options, space, counters); !status.ok()) return status;
  report->notes.push_back(fmt::format("resumed      {}; {} updates from earlier runs", describe_recovery(db.recovery()), *counters));
  report->extra["recovery"] = recovery_json(db.recovery());
  return {};
}

// Checks all rows and adds the result to `outcome`. `read_modify_writes` is the number that all
// runs together have committed.
Status add_check(Database& db, TableRef table, const YcsbOptions& options, const KeySpace& space, uint64_t read_modify_writes,
                 YcsbOutcome& outcome) {
  Check check;
  if (Status status = check_rows(db, table, options, space, check); !status.ok()) return status;
  const uint64_t counters = check.counters.load();
  const bool whole = check.damaged.load() == 0;
  const bool kept = !keeps_counters(options) || counters == read_modify_writes;
  Json consistency = {{"ok", whole && kept}, {"damaged_rows", check.damaged.load()}};
  if (keeps_counters(options)) {
    consistency["counters"] = counters;
    consistency["read_modify_writes"] = read_modify_writes;
  }
  outcome.report.extra["consistency"] = consistency;
  outcome.ok = outcome.ok && whole && kept;
  if (!whole)
    outcome.report.notes.push_back(
        fmt::format("VIOLATION    {} rows are missing or damaged, including key {}", check.damaged.load(), check.damaged_key.load()));
  if (!kept)
    outcome.report.notes.push_back(
        fmt::format("VIOLATION    counters add up to {}, but {} read-modify-writes committed", counters, read_modify_writes));
  if (whole && kept)
    outcome.report.notes.push_back(keeps_counters(options)
                                       ? fmt::format("consistency  all rows are intact, and all {} updates are present", counters)
                                       : std::string("consistency  all rows are intact"));
  return {};
}

}  // namespace

Json workload_json(const YcsbOptions& options) {
  Json shares = Json::object();
  for (size_t kind = 0; kind < kOperationKinds; ++kind)
    if (options.shares[kind] > 0) shares[name_of(static_cast<OperationKind>(kind))] = options.shares[kind];
  return {{"workload", options.workload.empty() ? "mix" : options.workload},
          {"mix", options.workload.empty() ? options.mix : ""},
          {"shares", shares},
          {"distribution", name_of(options.distribution)}};
}

Result<YcsbOutcome> run_ycsb(const YcsbOptions& options) {
  auto session = Session::open(options.common);
  if (!session.ok()) return session.status();
  Database& db = session->db();
  if (options.common.data.resume && !db.table("usertable").ok())
    return Status(Code::kNotFound, "--resume: this is not a YCSB database: it does not have a table 'usertable'");
  auto table = create_table(db, options);
  if (!table.ok()) return table.status();
  KeySpace space(options.records, options.common.threads, options.hashed_keys);

  YcsbOutcome outcome;
  Report& report = outcome.report;
  report.benchmark = "ycsb";
  uint64_t earlier = 0;  // read-modify-writes of earlier runs
  if (Status status = fill(db, *table, options, space, &earlier, &report); !status.ok()) return status;

  const YcsbTypes types(options);
  auto run = drive<YcsbWorker>(options.common, &db, types.names, [&](uint32_t thread) {
    return std::make_unique<YcsbWorker>(options, types, db, *table, space, thread);
  });
  report.result = std::move(run.result);
  report.configuration = configuration(options, db);
  report.records = options.records;
  uint64_t read_modify_writes = 0, scanned_rows = 0;
  for (const auto& worker : run.workers) {
    read_modify_writes += worker->read_modify_writes();
    scanned_rows += worker->scanned_rows();
  }
  for (uint32_t thread = 0; thread < options.common.threads; ++thread) report.records += space.inserted(thread);
  report.extra["operations_per_s"] = report.result.throughput() * options.operations;
  report.extra["scanned_rows"] = scanned_rows;
  report.notes.push_back(fmt::format("workload     {}", describe(options)));
  if (options.operations > 1)
    report.notes.push_back(fmt::format("operations   {}/s", short_number(report.result.throughput() * options.operations)));
  outcome.ok = report.result.failure.empty();
  if (!options.skip_check)
    if (Status status = add_check(db, *table, options, space, earlier + read_modify_writes, outcome); !status.ok()) return status;
  if (Status status = session->close(); !status.ok()) return status;
  return outcome;
}

}  // namespace elider::bench
