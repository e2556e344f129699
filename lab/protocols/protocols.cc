#include "lab/protocols/protocols.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "bench/common/spread.h"
#include "lab/protocols/chopping_studies.h"
#include "lab/protocols/dbx_studies.h"
#include "lab/protocols/durability_studies.h"
#include "lab/protocols/points.h"
#include "lab/scan/scan.h"
#include "bench/tpcc/tpcc.h"
#include "elider/database.h"
#include "lab/studies/try_region.h"
#include "elider/try.h"

namespace elider::bench::protocols {

Result<Point> run_tpcc(const StudyOptions& options, Protocol protocol, uint32_t threads, uint32_t warehouses,
                       const std::function<void(CommonOptions*, tpcc::TpccOptions*)>& set) {
  CommonOptions common;
  common.protocol = protocol;
  common.threads = threads;
  common.seconds = options.seconds;
  common.seed = options.seed;
  common.quiet = true;
  tpcc::TpccOptions tpcc;
  tpcc.sizes.warehouses = warehouses;
  if (options.quick) {
    tpcc.sizes.items = 1000;
    tpcc.sizes.customers = 60;
  }
  if (set) set(&common, &tpcc);
  std::vector<double> throughputs;
  Point point;
  for (uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
    auto outcome = tpcc::measure_tpcc(common, tpcc);
    empty_data_folders(common.data);
    if (!outcome.ok()) return outcome.status();
    ELIDER_TRY(outcome->status());
    throughputs.push_back(outcome->report.result.throughput());
    const RunResult& result = outcome->report.result;
    if (common.parts.counted_lookups) point.more["lookups"] = to_json(result.lookups);
    point.more["aborts_a_transaction"] =
        static_cast<double>(result.aborts_total()) / static_cast<double>(std::max<uint64_t>(1, result.engine_commits));
    const Json& extra = outcome->report.extra;
    if (extra.contains("durable_latency_us")) point.more["durable_latency_us"].push_back(extra["durable_latency_us"]);
  }
  point.y = spread_of(throughputs).median;
  point.more["runs"] = throughputs;
  return point;
}

Result<Point> run_ycsb_point(const StudyOptions& options, YcsbOptions ycsb) {
  ycsb.skip_check = true;
  ycsb.common.seconds = options.seconds;
  ycsb.common.seed = options.seed;
  ycsb.common.quiet = true;
  resolve(ycsb);
  std::vector<double> values;
  for (uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
    ELIDER_ASSIGN(const auto outcome, run_ycsb(ycsb));
    values.push_back(outcome.report.result.throughput());
  }
  return Point{static_cast<double>(ycsb.common.threads), spread_of(values).median, {{"runs", values}}};
}

Guard best_guard() {
  static const Guard best = []() -> Guard {
    Options options;
    options.sync = SyncPolicy::kElided;
    if (!find_regions(&options.htm).ok() || !Database::open(options).ok()) return {};
    return {options.sync, options.htm};
  }();
  return best;
}

std::string guarded_by(const Guard& guard) {
  return guard.regions() ? fmt::format("regions by {}", name_of(guard.htm)) : "optimistic latches instead of regions";
}
std::string left_out() { return best_guard().regions() ? "" : "; this machine cannot run regions, so their lines are missing"; }

std::vector<uint32_t> thread_counts(const StudyOptions& options) {
  std::vector<uint32_t> counts;
  for (uint32_t threads = 1; threads < options.threads; threads *= 2) counts.push_back(threads);
  counts.push_back(options.threads);
  return counts;
}

std::string sizes_of(const StudyOptions& options) { return options.quick ? "; small warehouses" : ""; }

namespace {

// Adds one series per protocol, with a point for each of these values of x.
template <class X, class Run>
Status add_lines(const StudyOptions& options, const std::vector<X>& xs, Figure* figure, Run&& run) {
  for (const Protocol protocol : options.protocols) {
    Series line{std::string(name_of(protocol)), {}};
    for (const X x : xs) {
      Result<Point> point = run(protocol, x);
      if (!point.ok())
        return Status(point.status().code(), fmt::format("{}, {} {}: {}", name_of(protocol), figure->x, x, point.status().message()));
      point->x = static_cast<double>(x);
      line.points.push_back(std::move(*point));
    }
    figure->series.push_back(std::move(line));
  }
  return {};
}

Result<Figure> over_threads(const StudyOptions& options) {
  const uint32_t warehouses = options.threads;
  Figure figure{"hyper-18",
                "TPC-C by number of threads",
                "threads",
                "transactions/s",
                "timestamps with hardware transactions scale, and so does partitioned execution, which is slightly faster; "
                "two-phase locking is slower than serial execution",
                fmt::format("{} warehouses, whereas the paper uses 32{}", warehouses, sizes_of(options)),
                {}};
  ELIDER_TRY(add_lines(options, thread_counts(options), &figure,
                       [&](Protocol protocol, uint32_t threads) { return run_tpcc(options, protocol, threads, warehouses); }));
  return figure;
}

// Compares kinds of latches under the protocol `timestamp`, whose small sections are operations on
// index nodes and rows.
Result<Figure> over_guards(const StudyOptions& options) {
  const uint32_t warehouses = options.threads;
  Figure figure{"hyper-20", "TPC-C under timestamp, by kind of latch", "threads", "transactions/s",
                "with elision, 28 threads reach 15 times the throughput of one, about 1 M transactions/s; one latch per table without "
                "elision does not scale",
                fmt::format("{} warehouses, whereas the paper uses 32{}{}", warehouses, sizes_of(options), left_out()), {}};
  struct Way {
    const char* name;
    SyncPolicy sync;
    HtmBackend htm;
  };
  std::vector<Way> ways;
  if (const Guard best = best_guard(); best.regions()) ways.push_back({"one latch per index, elided", best.sync, best.htm});
  ways.push_back({"one latch per index", SyncPolicy::kElided, HtmBackend::kNone});
  ways.push_back({"optimistic latches of nodes", SyncPolicy::kOptimistic, HtmBackend::kAutomatic});
  for (const Way& way : ways) {
    Series line{way.name, {}};
    for (const uint32_t threads : thread_counts(options)) {
      ELIDER_ASSIGN(Point point,
                    run_tpcc(options, Protocol::kTimestamp, threads, warehouses, [&](CommonOptions* common, tpcc::TpccOptions*) {
                      common->sync = way.sync;
                      common->htm = way.htm;
                    }));
      point.x = threads;
      line.points.push_back(std::move(point));
    }
    figure.series.push_back(std::move(line));
  }
  return figure;
}

Result<Figure> over_crossing(const StudyOptions& options) {
  const uint32_t warehouses = std::max(2u, options.threads);
  Figure figure{"hyper-19",
                "TPC-C by share of transactions that cross partitions",
                "NewOrders and Payments of 100 that cross",
                "transactions/s",
                "partitioned execution becomes much slower; the other protocols hardly change",
                fmt::format("{} threads, {} warehouses, each a partition{}", options.threads, warehouses, sizes_of(options)), {}};
  const std::vector<int> percents = options.quick ? std::vector{0, 50, 100} : std::vector{0, 10, 25, 50, 75, 100};
  ELIDER_TRY(add_lines(options, percents, &figure, [&](Protocol protocol, int percent) {
    return run_tpcc(options, protocol, options.threads, warehouses,
                    [&](CommonOptions*, tpcc::TpccOptions* tpcc) { tpcc->crossing_percent = percent; });
  }));
  return figure;
}

Result<Figure> over_warehouses(const StudyOptions& options) {
  Figure figure{"warehouses", "TPC-C by number of warehouses", "warehouses", "transactions/s",
                "compares 32 and 200 warehouses, to vary the number of conflicts",
                fmt::format("{} threads{}", options.threads, sizes_of(options)), {}};
  const std::vector<uint32_t> counts = options.quick ? std::vector{1u, 2u} : std::vector{1u, 2u, 4u, 8u, 16u, 32u};
  ELIDER_TRY(add_lines(options, counts, &figure,
                       [&](Protocol protocol, uint32_t warehouses) { return run_tpcc(options, protocol, options.threads, warehouses); }));
  return figure;
}

// Measures only the timestamp protocol, under which a procedure runs alone after it has been
// restarted the given number of times.
Result<Figure> over_restarts(const StudyOptions& options) {
  Figure figure{"restarts", "TPC-C by number of restarts before a procedure runs alone", "restarts", "transactions/s",
                "12% of the transactions had a timestamp conflict, and 0.5% needed more than 2 restarts",
                fmt::format("{} threads, 1 warehouse; only the protocol timestamp{}", options.threads, sizes_of(options)), {}};
  Series line{std::string(name_of(Protocol::kTimestamp)), {}};
  for (const uint32_t restarts : options.quick ? std::vector{0u, 20u} : std::vector{0u, 1u, 2u, 5u, 10u, 20u, 50u, 100u}) {
    auto point = run_tpcc(options, Protocol::kTimestamp, options.threads, 1,
                          [&](CommonOptions* common, tpcc::TpccOptions*) { common->restarts_max = restarts; });
    if (!point.ok()) return point.status();
    point->x = restarts;
    line.points.push_back(std::move(*point));
  }
  figure.series.push_back(std::move(line));
  return figure;
}

// Uses one thread. Each variant except two-phase locking adds a part to the previous variant.
Result<Figure> costs(const StudyOptions& options) {
  Figure figure{"hyper-6.2",
                "TPC-C with one thread: the cost of each part",
                "run",
                "% more time per transaction than in the first run",
                "zones 5, regions 7, timestamps 10, transaction management 7, in total 29; two-phase locking 61",
                fmt::format("the first run is not synchronized but validates its reads, unlike in the paper{}", sizes_of(options)),
                {}};
  struct Step {
    const char* name;
    SyncPolicy sync;
    Protocol protocol;
    uint32_t zones;
  };
  constexpr Step kSteps[] = {{"single-threaded", SyncPolicy::kSingleThreaded, Protocol::kOcc, 0},
                             {"and 8 zones", SyncPolicy::kSingleThreaded, Protocol::kOcc, 8},
                             {"and optimistic latches", SyncPolicy::kOptimistic, Protocol::kOcc, 8},
                             {"and write timestamps", SyncPolicy::kOptimistic, Protocol::kTimestampValidated, 8},
                             {"and read timestamps", SyncPolicy::kOptimistic, Protocol::kTimestamp, 8},
                             {"two-phase locking", SyncPolicy::kOptimistic, Protocol::kTwoPhaseLocking, 8}};
  double first = 0;
  for (const Step& step : kSteps) {
    auto point = run_tpcc(options, step.protocol, 1, 1, [&](CommonOptions* common, tpcc::TpccOptions* tpcc) {
      common->sync = step.sync;
      tpcc->zones = step.zones;
    });
    if (!point.ok()) return point.status();
    if (first == 0) first = point->y;
    point->more["throughput_txns_per_s"] = point->y;
    point->x = 1;
    point->y = point->y > 0 ? 100 * (first / point->y - 1) : 0;
    figure.series.push_back({step.name, {std::move(*point)}});
  }
  return figure;
}

uint64_t rows_inserted(const StudyOptions& options) { return options.quick ? 100'000 : 5'000'000; }

Result<Figure> over_zones(const StudyOptions& options) {
  Figure figure{"zones",
                "Inserts into one zoned table, by number of zones",
                "zones",
                "inserts/s",
                "with one zone 14% of TPC-C's regions abort, with eight zones 6%; 64 zones are used on 28 cores",
                "occ; one row of 100 bytes per transaction",
                {}};
  for (const uint32_t threads : thread_counts(options)) {
    Series line{fmt::format("{} {}", threads, threads == 1 ? "thread" : "threads"), {}};
    for (const uint32_t zones : {1u, 2u, 4u, 8u, 16u, 32u, 64u}) {
      std::vector<double> figures;
      for (uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
        ELIDER_ASSIGN(const double inserts, measure_inserts(rows_inserted(options), threads, {.zones = zones}));
        figures.push_back(inserts);
      }
      line.points.push_back({static_cast<double>(zones), spread_of(figures).median, {{"runs", figures}}});
    }
    figure.series.push_back(std::move(line));
  }
  return figure;
}

Result<Figure> over_allocators(const StudyOptions& options) {
  Figure figure{"hyper-11",
                "Inserts, by source of memory",
                "threads",
                "inserts/s",
                "28 threads: malloc does not scale; the speedup is 12.2 with TCMalloc, and 26 with memory that was written beforehand",
                "a B+-tree; one row of 100 bytes per transaction",
                {}};
  struct Source {
    const char* name;
    InsertTarget target;
  };
  constexpr Source kSources[] = {{"one allocator per worker", {.zones = 0}},
                                 {"one allocator per worker, memory not yet mapped", {.zones = 0, .prefaulted = false}},
                                 {"one allocator and its lock", {.zones = 0, .own_allocators = false}}};
  for (const Source& source : kSources) {
    Series line{source.name, {}};
    for (const uint32_t threads : thread_counts(options)) {
      std::vector<double> figures;
      for (uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
        ELIDER_ASSIGN(const double inserts, measure_inserts(rows_inserted(options), threads, source.target));
        figures.push_back(inserts);
      }
      line.points.push_back({static_cast<double>(threads), spread_of(figures).median, {{"runs", figures}}});
    }
    figure.series.push_back(std::move(line));
  }
  return figure;
}

// Measures transactions that only increment one counter, the same for all threads.
Result<Point> run_counter(const StudyOptions& options, Protocol protocol, uint32_t threads) {
  struct Counter {
    int64_t value;
  };
  Options of_database;
  of_database.protocol = protocol;
  ELIDER_ASSIGN(Database db, Database::open(of_database));
  SchemaOf<Counter> schema("counter");
  schema.hashed().column("value", &Counter::value);
  ELIDER_ASSIGN(const Table<Counter> table, db.create_table(schema));
  ELIDER_TRY(db.run([&](Transaction& txn) { return txn.insert(table, 0, Counter{0}); }));
  const auto seconds = std::chrono::duration<double>(options.seconds);
  static constexpr uint32_t kOnePartition[] = {0};
  RunPolicy policy;
  policy.partitions = kOnePartition;
  std::vector<Status> ends(threads);
  std::vector<uint64_t> counts(threads);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> all;
  for (uint32_t t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      uint64_t count = 0;
      for (; ends[t].ok() && (count % 256 != 0 || std::chrono::steady_clock::now() - begin < seconds); ++count)
        ends[t] = db.run([&](Transaction& txn) { return txn.update(table, 0, {}, [](Counter& counter) { ++counter.value; }); }, policy);
      counts[t] = count;
    });
  for (std::thread& thread : all) thread.join();
  const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const Status& end : ends)
    if (!end.ok()) return end;
  uint64_t sum = 0;
  for (const uint64_t count : counts) sum += count;
  int64_t value = 0;
  ELIDER_TRY(db.run_read_only([&](Transaction& txn) -> Status {
    ELIDER_ASSIGN(const auto row, txn.get(table, 0));
    value = row->value;
    return {};
  }));
  if (value != static_cast<int64_t>(sum))
    return Status(Code::kCorrupt, fmt::format("the counter is {}, but the number of increments is {}", value, sum));
  return Point{0, static_cast<double>(sum) / passed, Json::object()};
}

Result<Figure> counter(const StudyOptions& options) {
  Figure figure{"hyper-12", "One counter that all threads increment", "threads", "transactions/s",
                "for an atomic variable, every kind of synchronization becomes slower with more cores", "", {}};
  ELIDER_TRY(add_lines(options, thread_counts(options), &figure,
                       [&](Protocol protocol, uint32_t threads) { return run_counter(options, protocol, threads); }));
  return figure;
}

}  // namespace

