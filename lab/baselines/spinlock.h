// Spinlock: a protocol like Occ, except that each commit and each read of a row holds one spinlock
// per database instead of running as a hardware transaction. It is a baseline in the papers (DBX,
// figures 8 and 11). Index operations still run as hardware transactions.
//
// Lock rank: before the lock bits of cells. Thread safety: like every protocol (txn/protocol.h).
#pragma once

#include "base/cache_line.h"
#include "sync/exclusive.h"
#include "txn/occ/occ.h"

namespace elider::txn {

template <class SyncPolicy>
class Spinlock : public Occ<SyncPolicy> {
 public:
  using typename Occ<SyncPolicy>::Sync;
  using typename Occ<SyncPolicy>::Transaction;
  static constexpr elider::Protocol kName = elider::Protocol::kSpinlock;
  static constexpr bool kTakesPolicy = sync::kElides<Sync>;

  // Disables elision for commits and reads of rows, so that only index operations use hardware
  // transactions.
  explicit Spinlock(Store& store) : Occ<SyncPolicy>(store) { store.elision.reset(); }

  Transaction make_transaction(Worker& worker, Counters& counters) { return Transaction(this->store_, worker, counters, &*lock_); }

 private:
  CacheLine<sync::SpinLatch> lock_;
};

}  // namespace elider::txn
