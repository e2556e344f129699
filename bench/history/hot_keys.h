// HotKeys: the few keys that all threads contend for. Each key is retired after 32 writes, and a
// new key replaces it, so that lists stay short and new keys are inserted throughout the run.
//
// A write is counted before its transaction runs, and remains counted if the transaction aborts, so
// a key gets at most 32 writes, and possibly fewer. Retired keys keep their rows, which scans still
// read.
// Thread safety: all threads may use it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "bench/common/random.h"
#include "bench/history/workload.h"

namespace elider::bench {

inline constexpr uint32_t kWritesPerKey = 32;

class HotKeys {
 public:
  explicit HotKeys(uint32_t count) : count_(count), slots_(new std::atomic<uint64_t>[count]) { begin_at(0); }
  // Starts with the key `first`, because an earlier run has used the smaller ones. Called before
  // any other thread uses the keys.
  void begin_at(int64_t first) {
    first_ = first;
    for (uint32_t i = 0; i < count_; ++i)
      slots_[i].store(pack(static_cast<uint64_t>(first) + i, 0), std::memory_order_relaxed);  // relaxed: not shared yet
    next_.store(static_cast<uint64_t>(first) + count_, std::memory_order_relaxed);            // likewise
  }

  // Draws a range of at most `span` keys that begins shortly before a contended key.
  void draw_range(Random& random, int64_t span, int64_t* from, int64_t* to) const {
    const int64_t key = to_read(random);
    *from = std::max(first_, key - static_cast<int64_t>(random.below(static_cast<uint64_t>(span))));
    *to = *from + static_cast<int64_t>(random.below(static_cast<uint64_t>(span)));
  }
  int64_t to_read(Random& random) const { return key_of(slots_[random.below(count_)].load()); }

  // Returns a key above all keys used until now.
  int64_t end() const { return static_cast<int64_t>(next_.load()); }

  int64_t to_write(Random& random) {
    for (;;) {
      std::atomic<uint64_t>& slot = slots_[random.below(count_)];
      uint64_t seen = slot.load();
      const uint64_t claimed = writes_of(seen) < kWritesPerKey ? seen + 1 : pack(next_.fetch_add(1), 1);
      if (slot.compare_exchange_strong(seen, claimed)) return key_of(claimed);
    }
  }

 private:
  // A slot: [63..8] key  [7..0] number of writes
  static uint64_t pack(uint64_t key, uint64_t writes) { return key << 8 | writes; }
  static int64_t key_of(uint64_t slot) { return static_cast<int64_t>(slot >> 8); }
  static uint64_t writes_of(uint64_t slot) { return slot & 0xff; }
  static_assert(kWritesPerKey < 256);

  const uint32_t count_;
  int64_t first_ = 0;           // constant after begin_at()
  std::atomic<uint64_t> next_;  // the next unused key
  const std::unique_ptr<std::atomic<uint64_t>[]> slots_;
};

// Plans a transaction that reads, writes and scans hot keys. Each read uses a random one of
// `read_variants` variants, and each write a random one of `write_variants`. The first write has
// the value `value`, the second `value` + 1, and so on.
inline void plan_on_hot_keys(const HistoryOptions& options, Variant read_variants, Variant write_variants, int64_t scan_span_max,
                             HotKeys& keys, Random& random, int64_t value, Plan* plan) {
  const uint64_t count = random.between(1, options.operations);
  for (uint64_t i = 0; i < count; ++i) {
    PlannedOperation operation;
    if (random.below(100) < options.scan_percent) {
      operation.kind = PlannedOperation::Kind::kScan;
      operation.variant = draw_scan_way(random, options.index);
      keys.draw_range(random, scan_span_max, &operation.key, &operation.last_key);
    } else if (plan->read_only || random.below(2) == 0) {
      operation.variant = static_cast<Variant>(random.below(read_variants));
      operation.key = keys.to_read(random);
    } else {
      operation.kind = PlannedOperation::Kind::kWrite;
      operation.variant = static_cast<Variant>(random.below(write_variants));
      operation.key = keys.to_write(random);
      operation.value = value++;
    }
    plan->operations.push_back(operation);
  }
}

}  // namespace elider::bench
