// Database: an in-memory transactional database inside this process.
//
//   auto db = elider::Database::open();
//   auto accounts = db->create_table(elider::SchemaOf<Account>("accounts")
//                                        .column("balance", &Account::balance));
//   elider::Status status = db->run([&](elider::Transaction& txn) -> elider::Status { ... });
//
// A default-constructed or moved-from database is closed. Its functions do nothing: those that
// return a Status or a Result return kFinished, and the others return an empty value.
//
// Thread safety: all threads may call everything at any time, except the destructor. Threads need
// not register. Tables live as long as the database.
//
// fork(): a child process cannot use a database that its parent has opened. Functions that return a
// Status return kInvalidArgument there; the others return an empty value or do nothing. The
// destructor returns memory to the system, and touches neither the files nor the parent's locks. A
// program that forks, such as a daemon, opens its databases afterwards. If a process forks within a
// transaction, the child must not return into the transaction: it must end with exec(), exit() or
// _exit().
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
// Destroys the engine of an open database; in a forked child, gives its memory back and leaves the
// rest.
struct EndEngine {
  void operator()(Engine* engine) const;
};
}

namespace detail {
// A transaction whose operations all return kFinished.
Transaction* ended_transaction();
}

// An interactive transaction. Its destructor rolls it back if it was not committed. A thread may
// have several open.
class ActiveTransaction {
 public:
  ActiveTransaction() = default;
  ActiveTransaction(ActiveTransaction&& other) noexcept;
  ActiveTransaction& operator=(ActiveTransaction&& other) noexcept;
  ~ActiveTransaction();

  explicit operator bool() const { return txn_ != nullptr; }
  // After commit(), rollback() or a move from it, every operation returns kFinished.
  Transaction& operator*() const { return *operator->(); }
  Transaction* operator->() const { return txn_ != nullptr ? txn_ : detail::ended_transaction(); }

  // Commits. The transaction ends, whatever the result. `durability` and `commit_number` are as in
  // RunPolicy.
  //   kConflict         nothing took effect; begin a new transaction
  //   kFinished         the transaction had already ended
  //   kInvalidArgument  an edit() was not followed by edited(), or the database cannot give this
  //                     durability; nothing took effect
  //   kMemoryLimit, kProcedureThrew
  //                     an operation failed with this status before; nothing took effect
  //   kIoError          the log could not be written (wait_durable); under kGroup the commit may
  //                     have taken effect all the same, as run() says
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
  // Opens an empty database, or the one in Options::data_folders. Messages name the option, the
  // folder, the file, or the first difference.
  //   kInvalidArgument  an option is wrong; another database has the folder open; the folder holds
  //                     a database (Options::error_if_exists), or files of another program
  //   kNotFound         the folder does not hold a database, and Options::create_if_missing is
  //                     false
  //   kCorrupt, kIoError
  //                     a file is damaged, or could not be read or written
  //   kUnsupported      a file has an unknown version; or Options::htm asks for RTM, which
  //                     the processor lacks
  //   kMemoryLimit      prefault_bytes, the data, or what recovery needs exceed what the system can
  //                     give; or recovery needs more workers than workers_max. memory_limit_bytes
  //                     does not refuse data that is stored already
  //   kSchemaMismatch   Options::schemas leaves out a table that has indexes (but see
  //                     leave_out_indexes), or describes one differently than the folder does
  // If it fails, the folders are unchanged, with one exception: if recovery succeeded and the new
  // log could not be started, the manifest may be new. It then discards what a crash left
  // incomplete and, with Options::recover_to, what came after that number.
  static Result<Database> open(const Options& options = {});

  Database();  // closed
  Database(Database&& other) noexcept;  // leaves the other one closed, as the assignment does
  Database& operator=(Database&& other) noexcept;
  // No transaction may be running. Writes what was committed to the disk first. It cannot report an
  // error; call wait_durable() before to learn of one.
  ~Database();
  bool is_open() const;

  // -- tables -------------------------------------------------------------------------------------

