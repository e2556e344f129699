// ShardedCounts: counts entries and the bytes that they occupy. Most workers have a shard of their
// own, so that they do not share a cache line. Sums are exact while no worker calls add(), and
// approximate otherwise.
//
// Thread safety: only the worker with id `worker_id` may call add(); any thread may read the sums.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace elider {

class ShardedCounts {
 public:
  // Adds to both counts; the arguments may be negative. Returns the number of entries in this
  // worker's shard. Callers use it to decide when to do periodic work.
  int64_t add(uint32_t worker_id, int64_t entries, int64_t bytes) {
    // Each worker with a low id has its own shard, so the addition need not be atomic. All other
    // workers share the last shard.
    if (worker_id < kShards - 1) [[likely]] {
      Shard& shard = shards_[worker_id];
      if (bytes != 0) bump_own(shard.bytes, bytes);
      return bump_own(shard.entries, entries);
    }
    Shard& shard = shards_[kShards - 1];
    if (bytes != 0) shard.bytes.fetch_add(bytes, std::memory_order_relaxed);
    return shard.entries.fetch_add(entries, std::memory_order_relaxed) + entries;
  }

  int64_t entries() const {
    int64_t sum = 0;
    for (const Shard& shard : shards_) sum += shard.entries.load(std::memory_order_relaxed);
    return sum;
  }
  int64_t bytes() const {
    int64_t sum = 0;
    for (const Shard& shard : shards_) sum += shard.bytes.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  static constexpr size_t kShards = 16;
  // All accesses are relaxed, because the counts do not order other memory accesses.
  struct alignas(64) Shard {
    std::atomic<int64_t> entries{0};
    std::atomic<int64_t> bytes{0};
  };
  static int64_t bump_own(std::atomic<int64_t>& count, int64_t change) {
    const int64_t now = count.load(std::memory_order_relaxed) + change;
    count.store(now, std::memory_order_relaxed);
    return now;
  }
  std::array<Shard, kShards> shards_;
};

}  // namespace elider
