// Options: how to open a database. RunPolicy: how to run and retry a transaction.
#pragma once

#include "elider/language.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "elider/elision.h"
#include "elider/recovery.h"
#include "elider/schema.h"
#include "elider/snapshot_number.h"
#include "elider/status.h"

namespace elider {

class HeldSnapshot;
class HistorySink;
struct LaboratoryOptions;

// How index nodes and rows are protected (docs/architecture.md).
enum class SyncPolicy : uint8_t {
  kAutomatic,       // kOptimistic, the fastest in our measurements (elider/hardware.h); kElided if the chosen backend or protocol needs it
  kOptimistic,      // version latches; readers do not write to shared memory
  kLatched,         // one spinlock per index: the papers' baseline
  kSingleThreaded,  // unprotected: one transaction at a time, from one thread at a time
  kElided,          // hardware transactions, with locks as the fallback (docs/lab/hardware-transactions.md)
};
// How transactions execute and commit.
enum class Protocol : uint8_t {
  kOcc,               // optimistic; locks are held only briefly, and reads are validated at commit
  kWholeTransaction,  // the papers' baseline; a procedure is one hardware transaction, or holds one global lock. Needs kElided
  // The papers' second baseline (DBX, figures 8 and 11). Works like kOcc, except that each commit,
  // and each read of a row outside of snapshots, holds a single database-wide spinlock. Only index
  // operations still run as hardware transactions. A HistorySink is called while the lock is held
  // and must not run a transaction. Needs kElided.
  kSpinlock,
  // The papers' third baseline (HyPer-HTM, section 6). Procedures that write run one at a time.
  // Open transactions and read-only procedures run concurrently with them. A procedure must not
  // wait for another thread's procedure. Needs kOptimistic.
  kSerial,
  // The protocol of HyPer-HTM (section 4). A transaction marks each row that it reads or writes
  // with its timestamp (a claim). A transaction that finds the claim of another transaction is
  // rolled back immediately, and is retried when that other transaction has ended. After
  // LaboratoryOptions::restarts_max retries, it runs alone. An open transaction keeps its claims
  // for LaboratoryOptions::open_patience_us (Cause::kClaimed). Needs kOptimistic, kLatched or
  // kElided.
  kTimestamp,
  // Like kTimestamp, but without read timestamps (section 4.3, "future work"). Instead, the commit
  // validates what was read. Needs kOptimistic.
  kTimestampValidated,
  // A baseline: strict two-phase locking of rows, and of index leaves to prevent phantoms. A
  // transaction that requests a lock held by an older transaction is rolled back and retried with
  // its original age (wait-die). If the holder is younger, the requesting transaction waits. Needs
  // kOptimistic.
  kTwoPhaseLocking,
  // A baseline like H-Store. Each partition of the database has one lock. A procedure that writes
  // locks the partitions that it declares (RunPolicy::partitions, Touches::partition) in the order
  // of their numbers, or all partitions if it declares none, and holds the locks until it ends. A
  // procedure that waits for another thread's transaction may wait forever, as under kSerial. Needs
  // kOptimistic.
  kPartitioned,
  // The protocol of DBX-TC. Procedures that are declared with operations and installed
  // (elider/procedure.h) run in pieces, which commit separately if calls conflict. Ordinary
  // transactions run as under kOcc, but commit only while no call of such a procedure is running. A
  // HistorySink must not run a transaction. Needs kOptimistic or kElided. Under kElided, a call is
  // one hardware transaction if possible.
  kChopped,
};
struct ProtocolName {
  Protocol protocol;
  std::string_view name;
};
// All protocols, with the names that name_of() and parse() use.
inline constexpr ProtocolName kProtocols[] = {
    {Protocol::kOcc, "occ"},
    {Protocol::kWholeTransaction, "whole-transaction"},
    {Protocol::kSpinlock, "spinlock"},
    {Protocol::kSerial, "serial"},
    {Protocol::kTimestamp, "timestamp"},
    {Protocol::kTimestampValidated, "timestamp-validated"},
    {Protocol::kTwoPhaseLocking, "two-phase-locking"},
    {Protocol::kPartitioned, "partitioned"},
    {Protocol::kChopped, "chopped"},
};

// When a commit with writes returns, in a database with data folders. Under both kAsync and kGroup,
// a crash loses only the end of the commit order. A crash never loses a part of a transaction. If a
// commit survives, all earlier commits survive as well.
enum class Durability : uint8_t {
  kDefault,  // only in a RunPolicy: use Options::durability
  // In Options: opening reads the folders, but the database never writes to them, so all commits
  // are lost when the database is closed. In such a database, a RunPolicy cannot request kAsync or
  // kGroup. In a RunPolicy: like kAsync, because the log cannot leave out one commit, on which
  // later ones may depend.
  kNone,
  // Returns immediately. The log writes the commit with the current group of commits or with the
  // next group, which begins at most Options::flush_interval_us later.
  kAsync,
  // Returns after the commit is on disk. A read-only transaction returns after everything that it
  // may have read is on disk. Without data folders, kGroup is refused (kInvalidArgument).
  kGroup,
};
// What a database does after it has failed to write its log. In both modes, no further commit is
// acknowledged as durable.
enum class LogFailure : uint8_t {
  // Commits with writes fail, and reads continue. There is one exception. A read-only transaction
  // under Durability::kGroup returns kIoError if commits that it may have seen are not on disk.
  // Those commits have also returned kIoError, and may be lost when the database is opened again.
  // To read what is in memory anyway, set RunPolicy::durability to kAsync. Database::backup()
  // writes what is in memory in both modes.
  kReadOnly,
  kStop,      // every transaction fails
};
std::string_view name_of(SyncPolicy sync);  // "automatic", "optimistic", "latched", "single-threaded", "elided"
std::string_view name_of(Protocol protocol);      // "occ", "timestamp", "two-phase-locking", ...
std::string_view name_of(Durability durability);  // "default", "none", "async", "group"
std::string_view name_of(LogFailure failure);     // "read-only", "stop"
// Each parse() returns false if the name is unknown.
bool parse(std::string_view name, SyncPolicy* sync);
bool parse(std::string_view name, Protocol* protocol);
bool parse(std::string_view name, Durability* durability);
bool parse(std::string_view name, LogFailure* failure);

// A value of Options::checkpoint_log_bytes that depends on the size of the last checkpoint.
inline constexpr uint64_t kCheckpointLogAutomatic = ~uint64_t{0};

inline constexpr uint32_t kBlockThresholdMin = 8;  // for Options::block_threshold_bytes

struct Options {
  SyncPolicy sync = SyncPolicy::kAutomatic;
  Protocol protocol = Protocol::kOcc;

