// Options: how a database is opened, and RunPolicy: how a conflicted transaction is tried again.
#pragma once

#include "elider/language.h"

#include <cstdint>
#include <functional>
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

// How shared nodes are guarded (docs/architecture.md).
enum class SyncPolicy : uint8_t {
  kAutomatic,       // kOptimistic, the fastest that was measured (elider/hardware.h); kElided if a backend or a baseline is named
  kOptimistic,      // version latches; readers write no shared memory
  kLatched,         // one spinlock an index: the papers' baseline
  kSingleThreaded,  // no guard: one transaction at a time, from one thread at a time
  kElided,          // hardware transactions; where they fail, locks (docs/lab/hardware-transactions.md)
};
// How transactions execute and commit.
enum class Protocol : uint8_t {
  kOcc,               // optimistic: short critical sections, validation at commit
  kWholeTransaction,  // the papers' baseline: a whole procedure is one hardware transaction, or holds one lock for all; with kElided
  // The papers' other baseline (DBX, figures 8 and 11): like kOcc, but each commit, and each read
  // of a row's columns outside of snapshots, holds one spinlock of the database. With kElided; only
  // the indexes stay elided. A HistorySink is called while the lock is held: it must run no
  // transaction.
  kSpinlock,
  // The papers' third baseline (HyPer-HTM, section 6): procedures that write run one at a time,
  // each alone; open transactions and read-only procedures go on beside them. A procedure must not
  // wait for another thread's. With kOptimistic.
  kSerial,
  // HyPer-HTM (section 4): each row is claimed by a timestamp as it is read or written, and a
  // transaction that meets another's claim is rolled back at once, and run again when that one has
  // ended; after Options::restarts_max of that it runs alone. An open transaction keeps its claims
  // for Options::open_patience_us (Cause::kClaimed). With kOptimistic, kLatched and kElided.
  kTimestamp,
  // The same without read timestamps (section 4.3, "future work"): what was read is validated at
  // the commit. With kOptimistic.
  kTimestampValidated,
  // A baseline: strict two-phase locking of rows, and of leaves against phantoms. Who meets the
  // lock of an older transaction is rolled back, and run again with its age (wait-die); who meets
  // that of a younger one waits for it. With kOptimistic.
  kTwoPhaseLocking,
  // A baseline, after H-Store: each partition of the database has one lock, and a procedure that
  // writes holds those of the partitions that it declares (RunPolicy::partitions,
  // Touches::partition), in the order of their numbers, until it has ended; all of them if it
  // declares none. A procedure that waits for another thread's transaction may wait for ever, as
  // under kSerial. With kOptimistic.
  kPartitioned,
  // DBX-TC: procedures that are declared and installed (elider/chopped.h) run in pieces, which
  // commit one by one where calls meet; ordinary transactions are those of kOcc, but commit only
  // while no call of such a procedure is under way. A HistorySink must run no transaction. With
  // kOptimistic; or with kElided, where a call is one hardware transaction if it can.
  kChopped,
};
inline constexpr Protocol kProtocols[] = {Protocol::kOcc,       Protocol::kWholeTransaction,   Protocol::kSpinlock,       Protocol::kSerial,
                                          Protocol::kTimestamp, Protocol::kTimestampValidated, Protocol::kTwoPhaseLocking,
                                          Protocol::kPartitioned, Protocol::kChopped};

// When a commit with writes returns, where the database has a data folder. Under kAsync and kGroup
// alike, a crash loses only the end of the commit order: never a part of a transaction, and never
// one that comes before one that is kept.
enum class Durability : uint8_t {
  kDefault,  // of a RunPolicy alone: as Options::durability says
  // Of a database: opening reads its folders, and nothing is ever written; closing loses what was
  // committed. A RunPolicy cannot ask for more then. Of a RunPolicy: as kAsync, for the log cannot
  // leave out a single commit, on which later ones may build.
  kNone,
  // At once. The log writes it with the group of commits that is being written now, or with the
  // next one, which begins Options::flush_interval_us later at the most.
  kAsync,
  // When it is on the disk; a read-only one, when all that it may have read is. kInvalidArgument,
  // of a database and of a RunPolicy, where there is no data folder.
  kGroup,
};
// What a database does after its log could not be written. No further commit is acknowledged as
// durable in either mode.
enum class LogFailure : uint8_t {
  // Commits with writes are refused, and reads go on, with one exception: a read-only transaction
  // under Durability::kGroup returns kIoError where commits that it may have seen are not on the
  // disk, and so may be gone when the database is opened again. Those commits have returned
  // kIoError as well. Set RunPolicy::durability to kAsync to read what is in memory all the same.
  // Database::backup() writes what is in memory in either case.
  kReadOnly,
  kStop,      // every transaction is refused
};
std::string_view name_of(SyncPolicy sync);  // "automatic", "optimistic", "latched", "single-threaded", "elided"
std::string_view name_of(Protocol protocol);      // "occ", "timestamp", "two-phase-locking", ...
std::string_view name_of(Durability durability);  // "default", "none", "async", "group"
std::string_view name_of(LogFailure failure);     // "read-only", "stop"
// False: nothing has this name.
bool parse(std::string_view name, SyncPolicy* sync);
bool parse(std::string_view name, Protocol* protocol);
bool parse(std::string_view name, Durability* durability);
bool parse(std::string_view name, LogFailure* failure);

