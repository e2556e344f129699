// Protocol: the algorithm by which transactions execute and commit. The engine has three variation
// points: the protocol, the hardware transaction backend (htm/backend.h), and the sync policy of
// the indexes (sync/policy.h). EngineOf<Sync, Protocol> (engine/engine_of.h) uses only what this
// concept lists, and a protocol does not depend on an engine.
//
// A protocol is a class template over the sync policy. A database has one protocol object, which is
// constructed with the database's Store; the Store outlives it. In addition to the Store, this
// object contains the state that all transactions share. The protocol object creates a Transaction
// for each worker, and runs procedures with the protocol's own retry loop. Code that does not
// depend on the protocol is in src/txn: reads (reads.h), read-write transactions (read_write), the
// bytes and versions that a commit installs (install.h), the log record (commit_record.h),
// histories (history_recorder.h), attempts and retries (retry.h), reclamation (reclaim.h,
// late_unlinks.h), and snapshots (snapshot_transaction.h).
//
// Thread safety: all threads may use the protocol object. Only one thread at a time may use a
// Transaction.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include "elider/options.h"
#include "elider/snapshot_number.h"
#include "elider/transaction.h"
#include "htm/site.h"
#include "txn/retry.h"
#include "txn/store.h"
#include "txn/touched_rows.h"

namespace elider::txn {

struct Execution;
struct ExecutableProcedure;

// What engines and retry loops require of a transaction, read-only transactions included. The
// caller's worker must enter the epoch (base/worker.h) before begin(), and stay inside until after
// commit() or rollback().
template <class T>
concept RunnableTransaction =
    std::derived_from<T, Transaction> && requires(T txn, const T& seen, uint32_t attempt, uint32_t procedure, Cause cause) {
      txn.begin(attempt, procedure);
      // Declares that the current transaction is an open transaction (Database::begin), which stays
      // open until the application ends it.
      txn.stays_open();
      // Passes rows that have already been looked up, so that the transaction need not look them up
      // again. The caller must pass an empty span before the next begin().
      txn.expect(std::span<const TouchedRow>());
      // Ends the transaction. Returns ok if it has committed. Otherwise none of its writes took
      // effect.
      { txn.commit() } -> std::same_as<Status>;
      txn.rollback(cause);
      // Returns ok if all reads are still valid, so that a result which depends on them can be
      // trusted. Otherwise returns the conflict that a commit would report.
      { txn.reads_hold() } -> std::same_as<Status>;
      // Returns ok, or the reason why the transaction can only be rolled back.
      { seen.why_doomed() } -> std::convertible_to<Status>;
      // The snapshot number of the commit. Once all commits up to this number are durable,
      // everything that the transaction read and wrote is durable. Set only if the database has a
      // log.
      { seen.commit_number() } -> std::same_as<SnapshotNumber>;
      { seen.active() } -> std::same_as<bool>;
    };

// While an Expecting object exists, `txn` uses `rows` instead of looking these rows up.
template <class Txn>
  requires requires(Txn& txn) { txn.expect(std::span<const TouchedRow>()); }
class Expecting {
 public:
  Expecting(Txn& txn, std::span<const TouchedRow> rows) : txn_(txn) { txn_.expect(rows); }
  ~Expecting() { txn_.expect({}); }
  Expecting(const Expecting&) = delete;
  Expecting& operator=(const Expecting&) = delete;

 private:
  Txn& txn_;
};

// While a ReadingAt object exists, `txn` begins at the held snapshot with number `held`, or at the
// newest snapshot if `held` is 0.
template <class Snapshot>
class ReadingAt {
 public:
  ReadingAt(Snapshot& txn, SnapshotNumber held) : txn_(txn) { txn_.read_at(held); }
  ~ReadingAt() { txn_.read_at(0); }
  ReadingAt(const ReadingAt&) = delete;
  ReadingAt& operator=(const ReadingAt&) = delete;

 private:
  Snapshot& txn_;
};

template <class P>
concept ProtocolObject = requires(P protocol, const P& seen, Worker& worker, Counters& counters, const Call& call) {
  // kName is the protocol's name. kTakesPolicy is true if the protocol supports the sync policy for
  // which it was instantiated.
  { P::kName } -> std::convertible_to<elider::Protocol>;
  { P::kTakesPolicy } -> std::convertible_to<bool>;
  // The number of bytes that the protocol stores in front of each cell (storage/record.h), in
  // addition to the commit word. Index leaves and hash buckets do not have such bytes.
  { P::kCellBytes } -> std::convertible_to<uint32_t>;
  requires std::constructible_from<P, Store&>;
  // The read-write transaction, and the read-only transaction, which reads the newest snapshot or a
  // held one. The read-only transaction is the same for all protocols (txn/snapshot_transaction.h).
  requires RunnableTransaction<typename P::Transaction>;
  requires RunnableTransaction<typename P::Snapshot>;
  requires std::constructible_from<ReadingAt<typename P::Snapshot>, typename P::Snapshot&, SnapshotNumber>;
  { protocol.make_transaction(worker, counters) } -> std::same_as<typename P::Transaction>;
  // Runs the call's procedure in the given transaction, which may also be a read-only one, until
  // the transaction has committed or the protocol gives up.
  { protocol.run(std::declval<typename P::Transaction&>(), call) } -> std::same_as<Status>;
  // Makes one attempt. The transaction must have begun, and its worker must be inside the epoch.
  // Used for calls in a group, which has its own retry loop (engine/runtime/group.h): before the
  // group retries a call, it attempts all its other calls.
  { protocol.attempt_once(std::declval<typename P::Transaction&>(), call) } -> std::same_as<Status>;
  // Calls f(name, counts) for each htm::Site at which the protocol itself runs hardware
  // transactions.
  seen.for_each_site([](std::string_view, const htm::SiteCounts&) {});
};

// A protocol that runs calls to declared procedures in pieces (txn/chopping). Under all other
// protocols, a call to a declared procedure is one transaction.
template <class P>
concept RunsCalls = ProtocolObject<P> && requires(P protocol, typename P::Transaction& txn, const Execution& execution,
                                                  const ExecutableProcedure& procedure, void* arguments, const Call& call,
                                                  std::span<const TouchedRow> rows, SnapshotNumber* number) {
  // Runs the call until it has committed or the protocol gives up. Sets *number to the commit's
  // snapshot number. `rows` contains rows that the call will read and that were looked up in
  // advance. It may be empty. The caller's worker must have entered the epoch before that lookup
  // and must still be inside.
  { protocol.run_call(txn, execution, procedure, arguments, call, rows, number) } -> std::same_as<Status>;
  // Called after run_call(), before the call's result is returned to the application. The worker
  // need not be inside the epoch.
  protocol.await_answer(txn, execution, procedure, static_cast<Status*>(nullptr));
};

}  // namespace elider::txn
