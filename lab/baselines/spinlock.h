// Spinlock: a protocol as Occ, but each commit and each read of a row holds one
// spinlock of the database, in place of a region (DBX, figures 8 and 11): the papers'
// baseline. The indexes stay elided.
//
// Lock rank: before the cells' locks. Thread safety: as a protocol's (txn/protocol.h).
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

  explicit Spinlock(Store& store) : Occ<SyncPolicy>(store) { store.elision.reset(); }  // no regions but those of the indexes

  Transaction make_transaction(Worker& worker, Counters& counters) { return Transaction(this->store_, worker, counters, &*lock_); }

 private:
  CacheLine<sync::SpinLatch> lock_;
};

}  // namespace elider::txn
