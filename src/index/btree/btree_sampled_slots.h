// SampledSlots: the sorted heads of an inner node of byte keys, eight per cache line, and a sample
// of each line except the first one. A search compares the samples, and then the heads of one line.
// It reads two cache lines, whereas KeySlots (btree_slots.h) reads all.
//
// A search may read slots that a writer is changing. Its result is always within [0, count], but is
// meaningless until the node's guard has been validated. Thread safety: as KeySlots.
#pragma once

#include <algorithm>
#include <cstdint>

#include "index/btree/btree_slots.h"

namespace elider::index {

// An object must be kHeaderBytes after the beginning of a cache line.
template <unsigned N, unsigned kHeaderBytes>
class SampledSlots {
 public:
  static constexpr unsigned kLine = 8;
  static constexpr unsigned kSlots = (N + kLine - 1) / kLine * kLine;

  uint64_t get(unsigned i) const { return slots_.get(i); }
  void set(unsigned i, uint64_t key) {
    slots_.set(i, key);
    if (i % kLine == 0 && i != 0) samples_.set(i / kLine - 1, key);
  }
  // Clears slot i, which must be after the last key.
  void blank(unsigned i) {
    slots_.blank(i);
    if (i % kLine == 0 && i != 0) samples_.blank(i / kLine - 1);
  }
  void blank_all() {
    for (unsigned i = 0; i < kSlots; ++i) blank(i);
  }
  void move(unsigned to, unsigned from) { set(to, get(from)); }

  // Prefetches the line that count_not_above() reads.
  template <bool Wide>
  [[gnu::always_inline]] void prefetch_line(uint64_t key) const {
    __builtin_prefetch(slots_.address(samples_.template count_not_above<Wide>(key, kSamples) * kLine), 0, 3);
  }
  [[gnu::always_inline]] void prefetch_all() const {
    for (unsigned i = 0; i < kSlots; i += kLine) __builtin_prefetch(slots_.address(i), 0, 3);
  }
  // Returns the number of keys < key.
  template <bool Wide>
  unsigned count_below(uint64_t key, unsigned count) const {
    const unsigned first = samples_.template count_below<Wide>(key, kSamples) * kLine;
    return std::min(first + slots_.template count_below_from<Wide, kLine>(first, key), count);
  }
  // Returns the number of keys <= key.
  template <bool Wide>
  unsigned count_not_above(uint64_t key, unsigned count) const {
    const unsigned first = samples_.template count_not_above<Wide>(key, kSamples) * kLine;
    return std::min(first + slots_.template count_not_above_from<Wide, kLine>(first, key), count);
  }

  // Returns true if the samples match the slots.
  bool has_samples() const {
    bool match = true;
    for (unsigned i = 0; i < kSamples; ++i) match = match && samples_.get(i) == slots_.get((i + 1) * kLine);
    return match;
  }

 private:
  static constexpr unsigned kSamples = kSlots / kLine - 1;

  KeySlots<uint64_t, kSamples> samples_;  // sample i is slot (i + 1) * kLine
  [[maybe_unused]] char unused_[64 - kHeaderBytes - sizeof(samples_)];
  KeySlots<uint64_t, kSlots> slots_;
};

}  // namespace elider::index