  // What executes hardware transactions. Only kElided uses this option.
  HtmBackend htm = HtmBackend::kAutomatic;

  // Maximum bytes of rows, versions and index nodes. 0 (the default) is unlimited; otherwise at
  // least 4 MiB. A transaction that needs more fails with kMemoryLimit. Threads allocate chunks of
  // 2 MiB (64 KiB if the limit is below 64 MiB), so a thread may reach the limit a few chunks
  // early. Opening data folders is not limited, so the data is loaded even if it needs more memory.
  // Transactions that need memory then fail until usage is below the limit; reads, removals and
  // changes in place succeed (Statistics::Memory). Chopped calls that write are refused until then.
  uint64_t memory_limit_bytes = 0;

  // Requests 2 MiB pages from the system. Such pages halve the cost of a random access. If the
  // system does not provide them, the database uses 4 KiB pages.
  bool huge_pages = true;

  // Bytes of memory to allocate and touch when the database opens, so that transactions do not wait
  // for the system's page faults. Default 0; range up to memory_limit_bytes, or 2^40 without a
  // limit. Opening fails with kMemoryLimit if the system has less.
  uint64_t prefault_bytes = 0;

  // A column group of at least this many bytes is stored as a separate block. A commit replaces the
  // block's pointer (DBX, section 5.1), and a reader uses the block without copying it. Smaller
  // groups are updated in place. Default 2048, range 8 to 2^20. A higher value makes readers copy
  // more. A lower value costs a cache miss per read and an allocation per write.
  uint32_t block_threshold_bytes = 2048;

