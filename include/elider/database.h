// A Database is an in-memory transactional database inside this process.
//
//   auto db = elider::Database::open();
//   auto accounts = db->create_table(elider::SchemaOf<Account>("accounts")
//                                        .column("balance", &Account::balance));
//   elider::Status status = db->run([&](elider::Transaction& txn) -> elider::Status { ... });
//
// A default-constructed or moved-from database is closed. The functions of a closed database do
// nothing. Those that return a Status or a Result return kFinished, and the others return an empty
// value.
//
// Thread safety: all threads may call all functions except the destructor at any time. Threads need
// not register. Tables live as long as the database.
//
// fork(): a child process cannot use a database that its parent has opened. In the child, functions
// that return a Status return kInvalidArgument, and the others return an empty value or do nothing.
// The destructor returns memory to the system, but does not touch the files or the parent's locks.
// A program that forks, such as a daemon, should open its databases after the fork. If a process
// forks within a transaction, the child must not return into the transaction. It must end with
// exec(), exit() or _exit().
#pragma once

#include "elider/language.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "elider/function_ref.h"
#include "elider/held_snapshot.h"
#include "elider/options.h"
#include "elider/procedure.h"
#include "elider/recovery.h"
#include "elider/schema.h"
#include "elider/sequence.h"
#include "elider/snapshot_number.h"
#include "elider/statistics.h"
#include "elider/status.h"
#include "elider/table.h"
#include "elider/touches.h"
#include "elider/transaction.h"

namespace elider {

namespace detail {
struct GroupCalls;
class Engine;
class EngineWorker;
// Destroys the engine of an open database. In a forked child, it only returns the engine's memory
// to the system.
struct EndEngine {
  void operator()(Engine* engine) const;
};
}

namespace detail {
// Returns a transaction whose operations all return kFinished.
Transaction* ended_transaction();
}

// An interactive transaction, which Database::begin() returns. The destructor rolls the transaction
// back if it was not committed. A thread may have several transactions open.
class ActiveTransaction {
 public:
  ActiveTransaction() = default;
  ActiveTransaction(ActiveTransaction&& other) noexcept;
  ActiveTransaction& operator=(ActiveTransaction&& other) noexcept;
  ~ActiveTransaction();

  explicit operator bool() const { return txn_ != nullptr; }
  // After commit() or rollback(), or after this object was moved from, every operation returns
  // kFinished.
  Transaction& operator*() const { return *operator->(); }
  Transaction* operator->() const { return txn_ != nullptr ? txn_ : detail::ended_transaction(); }

  // Commits. The transaction ends, whatever the result. `durability` and `commit_number` are as in
  // RunPolicy.
  //   kConflict         nothing took effect; begin a new transaction
  //   kFinished         the transaction had already ended
  //   kInvalidArgument  an edit() was not followed by edited(), or the database cannot give this
  //                     durability; nothing took effect
  //   kMemoryLimit, kProcedureThrew
  //                     an earlier operation failed with this status; nothing took effect
  //   kIoError          the log could not be written (see wait_durable()). With kGroup, the commit
  //                     may still have taken effect (see run())
  Status commit(Durability durability, SnapshotNumber* commit_number = nullptr);
  Status commit(SnapshotNumber* commit_number = nullptr) { return commit(Durability::kDefault, commit_number); }
  void rollback();

 private:
  friend class Database;
  ActiveTransaction(detail::EngineWorker* worker, Transaction* txn) : worker_(worker), txn_(txn) {}
  detail::EngineWorker* worker_ = nullptr;
  Transaction* txn_ = nullptr;
};

class Database {
 public:
  // Opens the database in Options::data_folders, or a new database in memory if data_folders is
  // empty. The message of a failure names the option, the folder, the file, or the first difference
  // between the schemas.
  //   kInvalidArgument  an option is wrong; another database has the folder open; the folder holds
  //                     a database (Options::error_if_exists), or files of another program
  //   kNotFound         the folder does not hold a database, and Options::create_if_missing is
  //                     false
  //   kCorrupt, kIoError
  //                     a file is damaged, or could not be read or written
  //   kUnsupported      a file has an unknown version; or Options::htm requests RTM, which
  //                     the processor lacks
  //   kMemoryLimit      the system does not have enough memory for prefault_bytes, the data or the
  //                     recovery; or recovery needs more workers than workers_max.
  //                     memory_limit_bytes does not apply to data that is already stored
  //   kSchemaMismatch   Options::schemas leaves out a table that has indexes (but see
  //                     leave_out_indexes), or describes a table differently than the folder does
  // If open() fails, the folders are unchanged, with one exception. If recovery succeeded but the
  // new log could not be started, the manifest may have been replaced. The new manifest discards
  // what a crash left incomplete and, with Options::recover_to, the commits after that number.
  static Result<Database> open(const Options& options = {});