// Of Options::checkpoint_log_bytes: by the size of the last checkpoint.
inline constexpr uint64_t kCheckpointLogAutomatic = ~uint64_t{0};

// Parts that can be left out, for studies of what each is worth (DBX, figure 15), or looked at.
// Leave them as they are otherwise.
struct EngineParts {
  bool hints = true;        // where the last lookups ended is remembered (DBX, section 6.2)
  bool reclamation = true;  // rows, versions and nodes that nobody can see are reclaimed; without it only when the database closes
  bool own_allocators = true;    // each worker has memory of its own at hand; without it all share one allocator and its lock
  bool counted_lookups = false;  // Statistics::lookups
};

inline constexpr uint32_t kBlockThresholdMin = 8;  // of Options::block_threshold_bytes

struct Options {
  SyncPolicy sync = SyncPolicy::kAutomatic;
  Protocol protocol = Protocol::kOcc;

  // For kElided: what executes the hardware transactions, and when they give up.
  HtmBackend htm = HtmBackend::kAutomatic;
  ElisionPolicy elision = {};
  EngineParts parts = {};

  // The most bytes that rows, versions and index nodes may take; 0: unlimited. Range 0 or >= 4 MiB.
  // A transaction that needs more fails with kMemoryLimit. Memory is taken in chunks of 2 MiB (64
  // KiB if the limit is below 64 MiB), so each thread may reach the limit a few chunks early.
  // Opening data folders is not limited: the data is loaded even if it takes more. Then
  // transactions that need memory fail until less than the limit is in use; reads, removals and
  // changes in place succeed (Statistics::Memory). Chopped calls that write are refused until then.
  uint64_t memory_limit_bytes = 0;

  // Ask the system for 2 MiB pages (a random access costs about half with them). Where it has none,
  // memory is of 4 KiB pages and nothing else changes.
  bool huge_pages = true;

  // Memory to take and touch when the database opens, in bytes; 0: none. Range up to
  // memory_limit_bytes where there is a limit, else 2^40. A first touch costs the system time,
  // which a transaction would otherwise wait for. kMemoryLimit if the system has less.
  uint64_t prefault_bytes = 0;

  // A commit group of at least this many bytes is kept as a block that a commit swaps by pointer
  // (DBX, section 5.1) and a reader views without a copy; smaller ones are updated in place. Bytes,
  // default 2048, range 8 to 2^20. Raising it makes readers copy more; lowering it costs a cache
  // miss a read and an allocation a write.
  uint32_t block_threshold_bytes = 2048;

  // Threads (and open transactions) at one time, at the most. Range 1 to 4096. Each costs 76 bytes
  // when the database opens. One that has been used keeps some 290 to 550 KB of the process's heap,
  // which its next user takes over; one that has written, a chunk of the database's memory, too
  // (2 MiB, see memory_limit_bytes).
  uint32_t workers_max = 512;

  // Threads that run transactions at once. More threads wait for their turn, parked; the one that
  // has waited longest goes on when another's 5 ms are over. A thread that lost its processor
  // within a transaction would hold up others for longer. 0: one and a half times the processors
  // that the process may use. Range otherwise 1 to 4096; 4096: no thread ever waits. It concerns
  // run(), call() and groups; transactions that begin() opened need no turn. A procedure may wait
  // for another thread's transaction, but that one may begin 10 ms late.
  uint32_t threads_at_once = 0;

