// Serial: a protocol that runs one procedure at a time, each alone from its begin to its end
// (HyPer-HTM, section 6, "serial execution"): the papers' baseline, which shows what several
// processors are worth.
//
// The procedures that write wait for one lock of the database, outside of the epoch, and hold it
// until they have committed or are given up. Open transactions, and procedures that read a
// snapshot, go on beside them, so an attempt is still one of the other protocol, with its reads
// tracked and validated: serial execution saves its conflicts and not its work. The calls of a
// group ask for the lock one by one, within the epoch.
//
// Not reentrant: a procedure within another transaction of its thread does not ask for the lock,
// whether that one holds it or only reads; nor does one that runs as its thread ends. A procedure
// that waits for another thread's transaction may wait for ever.
// Lock rank: before all others. Thread safety: as a protocol's (txn/protocol.h).
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
