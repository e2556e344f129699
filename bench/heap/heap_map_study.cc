#include "bench/heap/heap_map_study.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "bench/common/random.h"
#include "bench/compare/peer.h"
#include "bench/heap/measure.h"
#include "elider/heap_map.h"
#include "elider/try.h"
#include "tools/common/interrupt.h"

namespace elider::bench {

using tools::interrupted;

namespace {

using Map = HeapMap<uint64_t, uint64_t>;

constexpr uint64_t kKeys = 100'000;

Result<double> of_heap(const HeapStudyOptions& options, const std::string& path) {
  HeapOptions heap_options;
  heap_options.medium = HeapMedium::kFile;
  heap_options.durability = HeapDurability::kLater;
  ELIDER_ASSIGN(Heap heap, Heap::open(path, 16 << 20, heap_options));
  HeapPtr<Map> map;
  ELIDER_TRY(heap.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(map, txn.root<Map>("map"));
    return {};
  }));
  return measure(options, [&](uint32_t thread, const std::atomic<bool>& stop, uint64_t* done) -> Status {
    Random random(options.seed, thread);
    while (!stop.load(std::memory_order_relaxed)) {
      for (uint32_t i = 0; i < options.group; ++i) {
        const uint64_t key = random.below(kKeys);
        ELIDER_TRY(heap.transaction([&](HeapTransaction& txn) { return txn[map].put(txn, key, key); }));
      }
      ELIDER_TRY(heap.persist());
      *done += options.group;
    }
    return {};
  });
}

Result<double> of_peer(const HeapStudyOptions& options, Peer& peer) {
  std::vector<std::unique_ptr<PeerClient>> clients;
  for (uint32_t thread = 0; thread < options.threads; ++thread) {
    ELIDER_ASSIGN(clients.emplace_back(), peer.client());
  }
  return measure(options, [&](uint32_t thread, const std::atomic<bool>& stop, uint64_t* done) -> Status {
    Random random(options.seed, thread);
    for (; !stop.load(std::memory_order_relaxed); ++*done) {
      const uint64_t key = random.below(kKeys);
      const Operation update{key, key, 0, OperationKind::kUpdate};
      ELIDER_TRY(clients[thread]->run({&update, 1}));
    }
    return {};
  });
}

}  // namespace

Status study_heap_map(const HeapStudyOptions& options, HeapFigure* figure) {
  *figure = {"map", "puts/s", "", {{fmt::format("heap, groups of {}", options.group), {}}}};
  CompareOptions compare;
  compare.ycsb.records = kKeys;
  compare.ycsb.value_bytes = 8;
  compare.ycsb.common.threads = options.threads;
  compare.ycsb.common.data.durability = Durability::kGroup;
  // Names a folder on a disk, because the default one may be in memory.
  compare.ycsb.common.data.folders = {options.folder.empty() ? std::filesystem::temp_directory_path().string() : options.folder};
  ELIDER_ASSIGN(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::of_run(compare));
  compare.scratch = scratch->path();
  compare.ycsb.common.data.folders = {scratch->path()};
  std::vector<std::pair<std::unique_ptr<Peer>, std::vector<double>*>> peers;
  const std::pair<const char*, Result<std::unique_ptr<Peer>> (*)(const CompareOptions&)> openers[] = {{"LMDB, synced", open_lmdb},
                                                                                                      {"RocksDB, synced", open_rocksdb}};
  figure->series.reserve(1 + std::size(openers));  // pointers to the elements must stay valid
  for (const auto& [name, open] : openers) {
    auto peer = open(compare);
    if (!peer.ok() && peer.status().code() == Code::kUnsupported) continue;
    if (!peer.ok()) return peer.status();
    if (!options.quiet) fmt::print(stderr, "  map, filling {}\n", name);
    ELIDER_TRY((*peer)->load(kKeys));
    figure->series.push_back({name, {}});
    peers.emplace_back(std::move(*peer), &figure->series.back().values);
  }
  for (uint32_t round = 0; round < options.repeat && !interrupted(); ++round) {
    if (!options.quiet) fmt::print(stderr, "  map, repetition {} of {}\n", round + 1, options.repeat);
    ELIDER_ASSIGN(const double heap, of_heap(options, fmt::format("{}/map{}.heap", scratch->path(), round)));
    std::vector<double> others;
    for (const auto& [peer, figures] : peers) {
      ELIDER_ASSIGN(others.emplace_back(), of_peer(options, *peer));
    }
    if (interrupted()) break;
    figure->series[0].values.push_back(heap);
    for (size_t i = 0; i < peers.size(); ++i) peers[i].second->push_back(others[i]);
  }
  return {};
}

}  // namespace elider::bench