  // Of protocol timestamp: after so many restarts for a conflict a procedure runs alone (a call of
  // a group never does). Range 0 to 10^6.
  uint32_t restarts_max = 20;
  // Of protocol timestamp: how long an open transaction keeps what it has claimed. A transaction
  // that meets its claims later ends it, and its commit fails. Microseconds, range 0 to 10^9.
  // Of protocol two-phase-locking: how long an open transaction waits for a lock of younger ones;
  // then it can only be rolled back.
  uint32_t open_patience_us = 10'000;
  // Of protocol two-phase-locking: if the same transactions keep a lock from a procedure for so
  // long, over all its attempts, it fails (kDeadline), since an open transaction may keep a lock
  // for ever. Microseconds, range 0 to 10^9; 0: it never fails for that.
  uint32_t lock_timeout_us = 1'000'000;
  // Of protocol partitioned: how many partitions there are. Range 1 to 65536.
  uint32_t partitions = 64;

  // Where the data is kept: a folder, or several on different disks. What is there is recovered. A
  // folder that holds other files and no database is refused (kInvalidArgument; lost+found does not
  // count). Empty: in memory alone. Then the options below have no effect, except: `schemas` and
  // `history` work as ever, a durability of kGroup is refused, and Database::backup() minds
  // checkpoint_bytes_per_second and checkpoint_threads.
  std::vector<std::string> data_folders = {};
  // Whether to make what is not there: folders, a database in them (false:
  // kNotFound), and tables of `schemas`.
  bool create_if_missing = true;
  // Whether to refuse a database that is there (kInvalidArgument).
  bool error_if_exists = false;
  Durability durability = Durability::kAsync;
  // The longest pause between two groups that are written, while there is something to write and
  // nobody waits. Microseconds, default 1000, range 1 to 10^7. Raising it loses more in a crash.
  uint32_t flush_interval_us = 1000;
  // Threads that write the log, each to a file of its own; the files are spread over the data
  // folders in turn, so with fewer threads than folders some get no log. Range 1 to 64. One a disk
  // is enough.
  uint32_t log_threads = 1;
  // A file of the log, bytes at the most. Range 4096 to 2^32.
  uint64_t log_segment_bytes = 64u << 20;
  // The log buffer of each thread that writes. If the log's thread is that far behind, commits wait
  // for it. Bytes, a power of two, default 4 MiB, range 4096 to 2^30. Lowering it makes commits
  // wait when the disk is slow for a while (Statistics::log_room_waits).
  uint64_t log_buffer_bytes = 4u << 20;
  LogFailure log_failure = LogFailure::kReadOnly;
  // A checkpoint writes all rows to the folders while transactions run; then the log before
  // it is deleted, and recovery begins there (docs/durability.md). While one is written no memory
  // is reclaimed, as under any long read-only transaction. Database::checkpoint() takes
  // one, and so do these two.
  //
  // After this many bytes of log since the last one, or after 16 openings, each of which leaves
  // files of the log (at 64, opening takes one itself). 0: never for these reasons; range 0 or >=
  // 65536. By default a quarter of the last checkpoint's size, and at least 64 MiB: log comes in at
  // a quarter of a checkpoint's speed, so opening takes at most about twice as long as loading it.
  // Recovery brings in about this much log, and what was written while the next one was taken; with
  // checkpoints_kept above 1 it also looks through the log after the oldest.
  uint64_t checkpoint_log_bytes = kCheckpointLogAutomatic;
  // After so many seconds, if anything was written. 0 (the default): never for this reason; range 0
  // to 10^7.
  uint32_t checkpoint_interval_s = 0;
  // Bytes that it, or a backup, writes a second, at the most; 0: no limit. Lowering it
  // disturbs less, and takes longer.
  uint64_t checkpoint_bytes_per_second = 0;
  // Threads that write it, or a backup. Default 1, range 1 to 64. They compete with transactions
  // for processors. Those of automatic checkpoints run at nice 8: each gets a sixth of what another
  // thread gets.
  uint32_t checkpoint_threads = 1;
  // How many are kept, with the log behind the oldest of them. Default 1, range 1 to 16. With more
  // than one, opening survives a damaged newest one.
  uint32_t checkpoints_kept = 1;

