// Database: an in-memory transactional database inside this process.
//
//   auto db = elider::Database::open();
//   auto accounts = db->create_table(elider::SchemaOf<Account>("accounts")
//                                        .column("balance", &Account::balance));
//   elider::Status status = db->run([&](elider::Transaction& txn) -> elider::Status { ... });
//
// A database that was made by default or moved from is closed. Its functions do nothing: those with
// a Status or a Result return kFinished, and the others return an empty value.
//
// Thread safety: everything but closing (the destructor) may be called by all threads at any time;
// threads need not register, and may come and go. Tables live as long as the database.
//
// fork(): a child cannot use a database that its parent has opened. Every call that returns a
// Status returns kInvalidArgument there, and the others return nothing or do nothing. The
// destructor gives memory back to the system and touches neither the files nor the parent's locks.
// A program that forks, a daemon for one, opens its databases afterwards. The child of a fork
// within a transaction must not return into it: it ends by exec(), exit() or _exit().
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
// Every operation of it gives kFinished.
Transaction* ended_transaction();
}

// A transaction outside a procedure, for interactive use. Rolled back when it is destroyed without
// a commit. A thread may hold several.
class ActiveTransaction {
 public:
  ActiveTransaction() = default;
  ActiveTransaction(ActiveTransaction&& other) noexcept;
  ActiveTransaction& operator=(ActiveTransaction&& other) noexcept;
  ~ActiveTransaction();

  explicit operator bool() const { return txn_ != nullptr; }
  // After commit(), rollback() or a move to another one, every operation gives kFinished.
  Transaction& operator*() const { return *operator->(); }
  Transaction* operator->() const { return txn_ != nullptr ? txn_ : detail::ended_transaction(); }

  // Commits, and ends the transaction whatever it returns. `durability` and `commit_number` mean
  // what they mean in RunPolicy.
  //   kConflict         nothing took effect; begin again
  //   kFinished         the transaction had ended before
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
  // Opens an empty database, or what Options::data_folders hold. Messages name the option, the
  // folder, the file, or the first difference.
  //   kInvalidArgument  an option makes no sense; another database has the folder open; the folder
  //                     holds a database (Options::error_if_exists), or files of somebody else's
  //   kNotFound         there is no database, and Options::create_if_missing is false
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
  // log could not be begun, the manifest may be new. It then discards what a crash left torn, and
  // with Options::recover_to what came after that number.
  static Result<Database> open(const Options& options = {});

  Database();  // closed
  Database(Database&& other) noexcept;  // leaves the other one closed, as the assignment does
  Database& operator=(Database&& other) noexcept;
  // No transaction may be running. Brings what was committed to the disk first. It cannot report
  // an error: call wait_durable() before, to know.
  ~Database();
  bool is_open() const;

  // -- tables -------------------------------------------------------------------------------------

  // Makes the table, or returns the one of this name if its schema is the same. Transactions may
  // run meanwhile. Names that begin with "elider_" are reserved for the database's own tables. A
  // new table may have such a name only with the schema of the database's own one, so that a
  // program can copy a database table by table. Tables of such names from an older version keep
  // working.
  //   kSchemaMismatch   the message names the first difference
  //   kInvalidArgument  the message names what is wrong
  //   kIoError          the log cannot take it; the table was not made
  template <class Row>
  Result<Table<Row>> create_table(const SchemaOf<Row>& schema) {
    auto table = create_table(schema.schema());
    if (!table.ok()) return table.status();
    return Table<Row>(table->base());
  }
  Result<TableRef> create_table(const Schema& schema);

  // A table that exists.
  //   kNotFound        none has this name
  //   kSchemaMismatch  its rows are not of Row's size
  template <class Row>
  Result<Table<Row>> table(std::string_view name) const {
    auto table = find_table(name, sizeof(Row));
    if (!table.ok()) return table.status();
    return Table<Row>(table->base());
  }
  Result<TableRef> table(std::string_view name) const { return find_table(name, 0); }
  std::vector<TableRef> tables() const;