  // Creates the table, or returns the existing one of this name if its schema is the same.
  // Transactions may run at the same time. Names that begin with "elider_" are reserved for the
  // database's own tables. A new table may have such a name only with the schema of the database's
  // own one, so that a program can copy a database table by table. Tables of such names from an
  // older version keep working.
  //   kSchemaMismatch   the message names the first difference
  //   kInvalidArgument  the message names what is wrong
  //   kIoError          the log could not be written; the table was not created
  template <class Row>
  Result<Table<Row>> create_table(const SchemaOf<Row>& schema) {
    auto table = create_table(schema.schema());
    if (!table.ok()) return table.status();
    return Table<Row>(table->base());
  }
  Result<TableRef> create_table(const Schema& schema);

  // Finds a table.
  //   kNotFound        no table has this name
  //   kSchemaMismatch  its rows are not of Row's size
  template <class Row>
  Result<Table<Row>> table(std::string_view name) const {
    auto table = find_table(name, sizeof(Row));
    if (!table.ok()) return table.status();
    return Table<Row>(table->base());
  }
  Result<TableRef> table(std::string_view name) const { return find_table(name, 0); }
  std::vector<TableRef> tables() const;

  // Finds a secondary index.
  //   kNotFound         no index of the table has this name, or the table was opened without its
  //                     indexes (Options::leave_out_indexes)
  //   kInvalidArgument  the table belongs to another database
  template <class Row>
  Result<Index<Row>> index(const Table<Row>& table, std::string_view name) const {
    auto index = find_index(table, name);
    if (!index.ok()) return index.status();
    return Index<Row>{*index};
  }
  Result<IndexRef> index(const TableRef& table, std::string_view name) const { return find_index(table, name); }

  // Finds columns by name, for callers without the struct.
  //   kInvalidArgument  a column is unknown, or the table belongs to another database; the message
  //                     names it
  Result<ColumnsRef> columns(const TableRef& table, std::span<const std::string> names) const;

  // Finds the sequence of this name, or creates it. It lives as long as the database. Names have 1
  // to 64 bytes. Sequences are stored in a table of the database, `elider_sequences`, so this may
  // also return what create_table() and run() return.
  //   kInvalidArgument  names the wrong argument
  Result<Sequence> sequence(std::string_view name, const SequenceOptions& options);
  Result<Sequence> sequence(std::string_view name, uint32_t chunk = Sequence::kChunk) {
    return sequence(name, SequenceOptions{.chunk = chunk});
  }

  // -- transactions -------------------------------------------------------------------------------

  // Runs procedure(Transaction&), which returns a Status or nothing, and commits. After a conflict
  // it runs the procedure again, as the policy says. If the procedure returns an error or throws,
  // its writes are undone, and run() returns that error (kProcedureThrew for an exception) when it
  // knows that the procedure saw consistent data. It also returns
  //   kDeadline         conflicts used up the policy's attempts or time, or other transactions kept
  //                     a lock for Options::lock_timeout_us; nothing took effect
  //   kMemoryLimit      there is not enough memory for its writes (memory_limit_bytes, the heap),
  //                     or too many transactions are open (workers_max); nothing took effect
  //   kInvalidArgument  a single-threaded database has a transaction open in another thread, or
  //                     RunPolicy::procedure_id, durability or partitions is wrong; nothing took
  //                     effect
  //   kIoError          the log could not be written (wait_durable). Nothing took effect, unless
  //                     run() was already waiting for the disk (kGroup): then the commit took
  //                     effect, and a crash may lose it
  template <class F>
  Status run(F&& procedure, const RunPolicy& policy = {}) {
    return run_any(procedure, policy, false);
  }
  // Runs a procedure that only reads, on the newest snapshot or on RunPolicy::snapshot. The newest
  // snapshot includes every commit that completed before this call. Reads are not validated and
  // cannot conflict, and writes return kInvalidArgument. Other statuses are run()'s. (DBX, section
  // 5.4)
  template <class F>
  Status run_read_only(F&& procedure, const RunPolicy& policy = {}) {
    return run_any(procedure, policy, true);
  }