  Database();  // closed
  Database(Database&& other) noexcept;  // `other` is closed afterwards, also after an assignment
  Database& operator=(Database&& other) noexcept;
  // Requires that no transaction is running. The destructor first writes all commits to the disk.
  // It cannot report an error, so call wait_durable() first if the program must know whether
  // writing succeeded.
  ~Database();
  bool is_open() const;

  // -- tables -------------------------------------------------------------------------------------

  // Creates the table, or returns the existing one of this name if its schema is the same.
  // Transactions may run at the same time. Names that begin with "elider_" are reserved for the
  // database's own tables. A new table may have such a name only if its schema is that of the
  // database's own table, so that a program can copy a database table by table. Existing tables
  // with such names, which an older version created, keep working.
  //   kSchemaMismatch   the message names the first difference
  //   kInvalidArgument  the message names what is wrong
  //   kIoError          the log could not be written; the table was not created
  template <class Row, class KeyType>
  Result<Table<Row, KeyType>> create_table(const SchemaOf<Row, KeyType>& schema) {
    auto table = create_table(schema.schema());
    if (!table.ok()) return table.status();
    return Table<Row, KeyType>(table->base());
  }
  Result<TableRef> create_table(const Schema& schema);

  // Finds a table.
  //   kNotFound        no table has this name
  //   kSchemaMismatch  the table's rows do not have the size of Row, or its keys are of another kind
  //                    or are tuples of other types
  template <class Row, class KeyType = Key>
  Result<Table<Row, KeyType>> table(std::string_view name) const {
    Schema typed;
    typed.row_bytes = sizeof(Row);
    if constexpr (ByteKeyType<KeyType>) {
      typed.key_kind = KeyKind::kBytes;
      typed.key_fields = detail::KeyFace<KeyType>::fields();
    }
    auto table = find_table(name, &typed);
    if (!table.ok()) return table.status();
    return Table<Row, KeyType>(table->base());
  }
  Result<TableRef> table(std::string_view name) const { return find_table(name, nullptr); }
  std::vector<TableRef> tables() const;

  // Finds a secondary index.
  //   kNotFound         no index of the table has this name, or the table was opened without its
  //                     indexes (Options::leave_out_indexes)
  //   kInvalidArgument  the table belongs to another database
  template <class Row, class KeyType>
  Result<Index<Row, KeyType>> index(const Table<Row, KeyType>& table, std::string_view name) const {
    auto index = find_index(table, name);
    if (!index.ok()) return index.status();
    return Index<Row, KeyType>{*index};
  }
  Result<IndexRef> index(const TableRef& table, std::string_view name) const { return find_index(table, name); }

  // Finds columns by name, for callers without the struct.
  //   kInvalidArgument  a column is unknown (the message names the column), or the table belongs to
  //                     another database
  Result<ColumnsRef> columns(const TableRef& table, std::span<const std::string> names) const;

  // Finds the sequence of this name, or creates it. The sequence lives as long as the database.
  // Names have 1 to 64 bytes. Sequences are stored in a table of the database, `elider_sequences`,
  // so sequence() may also return the statuses of create_table() and run().
  //   kInvalidArgument  the message names the wrong argument
  Result<Sequence> sequence(std::string_view name, const SequenceOptions& options);
  Result<Sequence> sequence(std::string_view name, uint32_t chunk = Sequence::kChunk) {
    return sequence(name, SequenceOptions{.chunk = chunk});
  }

  // -- transactions -------------------------------------------------------------------------------