  // A secondary index by name.
  //   kNotFound         the table has none of this name, or was opened without its indexes
  //                     (Options::leave_out_indexes)
  //   kInvalidArgument  the table belongs to another database
  template <class Row>
  Result<Index<Row>> index(const Table<Row>& table, std::string_view name) const {
    auto index = find_index(table, name);
    if (!index.ok()) return index.status();
    return Index<Row>{*index};
  }
  Result<IndexRef> index(const TableRef& table, std::string_view name) const { return find_index(table, name); }

  // Columns by name, for callers without the struct. kInvalidArgument names the unknown one, or the
  // table, if it belongs to another database.
  Result<ColumnsRef> columns(const TableRef& table, std::span<const std::string> names) const;

  // The sequence of this name, which is made if there is none; it lives as long as the database.
  // Names have 1 to 64 bytes. Sequences are kept in a table of the database, `elider_sequences`, so
  // this may also return what create_table() and run() return.
  //   kInvalidArgument  names the wrong argument
  Result<Sequence> sequence(std::string_view name, const SequenceOptions& options);
  Result<Sequence> sequence(std::string_view name, uint32_t chunk = Sequence::kChunk) {
    return sequence(name, SequenceOptions{.chunk = chunk});
  }

  // -- transactions -------------------------------------------------------------------------------

  // Runs procedure(Transaction&), which returns a Status or nothing, and commits; on a conflict
  // runs it again, as the policy says. If the procedure returns an error or throws, what it did is
  // undone. Once run() knows that the procedure saw consistent data, it returns that error
  // (kProcedureThrew for an exception). It also returns
  //   kDeadline         conflicts used up the policy's attempts or time, or others kept a lock for
  //                     Options::lock_timeout_us; nothing took effect
  //   kMemoryLimit      no room for what it writes (memory_limit_bytes, the heap), or too many
  //                     transactions are open (workers_max); nothing took effect
  //   kInvalidArgument  a single-threaded database has a transaction open in another thread, or
  //                     RunPolicy::procedure_id, durability or partitions makes no sense; nothing
  //                     took effect
  //   kIoError          the log could not be written (wait_durable). Nothing took effect, unless
  //                     run() was already waiting for the disk (kGroup): then the commit took
  //                     effect, and a crash may lose it
  template <class F>
  Status run(F&& procedure, const RunPolicy& policy = {}) {
    return run_any(procedure, policy, false);
  }
  // The same on the newest snapshot: every commit that ended before the call is seen, nothing is
  // validated, no conflict is possible, and writes are refused (kInvalidArgument). Other statuses
  // as run(). (DBX, section 5.4) With RunPolicy::snapshot it is a held one.
  template <class F>
  Status run_read_only(F&& procedure, const RunPolicy& policy = {}) {
    return run_any(procedure, policy, true);
  }