std::span<const Study> studies() {
  static constexpr Study kStudies[] = {
      {"hyper-18", "TPC-C by number of threads (figures 1 and 18)", over_threads},
      {"hyper-20", "TPC-C under timestamp, by kind of latch", over_guards},
      {"hyper-19", "TPC-C by share of transactions that cross partitions", over_crossing},
      {"warehouses", "TPC-C by number of warehouses", over_warehouses},
      {"restarts", "TPC-C under timestamp, by number of restarts", over_restarts},
      {"hyper-6.2", "the cost of zones, latches, timestamps and locks with one thread", costs},
      {"zones", "inserts, by number of zones in a table", over_zones},
      {"hyper-11", "inserts, by source of memory", over_allocators},
      {"hyper-12", "one counter that all threads increment", counter},
      {"dbx-5", "TPC-C with and without regions", dbx_5},
      {"dbx-6", "the B+-tree by itself", dbx_6},
      {"dbx-7", "the hash table by itself", dbx_7},
      {"dbx-8", "TPC-C by number of threads, and with a spinlock", dbx_8},
      {"dbx-6.2", "NewOrder: lookups that avoid a descent, and the effect on the throughput", dbx_6_2},
      {"dbx-11", "small transactions compared with the bare tree", dbx_11},
      {"dbx-12", "NewOrder on B+-trees, on hash tables, and on both", dbx_12},
      {"dbx-13", "TPC-C on B+-trees, and with hash tables for tables that are not scanned", dbx_13},
      {"dbx-14", "NewOrder and StockLevel, with and without snapshots", dbx_14},
      {"dbx-16", "TPC-C with a log and without", dbx_16},
      {"dbx-17", "TPC-C: latency until durable", dbx_17},
      {"dbx-tc-12", "TPC-C in pieces and whole, by contention", dbx_tc_12},
      {"dbx-tc-13a", "TPC-C in pieces, with and without snapshots", dbx_tc_13a},
      {"dbx-tc-13b", "TPC-C in pieces and whole, with and without a log", dbx_tc_13b},
      {"dbx-tc-13c", "TPC-C in pieces: latency until durable", dbx_tc_13c},
      {"dbx-tc-14", "TPC-C in pieces: the contribution of each part", dbx_tc_14},
      {"dbx-tc-15", "Articles, under each protocol", dbx_tc_15},
      {"ydb", "YCSB with 8-byte values, by number of threads and of retries", ydb},
  };
  return kStudies;
}

}  // namespace elider::bench::protocols
