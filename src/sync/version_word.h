// VersionWord: the 64-bit word at the start of every shared index node: its latch, whether it has
// been unlinked, and the version that Witnesses compare.
//
//    63                                    2   1   0
//   +----------------------------------------+---+---+
//   |                version                 | O | L |    L: locked by a writer   O: obsolete
//   +----------------------------------------+---+---+
//
// A change of what the node holds ends with a raised version, so "the word is what it was" means
// "the node is what it was". It is not a reader-writer lock: readers leave no trace in it.
// Thread safety: all; what the accessors order is said at each.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/racy.h"

namespace elider::sync {

class VersionWord {
 public:
  static constexpr uint64_t kLocked = 1;
  static constexpr uint64_t kObsolete = 2;
  static constexpr uint64_t kStep = 4;
  static_assert((kLocked & kObsolete) == 0 && ((kLocked | kObsolete) & kStep) == 0 && kStep == 4);

  // Acquire: what the last writer wrote is seen by the reads that follow.
  uint64_t read() const { return word_.load(std::memory_order_acquire); }

  // True if the word is still `seen`: no writer came between. The fence keeps the reads that are to
  // be validated before it; the load itself need not order anything (relaxed). Partner: lock_if().
  bool still(uint64_t seen) const {
    racy_read_fence();
#if ELIDER_TSAN
    return word_.load(std::memory_order_acquire) == seen;
#else
    return word_.load(std::memory_order_relaxed) == seen;
#endif
  }

  // Locks the word if it is `seen`, which is unlocked. The fence keeps the writes that follow after
  // it, so a reader that sees one of them cannot validate. Partner: still().
  bool lock_if(uint64_t seen) {
    // relaxed on failure: the caller starts over.
    if (!word_.compare_exchange_strong(seen, seen | kLocked, std::memory_order_acquire, std::memory_order_relaxed)) return false;
    racy_write_fence();
    return true;
  }

  // Release: the changes are seen by whoever sees this value.
  void publish(uint64_t value) { word_.store(value, std::memory_order_release); }

  // A node that no other thread can reach yet.
  void start(uint64_t value) { word_.store(value, std::memory_order_relaxed); }

  static constexpr bool locked(uint64_t value) { return (value & kLocked) != 0; }
  static constexpr bool obsolete(uint64_t value) { return (value & kObsolete) != 0; }
  static constexpr uint64_t raised(uint64_t value) { return (value & ~(kLocked | kObsolete)) + kStep; }

  // What a Witness keeps.
  const std::atomic<uint64_t>* address() const { return &word_; }

 private:
  std::atomic<uint64_t> word_{0};
};
static_assert(sizeof(VersionWord) == 8);

}  // namespace elider::sync