  // Maximum number of concurrent threads and open transactions. Range 1 to 4096. Each of these
  // workers costs 76 bytes when the database opens. From its first use on, a worker keeps 290 to
  // 550 KB of the process's heap, which the next thread that uses the worker reuses. From its first
  // write on, it also keeps one chunk of the database's memory (2 MiB, see memory_limit_bytes).
  uint32_t workers_max = 512;

  // Maximum number of threads that run transactions at the same time. Further threads are parked
  // until it is their turn. When a running thread has used its time slice of 5 ms, the thread that
  // has waited longest continues. Without the limit, a thread could lose its processor within a
  // transaction and delay others. 0 (the default) means one and a half times the processors that
  // the process may use; otherwise 1 to 4096, where 4096 turns waiting off. The limit applies to
  // run(), call() and groups, but not to transactions that begin() opened. A procedure may wait for
  // a transaction of another thread, but that transaction may then begin 10 ms late.
  uint32_t threads_at_once = 0;

  // The folder of the database, or several folders on different disks. An existing database is
  // recovered. A folder that contains other files but not a database is refused (kInvalidArgument;
  // lost+found is ignored). If empty, the database is only in memory. The options below then have
  // no effect, with these exceptions: `schemas` and `history` work as usual, a durability of kGroup
  // is refused, and Database::backup() uses checkpoint_bytes_per_second and checkpoint_threads.
  std::vector<std::string> data_folders = {};
  // Creates missing folders, a database in them, and missing tables of `schemas`. If false, opening
  // a missing folder or database fails with kNotFound, and missing tables are not created.
  bool create_if_missing = true;
  // Refuses an existing database (kInvalidArgument).
  bool error_if_exists = false;
  Durability durability = Durability::kAsync;
  // The longest pause between two writes of the log, while commits are pending and no thread waits
  // for them. Microseconds, default 1000, range 1 to 10^7. With a higher value, a crash loses more
  // commits under Durability::kAsync.
  uint32_t flush_interval_us = 1000;
  // The number of threads that write the log, each to its own file. The files are distributed over
  // the data folders, so with fewer threads than folders, some folders do not get a log. Range 1 to
  // 64. One per disk is enough.
  uint32_t log_threads = 1;
  // Maximum size of a log file in bytes. Range 4096 to 2^32.
  uint64_t log_segment_bytes = 64u << 20;
  // Size of each writing thread's log buffer. When a log thread still has this many bytes to write,
  // commits wait for it. Bytes, a power of two, default 4 MiB, range 4096 to 2^30. With a lower
  // value, commits wait when the disk is temporarily slow (Statistics::log_room_waits).
  uint64_t log_buffer_bytes = 4u << 20;
  LogFailure log_failure = LogFailure::kReadOnly;
  // A checkpoint writes all rows to the folders while transactions run. After it, the older log is
  // deleted, and recovery begins at the checkpoint (docs/durability.md). While a checkpoint is
  // being written, memory is not reclaimed, as during any long read-only transaction.
  // Database::checkpoint() takes a checkpoint, and the next two options take them automatically.
  //
  // Takes a checkpoint when this many bytes of log have been written since the last checkpoint, or
  // when the database has been opened 16 times since then, because each opening adds log files.
  // After 64 openings, the opening itself takes the checkpoint. 0 turns this off; otherwise at
  // least 65536. The default is a quarter of the last checkpoint's size, but at least 64 MiB.
  // Recovery applies log at a quarter of the speed at which it loads a checkpoint, so with the
  // default, opening takes at most about twice as long as loading the checkpoint. Recovery applies
  // about this much log, plus the log that was written while the next checkpoint was taken. If
  // checkpoints_kept is above 1, recovery also reads the log since the oldest checkpoint.
  uint64_t checkpoint_log_bytes = kCheckpointLogAutomatic;
  // Takes a checkpoint after this many seconds, if anything was written. 0 (the default) turns this
  // off. Range 0 to 10^7.
  uint32_t checkpoint_interval_s = 0;
  // Maximum bytes per second that a checkpoint or a backup writes. 0 is unlimited. A lower value
  // disturbs transactions less, but takes longer.
  uint64_t checkpoint_bytes_per_second = 0;
  // The number of threads that write a checkpoint or a backup. Default 1, range 1 to 64. These
  // threads compete with transactions for processors. The threads of automatic checkpoints run at
  // nice 8, so each gets about a sixth of the processor time that a thread at nice 0 gets.
  uint32_t checkpoint_threads = 1;
  // Number of checkpoints to keep, with the log since the oldest one. Default 1, range 1 to 16. If
  // more than one checkpoint is kept, the database can be opened even if the newest one is damaged.
  uint32_t checkpoints_kept = 1;

