// Two sync policies that exist only for comparisons and do not use hardware transactions. With
// both, only one thread at a time is inside an index, so their guards cost nothing and cannot fail
// (ExclusiveGuards, sync/exclusive.h).
//
//   Latched          one spinlock per index, held during each operation. This is the papers' tree
//                    with a spinlock (DBX, figure 6). Commits still lock rows; Protocol::kSpinlock
//                    is the baseline for commits
//   SingleThreaded   only one thread at a time may use the database, so neither locks nor atomic
//                    instructions are needed
//
// Thread safety: see each policy.
#pragma once

#include <mutex>
#include <string_view>
#include <utility>

#include "sync/exclusive.h"
#include "sync/policy.h"

namespace elider::sync {

struct Latched : ExclusiveGuards {
  static constexpr std::string_view kName = "latched";
  static constexpr bool kConcurrent = true;

  using Latch = SpinLatch;
  template <class Body>
  static auto section(Latch& latch, Operation, Body&& body) {
    const std::lock_guard<SpinLatch> held(latch);
    return std::forward<Body>(body)();
  }
};
static_assert(Policy<Latched>);

struct SingleThreaded : ExclusiveGuards {
  static constexpr std::string_view kName = "single-threaded";
  static constexpr bool kConcurrent = false;

  struct Latch {};
  template <class Body>
  static auto section(Latch&, Operation, Body&& body) {
    return std::forward<Body>(body)();
  }
};
static_assert(Policy<SingleThreaded>);

}  // namespace elider::sync
