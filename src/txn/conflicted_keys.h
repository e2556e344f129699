// ConflictedKeys: the keys of one table at which one worker's transactions had the most conflicts,
// with the number of conflicts by cause. Its memory is bounded by the "space saving" algorithm
// (Metwally, Agrawal and El Abbadi, Efficient computation of frequent and top-k elements in data
// streams, ICDT 2005).
//
// The summary contains at most kKeys keys. Each key has an estimated count, its rank, which is an
// upper bound on the number of its conflicts. If the summary is full and a key outside it has a
// conflict, that key replaces the key with the lowest rank, and gets that rank plus one. Therefore
// every key that had more than 1 / kKeys of all conflicts is in the summary. A key's conflicts are
// counted by cause only while the key is in the summary, so these counts are lower bounds.
//
// Thread safety: only the owning worker may call note(); all threads may call add_to(). The latch
// is acquired only when a conflict is noted or statistics are collected.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "elider/statistics.h"
#include "sync/exclusive.h"

namespace elider::txn {

class ConflictedKeys {
 public:
  static constexpr size_t kKeys = 32;

  struct Conflicts {
    uint64_t rank = 0;
    std::array<uint64_t, kCauseCount> aborts{};
  };
  using Sums = std::unordered_map<Key, Conflicts>;

  void note(Key key, Cause cause) {
    const std::lock_guard lock(latch_);
    Entry* const end = entries_.data() + count_;
    Entry* entry = std::find_if(entries_.data(), end, [&](const Entry& e) { return e.key == key; });
    if (entry == end) {
      if (count_ < kKeys) {
        *entry = {key, {}};
        ++count_;
      } else {
        entry = std::min_element(entries_.data(), end, [](const Entry& a, const Entry& b) { return a.its.rank < b.its.rank; });
        *entry = {key, {entry->its.rank, {}}};
      }
    }
    ++entry->its.rank;
    ++entry->its.aborts[static_cast<size_t>(cause)];
  }

  // Adds the contents of this summary to `sums`. May throw std::bad_alloc.
  void add_to(Sums& sums) const {
    std::array<Entry, kKeys> entries;
    size_t count;
    {
      const std::lock_guard lock(latch_);
      entries = entries_;
      count = count_;
    }
    for (size_t i = 0; i < count; ++i) {
      Conflicts& sum = sums[entries[i].key];
      sum.rank += entries[i].its.rank;
      for (size_t c = 0; c < kCauseCount; ++c) sum.aborts[c] += entries[i].its.aborts[c];
    }
  }

  // Returns the keys with the highest ranks, in descending order of rank, and at most
  // Statistics::kConflictedKeysMax of them.
  static std::vector<Statistics::ConflictedKey> most_conflicted(const Sums& sums) {
    std::vector<std::pair<uint64_t, Statistics::ConflictedKey>> ranked;
    for (const auto& [key, its] : sums) ranked.push_back({its.rank, {key, its.aborts}});
    std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second.key < b.second.key;
    });
    ranked.resize(std::min(ranked.size(), Statistics::kConflictedKeysMax));
    std::vector<Statistics::ConflictedKey> most;
    for (auto& each : ranked) most.push_back(each.second);
    return most;
  }

 private:
  struct Entry {
    Key key = 0;
    Conflicts its;
  };
  mutable sync::SpinLatch latch_;  // guards the following members; a leaf in the lock order
  size_t count_ = 0;
  std::array<Entry, kKeys> entries_{};
};

}  // namespace elider::txn
