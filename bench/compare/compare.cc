#include "bench/compare/compare.h"

#include <algorithm>
#include <array>

#include <unistd.h>

#include <fmt/format.h>

#include "bench/common/driver.h"
#include "bench/common/random.h"
#include "bench/ycsb/key_chooser.h"

namespace elider::bench {

namespace {

// One thread on one store (a BenchWorker).
class CompareWorker {
 public:
  CompareWorker(const YcsbOptions& options, const KeySpace& space, PeerClient& client, uint64_t stream)
      : operations_(options.operations),
        modify_below_(options.shares[static_cast<size_t>(OperationKind::kReadModifyWrite)] / 100),
        chooser_(options, space),
        random_(options.common.seed, stream),
        client_(client) {}

  uint32_t run_one() {
    uint64_t modified = 0;
    for (uint32_t i = 0; i < operations_; ++i) {
      drawn_[i] = {chooser_.draw(random_), random_.uniform() < modify_below_};
      modified += drawn_[i].modifies;
    }
    if (Status status = client_.run({drawn_.data(), operations_}); !status.ok()) [[unlikely]] {
      failure_ = status.message();
      return kWorkerFailed;
    }
    modified_ += modified;
    return 0;
  }
  std::string failure() const { return failure_; }
  uint64_t modified() const { return modified_; }

 private:
  const uint32_t operations_;
  const double modify_below_;
  KeyChooser chooser_;
  Random random_;
  PeerClient& client_;
  std::array<PeerOperation, kOperationsMax> drawn_;
  uint64_t modified_ = 0;
  std::string failure_;
};

// A loaded store with a client a thread.
struct Store {
  std::string name;
  std::unique_ptr<Peer> peer;
  std::vector<std::unique_ptr<PeerClient>> clients;
  uint64_t modified = 0;  // read-modify-writes it has committed
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

Status open_stores(const CompareOptions& options, std::vector<Store>& stores, CompareOutcome& outcome) {
  std::vector<std::string> names{"elider"};
  names.insert(names.end(), options.peers.begin(), options.peers.end());
  for (const std::string& name : names) {
    auto peer = open_peer(name, options);
    if (!peer.ok() && peer.status().code() == Code::kUnsupported) {
      outcome.skipped.push_back(peer.status().message());
      continue;
    }
    if (!peer.ok()) return named(name, peer.status());
    tell(options, "loading " + name);
    if (Status status = (*peer)->load(options.ycsb.records); !status.ok()) return named(name, status);
    Store store{name, std::move(*peer), {}, 0};
    for (uint32_t thread = 0; thread < options.ycsb.common.threads; ++thread) {
      auto client = store.peer->client();
      if (!client.ok()) return named(name, client.status());
      store.clients.push_back(std::move(*client));
    }
    outcome.stores.emplace_back(name, store.peer->about());
    stores.push_back(std::move(store));
  }
  return {};
}

Result<double> measure(const YcsbOptions& options, const KeySpace& space, Store& store, uint32_t repetition) {
  auto run = drive<CompareWorker>(options.common, nullptr, {"transaction"}, [&](uint32_t thread) {
    return std::make_unique<CompareWorker>(options, space, *store.clients[thread], uint64_t{repetition} << 32 | thread);
  });
  for (const auto& worker : run.workers) store.modified += worker->modified();
  if (!run.result.failure.empty()) return named(store.name, Status(Code::kInvalidArgument, run.result.failure));
  return run.result.throughput();
}

Status check_counters(const CompareOptions& options, std::vector<Store>& stores) {
  for (Store& store : stores) {
    tell(options, "checking " + store.name);
    auto sum = store.clients[0]->sum_counters(options.ycsb.records);
    if (!sum.ok()) return named(store.name, sum.status());
    if (*sum != store.modified)
      return Status(Code::kInvalidArgument, fmt::format("{}: counters sum up to {}, but {} read-modify-writes committed", store.name, *sum,
                                                        store.modified));
  }
  return {};
}

}  // namespace

Result<CompareOutcome> run_compare(const CompareOptions& options) {
  CompareOutcome outcome;
  std::vector<Store> stores;
  if (Status status = open_stores(options, stores, outcome); !status.ok()) return status;
  const KeySpace space(options.ycsb.records, options.ycsb.common.threads, false);
  for (const std::string& mix : options.mixes) {
    YcsbOptions ycsb = options.ycsb;
    ycsb.mix = mix;
    ycsb.distribution_name = name_of(options.ycsb.distribution);
    resolve(ycsb);
    CompareMix& of_mix = outcome.mixes.emplace_back();
    of_mix.mix = mix;
    for (const Store& store : stores) of_mix.series.push_back({store.name, {}});
    for (uint32_t repetition = 0; repetition < options.repeat; ++repetition)
      for (size_t i = 0; i < stores.size(); ++i) {
        tell(options, fmt::format("mix {}, repetition {} of {}: {}", mix, repetition + 1, options.repeat, stores[i].name));
        auto throughput = measure(ycsb, space, stores[i], repetition);
        if (!throughput.ok()) return throughput.status();
        of_mix.series[i].throughput.push_back(*throughput);
      }
  }
  if (Status status = check_counters(options, stores); !status.ok()) return status;
  tell(options, "");
  return outcome;
}

}  // namespace elider::bench
