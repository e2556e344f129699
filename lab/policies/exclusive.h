// The laboratory's sync policies without hardware transactions. Their guards are ExclusiveGuards:
// during an operation, no other thread is inside the index.
//
//   Latched          one spinlock per index, held during the whole operation. This is the papers'
//                    tree with a spinlock (DBX, figure 6). Commits lock rows; the baseline for
//                    commits is Protocol::kSpinlock
//   SingleThreaded   only one thread at a time may use the database. It does not use locked
//                    instructions
//
// Thread safety: as stated for each policy.
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