  // Threads that recover when the database opens; 0: one a processor, 16
  // at the most. Range 0 to 64.
  uint32_t recovery_threads = 0;
  // Recover the state as of this commit number, and drop for good what came after it.
  // kInvalidArgument: the files cannot give that state; the message has the range that they can
  // give. Default: all.
  SnapshotNumber recover_to = ~uint64_t{0};
  // Told now and then while it recovers, by one thread at a time. Must not throw.
  std::function<void(const RecoveryProgress&)> recovery_progress = {};
  // The schemas of the program's tables. Those that are missing are made, in this order, as by
  // create_table(): then table() and index() find all of them. Those that are there must be the
  // same (kSchemaMismatch). List every table with secondary indexes, for their key functions are in
  // no file: otherwise opening its folder returns kSchemaMismatch (but see leave_out_indexes).
  // Other tables may be left out.
  std::vector<Schema> schemas = {};
  // For programs without the structs: opens such tables without their secondary indexes. A table's
  // schema still has the indexes' names, columns and uniqueness, but no key functions.
  //   - Rows can be read, and scanned by key. Database::index() returns kNotFound for these
  //     indexes. Recovery::indexes_left_out names them.
  //   - Columns that no index reads can be written. Other writes, of whole rows and of indexed
  //     columns, return kUnsupported: the database cannot tell whether a unique index allows them.
  //   - create_table() accepts schemas without key functions, so that a table can be copied to
  //     another database. All of such a table can be written until the database is closed. A
  //     program that opens the copy with the schemas builds the indexes, and gets kSchemaMismatch
  //     if rows violate a unique one.
  // Files, checkpoints and backups keep the indexes' descriptions, so a program that opens them
  // with the schemas has all indexes. Default: such folders are refused.
  bool leave_out_indexes = false;

  // Receives every transaction's reads and writes (elider/history.h). Null: off. It costs much.
  HistorySink* history = nullptr;
};

struct RunPolicy {
  // Runs of the procedure at the most; 0: no bound. When they are used up: kDeadline. With at most
  // 2, nothing waits: the first retry begins at once.
  uint32_t attempts_max = 0;
  // Microseconds from the call, 0: none. Checked between attempts. When passed: kDeadline.
  uint64_t deadline_us = 0;
  // The second attempt begins at once, since what the first one met has most often committed by
  // then. The wait before a later one is random up to backoff_min_us << (attempt - 3), and at the
  // most backoff_max_us. Microseconds, any value; 0 turns waiting off.
  uint32_t backoff_min_us = 1;
  uint32_t backoff_max_us = 256;
  // When run() returns after the commit. kInvalidArgument, and nothing is run: kAsync or kGroup
  // where Options::durability is kNone; kGroup where there is no data folder.
  Durability durability = Durability::kDefault;
  // Where run() puts the commit's number when it is ok, for Database::wait_durable() and
  // when_durable(); null: nowhere. Of a transaction that only read: once this number is durable, so
  // is all that it may have read. 0 without a log.
  SnapshotNumber* commit_number = nullptr;
  // Of a transaction that only reads: the state that it reads (elider/held_snapshot.h), in place of
  // the newest; null: the newest. kInvalidArgument, and nothing is run: it holds none, or one of
  // another database, or the transaction may write.
  const HeldSnapshot* snapshot = nullptr;
  // Called after each attempt that ended in a conflict, with its status: table, key and cause. The
  // last attempt before kDeadline is one of them. It is called on the thread that runs the
  // procedure, between attempts; it must not throw and must not use the database. It stays the
  // caller's until run() returns; null: none. Under run_group it is called for each call that meets
  // a conflict.
  const std::function<void(const Status&)>* on_conflict = nullptr;
  // What Database::procedure_id gave; statistics are counted under that name.
  uint32_t procedure_id = 0;
  // Under protocol partitioned, and ignored under others: the partitions that the procedure reads
  // or writes, each below Options::partitions (else kInvalidArgument), in any order; empty, or more
  // than 32: all of them. They stay the caller's, until run() returns. A call of a group declares
  // its own (Touches::partition).
  std::span<const uint32_t> partitions = {};
};

// How Database::run_group runs its calls: of RunPolicy's members, attempts_max, deadline_us and the
// backoff are of each call, the deadline from the beginning of run_group(); snapshot is of those
// that only read; durability is of all of them, and *commit_number becomes the largest number: once
// it is durable, all of them are.
struct GroupPolicy : RunPolicy {
  static constexpr uint32_t kAutomatic = 0, kSizeMax = 1024;
  // Calls whose rows are looked for together: 1 to kSizeMax, else kInvalidArgument. Default
  // kAutomatic: 32, by measurement (docs/groups.md). Raising it overlaps more cache misses, until
  // what was fetched for the last calls has left the cache when they run; it also makes the first
  // call wait longer.
  uint32_t size = kAutomatic;
  // Every call runs on a snapshot, as by run_read_only().
  bool read_only = false;
};

}  // namespace elider