  // Runs `calls` calls, each of them a separate transaction, and overlaps their cache misses. This
  // is several times as fast as run() if the rows are not in the cache (docs/groups.md). It is to
  // call_group() what run() is to call(): the code is written where it is used, and is not
  // installed. For call i,
  //   touch(i, Touches&)          names in advance the rows that it will access (elider/touches.h)
  //   procedure(i, Transaction&)  is the transaction; it returns a Status or nothing, as for run()
  //   outcomes[i]                 becomes what run() would return; the span is empty or has `calls`
  //                               elements
  // Calls run in groups of GroupPolicy::size, in this thread and one at a time, so they cannot wait
  // for each other. They commit in any order: a call that meets a conflict is retried after all
  // others have been tried, and touch() is called again. If touch() throws, its call does not run,
  // and its outcome is kProcedureThrew. With durability kGroup the thread waits once, at the end.
  // Returns ok if all outcomes are; otherwise the first outcome that is not.
  //   kInvalidArgument  `outcomes` has another size, or GroupPolicy::size is out of range
  // After this, and after any status that run() returns before it starts, nothing was run, and
  // every outcome is that status.
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
  //   kInvalidArgument  a single-threaded database has one open in another thread
  //   kIoError          the log has failed, and Options::log_failure is kStop
  Result<ActiveTransaction> begin();
  Result<ActiveTransaction> begin_read_only();
  // Begins one that reads a held snapshot, like RunPolicy::snapshot.
  //   kInvalidArgument  `at` is empty, or belongs to another database
  Result<ActiveTransaction> begin_read_only(const HeldSnapshot& at);

  // Pins the newest snapshot, which includes every commit that completed before this call. Waits
  // for the calls in pieces that belong to it. Statuses are begin()'s, and
  //   kInvalidArgument  the thread is within an operation of a procedure
  Result<HeldSnapshot> hold_snapshot();

  // Returns the number of a name, for RunPolicy::procedure_id. After 256 names it returns 0.
  uint32_t procedure_id(std::string_view name);

  // -- durability ---------------------------------------------------------------------------------

  // Waits until everything that was committed before this call is on the disk. Without a log it
  // returns ok at once.
  //   kIoError  a file could not be written; the message names it. From then on commits with writes
  //             return this status, and reads continue as LogFailure says. A failed write or sync
  //             is not retried: open the database again to write again. Commits that were not
  //             acknowledged may be lost then
  Status wait_durable();
  // Waits only for commits with numbers up to this one (RunPolicy::commit_number).
  Status wait_durable(SnapshotNumber commit_number);
  // Calls told(status) once, when wait_durable(commit_number) would return, with what it would
  // return: at once in this thread, or later in a thread of the log, but not after the database is
  // closed. The log waits for `told`, so it must be short, must not throw, and may call only
  // statistics() of this database.
  void when_durable(SnapshotNumber commit_number, std::function<void(const Status&)> told);
  // What opening the database found.
  const Recovery& recovery() const;
  // Writes a checkpoint of the current rows to the data folders while transactions run. Then the
  // log before it is deleted. If another checkpoint is in progress, waits for it and writes a new
  // one. Database::statistics has its figures.
  //   kInvalidArgument  the database does not have a data folder, or does not write it
  //                     (Durability::kNone), or is single-threaded and has a transaction open in
  //                     another thread
  //   kIoError, kMemoryLimit
  //                     it failed. No checkpoint is damaged, and the message says which of these
  //                     is the case:
  //                     - nothing has changed, and the old checkpoint is valid
  //                     - the new one is valid, and an old file could not be removed (the message
  //                       names it; the next checkpoint tries again)
  //                     - the manifest could not be renamed or synced; the next open() shows which
  //                       of the two is valid
  // If a folder cannot be synced, the log fails as well, as in wait_durable().
  Status checkpoint();
  // Writes the current rows to another folder, as a database that can be opened. It creates the
  // folder if necessary. It works without data folders, and after the log has failed.
  //   kInvalidArgument  the folder is not empty, or a single-threaded database has a transaction
  //                     open in another thread
  //   kIoError          the message names the file
  //   kMemoryLimit      there is not enough memory, or Options::workers_max are in use
  // If it fails, it removes what it wrote. If it cannot, what remains is a complete backup, or
  // open() refuses it.
  Status backup(const std::string& folder);

  // -- procedures (elider/procedure.h) ------------------------------------------------------------

