// Protocol: how transactions execute and commit. It is the third variation point of the engine,
// next to the backend of hardware transactions (htm/backend.h) and the sync policy of the indexes
// (sync/policy.h). EngineOf<Sync, Protocol> (engine/engine_of.h) uses only what this concept lists,
// and a protocol does not depend on an engine.
//
// A protocol is a class template over the sync policy. A database has one object of it, which is
// constructed with the database's Store; the Store outlives it. The object holds what all
// transactions share beyond the Store, and runs procedures: each protocol has its own retry loop.
// It gives each worker a Transaction. What does not depend on the protocol is in src/txn: reads
// (reads.h), read-write transactions (read_write), the bytes and versions that a commit installs
// (install.h), the log's record (commit_record.h), histories (history_recorder.h), attempts and
// retries (retry.h), reclamation (reclaim.h, late_unlinks.h), snapshots (snapshot_transaction.h).
//
// Thread safety: all threads use a protocol's object; one thread at a time uses a Transaction.
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

// What an engine, a worker and a retry loop require of a transaction, including read-only ones. The
// caller's worker is inside from begin() until after commit() or rollback().
template <class T>
concept RunnableTransaction =
    std::derived_from<T, Transaction> && requires(T txn, const T& seen, uint32_t attempt, uint32_t procedure, Cause cause) {
      txn.begin(attempt, procedure);
      // The caller, and not a procedure, ends the one that has begun.
      txn.stays_open();
      // The rows that it need not look up; the caller passes an empty span before the next begin().
      txn.expect(std::span<const TouchedRow>());
      // Ok: committed. Otherwise nothing of it took effect. Ended in either case.
      { txn.commit() } -> std::same_as<Status>;
      txn.rollback(cause);
      // Ok: the procedure's result, which depends on its reads, can be trusted. Otherwise the
      // conflict that a commit would meet.
      { txn.reads_hold() } -> std::same_as<Status>;
      // Ok, or why it can only be rolled back.
      { seen.why_doomed() } -> std::convertible_to<Status>;
      // Once the commit with this number is durable, so is everything that it read and wrote. Set
      // only if there is a log.
      { seen.commit_number() } -> std::same_as<SnapshotNumber>;
      { seen.active() } -> std::same_as<bool>;
    };

// While this exists, the running transaction expects these rows.
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

// While this exists, a read-only transaction begins at a held snapshot; 0: at the newest.
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
  // Its name, and whether it runs under the sync policy that it was instantiated for.
  { P::kName } -> std::convertible_to<elider::Protocol>;
  { P::kTakesPolicy } -> std::convertible_to<bool>;
  // Bytes that the protocol keeps in front of each cell (storage/record.h), in addition to the
  // commit word. Leaves and buckets only have the version that all protocols use.
  { P::kCellBytes } -> std::convertible_to<uint32_t>;
  requires std::constructible_from<P, Store&>;
  // The transaction that writes, and the one that reads a snapshot, the newest or a held one. The
  // latter is the same for all protocols (txn/snapshot_transaction.h).
  requires RunnableTransaction<typename P::Transaction>;
  requires RunnableTransaction<typename P::Snapshot>;
  requires std::constructible_from<ReadingAt<typename P::Snapshot>, typename P::Snapshot&, SnapshotNumber>;
  { protocol.make_transaction(worker, counters) } -> std::same_as<typename P::Transaction>;
  // Runs the procedure on this transaction, or on a read-only one, until it has committed or given
  // up.
  { protocol.run(std::declval<typename P::Transaction&>(), call) } -> std::same_as<Status>;
  // Makes one attempt on a transaction that has begun, by a worker that is inside. The attempt is a
  // member of a group, which has the retry loop (engine/group.h): it tries the other members before
  // it retries this one.
  { protocol.attempt_once(std::declval<typename P::Transaction&>(), call) } -> std::same_as<Status>;
  // Calls f(name, counts) for its own sites of regions.
  seen.for_each_site([](std::string_view, const htm::SiteCounts&) {});
};

// A protocol that runs calls of declared procedures in pieces (txn/chopping). Under other protocols
// such a call is one transaction.
template <class P>
concept RunsCalls = ProtocolObject<P> && requires(P protocol, typename P::Transaction& txn, const Execution& execution,
                                                  const ExecutableProcedure& procedure, void* arguments, const Call& call,
                                                  std::span<const TouchedRow> rows, SnapshotNumber* number) {
  // Runs the call until it has committed, at *number, or given up. The caller's worker is inside
  // since before it found `rows`, which the call will read; `rows` may be empty.
  { protocol.run_call(txn, execution, procedure, arguments, call, rows, number) } -> std::same_as<Status>;
  // Called after run_call() and before the call answers; the worker need not be inside.
  protocol.await_answer(txn, execution, procedure, static_cast<Status*>(nullptr));
};

}  // namespace elider::txn
