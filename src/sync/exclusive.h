// ExclusiveGuards: node guards for policies under which only one thread at a time is inside the
// index during an operation. The guards do not lock and cannot fail. Writers still increase
// versions, because Witnesses (index/index.h) are checked outside operations.
//
// Thread safety: described at each class.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/spin.h"
#include "sync/policy.h"
#include "sync/version_word.h"

namespace elider::sync {

// A test-and-test-and-set lock. It is neither fair nor reentrant. docs/lock-order.md lists the rank
// of each latch. A thread that holds an index's latch does not acquire another latch.
class SpinLatch {
 public:
  void lock() {
    Spin spin;
    while (held_.exchange(true, std::memory_order_acquire)) {
      // relaxed: this loop only waits, and loads do not take the cache line away from the holder.
      while (held_.load(std::memory_order_relaxed)) spin.wait();
    }
  }
  bool try_lock() { return !held_.exchange(true, std::memory_order_acquire); }
  void unlock() { held_.store(false, std::memory_order_release); }
  // acquire: a thread that sees the latch free sees everything that was done under it.
  bool held() const { return held_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> held_{false};
};

struct ExclusiveGuards {
  static constexpr bool kRegions = false;

  class ReadGuard {
   public:
    ReadGuard() = default;
    explicit ReadGuard(const VersionWord& word) : word_(&word), seen_(word.read()) {}
    static ReadGuard resume(const VersionWord& word, uint64_t version) {
      ReadGuard guard;
      guard.word_ = &word;
      guard.seen_ = version;
      return guard;
    }
    static constexpr bool obsolete() { return false; }  // obsolete nodes are unreachable
    static constexpr bool valid() { return true; }
    [[nodiscard]] bool current() const { return word_->read() == seen_; }
    uint64_t version() const { return seen_; }

   private:
    const VersionWord* word_ = nullptr;
    uint64_t seen_ = 0;
  };

  class WriteGuard {
   public:
    WriteGuard(VersionWord& word, const ReadGuard& read) : word_(&word), after_(read.version()) {}
    // Publishes the new version after the node has been changed. If a Witness is checked while the
    // node still has the old version, the transaction with the Witness is ordered before this
    // operation.
    ~WriteGuard() { word_->publish(after_); }
    WriteGuard(const WriteGuard&) = delete;
    WriteGuard& operator=(const WriteGuard&) = delete;

    static constexpr bool owns() { return true; }
    void raise() { after_ = VersionWord::raised(after_); }
    void retire() { after_ = VersionWord::raised(after_) | VersionWord::kObsolete; }
    uint64_t after() const { return after_; }

   private:
    VersionWord* word_;
    uint64_t after_;
  };
};

}  // namespace elider::sync
