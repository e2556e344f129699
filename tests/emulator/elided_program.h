// A small elided program, and its mutants: each leaves out or misplaces one step that lock elision
// needs. It represents any user of the emulator, and shows that the emulator detects the mistakes
// that such a user can make. It is not the library's own elision (src/htm/elide.h).
//
// Two words are kept equal by every section, and a third counts the sections. Thread
// safety: section() by any thread.
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/emulator/support.h"

namespace elider::emulator_test {

enum class ElisionMutant : uint32_t {
  kNone,
  kNoSubscription,     // the region does not look at the lock
  kLazySubscription,   // the region looks at the lock only before its commit
  kMissingCommit,      // one path leaves the section with its region open
  kUnboundedRetry,     // an attempt that can never commit is repeated for ever
  kRawWrite,           // a write that bypasses the region
  kFallbackDoesNotWait // the fallback does not wait for the holder of the lock
};

struct NamedMutant {
  std::string_view name;
  ElisionMutant mutant;
};
inline constexpr std::array<NamedMutant, 7> kElisionMutants = {{{"none", ElisionMutant::kNone},
                                                                {"no_subscription", ElisionMutant::kNoSubscription},
                                                                {"lazy_subscription", ElisionMutant::kLazySubscription},
                                                                {"missing_commit", ElisionMutant::kMissingCommit},
                                                                {"unbounded_retry", ElisionMutant::kUnboundedRetry},
                                                                {"raw_write", ElisionMutant::kRawWrite},
                                                                {"fallback_does_not_wait", ElisionMutant::kFallbackDoesNotWait}}};

class ElidedProgram {
 public:
  explicit ElidedProgram(ElisionMutant mutant) : mutant_(mutant), lines_(make_lines(kLines)) {}

  // Increments both words. Every eighth section of a thread writes more lines than the cache has.
  void section(uint32_t round) {
    for (uint32_t tries = 0; tries < kTriesMax || mutant_ == ElisionMutant::kUnboundedRetry; ++tries) {
      while (mutant_ != ElisionMutant::kNoSubscription && held(0).load() != 0) ::sched_yield();
      const unsigned status = elider_emulator_begin();
      if (status == kStarted) {
        if (mutant_ != ElisionMutant::kNoSubscription && mutant_ != ElisionMutant::kLazySubscription && held(0).load() != 0) {
          elider_emulator_abort(kLockHeld);
        }
        body(round);
        if (mutant_ == ElisionMutant::kLazySubscription && held(which_lock()).load() != 0) elider_emulator_abort(kLockHeld);
        if (mutant_ == ElisionMutant::kMissingCommit && round % 8 == 5) return;
        elider_emulator_commit();
        return;
      }
    }
    lock();
    body(round);
    held(0).store(0);
  }

  // What must hold when all sections have ended.
  bool consistent(uint64_t sections) const {
    return word(kFirst) == sections && word(kSecond) == sections && word(kSections) == sections && word(kTorn) == 0;
  }

 private:
  static constexpr uint32_t kTriesMax = 3;
  static constexpr unsigned char kLockHeld = 1;
  enum : size_t { kLockLine, kOtherLockLine, kFirst, kSecond, kSections, kTorn, kLarge, kLines = kLarge + 16 };

  std::atomic<uint64_t>& held(uint64_t which) {
    return reinterpret_cast<std::atomic<uint64_t>&>(lines_[which == 0 ? kLockLine : kOtherLockLine].words[0]);
  }
  uint64_t word(size_t line) const { return lines_[line].words[0]; }
  void set(size_t line, uint64_t value) { lines_[line].words[0] = value; }

  // Which lock guards the words depends on the words, as in programs whose data says what guards
  // it. A section that sees half of another one's changes uses the wrong lock. Always 0 for a
  // section that sees complete changes.
  uint64_t which_lock() const { return word(kFirst) - word(kSecond); }

  void body(uint32_t round) {
    const uint64_t first = word(kFirst), second = word(kSecond);
    if (first != second) set(kTorn, word(kTorn) + 1);
    set(kFirst, first + 1);
    if (round % 8 == 3) {
      for (size_t i = kLarge; i < kLines; ++i) set(i, first);
    }
    set(kSecond, second + 1);
    if (mutant_ == ElisionMutant::kRawWrite) {
      raw_increment(&lines_[kSections].words[0]);
    } else {
      set(kSections, word(kSections) + 1);
    }
  }

  __attribute__((noinline, no_sanitize_thread)) static void raw_increment(volatile uint64_t* word) { *word = *word + 1; }

  void lock() {
    if (mutant_ == ElisionMutant::kFallbackDoesNotWait) {
      held(0).store(1);
      return;
    }
    while (held(0).exchange(1) != 0) ::sched_yield();
  }

  const ElisionMutant mutant_;
  const Lines lines_;
};

}  // namespace elider::emulator_test
