// VersionWord: the 64-bit word at the start of every shared index node. It contains the node's
// latch, a mark that the node has been unlinked, and the version that Witnesses compare.
//
//    63                                    2   1   0
//   +----------------------------------------+---+---+
//   |                version                 | O | L |    L: locked by a writer   O: obsolete
//   +----------------------------------------+---+---+
//
// Every change of a node's contents ends with a higher version, so the contents are unchanged while
// the word is unchanged. A VersionWord is not a reader-writer lock, because readers do not write to
// it. Thread safety: all threads may call all functions; each comment says what its function
// orders.
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

  // acquire: the reads that follow see everything that the last writer wrote.
  uint64_t read() const { return word_.load(std::memory_order_acquire); }

  // Returns true if the word is still `seen`, that is, no writer has locked or changed the node.
  // The fence orders this load after the reads that the caller validates, so the load can be
  // relaxed. The fence pairs with lock_if().
  bool still(uint64_t seen) const {
    racy_read_fence();
#if ELIDER_TSAN
    return word_.load(std::memory_order_acquire) == seen;
#else
    return word_.load(std::memory_order_relaxed) == seen;
#endif
  }

  // Locks the word if it equals `seen`, which must be an unlocked word. The fence orders the lock
  // before the caller's writes, so if a reader sees one of these writes, its validation fails. The
  // fence pairs with still().
  bool lock_if(uint64_t seen) {
    // relaxed on failure: the caller starts over.
    if (!word_.compare_exchange_strong(seen, seen | kLocked, std::memory_order_acquire, std::memory_order_relaxed)) return false;
    racy_write_fence();
    return true;
  }

  // release: a thread that sees this value also sees the changes of the node.
  void publish(uint64_t value) { word_.store(value, std::memory_order_release); }

  // Sets the word of a node that other threads cannot reach yet.
  void start(uint64_t value) { word_.store(value, std::memory_order_relaxed); }

  static constexpr bool locked(uint64_t value) { return (value & kLocked) != 0; }
  static constexpr bool obsolete(uint64_t value) { return (value & kObsolete) != 0; }
  static constexpr uint64_t raised(uint64_t value) { return (value & ~(kLocked | kObsolete)) + kStep; }

  // The address that a Witness stores.
  const std::atomic<uint64_t>* address() const { return &word_; }

 private:
  std::atomic<uint64_t> word_{0};
};
static_assert(sizeof(VersionWord) == 8);

}  // namespace elider::sync
