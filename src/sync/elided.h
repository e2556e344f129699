// Elided: a sync policy under which an index operation runs as one hardware transaction, without
// taking the index's latch. If the hardware transaction does not succeed, the operation takes the
// latch, a spinlock per index (DBX, sections 4 and 6.1).
//
// Nodes have ExclusiveGuards, because each section is isolated from all other threads. The hardware
// isolates a region, that is, a hardware transaction. A section that holds the latch is alone,
// because every region has read the free latch, and therefore aborts when another thread takes the
// latch. Only Witnesses (index/index.h) are checked outside sections. A region therefore increases
// a node's version atomically with the change of the node. A section that holds the latch increases
// the version after the change, and before other threads can see the change.
//
// The policy does not protect anything outside sections. Reads of rows and commits have their own
// sections (txn/read_write). Thread safety: all threads may use it.
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

// The latch that is elided, and an htm::Site for each operation, which counts the operation's
// regions. The latch has its own cache lines, because every region reads it.
class ElidedLatch {
 public:
  // Sets the policy of all sites. Must be called before the first section. `policy` must outlive
  // the latch.
  void set_policy(const ElisionPolicy& policy) {
    for (htm::Site& site : sites_) site.set_policy(policy);
  }
  // Sets the tree's height, which scales the retry limits. Does not write if the height is
  // unchanged.
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