  // The number of threads that recover the database when it opens. 0 means one per processor, at
  // most 16. Range 0 to 64.
  uint32_t recovery_threads = 0;
  // Recovers the state as of this commit number and permanently drops later commits. Opening fails
  // with kInvalidArgument if the files do not contain that state; the message gives the possible
  // range. By default all commits are recovered.
  SnapshotNumber recover_to = ~uint64_t{0};
  // Called periodically during recovery, from one thread at a time. The function must not throw.
  std::function<void(const RecoveryProgress&)> recovery_progress = {};
  // The schemas of the program's tables. Missing tables are created in this order, as by
  // create_table(), so that table() and index() find all of them. The schemas of existing tables
  // must match (kSchemaMismatch). List every table that has secondary indexes with key functions,
  // because files do not contain these functions. If such a table is missing, opening the folder
  // returns kSchemaMismatch (but see leave_out_indexes). Other tables may be left out, also if they
  // have indexes by columns.
  std::vector<Schema> schemas = {};
  // Adds columns to tables of described rows if the program's description has more columns than
  // the table: in open(), for `schemas`, and in create_table(). The new columns must be the last
  // ones of the description, and must be nullable or have defaults. Other differences are refused
  // (kSchemaMismatch), as without this option.
  bool upgrade = false;
  // Opens tables that are not in `schemas`, and have secondary indexes with key functions, without
  // their secondary indexes, for programs that do not have the key functions. A table's schema
  // still has the indexes' names, columns and uniqueness. If a table also has indexes by columns,
  // these are left out as well. Tables that have only indexes by columns are opened with them.
  //   - Rows can be read, and scanned by key. Database::index() returns kNotFound for these
  //     indexes. Recovery::indexes_left_out lists them.
  //   - Columns that no index reads can be written. Other writes (of whole rows or indexed columns)
  //     return kUnsupported, because the database cannot check unique indexes.
  //   - create_table() accepts schemas without key functions, so that a table can be copied to
  //     another database. Until that database is closed, all columns of the copy can be written. A
  //     program that later opens the copy with the schemas builds the indexes, and gets
  //     kSchemaMismatch if rows violate a unique index.
  // Files, checkpoints and backups keep the descriptions of the indexes, so a program that opens
  // them with the schemas has all indexes. By default, such folders are refused.
  bool leave_out_indexes = false;

  // Receives the reads and writes of every transaction (elider/history.h), at a high cost. Default:
  // off.
  HistorySink* history = nullptr;

