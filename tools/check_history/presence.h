// PresenceSet: which of n items are present. It finds the next present item in a few steps.
//
// It is a bitmap with several levels of summaries, up to a level of one word. With 64-way
// summaries, a set of a hundred million items has five levels. The replay of range scans uses it.
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
      // A word that still has members stays marked in the summary.
      if (level[item / 64] != 0) return;
      item /= 64;
    }
  }

  bool contains(size_t item) const { return (levels_[0][item / 64] & bit(item)) != 0; }

  // Returns the first member at or after `item`, or `end` if it is not before `end`.
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
    // Descend again, to the first member below each mark.
    while (depth-- > 0) item = item * 64 + static_cast<size_t>(std::countr_zero(levels_[depth][item]));
    return item < end ? item : end;
  }

 private:
  static uint64_t bit(size_t item) { return uint64_t{1} << (item % 64); }
  std::vector<std::vector<uint64_t>> levels_;  // [0] has one bit per item
};

}  // namespace elider::check
