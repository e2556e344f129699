// Elided: an operation on an index is one hardware transaction, and its lock is not taken; where
// that does not succeed, one spinlock an index is (DBX, sections 4 and 6.1).
//
// Guards are ExclusiveGuards: within a region nobody else is inside the index, and under the latch
// neither, as every region has read that the latch is free. Witnesses are checked outside both: a
// region raises a node's version in the same instant in which it changes the node, a holder of the
// latch after the change and before others can see it.
//
// Outside sections it promises nothing but that: rows and commits have
// sections of their own (txn/read_write).
// Thread safety: all threads.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/cache_line.h"
#include "htm/elide.h"
#include "htm/rtm.h"
#include "sync/exclusive.h"
#include "sync/policy.h"

namespace elider::sync {

// The latch that is elided, alone on its lines, as every region reads it; and
// what became of the regions.
class ElidedLatch {
 public:
  // Before the first section. `policy` outlives the latch.
  void set_policy(const ElisionPolicy& policy) {
    for (htm::Site& site : sites_) site.set_policy(policy);
  }
  // Of the tree, for the policy. Who tells what is known shares no line.
  void set_height(unsigned height) {
    if (sites_[0].height() == height) [[likely]] return;
    for (htm::Site& site : sites_) site.set_height(height);
  }
  htm::Site& site(Operation operation) { return sites_[static_cast<size_t>(operation)]; }
  const htm::Site& site(Operation operation) const { return sites_[static_cast<size_t>(operation)]; }
  SpinLatch& latch() { return *latch_; }

 private:
  CacheLine<SpinLatch> latch_;
  std::array<htm::Site, kOperations> sites_;
};

template <htm::Backend B>
struct Elided : ExclusiveGuards {
  static constexpr std::string_view kName = "elided";
  static constexpr bool kConcurrent = true;
  static constexpr bool kRegions = B::kRunsRegions;
  using Backend = B;

  using Latch = ElidedLatch;
  template <class Body>
  static auto section(Latch& latch, Operation operation, Body&& body) {
    return htm::elide<B>(latch.site(operation), latch.latch(), std::forward<Body>(body));
  }
};
static_assert(Policy<Elided<htm::None>>);
static_assert(Policy<Elided<htm::AlwaysAborts>>);

}  // namespace elider::sync
