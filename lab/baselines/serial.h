// Serial: a protocol that runs one procedure at a time, from start to end (HyPer-HTM, section 6,
// "serial execution"). The papers use this baseline to show what several processors gain.
//
// Procedures that write wait for the database's single lock, outside of the epoch, and hold it
// until they have committed or given up. Open transactions, and procedures that read a snapshot,
// run concurrently with them. So each attempt is still one of the underlying protocol, which tracks
// and validates its reads. Serial execution avoids conflicts, but not this work. The calls of a
// group acquire the lock one by one, within the epoch.
//
// Not reentrant: a procedure inside another transaction of its thread does not acquire the lock,
// even if that transaction only reads. Neither does a procedure that runs while its thread exits. A
// procedure that waits for another thread's transaction may wait forever. Lock rank: before all
// others. Thread safety: that of a protocol (txn/protocol.h).
#pragma once

#include <mutex>
#include <type_traits>

#include "base/cache_line.h"
#include "sync/exclusive.h"
#include "txn/protocol.h"

namespace elider::txn {

template <ProtocolObject Base>
class Serial : public Base {
 public:
  using typename Base::Snapshot;
  static constexpr elider::Protocol kName = elider::Protocol::kSerial;

  explicit Serial(Store& store) : Base(store) {}

  template <RunnableTransaction Txn>
  Status run(Txn& txn, const Call& call) {
    if (std::is_same_v<Txn, Snapshot> || call.nested) return Base::run(txn, call);
    const std::lock_guard alone(*lock_);
    return Base::run(txn, call);
  }
  template <RunnableTransaction Txn>
  Status attempt_once(Txn& txn, const Call& call) {
    if (std::is_same_v<Txn, Snapshot> || call.nested) return Base::attempt_once(txn, call);
    const std::lock_guard alone(*lock_);
    return Base::attempt_once(txn, call);
  }

 private:
  CacheLine<sync::SpinLatch> lock_;
};

}  // namespace elider::txn