  // Runs procedure(Transaction&), which returns a Status or nothing, and commits. After a conflict,
  // run() runs the procedure again, as `policy` says. If the procedure returns an error or throws,
  // its writes are undone. run() then checks what the procedure has read. If that was consistent,
  // run() returns the error (kProcedureThrew for an exception); otherwise, it runs the procedure
  // again. run() may also return
  //   kDeadline         conflicts used up the policy's attempts or time, or other transactions kept
  //                     a lock for LaboratoryOptions::lock_timeout_us; nothing took effect
  //   kMemoryLimit      there is not enough memory for the writes of the transaction
  //                     (memory_limit_bytes, or the heap of the process), or too many transactions
  //                     are open (workers_max); nothing took effect
  //   kInvalidArgument  a single-threaded database has a transaction open in another thread, or
  //                     RunPolicy::procedure_id, durability or partitions is wrong; nothing took
  //                     effect
  //   kIoError          the log could not be written (see wait_durable()). Nothing took effect,
  //                     unless run() was already waiting for the disk (kGroup). In that case the
  //                     commit took effect, but a crash may lose it
  template <class F>
  Status run(F&& procedure, const RunPolicy& policy = {}) {
    return run_any(procedure, policy, false);
  }
  // Runs a procedure that only reads, on the newest snapshot or on RunPolicy::snapshot. The newest
  // snapshot includes every commit that completed before this call. Reads are not validated and
  // cannot conflict (DBX, section 5.4). Writes return kInvalidArgument. The other statuses are
  // those of run().
  template <class F>
  Status run_read_only(F&& procedure, const RunPolicy& policy = {}) {
    return run_any(procedure, policy, true);
  }

