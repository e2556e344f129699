// A Database is a transactional in-memory database that runs inside the process.
//
//   auto db = elider::Database::open();
//   auto accounts = db->create_table(elider::SchemaOf<Account>("accounts")
//                                        .column("balance", &Account::balance));
//   elider::Status status = db->run([&](elider::Transaction& txn) -> elider::Status { ... });
//
// A default-constructed or moved-from database is closed. The functions of a closed database do
// nothing: those that return a Status or a Result return kFinished, and all others return an empty
// value.
//
// Thread safety: any thread may call any function at any time, except the destructor and the move
// operations. Threads need not be registered. Tables live as long as the database.
//
// fork(): a child process cannot use a database that its parent has opened. In the child, functions
// that return a Status return kInvalidArgument, and all others return an empty value or do nothing.
// The child's destructor frees the memory, but does not touch the files or the parent's locks. A
// program that forks, such as a daemon, should open its databases after the fork. If a process
// forks within a transaction, the child must not continue the transaction. It must call exec(),
// exit() or _exit() instead.
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

template <class KeyType>
class DescribedTable;
struct RowColumnOptions;

namespace detail {
struct GroupCalls;
class Engine;
class EngineWorker;
// The deleter of Database::engine_. It destroys the engine; in a forked child, it only frees the
// engine's memory.
struct EndEngine {
  void operator()(Engine* engine) const;
};
}

namespace detail {
// Returns a transaction whose operations all return kFinished.
Transaction* ended_transaction();
}

// An interactive transaction, as returned by Database::begin(). The destructor rolls back a
// transaction that was not committed. A thread may have several transactions open.
class ActiveTransaction {
 public:
  ActiveTransaction() = default;
  ActiveTransaction(ActiveTransaction&& other) noexcept;
  ActiveTransaction& operator=(ActiveTransaction&& other) noexcept;
  ~ActiveTransaction();

  explicit operator bool() const { return txn_ != nullptr; }
  // After commit() or rollback(), and on a moved-from object, every operation of the transaction
  // returns kFinished.
  Transaction& operator*() const { return *operator->(); }
  Transaction* operator->() const { return txn_ != nullptr ? txn_ : detail::ended_transaction(); }

  // Tries to commit. Afterwards, the transaction has ended, even if the commit failed. `durability`
  // and `commit_number` have the same meaning as in RunPolicy.
  //   kConflict         nothing took effect; begin a new transaction
  //   kFinished         the transaction had already ended
  //   kInvalidArgument  edit() was called without edited() (elider/transaction.h), or the database
  //                     does not support `durability`; nothing took effect
  //   kMemoryLimit, kProcedureThrew
  //                     an earlier operation failed with this status; nothing took effect
  //   kIoError          the log could not be written (see wait_durable()). With Durability::kGroup,
  //                     the commit may nevertheless have taken effect (see run())
  Status commit(Durability durability, SnapshotNumber* commit_number = nullptr);
  Status commit(SnapshotNumber* commit_number = nullptr) { return commit(Durability::kDefault, commit_number); }
  void rollback();

  // Begins the next attempt, after an operation or commit() has returned kConflict. Rolls the
  // transaction back if it is open, and waits for a random time within RunPolicy::backoff_min_us
  // and backoff_max_us. Of `policy`, only these members, attempts_max and deadline_us are used.
  // Transaction::attempt() is then one larger. The database must be open. `policy` can differ from
  // call to call; `deadline_us` counts from the first call.
  //
  //   for (;;) {
  //     elider::Status status = work(*txn);
  //     if (status.ok()) status = txn.commit();
  //     if (!status.retryable()) return status;
  //     ELIDER_TRY(txn.begin_again());
  //   }
  //
  //   kDeadline         `policy` does not allow another attempt; the transaction is rolled back
  //   kFinished         the object does not come from Database::begin(), or was moved from
  //   kInvalidArgument  the transaction is read-only, and therefore cannot conflict
  // The statuses of Database::begin() are also possible.
  Status begin_again(const RunPolicy& policy = {});

