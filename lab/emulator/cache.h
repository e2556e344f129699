// Cache: models the first-level cache for a region. The cache is set-associative, and evicts the
// least recently used line of a set. It is empty when the region begins, because the eviction of a
// line that was cached before does not abort the region.
//
// Thread safety: used only by the thread that holds the turn (machine.h).
#pragma once

#include <cstdint>

namespace elider::emulator {

class Cache {
 public:
  static constexpr uint32_t kSetsMax = 4096;
  static constexpr uint32_t kWaysMax = 32;

  enum class Evicted { kNothing, kReadLine, kWrittenLine };

  // Empties the cache. `sets` must be a power of two.
  void start(uint32_t sets, uint32_t ways);
  // Called when the region accesses a line. Returns which kind of line the cache evicts, if any.
  Evicted access(uint64_t line, bool write) {
    Set& set = sets_[line & (count_ - 1)];
    if (set.generation != generation_) {
      set.generation = generation_;
      set.used = 0;
    }
    return access_in(set, line, write);
  }

 private:
  struct Set {
    uint64_t generation;
    uint32_t used;
    uint64_t lines[kWaysMax];  // line << 1 | written, the most recently used first
  };

  Evicted access_in(Set& set, uint64_t line, bool write) {
    uint32_t i = 0;
    while (i < set.used && set.lines[i] >> 1 != line) ++i;
    uint64_t entry = line << 1 | static_cast<uint64_t>(write);
    Evicted evicted = Evicted::kNothing;
    if (i < set.used) {
      entry |= set.lines[i] & 1;
    } else if (set.used < ways_) {
      ++set.used;
    } else {
      --i;
      evicted = (set.lines[i] & 1) != 0 ? Evicted::kWrittenLine : Evicted::kReadLine;
    }
    for (; i > 0; --i) set.lines[i] = set.lines[i - 1];
    set.lines[0] = entry;
    return evicted;
  }

  Set* sets_;
  uint32_t count_;
  uint32_t ways_;
  uint64_t generation_;  // a set with an older generation is empty
};

}  // namespace elider::emulator