  // Installs procedures: all of them, or, if it fails, none. They stay until the database is
  // closed. Procedures with a body can be installed at any time, in any number of calls. Procedures
  // with operations are analyzed together: all of a database are installed in one call, after their
  // tables were created. `plan`, if not null, becomes what the analysis found, for the procedures
  // with operations in the order in which they were added.
  //   kInvalidArgument  the message names the procedure, and what is wrong: its name is empty or
  //                     taken; it has neither a body nor operations, or both; it has operations and
  //                     is read_only(); chopping::analyze() refuses the declaration; a table does
  //                     not exist; the options cannot be executed; procedures with operations are
  //                     installed already
  Status install(Procedures procedures, const InstallOptions& options = {}, chopping::Plan* plan = nullptr);
  // All that are installed, in that order.
  std::vector<ProcedureInfo> procedures() const;

  // Calls a procedure with these arguments, in which its bodies leave the results. A call is a
  // transaction: it is strictly serializable with all others (except under
  // InstallOptions::answers_at_once), and it is retried on a conflict, as the policy says. If it is
  // not ok, the results mean nothing.
  // Statuses as run()'s, and
  //   kInvalidArgument  the procedure is not installed in this database, or the handle names none;
  //                     the thread is within an operation of another call; an operation made an
  //                     access that it does not declare (InstallOptions::check_accesses)
  //   kCorrupt          an operation failed after other calls may have seen its call, which is now
  //                     incomplete; the database has stopped (elider/procedure.h)
  template <class Arguments>
  Status call(ProcedureHandle<Arguments> procedure, std::type_identity_t<Arguments>& arguments, const RunPolicy& policy = {}) {
    return call_any(procedure.its_, &arguments, policy);
  }
  // Like call() above, for a caller that does not need the results.
  template <class Arguments>
  Status call(ProcedureHandle<Arguments> procedure, std::type_identity_t<Arguments>&& arguments, const RunPolicy& policy = {}) {
    return call_any(procedure.its_, &arguments, policy);
  }
  // Calls a procedure by its name. If it is ok, `reply` holds the results. Otherwise `reply` is
  // empty. `reply` may be null; it must not be the vector of the arguments. Statuses as call()'s,
  // and, before anything runs,
  //   kNotFound         no procedure has this name
  //   kInvalidArgument  the message names the argument that is missing, is one too many, or has
  //                     another type; or the procedure can be called only through its handle
  Status call(std::string_view name, std::span<const Value> arguments, std::vector<Value>* reply = nullptr,
              const RunPolicy& policy = {});
  // Runs many calls, of one procedure or of several, typed or by name, as run_group() does: each is
  // a transaction of its own, and their cache misses overlap as far as Procedure::touch names what
  // they access. A call that call() would refuse gets that status as its outcome, and the others
  // run. Replies as call()'s. `outcomes`, `policy` and the returned status as run_group()'s, except
  // for procedures with operations:
  //   - GroupPolicy::read_only and Touches::read_only() do not apply to them.
  //   - Under Protocol::kChopped a call that writes is run to its end, with its attempts and its
  //     waits, before the next call.
  Status call_group(std::span<const ProcedureCall> calls, std::span<Status> outcomes = {}, const GroupPolicy& policy = {});

  // -- looking inside -----------------------------------------------------------------------------

  Statistics statistics() const;
  // The sync policy in use: "optimistic", ...
  SyncPolicy sync() const;
  // What executes its hardware transactions; kNone unless the policy is kElided.
  HtmBackend htm() const;
  Protocol protocol() const;
  // Frees memory that no transaction can need any more. The engine does this as it runs; calling
  // this is useful before reading memory figures. No transaction of this thread may be running.
  void collect_garbage();
  // Checks every invariant of every index and row, for tests and tools. No transaction may be
  // running. The message of a failure names the invariant.
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
  Result<TableRef> find_table(std::string_view name, uint32_t row_bytes) const;
  Result<IndexRef> find_index(const TableRef& table, std::string_view name) const;
  Status refuse_unusable() const;  // it is closed, or opened before a fork
  // Never null: a closed database has an engine that refuses everything, so that an open one need
  // not look.
  std::unique_ptr<detail::Engine, detail::EndEngine> engine_;
};

}  // namespace elider
