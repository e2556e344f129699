// Serial: a protocol that runs one procedure at a time, from start to end (HyPer-HTM, section 6,
// "serial execution"). It is a baseline that shows how much throughput other protocols gain from
// several processors.
//
// There is one lock per database. A procedure that may write acquires the lock before it enters the
// epoch, and holds the lock until it has committed or given up. Open transactions, and procedures
// that read a snapshot, run concurrently with such a procedure. Therefore each attempt still
// follows the underlying protocol, which tracks and validates its reads. Serial execution avoids
// most conflicts, but not the cost of detecting them. Calls in a group are already inside the
// epoch, and each of them acquires the lock separately.
//
// The lock is not reentrant. A procedure that is nested in another transaction of its thread does
// not acquire it, even if that transaction only reads. Neither does a procedure that runs while its
// thread exits. A procedure that waits for another thread's procedure may wait forever, because
// that procedure may need the lock. Lock rank: before all others. Thread safety: like every
// protocol (txn/protocol.h).
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
