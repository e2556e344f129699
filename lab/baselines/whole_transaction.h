// WholeTransaction: a protocol that runs each attempt of an underlying protocol as one hardware
// transaction (region), from the first read to the end of the commit. The region elides a lock on
// the whole database (DBX, section 7.3 and figure 10; DBX-TC, figure 1c). The papers use this
// baseline to show why transactions should consist of several small regions.
//
// Each attempt is still an ordinary attempt of the underlying protocol, so it is correct even
// without the large region. The small regions of an attempt become parts of the large region. If
// the attempt holds the lock instead, they run separately. Open transactions, snapshots and
// reclamation do not use the lock, and run concurrently. Deviation: DBX changes rows in place while
// the procedure runs. elider buffers writes and installs them at the end of the region, so the
// region accesses more cache lines.
//
// The lock is not reentrant. A transaction that is nested in another one does not acquire it,
// because their thread may already hold it. A procedure that waits for another thread's transaction
// may wait forever, because that transaction may need the lock. Lock rank: before all others.
// Thread safety: like every protocol (txn/protocol.h).
#pragma once

#include <utility>

#include "base/cache_line.h"
#include "htm/elide.h"
#include "sync/elided.h"
#include "sync/exclusive.h"
#include "txn/protocol.h"

namespace elider::txn {

template <ProtocolObject Base>
class WholeTransaction : public Base {
 public:
  using typename Base::Sync;
  static constexpr elider::Protocol kName = elider::Protocol::kWholeTransaction;
  static constexpr bool kTakesPolicy = sync::kElides<Sync>;

  explicit WholeTransaction(Store& store) : Base(store), site_(store.laboratory.elision) {}

  template <RunnableTransaction Txn>
  Status run(Txn& txn, const Call& call) {
    if (call.nested) return Base::run(txn, call);
    return retry(txn, call, [this](Txn& its, const Call& one) { return attempt_whole(its, one); });
  }
  template <RunnableTransaction Txn>
  Status attempt_once(Txn& txn, const Call& call) {
    return call.nested ? Base::attempt_once(txn, call) : attempt_whole(txn, call);
  }

  template <class F>
  void for_each_site(F&& f) const {
    Base::for_each_site(f);
    f("whole transaction", site_.counts());
  }

 private:
  // Not inlined, because a region must begin and end in the same stack frame.
  template <class Txn>
  [[gnu::noinline]] Status attempt_whole(Txn& txn, const Call& call) {
    return htm::elide<typename Sync::Backend>(site_, *lock_, [&] { return attempt(txn, call.procedure); });
  }

  CacheLine<sync::SpinLatch> lock_;
  htm::Site site_;
};

}  // namespace elider::txn
