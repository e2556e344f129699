// WholeTransaction: a protocol that runs each attempt of another protocol, from its first read to
// the end of its commit, as one hardware transaction that elides one lock of the database (DBX,
// section 7.3 and figure 10; DBX-TC, figure 1c). This is the papers' baseline, which shows why
// transactions consist of small regions.
//
// Each attempt is still an ordinary attempt of the other protocol. The small regions of that
// protocol become parts of the large one or, under the lock, run individually. So this protocol is
// as correct as the other one. Open transactions, snapshots and reclamation do not use the lock and
// run concurrently. Deviation: DBX changes rows in place as the procedure runs. Here writes are
// buffered and installed at the end of the region, which adds cache lines to it.
//
// Not reentrant: a transaction inside a transaction does not acquire the lock, which its thread may
// already hold. A procedure that waits for another thread's transaction may wait forever. Lock
// rank: before all others. Thread safety: that of a protocol (txn/protocol.h).
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
  // Begins the region. The region must end in the same stack frame.
  template <class Txn>
  [[gnu::noinline]] Status attempt_whole(Txn& txn, const Call& call) {
    return htm::elide<typename Sync::Backend>(site_, *lock_, [&] { return attempt(txn, call.procedure); });
  }

  CacheLine<sync::SpinLatch> lock_;
  htm::Site site_;
};

}  // namespace elider::txn