  // Options for measurements and for the protocols of the laboratory (elider/laboratory.h); null
  // for their defaults.
  std::shared_ptr<LaboratoryOptions> laboratory = {};
};

// Options for Database::create_index().
struct CreateIndexOptions {
  // How long to wait for the transactions that began before the call, in microseconds. A unique
  // index waits twice.
  uint64_t wait_us = 10'000'000;
  // If set: called repeatedly in the calling thread, with the number of rows that the function has
  // visited, and the approximate number of all rows. If it returns false, the index is not created
  // (kRolledBack). It must not use the database. An exception propagates to the caller of
  // create_index().
  std::function<bool(uint64_t visited, uint64_t all)> progress = {};
};

struct RunPolicy {
  // Maximum number of attempts; 0 is unlimited. After the last attempt, run() returns kDeadline.
  // With 1 or 2, attempts never wait, because the first retry begins immediately.
  uint32_t attempts_max = 0;
  // The time limit in microseconds from the call to run(); 0 is unlimited. run() checks the limit
  // between attempts, and returns kDeadline when it is exceeded.
  uint64_t deadline_us = 0;
  // The second attempt begins immediately, because the conflicting transaction has usually
  // committed by then. Before a later attempt, run() waits for a random time of up to
  // backoff_min_us << (attempt - 3), and at most backoff_max_us. Microseconds; 0 turns waiting off.
  uint32_t backoff_min_us = 1;
  uint32_t backoff_max_us = 256;
  // Determines when run() returns after the commit. kAsync and kGroup are refused if
  // Options::durability is kNone, and kGroup is refused without data folders: run() then returns
  // kInvalidArgument without running the procedure.
  Durability durability = Durability::kDefault;
  // If not null, run() stores the commit's number here when it succeeds, for
  // Database::wait_durable() and when_durable(). For a read-only transaction, run() stores a number
  // such that everything that the transaction may have read is durable when this number is durable.
  // Without a log, it stores 0.
  SnapshotNumber* commit_number = nullptr;
  // The snapshot that a read-only transaction reads (elider/held_snapshot.h); null for the newest.
  // run() returns kInvalidArgument without running the procedure if the HeldSnapshot is empty or
  // belongs to another database, or if the transaction may write.
  const HeldSnapshot* snapshot = nullptr;
  // If not null, called after each attempt that ended in a conflict, including the last one before
  // kDeadline. The status has the table, key and cause. run() calls the function between attempts,
  // on the thread that runs the procedure. The function must not throw or use the database, and
  // must stay valid until run() returns. run_group() calls it for each call that has a conflict.
  const std::function<void(const Status&)>* on_conflict = nullptr;
  // A number that Database::procedure_id() returned for a name. The statistics count the
  // transaction under that name.
  uint32_t procedure_id = 0;
  // The partitions that the procedure reads or writes, in any order, each below
  // LaboratoryOptions::partitions (otherwise kInvalidArgument). If the span is empty or has more
  // than 32 elements, the procedure uses all partitions. Only protocol partitioned uses this
  // member. The memory must stay valid until run() returns. A call in a group declares its
  // partitions with Touches::partition.
  std::span<const uint32_t> partitions = {};
};

// How Database::run_group runs its calls. Members of RunPolicy have these meanings:
//   attempts_max, backoff  for each call
//   deadline_us            for each call, counted from the beginning of run_group()
//   snapshot               for the calls that only read
//   durability             for all calls
//   commit_number          receives the largest number; when that number is durable, all calls are
struct GroupPolicy : RunPolicy {
  static constexpr uint32_t kAutomatic = 0, kSizeMax = 1024;
  // Number of calls whose rows are looked up together: 1 to kSizeMax, otherwise kInvalidArgument.
  // The default kAutomatic is 32, which performed well in our measurements (docs/groups.md). A
  // higher value overlaps more cache misses, up to the point where fetched rows leave the cache
  // before their call runs; a higher value also makes the first call wait longer.
  uint32_t size = kAutomatic;
  // Run every call on a snapshot, as run_read_only() does.
  bool read_only = false;
  // The calls take effect in their order: a call that conflicts is repeated until it has committed
  // or `attempts_max` or `deadline_us` ends it, before the next call runs. A call that fails does
  // not stop the calls after it. By default, a call that conflicts is repeated after all other
  // calls.
  bool in_order = false;
};

}  // namespace elider
