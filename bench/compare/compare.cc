#include "bench/compare/compare.h"

#include <algorithm>
#include <array>
#include <optional>

#include <unistd.h>

#include <fmt/format.h>

#include "bench/common/commands.h"
#include "bench/common/driver.h"
#include "tools/common/interrupt.h"
#include "bench/ycsb/key_chooser.h"

namespace elider::bench {

namespace {

// Runs one thread's transactions on one store (a BenchWorker).
class CompareWorker {
 public:
  CompareWorker(const YcsbOptions& options, KeySpace& space, PeerClient& client, uint32_t thread, uint32_t repetition)
      : operations_(options.operations), stream_(options, space, thread, uint64_t{repetition} << 32 | thread), client_(client) {}

  uint32_t run_one() {
    const std::span operations(drawn_.data(), operations_);
    stream_.draw(operations);
    if (Status status = client_.run(operations); !status.ok()) [[unlikely]] {
      failure_ = status.message();
      return kWorkerFailed;
    }
    stream_.committed(operations);
    return 0;
  }
  std::string failure() const { return failure_; }
  uint64_t read_modify_writes() const { return stream_.read_modify_writes(); }

 private:
  const uint32_t operations_;
  OperationStream stream_;
  PeerClient& client_;
  std::array<Operation, kOperationsMax> drawn_;
  std::string failure_;
};

Status named(const std::string& store, const Status& status) { return Status(status.code(), store + ": " + status.message()); }

Result<std::unique_ptr<Peer>> open_peer(const std::string& name, const CompareOptions& options) {
  if (name == "elider") return open_elider(options);
  if (name == "rocksdb") return open_rocksdb(options);
  if (name == "lmdb") return open_lmdb(options);
  return open_sqlite(options);
}

void tell(const CompareOptions& options, const std::string& what) {
  if (options.ycsb.common.quiet || ::isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r{:<70}\r", what);
  std::fflush(stderr);
}

// A loaded store, with one client per thread and the results of its runs.
struct Store {
  std::string name;
  std::unique_ptr<Peer> peer;
  std::vector<std::unique_ptr<PeerClient>> clients;
  std::unique_ptr<KeySpace> space;
  uint64_t read_modify_writes = 0;

  uint64_t inserted() const {
    uint64_t rows = 0;
    for (uint32_t thread = 0; thread < clients.size(); ++thread) rows += space->inserted(thread);
    return rows;
  }
};

// All loaded stores.
class Stores {
 public:
  // `options.ycsb` has the options of the workload that runs first.
  explicit Stores(CompareOptions options) : options_(std::move(options)) {}

  // Opens and loads all stores. Called once, before the other functions.
  Status open();
  // Called for each workload and repetition. Runs each store once, in turn.
  Status run(const YcsbOptions& workload, uint32_t repetition, CompareRun& run);
  // Called at the end: checks that the rows are what the runs committed.
  Status check();

  const std::vector<Store>& stores() const { return stores_; }
  const std::vector<std::string>& skipped() const { return skipped_; }

 private:
  Status open_one(const std::string& name);
  Result<double> measure(const YcsbOptions& workload, Store& store, uint32_t repetition);
  Status check_one(const Store& store);

  const CompareOptions options_;
  std::vector<Store> stores_;
  std::vector<std::string> skipped_;
  bool keeps_counters_ = true;
};

Status Stores::open() {
  std::vector<std::string> names{"elider"};
  names.insert(names.end(), options_.peers.begin(), options_.peers.end());
  for (const std::string& name : names)
    if (Status status = open_one(name); !status.ok()) return named(name, status);
  return {};
}

// Returns how many read-modify-writes earlier runs have committed to a resumed store, which is the
// sum of its rows' counters.
Result<uint64_t> counters_before(PeerClient& client, uint64_t records) {
  auto rows = client.count_rows();
  if (!rows.ok()) return rows.status();
  if (*rows != records)
    return Status::invalid_argument(
        fmt::format("--resume: {} rows were recovered, but --records is {}; use the previous run's number", *rows, records));
  return client.sum_counters({0, 1, records});
}

Status Stores::open_one(const std::string& name) {
  auto peer = open_peer(name, options_);
  if (!peer.ok() && peer.status().code() == Code::kUnsupported) {
    skipped_.push_back(peer.status().message());
    return {};
  }
  if (!peer.ok()) return peer.status();
  const YcsbOptions& ycsb = options_.ycsb;
  tell(options_, "loading " + name);
  if (Status status = (*peer)->load(ycsb.records); !status.ok()) return status;
  Store store{name, std::move(*peer), {}, std::make_unique<KeySpace>(ycsb.records, ycsb.common.threads, false), 0};
  for (uint32_t thread = 0; thread < ycsb.common.threads; ++thread) {
    auto client = store.peer->client();
    if (!client.ok()) return client.status();
    store.clients.push_back(std::move(*client));
  }
  if (store.peer->resumed()) {
    auto before = counters_before(*store.clients.front(), ycsb.records);
    if (!before.ok()) return before.status();
    store.read_modify_writes = *before;
  }
  stores_.push_back(std::move(store));
  return {};
}

Status Stores::run(const YcsbOptions& workload, uint32_t repetition, CompareRun& run) {
  keeps_counters_ = keeps_counters_ && keeps_counters(workload);
  if (run.series.empty())
    for (const Store& store : stores_) run.series.push_back({store.name, {}, 0});
  for (size_t i = 0; i < stores_.size(); ++i) {
    Store& store = stores_[i];
    tell(options_, fmt::format("{}, repetition {} of {}: {}", title_of(workload), repetition + 1, options_.repeat, store.name));
    const uint64_t inserted_before = store.inserted();
    auto throughput = measure(workload, store, repetition);
    if (!throughput.ok()) return named(store.name, throughput.status());
    if (interrupted()) return {};
    run.series[i].throughput.push_back(*throughput);
    run.series[i].inserted += store.inserted() - inserted_before;
  }
  return {};
}

Result<double> Stores::measure(const YcsbOptions& workload, Store& store, uint32_t repetition) {
  auto run = drive<CompareWorker>(workload.common, nullptr, {"transaction"}, [&](uint32_t thread) {
    return std::make_unique<CompareWorker>(workload, *store.space, *store.clients[thread], thread, repetition);
  });
  for (const auto& worker : run.workers) store.read_modify_writes += worker->read_modify_writes();
  if (!run.result.failure.empty()) return Status(Code::kInvalidArgument, run.result.failure);
  return run.result.throughput();
}

Status Stores::check() {
  for (const Store& store : stores_) {
    tell(options_, "checking " + store.name);
    if (Status status = check_one(store); !status.ok()) return named(store.name, status);
  }
  return {};
}

Status Stores::check_one(const Store& store) {
  const uint64_t records = store.space->records();
  const uint64_t threads = store.clients.size();
  PeerClient& client = *store.clients.front();
  uint64_t sum = 0;
  const auto add = [&](const KeySeries& keys) -> Status {
    auto part = client.sum_counters(keys);
    if (!part.ok()) return part.status();
    sum += *part;
    return {};
  };
  if (Status status = add({0, 1, records}); !status.ok()) return status;
  for (uint32_t thread = 0; thread < threads; ++thread)
    if (Status status = add({records + thread, threads, store.space->inserted(thread)}); !status.ok()) return status;
  if (keeps_counters_ && sum != store.read_modify_writes)
    return Status::invalid_argument(
        fmt::format("counters sum up to {}, but {} read-modify-writes committed", sum, store.read_modify_writes));
  auto rows = client.count_rows();
  if (!rows.ok()) return rows.status();
  if (*rows != records + store.inserted())
    return Status::invalid_argument(
        fmt::format("there are {} rows, but {} were loaded and {} inserts committed", *rows, records, store.inserted()));
  return {};
}

bool starts_from_load(const YcsbOptions& workload, uint32_t repetition) {
  return has(workload, OperationKind::kInsert) || (repetition == 0 && !workload.workload.empty());
}

// Drops the results of an interrupted repetition. Returns false if no repetition was complete.
bool keep_whole_repetitions(CompareOutcome& outcome) {
  outcome.interrupted = true;
  CompareRun& last = outcome.runs.back();
  size_t whole = last.series.empty() ? 0 : last.series.front().throughput.size();
  for (const CompareSeries& series : last.series) whole = std::min(whole, series.throughput.size());
  for (CompareSeries& series : last.series) series.throughput.resize(whole);
  if (whole == 0) outcome.runs.pop_back();
  return !outcome.runs.empty();
}

}  // namespace

std::vector<YcsbOptions> workloads_of(const CompareOptions& options) {
  std::vector<YcsbOptions> resolved;
  const bool mixes = options.workloads.empty();
  for (const std::string& name : mixes ? options.mixes : options.workloads) {
    YcsbOptions& ycsb = resolved.emplace_back(options.ycsb);
    if (!mixes && name.empty()) refuse_option("--workload", "'' is not one of a, b, c, d, e, f");
    (mixes ? ycsb.mix : ycsb.workload) = name;
    resolve(ycsb);
    if (ycsb.distribution == Distribution::kLatest && !has(ycsb, OperationKind::kInsert))
      refuse_option("--distribution", fmt::format("latest requires inserts, but {} does not insert", title_of(ycsb)));
    if (has(ycsb, OperationKind::kScan) && ycsb.operations > 1 && std::ranges::count(options.peers, "rocksdb") != 0)
      refuse_option("--operations",
                    fmt::format("{} scans, and RocksDB's transactions do not check ranges; use 1 operation, or --peers without rocksdb",
                                title_of(ycsb)));
    for (const YcsbOptions& before : resolved)
      if (!mixes && &before != &ycsb && before.workload == ycsb.workload)
        refuse_option("--workload", fmt::format("'{}' is listed twice", ycsb.workload));
  }
  return resolved;
}

Result<CompareOutcome> run_compare(const CompareOptions& options) {
  CompareOutcome outcome;
  std::optional<Stores> stores;
  const auto load_anew = [&](const YcsbOptions& workload) -> Status {
    if (stores)
      if (Status status = stores->check(); !status.ok()) return status;
    stores.reset();  // frees their files and memory before other stores are opened
    CompareOptions of_workload = options;
    of_workload.ycsb = workload;
    return stores.emplace(std::move(of_workload)).open();
  };
  for (const YcsbOptions& workload : workloads_of(options)) {
    CompareRun& run = outcome.runs.emplace_back();
    run.workload = workload;
    for (uint32_t repetition = 0; repetition < options.repeat && !interrupted(); ++repetition) {
      if (!stores || starts_from_load(workload, repetition))
        if (Status status = load_anew(workload); !status.ok()) return status;
      if (interrupted()) break;
      if (Status status = stores->run(workload, repetition, run); !status.ok()) return status;
    }
    if (interrupted()) break;
  }
  if (interrupted() && !keep_whole_repetitions(outcome))
    return Status::invalid_argument("interrupted before every store had run once, so nothing can be reported");
  if (!stores) return Status::invalid_argument("no workload was given");
  if (Status status = stores->check(); !status.ok()) return status;
  for (const Store& store : stores->stores()) outcome.stores.emplace_back(store.name, store.peer->about());
  outcome.skipped = stores->skipped();
  tell(options, "");
  return outcome;
}

}  // namespace elider::bench