  // Runs `calls` calls, each a transaction of its own, with the cache misses of many overlapped:
  // several times as fast as run() where rows are not in the cache (docs/groups.md). It is to
  // call_group() what run() is to call(): the code is written where it is used, and is not
  // installed. Of call i,
  //   touch(i, Touches&)          names beforehand which rows it will look at (elider/touches.h)
  //   procedure(i, Transaction&)  is its body, which returns a Status or nothing, as run()'s
  //   outcomes[i]                 becomes what run() would return; the span has `calls` elements,
  //                               or none
  // Calls are taken in groups of GroupPolicy::size. They commit in any order: one that meets a
  // conflict is tried again when all others have been tried, and touch() is asked again. All run in
  // this thread, one at a time, so they cannot wait for each other. With durability kGroup there is
  // one wait for all of them, at the end. Returns ok if every call is; else the outcome of the
  // first one that is not. If touch() throws, its call does not run, and its outcome is
  // kProcedureThrew.
  //   kInvalidArgument  `outcomes` has another size, or GroupPolicy::size is out of range
  // After this, and after any status that run() returns before it begins, nothing was run, and
  // every outcome is that status.
  template <class Touch, class F>
    requires std::is_invocable_v<Touch&, size_t, Touches&>
  Status run_group(size_t calls, Touch&& touch, F&& procedure, std::span<Status> outcomes = {}, const GroupPolicy& policy = {}) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, size_t, Transaction&>>)
      return run_calls(calls, touch, [&](size_t i, Transaction& txn) { return procedure(i, txn), Status(); }, outcomes, policy);
    else return run_calls(calls, touch, procedure, outcomes, policy);
  }
  // The same for a span of arguments: touch(arguments, Touches&), procedure(arguments,
  // Transaction&).
  template <class Arguments, class Touch, class F>
    requires std::is_invocable_v<Touch&, Arguments&, Touches&>
  Status run_group(std::span<Arguments> calls, Touch&& touch, F&& procedure, std::span<Status> outcomes = {},
                   const GroupPolicy& policy = {}) {
    return run_group(
        calls.size(), [&](size_t i, Touches& touches) { touch(calls[i], touches); },
        [&](size_t i, Transaction& txn) { return procedure(calls[i], txn); }, outcomes, policy);
  }

  //   kMemoryLimit      too many transactions are open (Options::workers_max)
  //   kInvalidArgument  a single-threaded database has one open in another thread
  //   kIoError          the log has failed, and Options::log_failure is kStop
  Result<ActiveTransaction> begin();
  Result<ActiveTransaction> begin_read_only();
  // At a held snapshot, as RunPolicy::snapshot is for run_read_only(). kInvalidArgument: `at` holds
  // none, or one of another database.
  Result<ActiveTransaction> begin_read_only(const HeldSnapshot& at);

  // Holds the newest snapshot, after waiting for the calls of chopped procedures that belong to it:
  // every commit that ended before the call is seen at it. Statuses as begin()'s, and
  //   kInvalidArgument  the thread is within an operation of a chopped procedure
  Result<HeldSnapshot> hold_snapshot();

  // A number for RunPolicy::procedure_id; the same for the same name. At most 256 names, then 0.
  uint32_t procedure_id(std::string_view name);

  // -- durability ---------------------------------------------------------------------------------

  // Waits until everything that was committed before the call is on the disk. Ok at once without a
  // log. kIoError: a file could not be written; the message names it. From then on commits with
  // writes are refused with the same status, and reads go on as LogFailure says. What was not
  // acknowledged may or may not be there after the database is opened again. No failed write or
  // sync is ever tried again: to write again, open the database again.
  Status wait_durable();
  // The same for all commits with numbers up to RunPolicy::commit_number.
  Status wait_durable(SnapshotNumber commit_number);
  // Calls told(status) once, with what wait_durable(commit_number) would return and when it would:
  // at once in this thread, or later in one of the log's. The log waits for it, so it must be
  // short, must not throw, and may call nothing of this database but statistics(). Closing the
  // database calls it at the latest.
  void when_durable(SnapshotNumber commit_number, std::function<void(const Status&)> told);
  // What was found when it was opened.
  const Recovery& recovery() const;
  // Writes all rows as of now to the data folders, while transactions run, and waits until that
  // checkpoint counts; then the log before it is deleted. If one is being taken, waits for it and
  // takes another. Database::statistics has its figures.
  //   kInvalidArgument  there is no data folder, or it is not written (Durability::kNone), or a
  //                     single-threaded database has a transaction open in another thread
  //   kIoError, kMemoryLimit
  //                     it failed; no checkpoint is damaged, and the message says which holds:
  //                     - nothing has changed: the old checkpoint counts
  //                     - the new one counts, and an old file could not be removed (the message
  //                       names it; the next checkpoint tries again)
  //                     - the manifest could not be renamed or synced: opening the database anew
  //                       shows which of the two counts
  // If a folder cannot be synced, the log fails, too, as in wait_durable.
  Status checkpoint();
  // Writes all rows as of now into a folder of its own, which is made if need be: a database that
  // can be opened. Works without data folders, and after the log has failed, too.
  //   kInvalidArgument  the folder is not empty, or a single-threaded database has a transaction
  //                     open in another thread
  //   kIoError          the message names the file
  //   kMemoryLimit      the heap has no room, or Options::workers_max are in use
  // If it fails, it removes what it wrote. If it cannot, what stays is a whole backup, or open()
  // refuses it.
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
  // What executes its hardware transactions; kNone under other policies than kElided.
  HtmBackend htm() const;
  Protocol protocol() const;
  // Frees what no transaction can need any more. The engine does this itself as it runs;
  // a caller who waits for quiet memory figures may ask for it. Only while no
  // transaction of this thread runs.
  void collect_garbage();
  // Checks every invariant of every index and row; no transaction may be running. The message of a
  // failure says which. For tests and tools.
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
