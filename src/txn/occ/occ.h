// Occ: DBX's protocol, which executes transactions optimistically and validates them at commit
// (txn/read_write).
//
// Thread safety: as required of every protocol (txn/protocol.h).
#pragma once

#include <memory>
#include <string_view>

#include "sync/elided.h"
#include "txn/read_write/transaction.h"
#include "txn/protocol.h"
#include "txn/snapshot_transaction.h"

namespace elider::txn {

template <class SyncPolicy>
class Occ {
 public:
  using Sync = SyncPolicy;
  using Transaction = ReadWriteTransaction<Sync>;
  using Snapshot = SnapshotTransaction<Sync>;
  static constexpr elider::Protocol kName = elider::Protocol::kOcc;
  static constexpr bool kTakesPolicy = true;
  static constexpr uint32_t kCellBytes = 0;

  explicit Occ(Store& store) : store_(store) {
    if constexpr (sync::kElides<Sync>) store.elision = std::make_unique<ElisionSites>(store.laboratory.elision);
  }

  Transaction make_transaction(Worker& worker, Counters& counters) { return Transaction(store_, worker, counters, nullptr); }

  template <RunnableTransaction Txn>
  [[gnu::always_inline]] inline Status run(Txn& txn, const Call& call) {
    return retry(txn, call, [](Txn& its, const Call& one) __attribute__((always_inline)) { return attempt(its, one.procedure); });
  }
  template <RunnableTransaction Txn>
  [[gnu::always_inline]] inline Status attempt_once(Txn& txn, const Call& call) {
    return attempt(txn, call.procedure);
  }

  template <class F>
  void for_each_site(F&&) const {}

 protected:
  Store& store_;
};

}  // namespace elider::txn
