// WholeTransaction: a whole attempt of a procedure, from its first read to the end of its commit, as one
// hardware transaction that elides one lock of the database (DBX, section 7.3 and figure 10; DBX-TC, figure 1c):
// the papers' baseline, which shows why transactions are made of small regions.
//
// It is not an executor of its own: the attempt is an ordinary optimistic one, whose regions are then parts of
// the large one, or run on their own under the lock. So it is correct as those are, and open transactions,
// snapshots and reclamation, which take no part, go on beside it. Deviation: DBX changes rows in place as the
// procedure runs; here writes are buffered and installed at the end of the region, which costs it lines.
//
// Not reentrant: a transaction within a transaction must not ask for the lock its thread may hold. A procedure
// that waits for another thread's transaction may wait for ever.
// Lock rank: before all others. Thread safety: all threads.
#pragma once

#include <utility>

#include "base/cache_line.h"
#include "htm/elide.h"
#include "sync/exclusive.h"

namespace elider::txn {

class WholeTransaction {
 public:
  // `policy` outlives it.
  explicit WholeTransaction(const ElisionPolicy& policy) : site_(policy) {}

  // attempt(), which returns by value, as one region or under the lock.
  template <htm::Backend B, class Attempt>
  auto run(Attempt&& attempt) {
    return htm::elide<B>(site_, *lock_, std::forward<Attempt>(attempt));
  }
  htm::SiteCounts counts() const { return site_.counts(); }

 private:
  CacheLine<sync::SpinLatch> lock_;
  htm::Site site_;
};

}  // namespace elider::txn