 private:
  friend class Database;
  ActiveTransaction(detail::Engine* engine, detail::EngineWorker* worker, Transaction* txn) : engine_(engine), worker_(worker), txn_(txn) {}
  detail::Engine* engine_ = nullptr;
  detail::EngineWorker* worker_ = nullptr;
  Transaction* txn_ = nullptr;
  bool read_only_ = false;
  uint32_t attempt_ = 1;
  uint64_t begin_ns_ = 0;  // the time of the first begin_again()
};

class Database {
 public:
  // Opens the database in Options::data_folders, or a new database in memory if data_folders is
  // empty. The message of a failure names the option, the folder, the file, or the first difference
  // between the schemas.
  //   kInvalidArgument  an option is invalid; another Database has the folder open; the folder
  //                     contains a database, and Options::error_if_exists is set; or the folder
  //                     contains files of another program
  //   kNotFound         the folder does not contain a database, and Options::create_if_missing is
  //                     false
  //   kCorrupt, kIoError
  //                     a file is damaged, or could not be read or written
  //   kUnsupported      a file has an unknown version; or Options::htm requests RTM, which
  //                     the processor lacks
  //   kMemoryLimit      the system does not have enough memory for Options::prefault_bytes, the
  //                     data or the recovery; or recovery needs more workers than
  //                     Options::workers_max. Options::memory_limit_bytes does not apply to the
  //                     data that open() loads
  //   kSchemaMismatch   a table that has indexes with key functions is missing from
  //                     Options::schemas (but see Options::leave_out_indexes), or a schema differs
  //                     from the stored one
  // If open() fails, the folders are unchanged, with one exception: if recovery succeeded but the
  // new log could not be started, open() may already have replaced the manifest. The new manifest
  // discards writes that a crash left incomplete and, if Options::recover_to is set, all commits
  // after that number.
  static Result<Database> open(const Options& options = {});

  Database();  // closed
  Database(Database&& other) noexcept;  // leaves `other` closed, as does the assignment
  Database& operator=(Database&& other) noexcept;
  // The caller must ensure that no transaction is running. The destructor writes all commits to
  // disk before it returns. It cannot report errors, so call wait_durable() first if you need to
  // know whether the writes succeeded.
  ~Database();
  bool is_open() const;

  // -- tables -------------------------------------------------------------------------------------

  // Creates a table, or returns the existing table of this name if its schema is the same.
  // Transactions may run concurrently. Names that begin with "elider_" are reserved for internal
  // tables. Such a name is accepted only with the internal table's own schema, so that a program
  // can copy a database table by table. Tables with such names that were created by an older
  // version keep working.
  //   kSchemaMismatch   the existing table has a different schema; the message names the first
  //                     difference
  //   kInvalidArgument  the schema is invalid; the message says why
  //   kIoError          the log could not be written; the table was not created
  template <class Row, class KeyType>
  Result<Table<Row, KeyType>> create_table(const SchemaOf<Row, KeyType>& schema) {
    auto table = create_table(schema.schema());
    if (!table.ok()) return table.status();
    return Table<Row, KeyType>(table->base());
  }
  Result<TableRef> create_table(const Schema& schema);
  // Creates a table of described rows (elider/described.h), or returns the existing one. KeyType is
  // the type of its keys, as for SchemaOf.
  template <class KeyType = Key, class Described>
    requires requires { typename Described::template TableOf<KeyType>; }
  Result<typename Described::template TableOf<KeyType>> create_table(const Described& schema) {
    auto described = schema.template table_schema<KeyType>();
    if (!described.ok()) return described.status();
    auto table = create_table(*described);
    if (!table.ok()) return table.status();
    return typename Described::template TableOf<KeyType>(table->base());
  }

  // Creates the table that an elider::RowsOf (elider/struct_table.h) or elider::ValueSchema
  // (elider/value_table.h) describes, or returns the existing one.
  template <class Rows>
    requires requires { typename Rows::TableType; }
  Result<typename Rows::TableType> create_table(const Rows& rows) {
    auto schema = rows.table_schema();
    if (!schema.ok()) return schema.status();
    auto table = create_table(*schema);
    if (!table.ok()) return table.status();
    return rows.open(*table);
  }

