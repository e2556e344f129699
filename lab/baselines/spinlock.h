// Spinlock: a protocol like Occ, except that each commit and each read of a row holds a spinlock of
// the database instead of running as a hardware transaction (DBX, figures 8 and 11). The papers use
// it as a baseline. Index operations are still elided.
//
// Lock rank: before the cells' locks. Thread safety: that of a protocol (txn/protocol.h).
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

  // Only index operations run as hardware transactions.
  explicit Spinlock(Store& store) : Occ<SyncPolicy>(store) { store.elision.reset(); }

  Transaction make_transaction(Worker& worker, Counters& counters) { return Transaction(this->store_, worker, counters, &*lock_); }

 private:
  CacheLine<sync::SpinLatch> lock_;
};

}  // namespace elider::txn
