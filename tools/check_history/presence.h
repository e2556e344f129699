// PresenceSet: a subset of n items that finds the next member after a given item in a few steps.
//
// It is a bitmap with several levels of summaries; the last level is one word. Each word of a
// summary covers 64 words, so a set of a hundred million items has five levels. The replay of range
// scans uses it.
// Thread safety: one thread at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace elider::check {

class PresenceSet {
 public:
  explicit PresenceSet(size_t count) {
    do {
      count = (count + 63) / 64;
      levels_.emplace_back(count == 0 ? 1 : count, 0);
    } while (count > 1);
  }

  void insert(size_t item) {
    for (auto& level : levels_) {
      level[item / 64] |= bit(item);
      item /= 64;
    }
  }

  void erase(size_t item) {
    for (auto& level : levels_) {
      level[item / 64] &= ~bit(item);
      // If the word still has members, its bit in the summary remains set.
      if (level[item / 64] != 0) return;
      item /= 64;
    }
  }

  bool contains(size_t item) const { return (levels_[0][item / 64] & bit(item)) != 0; }

  // Returns the first member at or after `item`, or `end` if no member is before `end`.
  size_t next(size_t item, size_t end) const {
    size_t depth = 0;
    while (depth < levels_.size()) {
      const auto& level = levels_[depth];
      if (item / 64 >= level.size()) return end;
      const uint64_t rest = level[item / 64] >> (item % 64);
      if (rest != 0) {
        item += static_cast<size_t>(std::countr_zero(rest));
        break;
      }
      item = item / 64 + 1;
      ++depth;
    }
    if (depth == levels_.size()) return end;
    // Descends again, at each level to the first set bit.
    while (depth-- > 0) item = item * 64 + static_cast<size_t>(std::countr_zero(levels_[depth][item]));
    return item < end ? item : end;
  }

 private:
  static uint64_t bit(size_t item) { return uint64_t{1} << (item % 64); }
  std::vector<std::vector<uint64_t>> levels_;  // [0] has one bit per item
};

}  // namespace elider::check