  // The following functions change tables while transactions run (docs/schema-changes.md). Each
  // change is one step: it happens or it does not, also if the process crashes. It is durable when
  // a commit with Options::durability would be. Changes are not part of transactions. All of these
  // functions may also return
  //   kNotFound         the table, or the column, does not exist
  //   kInvalidArgument  an argument is invalid, or the table belongs to the database itself; the
  //                     message says why
  //   kIoError          the log could not be written. With Durability::kGroup, the change may
  //                     nevertheless have taken effect (see run()); otherwise it has not
  //   kMemoryLimit      not enough memory
  //
  // Drops a table. The function waits until the transactions that can write to the table have
  // ended: those that began before the call. Meanwhile and afterwards, the table cannot be found,
  // and operations on it return kNotFound, also through existing handles and in snapshots. The
  // memory of the rows is freed before the function returns or, if a snapshot is being read, soon
  // after that has ended. A table that a procedure with operations declares cannot be dropped.
  //   kDeadline         after `wait_us` microseconds, such a transaction was still open; the table
  //                     is unchanged. This includes a transaction of the calling thread
  Status drop_table(std::string_view name, uint64_t wait_us = 10'000'000);
  // Gives the table another name, which no table may have. Handles remain valid.
  Status rename_table(std::string_view name, std::string_view new_name);
  // Appends a column to a table of described rows. The column must be nullable or have a default,
  // which existing rows then read; they are not rewritten. The time does not depend on the number
  // of rows. A table has at most kRowColumnsMax columns, including dropped ones.
  Status add_column(std::string_view table, std::string_view name, RowType type, const RowColumnOptions& options);
  // Renames a column of a table of described rows.
  Status rename_column(std::string_view table, std::string_view name, std::string_view new_name);
  // Drops a column of a table of described rows. Its values cannot be read any longer. They are
  // removed from a row when the row is written the next time. Another column may get the name.
  Status drop_column(std::string_view table, std::string_view name);

  // Creates an index by columns of an existing table of any kind, such as
  //
  //   db.create_index("orders", SecondaryIndex::of_columns("by_customer", {"customer"}))
  //
  // Transactions read and write the table meanwhile. From the beginning of the call, they maintain
  // the index, so a write that the index refuses fails: a row that cannot be indexed
  // (kInvalidArgument), or a value that a unique index already has (kDuplicateKey). The index can
  // be used when the function has returned, but not by transactions that read an older snapshot. If
  // the function fails or the process ends, the table is as before. Until the function returns,
  // the table's schema cannot be changed in another way. The calling thread must not have an open
  // transaction that has used the database. If the index is ranked, its rows are counted at the
  // end. Meanwhile, writes that add or remove an entry of the index conflict (kConflict).
  //   kDuplicateKey     the index is unique, and two rows have the same value
  //   kInvalidArgument  a row cannot be indexed; the message names the index, the column, the key
  //   kDeadline         after CreateIndexOptions::wait_us, a transaction that had begun before the
  //                     call was still open
  //   kRolledBack       CreateIndexOptions::progress returned false
  Status create_index(std::string_view table, const SecondaryIndex& index, const CreateIndexOptions& options = {});
  // Drops an index. Handles to it become invalid: operations through them return kInvalidArgument.
  // The entries are freed before the function returns or, if a transaction may still use them, soon
  // after that has ended. The counts of a ranked index are freed likewise if all transactions that
  // began before end within a second, and otherwise with the table. An index of a table that a
  // procedure with operations declares cannot be dropped or created.
  //   kNotFound         the table does not have an index with this name
  Status drop_index(std::string_view table, std::string_view name);

