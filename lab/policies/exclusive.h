// The sync policies of the laboratory without hardware transactions. Guards are ExclusiveGuards:
// no other thread is inside the index during an operation.
//
//   Latched          one spinlock an index, held for the whole operation: the papers' tree with a
//                    spinlock (DBX, figure 6). Commits lock rows; the baseline of commits is
//                    Protocol::kSpinlock
//   SingleThreaded   one thread at a time uses the database; it executes no locked instructions
//
// Thread safety: as said at each.
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
