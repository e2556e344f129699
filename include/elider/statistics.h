// Statistics: counters that describe the work that a database has done and the data that it
// contains. Each counter is exact, but the counters are not all read at the same instant.
// Thread safety: Statistics is a value.
#pragma once

#include "elider/language.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "elider/elision.h"
#include "elider/key.h"
#include "elider/snapshot_number.h"
#include "elider/status.h"

namespace elider {

struct Statistics {
  struct Procedure {
    std::string name;  // empty for transactions without a name
    uint64_t commits = 0;
    // If hardware transactions are in use (DBX, section 5.2), the number of read-write commits of
    // each kind. A region commit was one hardware transaction. A lock-bit commit used a hardware
    // transaction to set the lock bits of its rows, and then wrote the rows. A locked commit took
    // its locks one by one.
    uint64_t region_commits = 0, lock_bit_commits = 0, locked_commits = 0;
    std::array<uint64_t, kCauseCount> aborts{};  // by Cause
  };
  // A key with conflicts. A conflict on a range is counted for the range's first key, or for key 0
  // if the range belongs to a secondary index.
  struct ConflictedKey {
    Key key = 0;
    std::array<uint64_t, kCauseCount> aborts{};  // by Cause; only conflicts
    uint64_t aborts_total() const { return conflicts_of(aborts); }
  };
  static constexpr size_t kConflictedKeysMax = 16;  // per table
  struct Table {
    std::string name;
    uint64_t rows = 0;                           // rows that exist after the counted commits
    uint64_t commits = 0;                        // transactions that wrote to the table
    std::array<uint64_t, kCauseCount> aborts{};  // attempts that failed because of this table's rows or ranges
    // The table's memory in bytes. Over all tables, row_bytes adds up to Memory::rows +
    // Memory::blocks, version_bytes to Memory::versions, and index_bytes to Memory::indexes, except
    // for unlinked objects that wait for a grace period.
    uint64_t row_bytes = 0;      // rows, including column groups that are stored as blocks
    uint64_t version_bytes = 0;  // old versions; their blocks are included in row_bytes
    uint64_t index_bytes = 0;    // the key index and all secondary indexes
    // The keys with the most conflicts, at most kConflictedKeysMax, in descending order of their
    // conflicts. They are a sample, because each worker summarizes its conflicts in bounded memory.
    // The counts are lower bounds, and a key with few conflicts may be missing.
    std::vector<ConflictedKey> conflicted_keys;
  };
  // Hardware transactions ("regions") under SyncPolicy::kElided, by the place in the code that runs
  // them.
  struct Elision {
    std::string site;         // "index get", "index batch", "index scan", "index insert", "index remove", "record read", "commit"
    std::string table;        // the table of an index's site, which covers all indexes of the table; otherwise empty
    uint64_t commits = 0;     // runs that completed as a region
    uint64_t in_vain = 0;     // runs whose region committed but did not complete the work, because a row was locked or had moved
    uint64_t fallbacks = 0;   // runs that tried a region and then took the lock
    uint64_t direct = 0;      // runs that took the lock without trying a region: too large, regions turned off, or hardware support missing
    std::array<uint64_t, kRegionCauseCount> aborts{};  // regions, by region_cause_name()
    uint64_t aborts_total() const {
      uint64_t sum = 0;
      for (uint64_t count : aborts) sum += count;
      return sum;
    }
    uint64_t attempts() const { return commits + in_vain + aborts_total(); }  // regions that were started
  };
  // Checkpoints taken since the database was opened. `snapshot` and the members after it, up to
  // `duration_us`, describe the last successful checkpoint, and are 0 if there has not been any.
  struct Checkpoints {
    uint64_t taken = 0, failed = 0;
    SnapshotNumber snapshot = 0;     // the checkpoint contains all commits up to this number
    uint64_t time_s = 0;       // when the checkpoint was taken, in seconds since 1970
    uint64_t rows = 0, bytes = 0;
    uint64_t duration_us = 0;
    bool running = false;      // a checkpoint is being taken
    std::string failure;       // why the last attempt failed; empty if it succeeded
  };
  struct Memory {
    uint64_t rows = 0, versions = 0, blocks = 0, indexes = 0;  // bytes in use
    uint64_t free = 0;      // bytes kept for reuse
    uint64_t reserved = 0;  // bytes taken from the system
  };

  // Lookups and insertions of single keys, counted under EngineParts::counted_lookups (DBX,
  // section 6.2).
  struct Lookups {
    uint64_t of_rows = 0, rows_kept = 0;      // row lookups while the worker's row cache is on; how many found the row in the cache
    uint64_t of_trees = 0, leaves_kept = 0;   // lookups in B+-trees; how many ended in the leaf that the transaction had used last
  };

  uint64_t commits = 0;
  uint64_t read_only_commits = 0;  // also counted in commits
  std::array<uint64_t, kCauseCount> aborts{};
  std::vector<Procedure> procedures;
  std::vector<Table> tables;
  std::vector<Elision> elision;     // the sites that have run; empty unless the sync policy is kElided
  Memory memory;
  Lookups lookups;                  // 0 unless they are counted
  uint64_t versions_alive = 0;      // old versions kept for snapshots and not yet reclaimed
  uint64_t retired_objects = 0;     // objects that wait for a grace period
  SnapshotNumber snapshot = 0;            // the global snapshot number S
  SnapshotNumber durable_snapshot = 0;  // commits up to this number are on disk; 0 without a data folder
  uint64_t log_bytes = 0;           // written since the database was opened
  uint64_t log_frames = 0;          // groups of commits; each group is written and synced once
  uint64_t log_records = 0;         // commits and created tables in these groups
  uint64_t log_syncs = 0;           // syncs of files and folders
  uint64_t log_room_waits = 0;      // commits that waited because the log was behind by Options::log_buffer_bytes
  // The time from the oldest commit of a group until the group was on disk: for the newest group,
  // summed over all groups, and the maximum.
  uint64_t durable_lag_us = 0, durable_lag_sum_us = 0, durable_lag_max_us = 0;
  std::string log_failure;          // why commits no longer become durable; empty if they do
  Checkpoints checkpoints;
  uint64_t epoch = 0;
  // Workers in use, at most Options::workers_max. Each living thread that has run a transaction
  // uses one worker, whether the thread is busy or not. Each additional open transaction uses
  // another worker. This is not the number of running threads.
  uint32_t workers = 0;
  uint64_t turn_waits = 0;  // transactions that waited for their turn (Options::threads_at_once)
  uint64_t longest_active_us = 0;   // age of the oldest running transaction

  // Attempts that ended without a commit for any cause, including procedures that returned an
  // error.
  uint64_t aborts_total() const {
    uint64_t sum = 0;
    for (uint64_t count : aborts) sum += count;
    return sum;
  }
  // Attempts that ended with a conflict; "conflicts" in JSON.
  uint64_t conflicts_total() const { return conflicts_of(aborts); }
  // Returns the number of conflicts among these aborts. The argument may be any `aborts` array of
  // this file.
  static uint64_t conflicts_of(const std::array<uint64_t, kCauseCount>& aborts) {
    uint64_t sum = 0;
    for (size_t c = 0; c < kCauseCount; ++c)
      if (is_conflict(static_cast<Cause>(c))) sum += aborts[c];
    return sum;
  }
  // Returns all values as JSON, under the names that elider/metrics.h lists.
  std::string to_json() const;
};

}  // namespace elider