  // Finds a table.
  //   kNotFound        no table has this name
  //   kSchemaMismatch  the table's rows do not have the size of Row, or its keys are of another
  //                    kind or are tuples of other types
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
  // Finds a table of described rows, with the description that the database stores. Include
  // elider/described.h.
  //   kNotFound        no table has this name
  //   kSchemaMismatch  the table does not have described rows, or its keys are of another kind or
  //                    are tuples of other types
  template <class KeyType = Key>
  Result<DescribedTable<KeyType>> described_table(std::string_view name) const;
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
  // Finds an index of a DescribedTable or a StructTable.
  template <EncodedTableType Encoded>
    requires requires { typename Encoded::IndexType; }
  Result<typename Encoded::IndexType> index(const Encoded& table, std::string_view name) const {
    auto index = find_index(table, name);
    if (!index.ok()) return index.status();
    return typename Encoded::IndexType{*index, table};
  }

  // Finds columns by name, for callers that do not have the row struct.
  //   kInvalidArgument  a column does not exist (the message names it), or the table belongs to
  //                     another database
  Result<ColumnsRef> columns(const TableRef& table, std::span<const std::string> names) const;

  // Returns the sequence with this name, and creates it if it does not exist. The sequence lives as
  // long as the database. Names have 1 to 64 bytes. Sequences are stored in the table
  // `elider_sequences`, so sequence() may also return the statuses of create_table() and run().
  //   kInvalidArgument  an argument is invalid; the message names it
  Result<Sequence> sequence(std::string_view name, const SequenceOptions& options);
  Result<Sequence> sequence(std::string_view name, uint32_t chunk = Sequence::kChunk) {
    return sequence(name, SequenceOptions{.chunk = chunk});
  }

  // -- transactions -------------------------------------------------------------------------------

  // Calls procedure(Transaction&), which returns a Status or nothing, and commits. After a
  // conflict, run() calls the procedure again, within the limits of `policy`. If the procedure
  // returns an error or throws, run() undoes its writes and validates its reads. If the reads are
  // valid, run() returns the error (kProcedureThrew for an exception); otherwise, it calls the
  // procedure again. run() may also return
  //   kDeadline         conflicts exhausted the attempts or the time that `policy` allows, or other
  //                     transactions held a lock for LaboratoryOptions::lock_timeout_us; nothing
  //                     took effect
  //   kMemoryLimit      the transaction's writes exceed Options::memory_limit_bytes or the
  //                     available memory of the process, or too many transactions are open
  //                     (Options::workers_max); nothing took effect
  //   kInvalidArgument  another thread has a transaction open in a single-threaded database, or
  //                     RunPolicy::procedure_id, durability or partitions is invalid; nothing took
  //                     effect
  //   kIoError          the log could not be written (see wait_durable()). Nothing took effect,
  //                     unless run() was already waiting for the disk (Durability::kGroup). In that
  //                     case, the commit has taken effect, but a crash may lose it
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