  // Runs `calls` calls, each of them a separate transaction, and overlaps their cache misses. If
  // the rows are not in the cache, run_group() is several times as fast as run() (docs/groups.md).
  // Like run(), run_group() receives the code of the transactions as arguments. To run installed
  // procedures, use call_group(). For call i,
  //   touch(i, Touches&)          names in advance the rows that the call will access
  //                               (elider/touches.h)
  //   procedure(i, Transaction&)  runs the transaction, and returns a Status or nothing, as for
  //                               run()
  //   outcomes[i]                 is set to what run() would return; the span is empty or has
  //                               `calls` elements
  // Calls run in groups of GroupPolicy::size, in this thread and one at a time, so a call must not
  // wait for another call. Calls may commit in any order, because a call that conflicts is retried
  // after all others have been tried. touch() is then called again for that call. If touch(i)
  // throws, call i does not run, and its outcome is kProcedureThrew. With durability kGroup, the
  // thread waits for the disk once, at the end. Returns ok if all outcomes are ok, and otherwise
  // the first outcome that is not ok.
  //   kInvalidArgument  `outcomes` has another size, or GroupPolicy::size is out of range
  // After this status, or one that run() would return before it runs the procedure, no call has
  // run, and every outcome is that status.
  template <class Touch, class F>
    requires std::is_invocable_v<Touch&, size_t, Touches&>
  Status run_group(size_t calls, Touch&& touch, F&& procedure, std::span<Status> outcomes = {}, const GroupPolicy& policy = {}) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, size_t, Transaction&>>)
      return run_calls(calls, touch, [&](size_t i, Transaction& txn) { return procedure(i, txn), Status(); }, outcomes, policy);
    else return run_calls(calls, touch, procedure, outcomes, policy);
  }
  // Like run_group() above, with one call for each element of a span: touch(element, Touches&),
  // procedure(element, Transaction&).
  template <class Arguments, class Touch, class F>
    requires std::is_invocable_v<Touch&, Arguments&, Touches&>
  Status run_group(std::span<Arguments> calls, Touch&& touch, F&& procedure, std::span<Status> outcomes = {},
                   const GroupPolicy& policy = {}) {
    return run_group(
        calls.size(), [&](size_t i, Touches& touches) { touch(calls[i], touches); },
        [&](size_t i, Transaction& txn) { return procedure(calls[i], txn); }, outcomes, policy);
  }

  // Begins an interactive transaction, which is not retried.
  //   kMemoryLimit      too many transactions are open (Options::workers_max)
  //   kInvalidArgument  a single-threaded database has a transaction open in another thread
  //   kIoError          the log has failed, and Options::log_failure is kStop
  Result<ActiveTransaction> begin();
  Result<ActiveTransaction> begin_read_only();
  // Begins a transaction that reads a held snapshot, like RunPolicy::snapshot.
  //   kInvalidArgument  `at` is empty, or belongs to another database
  Result<ActiveTransaction> begin_read_only(const HeldSnapshot& at);

  // Pins the newest snapshot, which includes every commit that completed before this call. If that
  // snapshot includes incomplete calls of chopped procedures, waits until these calls are complete.
  // Returns the statuses of begin(), and
  //   kInvalidArgument  this thread is executing an operation of a procedure
  Result<HeldSnapshot> hold_snapshot();

  // Returns a number for this name, to be passed as RunPolicy::procedure_id. Returns 0 after 256
  // names.
  uint32_t procedure_id(std::string_view name);

  // -- durability ---------------------------------------------------------------------------------

  // Waits until everything that was committed before this call is on the disk. Without a log it
  // returns ok at once.
  //   kIoError  a file could not be written; the message names it. After that, commits with writes
  //             return this status, and Options::log_failure determines whether reads continue. A
  //             failed write or sync is not retried, so the database must be opened again before it
  //             can be written. Opening it may lose commits that were not acknowledged
  Status wait_durable();
  // Waits only until the commits with numbers up to `commit_number` are on the disk
  // (RunPolicy::commit_number).
  Status wait_durable(SnapshotNumber commit_number);
  // Calls told(status) once, when wait_durable(commit_number) would return, with the status that it
  // would return. The call is made at once in this thread, or later in a thread of the log, but
  // never after the database is closed. The log waits until `told` returns, so `told` must be
  // short. `told` must not throw, and may call only statistics() of this database.
  void when_durable(SnapshotNumber commit_number, std::function<void(const Status&)> told);
  // Returns what opening the database found.
  const Recovery& recovery() const;
  // Writes a checkpoint of the current rows to the data folders while transactions run. The log
  // before the checkpoint is then deleted. If another checkpoint is in progress, waits until that
  // one is complete and then writes a new one. Statistics::checkpoints describes the last
  // checkpoint.
  //   kInvalidArgument  the database does not have a data folder, or does not write to it
  //                     (Durability::kNone), or is single-threaded and has a transaction open in
  //                     another thread
  //   kIoError, kMemoryLimit
  //                     the checkpoint failed. No checkpoint is damaged, and the message says which
  //                     of these is the case:
  //                     - nothing has changed, and the old checkpoint is valid
  //                     - the new checkpoint is valid, but an old file could not be removed. The
  //                       message names the file, and the next checkpoint tries again to remove it
  //                     - the manifest could not be renamed or synced; the next open() shows which
  //                       of the two checkpoints is valid
  // If a folder cannot be synced, the log fails as well, as in wait_durable().
  Status checkpoint();
  // Writes the current rows to another folder, as a database that can be opened. Creates that
  // folder if necessary. Also works for a database in memory, and after the log has failed.
  //   kInvalidArgument  the folder is not empty, or a single-threaded database has a transaction
  //                     open in another thread
  //   kIoError          the message names the file
  //   kMemoryLimit      there is not enough memory, or Options::workers_max are in use
  // If backup() fails, it removes the files that it has written. If it cannot remove them, the
  // remaining files are either a complete backup or are refused by open().
  Status backup(const std::string& folder);

  // -- procedures (elider/procedure.h) ------------------------------------------------------------

  // Installs all of these procedures, or none if it fails. The procedures stay installed until the
  // database is closed. Procedures with a body can be installed at any time, in any number of
  // calls. Procedures with operations are analyzed together, so all of them must be installed in
  // one call, after their tables were created. If `plan` is not null, it is set to the result of
  // the analysis, in which the procedures with operations are in the order in which they were
  // added.
  //   kInvalidArgument  the message names the procedure and the mistake: its name is empty or
  //                     taken; it has neither a body nor operations, or both; it has operations and
  //                     is read_only(); chopping::analyze() refuses the declaration; a table does
  //                     not exist; the options cannot be executed; procedures with operations are
  //                     installed already
  Status install(Procedures procedures, const InstallOptions& options = {}, chopping::Plan* plan = nullptr);
  // Returns all installed procedures, in the order in which they were installed.
  std::vector<ProcedureInfo> procedures() const;

  // Calls a procedure. Its bodies read `arguments` and store the results there. A call is a
  // transaction, so it is strictly serializable with all other transactions (except under
  // InstallOptions::answers_at_once). After a conflict, the call is retried, as `policy` says. If
  // the status is not ok, ignore the results.
  // Returns the statuses of run(), and
  //   kInvalidArgument  the procedure is not installed in this database, or the handle is empty;
  //                     this thread is executing an operation of another call; an operation made an
  //                     access that it does not declare (InstallOptions::check_accesses)
  //   kCorrupt          an operation failed after other calls may have seen a part of its call. The
  //                     call is incomplete, and the database has stopped (elider/procedure.h)
  template <class Arguments>
  Status call(ProcedureHandle<Arguments> procedure, std::type_identity_t<Arguments>& arguments, const RunPolicy& policy = {}) {
    return call_any(procedure.its_, &arguments, policy);
  }
  // Like call() above, for a caller that does not need the results.
  template <class Arguments>
  Status call(ProcedureHandle<Arguments> procedure, std::type_identity_t<Arguments>&& arguments, const RunPolicy& policy = {}) {
    return call_any(procedure.its_, &arguments, policy);
  }
  // Calls a procedure by its name. If the status is ok, `reply` holds the results; otherwise, it is
  // empty. `reply` may be null, but it must not be the vector that `arguments` refers to. Returns
  // the statuses of call() above and, before anything runs,
  //   kNotFound         no procedure has this name
  //   kInvalidArgument  an argument is missing, is superfluous or has a wrong type (the message
  //                     names the argument); or the procedure can be called only through its handle
  Status call(std::string_view name, std::span<const Value> arguments, std::vector<Value>* reply = nullptr,
              const RunPolicy& policy = {});
  // Runs many calls as run_group() does. Each call is a transaction of its own, and the cache
  // misses of the rows that Procedure::touch names overlap. The calls may be of different
  // procedures, typed or by name. If call() would refuse a call, the outcome is that status, and
  // the other calls run. Replies are as in call(). `outcomes`, `policy` and the returned status are
  // as in run_group(), except for procedures with operations:
  //   - GroupPolicy::read_only and Touches::read_only() do not apply to such procedures.
  //   - Under Protocol::kChopped, a call that writes runs to its end, including its retries and
  //     waits, before the next call begins.
  Status call_group(std::span<const ProcedureCall> calls, std::span<Status> outcomes = {}, const GroupPolicy& policy = {});

  // -- looking inside -----------------------------------------------------------------------------

  Statistics statistics() const;
  // Returns the sync policy in use.
  SyncPolicy sync() const;
  // Returns the backend that executes hardware transactions; kNone unless the sync policy is
  // kElided.
  HtmBackend htm() const;
  Protocol protocol() const;
  // Frees memory that no transaction can need any more. The engine does this continuously, so a
  // call is useful only before the program reads memory figures. The calling thread must not have a
  // running transaction.
  void collect_garbage();
  // Checks every invariant of every index and row, for tests and tools. Requires that no
  // transaction is running. The message of a failure names the invariant.
  Status verify();

 private:
  explicit Database(std::unique_ptr<detail::Engine> engine);
  template <class F>
  Status run_any(F& procedure, const RunPolicy& policy, bool read_only) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, Transaction&>>)
      return run_procedure([&](Transaction& txn) { return procedure(txn), Status(); }, policy, read_only);
    else return run_procedure(procedure, policy, read_only);
  }
  Status run_procedure(FunctionRef<Status(Transaction&)> procedure, const RunPolicy& policy, bool read_only);
  Status run_calls(size_t calls, FunctionRef<void(size_t, Touches&)> touch, FunctionRef<Status(size_t, Transaction&)> procedure,
                   std::span<Status> outcomes, const GroupPolicy& policy);
  Status run_calls(const detail::GroupCalls& calls, const GroupPolicy& policy);
  class CallsOfGroup;
  Status call_any(const detail::ProcedureName& procedure, void* arguments, const RunPolicy& policy);
  // If row_bytes is 0, rows of any size and keys of any kind are accepted.
  // `typed` has the size of the caller's rows and the kind and types of its keys, or is null.
  Result<TableRef> find_table(std::string_view name, const Schema* typed) const;
  Result<IndexRef> find_index(const TableRef& table, std::string_view name) const;
  Status refuse_unusable() const;  // fails if the database is closed or was opened before a fork
  // Never null. A closed database has an engine that refuses every call, so the calls need not
  // check for null.
  std::unique_ptr<detail::Engine, detail::EndEngine> engine_;
};

}  // namespace elider
