// Optimistic: a sync policy under which a reader remembers a node's version, and compares it with
// the current version after reading. A writer locks only the nodes that it changes. Readers do not
// write shared memory, so read-mostly workloads scale.
//
// The policy does not make an operation atomic by itself. To descend from parent to child, the
// index algorithm must therefore couple the guards: it acquires the child's guard, and then calls
// valid() on the parent's guard. Thread safety: all threads may use the policy, each with its own
// guards.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/spin.h"
#include "sync/policy.h"
#include "sync/version_word.h"

namespace elider::sync {

struct Optimistic {
  static constexpr std::string_view kName = "optimistic";
  static constexpr bool kConcurrent = true;
  static constexpr bool kRegions = false;

  struct Latch {};
  template <class Body>
  static auto section(Latch&, Operation, Body&& body) {
    return std::forward<Body>(body)();
  }

  class ReadGuard {
   public:
    ReadGuard() = default;
    explicit ReadGuard(const VersionWord& word) : word_(&word), seen_(word.read()) {
      if (VersionWord::locked(seen_)) [[unlikely]] wait();
    }
    static ReadGuard resume(const VersionWord& word, uint64_t version) {
      ReadGuard guard;
      guard.word_ = &word;
      guard.seen_ = version;
      return guard;
    }
    bool obsolete() const { return VersionWord::obsolete(seen_); }
    [[nodiscard]] bool valid() const { return word_->still(seen_); }
    [[nodiscard]] bool current() const { return word_->read() == seen_; }
    uint64_t version() const { return seen_; }

   private:
    void wait() {
      Spin spin;
      do {
        spin.wait();
        seen_ = word_->read();
      } while (VersionWord::locked(seen_));
    }
    const VersionWord* word_ = nullptr;
    uint64_t seen_ = 0;
  };

  class WriteGuard {
   public:
    WriteGuard(VersionWord& word, const ReadGuard& read) : word_(&word), after_(read.version()), owns_(word.lock_if(after_)) {}
    ~WriteGuard() {
      if (owns_) word_->publish(after_);
    }
    WriteGuard(const WriteGuard&) = delete;
    WriteGuard& operator=(const WriteGuard&) = delete;

    bool owns() const { return owns_; }
    void raise() { after_ = VersionWord::raised(after_); }
    void retire() { after_ = VersionWord::raised(after_) | VersionWord::kObsolete; }
    uint64_t after() const { return after_; }

   private:
    VersionWord* word_;
    uint64_t after_;
    bool owns_;
  };
};
static_assert(Policy<Optimistic>);

}  // namespace elider::sync