  // Runs a number of calls, each as a separate transaction, and overlaps their cache misses. If the
  // rows are not in the cache, run_group() is several times as fast as a run() for each call
  // (docs/groups.md). To call installed procedures, use call_group(). For call i,
  //   touch(i, Touches&)          names in advance the rows that the call will access
  //                               (elider/touches.h)
  //   procedure(i, Transaction&)  runs the transaction, and returns a Status or nothing, as for
  //                               run()
  //   outcomes[i]                 receives the status that run() would return. The span is empty or
  //                               has `calls` elements
  // The calls are divided into groups of GroupPolicy::size. This thread runs all calls, one at a
  // time, so a call must not wait for another call. A call that conflicts is retried, beginning
  // with touch(), after all other calls have been tried, so the calls may commit in any order. If
  // touch(i) throws, call i does not run, and its outcome is kProcedureThrew. With
  // Durability::kGroup, the thread waits for the disk only once, at the end. Returns ok if all
  // outcomes are ok, and otherwise the first outcome that is not ok.
  //   kInvalidArgument  `outcomes` has another size, or GroupPolicy::size is out of range
  // If run_group() returns this status, or one that run() returns before it calls its procedure, no
  // call has run, and every outcome is the returned status.
  template <class Touch, class F>
    requires std::is_invocable_v<Touch&, size_t, Touches&>
  Status run_group(size_t calls, Touch&& touch, F&& procedure, std::span<Status> outcomes = {}, const GroupPolicy& policy = {}) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, size_t, Transaction&>>)
      return run_calls(calls, touch, [&](size_t i, Transaction& txn) { return procedure(i, txn), Status(); }, outcomes, policy);
    else return run_calls(calls, touch, procedure, outcomes, policy);
  }
  // Like run_group() above, but makes one call for each element of the span `calls`: touch(element,
  // Touches&) and procedure(element, Transaction&).
  template <class Arguments, class Touch, class F>
    requires std::is_invocable_v<Touch&, Arguments&, Touches&>
  Status run_group(std::span<Arguments> calls, Touch&& touch, F&& procedure, std::span<Status> outcomes = {},
                   const GroupPolicy& policy = {}) {
    return run_group(
        calls.size(), [&](size_t i, Touches& touches) { touch(calls[i], touches); },
        [&](size_t i, Transaction& txn) { return procedure(calls[i], txn); }, outcomes, policy);
  }

  // Begins an interactive transaction. The engine does not retry it after a conflict.
  //   kMemoryLimit      too many transactions are open (Options::workers_max)
  //   kInvalidArgument  a single-threaded database has a transaction open in another thread
  //   kIoError          the log has failed, and Options::log_failure is kStop
  Result<ActiveTransaction> begin();
  Result<ActiveTransaction> begin_read_only();
  // Begins a read-only transaction at a held snapshot (see RunPolicy::snapshot).
  //   kInvalidArgument  `at` is empty, or belongs to another database
  Result<ActiveTransaction> begin_read_only(const HeldSnapshot& at);

  // Pins the newest snapshot, which includes every commit that completed before this call. If that
  // snapshot includes incomplete calls of chopped procedures, waits until these calls are complete.
  // Returns the statuses of begin(), and
  //   kInvalidArgument  the function was called from within an operation of a procedure
  //                     (elider/procedure.h)
  Result<HeldSnapshot> hold_snapshot();

  // Returns the number that represents this name in RunPolicy::procedure_id, so that statistics
  // count the transactions under the name. After 256 names, returns 0, the number of unnamed
  // transactions.
  uint32_t procedure_id(std::string_view name);

  // -- durability ---------------------------------------------------------------------------------

  // Waits until everything that was committed before this call is on the disk. Without a log,
  // returns ok immediately.
  //   kIoError  a file could not be written; the message names it. From then on, commits with
  //             writes return this status, and Options::log_failure determines whether reads
  //             continue. A failed write or sync is not retried, so the database must be closed and
  //             opened again before it accepts writes. Commits that were not acknowledged may then
  //             be lost
  Status wait_durable();
  // Waits only until the commits with numbers up to `commit_number` are on the disk
  // (RunPolicy::commit_number).
  Status wait_durable(SnapshotNumber commit_number);
  // The asynchronous form of wait_durable(commit_number): calls told(status) once, with the status
  // that wait_durable() would return. The call comes either immediately, from this thread, or
  // later, from a log thread, but never after the database is closed. Because the log thread waits
  // for it, `told` must return quickly. `told` must not throw, and may call only statistics() of
  // this database.
  void when_durable(SnapshotNumber commit_number, std::function<void(const Status&)> told);
  // Returns a report of the recovery that open() performed.
  const Recovery& recovery() const;
  // Writes a checkpoint of all current rows to the data folders, concurrently with transactions,
  // and then deletes the log that recovery no longer needs. If another checkpoint is in progress,
  // waits for it to complete and then writes a new one. Statistics::checkpoints describes the last
  // checkpoint.
  //   kInvalidArgument  the database does not have a data folder, or does not write to it
  //                     (Durability::kNone), or is single-threaded and has a transaction open in
  //                     another thread
  //   kIoError, kMemoryLimit
  //                     the checkpoint failed, but existing checkpoints are intact. The message
  //                     says which of these cases applies:
  //                     - nothing has changed, and the old checkpoint is valid
  //                     - the new checkpoint is valid, but an old file could not be removed. The
  //                       message names the file, and the next checkpoint tries again to remove it
  //                     - the manifest could not be renamed or synced. Only the next open()
  //                       determines whether the old or the new checkpoint is valid
  // If a folder cannot be synced, the log fails as well (see wait_durable()).
  Status checkpoint();
  // Writes a copy of the database, with all current rows, to another folder, which open() can then
  // open. Creates the folder if necessary. backup() also works for an in-memory database, and after
  // the log has failed.
  //   kInvalidArgument  the folder is not empty, or a single-threaded database has a transaction
  //                     open in another thread
  //   kIoError          a file could not be written; the message names it
  //   kMemoryLimit      there is not enough memory, or all Options::workers_max workers are in use
  // If backup() fails, it removes the files that it has written. If it cannot remove them, the
  // remaining files are either a complete backup or are refused by open().
  Status backup(const std::string& folder);

  // -- procedures (elider/procedure.h) ------------------------------------------------------------

  // Installs all of these procedures or, if it fails, none of them. They stay installed until the
  // database is closed. Procedures with a body can be installed at any time, in any number of
  // calls. Procedures with operations are analyzed together, so all of them must be installed in
  // one call, after their tables were created. If `plan` is not null, *plan receives the result of
  // the analysis, which lists the procedures with operations in the order in which they were added.
  //   kInvalidArgument  the message names the procedure and the mistake: its name is empty or
  //                     taken; it has neither a body nor operations, or has both; it has operations
  //                     and is read_only(); chopping::analyze() refuses the declaration; a table
  //                     does not exist; `options` are not supported; procedures with operations are
  //                     already installed
  Status install(Procedures procedures, const InstallOptions& options = {}, chopping::Plan* plan = nullptr);
  // Returns all installed procedures, in the order in which they were installed.
  std::vector<ProcedureInfo> procedures() const;

  // Calls an installed procedure. Its bodies read `arguments` and store their results in the same
  // struct. A call is a transaction, so it is strictly serializable with all other transactions
  // (except under InstallOptions::answers_at_once). After a conflict, the call is retried within
  // the limits of `policy`. If the status is not ok, ignore the results. Returns the statuses of
  // run(), and
  //   kInvalidArgument  the procedure is not installed in this database, or the handle is empty;
  //                     call() was called from within an operation of another call; an operation
  //                     made an undeclared access (InstallOptions::check_accesses)
  //   kCorrupt          an operation failed when other calls may already have seen earlier effects
  //                     of this call. The call is therefore incomplete, and the database has
  //                     stopped (elider/procedure.h)
  template <class Arguments>
  Status call(ProcedureHandle<Arguments> procedure, std::type_identity_t<Arguments>& arguments, const RunPolicy& policy = {}) {
    return call_any(procedure.its_, &arguments, policy);
  }
  // Like call() above, but discards the results.
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
  // Runs calls of installed procedures as run_group() does. Each call is a separate transaction,
  // and the cache misses for the rows that Procedure::touch names overlap. A group may contain
  // calls of different procedures, both typed calls and calls by name. If call() would refuse a
  // call, its outcome is that status, and the other calls still run. Replies are set as by call().
  // `outcomes`, `policy` and the returned status are as in run_group(), except for procedures with
  // operations:
  //   - GroupPolicy::read_only and Touches::read_only() do not apply to such procedures.
  //   - Under Protocol::kChopped, a call that writes runs to completion, including its retries and
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
  // Frees memory that transactions can no longer access. The engine does this continuously, so a
  // call is useful only before reading memory statistics. The calling thread must not have a
  // running transaction.
  void collect_garbage();
  // Checks every invariant of every index and row, for tests and tools. The caller must ensure that
  // no transaction is running. If a check fails, the message names the violated invariant.
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
  // `typed` describes the caller's row size and key type. If it is null, all tables are accepted.
  Result<TableRef> find_table(std::string_view name, const Schema* typed) const;
  Result<IndexRef> find_index(const TableRef& table, std::string_view name) const;
  Status refuse_unusable() const;  // fails if the database is closed or was opened before a fork
  // Never null: a closed database has an engine that refuses every call.
  std::unique_ptr<detail::Engine, detail::EndEngine> engine_;
};

}  // namespace elider
