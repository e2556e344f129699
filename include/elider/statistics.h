// Statistics: what a database has done and holds. A snapshot of counters, each exact, not all of
// one instant.
// Thread safety: a value.
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
    std::string name;  // "" for what runs under no name
    uint64_t commits = 0;
    // Of those that wrote, where hardware transactions run (DBX, section 5.2): commits that were
    // one; that were one which set the lock bits of their rows, and wrote behind it; and that took
    // their locks one by one.
    uint64_t region_commits = 0, lock_bit_commits = 0, locked_commits = 0;
    std::array<uint64_t, kCauseCount> aborts{};  // by Cause
  };
  // A key at which attempts met conflicts. A conflict over a range counts at the range's first key,
  // or at key 0 if it is a range of a secondary index.
  struct ConflictedKey {
    Key key = 0;
    std::array<uint64_t, kCauseCount> aborts{};  // by Cause; only conflicts
    uint64_t aborts_total() const { return conflicts_of(aborts); }
  };
  static constexpr size_t kConflictedKeysMax = 16;  // of each table
  struct Table {
    std::string name;
    uint64_t rows = 0;                           // present rows, as of the commits counted
    uint64_t commits = 0;                        // of transactions that wrote to it
    std::array<uint64_t, kCauseCount> aborts{};  // attempts that this table's rows or ranges ended
    // The table's memory in bytes. The sums over all tables are Memory's rows and blocks, versions,
    // and indexes, except for unlinked objects that wait for their grace period.
    uint64_t row_bytes = 0;      // rows with their large commit groups
    uint64_t version_bytes = 0;  // old versions; their large commit groups are in row_bytes
    uint64_t index_bytes = 0;    // the key index and all secondary indexes
    // The most conflicted keys, at most kConflictedKeysMax, in descending order. They are a sample:
    // each worker summarizes its conflicts in bounded memory. The counts are lower bounds, and a
    // key with few conflicts may be missing.
    std::vector<ConflictedKey> conflicted_keys;
  };
  // Hardware transactions ("regions") under SyncPolicy::kElided, by the place
  // in the code that runs them.
  struct Elision {
    std::string site;         // "index get", "index batch", "index scan", "index insert", "index remove", "record read", "commit"
    std::string table;        // of an index's site; all indexes of a table together. Else ""
    uint64_t commits = 0;     // runs that ended as a region
    uint64_t in_vain = 0;     // runs whose region ended and did not do the work: a row was locked, or had moved on
    uint64_t fallbacks = 0;   // runs that tried, and took their lock
    uint64_t direct = 0;      // runs that took it at once: too large, switched off, or no hardware
    std::array<uint64_t, kRegionCauseCount> aborts{};  // regions, by region_cause_name()
    uint64_t aborts_total() const {
      uint64_t sum = 0;
      for (uint64_t count : aborts) sum += count;
      return sum;
    }
    uint64_t attempts() const { return commits + in_vain + aborts_total(); }  // regions that began
  };
  // Checkpoints taken since the database was opened. snapshot and the following: of the
  // last that succeeded; 0: none.
  struct Checkpoints {
    uint64_t taken = 0, failed = 0;
    SnapshotNumber snapshot = 0;     // it holds all commits up to this number
    uint64_t time_s = 0;       // when it was taken: seconds since 1970
    uint64_t rows = 0, bytes = 0;
    uint64_t duration_us = 0;
    bool running = false;      // one is being taken
    std::string failure;       // why the last one failed; empty: it did not
  };
  struct Memory {
    uint64_t rows = 0, versions = 0, blocks = 0, indexes = 0;  // bytes in use
    uint64_t free = 0;      // bytes kept for reuse
    uint64_t reserved = 0;  // bytes taken from the system
  };

  // Of lookups and insertions one by one by number, under EngineParts::counted_lookups (DBX,
  // section 6.2).
  struct Lookups {
    uint64_t of_rows = 0, rows_kept = 0;      // asked of the rows that a worker keeps, while it keeps any; answered by them
    uint64_t of_trees = 0, leaves_kept = 0;   // asked of B+-trees; in the leaf that the transaction used last, without a descent
  };

  uint64_t commits = 0;
  uint64_t read_only_commits = 0;  // counted in commits too
  std::array<uint64_t, kCauseCount> aborts{};
  std::vector<Procedure> procedures;
  std::vector<Table> tables;
  std::vector<Elision> elision;     // those that ran; empty under other policies
  Memory memory;
  Lookups lookups;                  // 0 unless they are counted
  uint64_t versions_alive = 0;      // old versions kept for snapshots and not yet reclaimed
  uint64_t retired_objects = 0;     // waiting for a grace period
  SnapshotNumber snapshot = 0;            // the global snapshot number S
  SnapshotNumber durable_snapshot = 0;  // commits up to this number are on the disk; 0 without a data folder
  uint64_t log_bytes = 0;           // written since the database was opened
  uint64_t log_frames = 0;          // groups, each a write and a sync
  uint64_t log_records = 0;         // commits (and tables made) in them
  uint64_t log_syncs = 0;           // of files and folders
  uint64_t log_room_waits = 0;      // commits that waited since the log was behind by Options::log_buffer_bytes
  // From the making of a group's oldest commit until it is on the disk: of the newest group, the
  // sum over all, the largest.
  uint64_t durable_lag_us = 0, durable_lag_sum_us = 0, durable_lag_max_us = 0;
  std::string log_failure;          // why nothing more becomes durable; empty: it does
  Checkpoints checkpoints;
  uint64_t epoch = 0;
  // Workers in use, of Options::workers_max: one for each living thread that has run a
  // transaction here, busy or not, and one more for each transaction open beside. Not the
  // number of those that run.
  uint32_t workers = 0;
  uint64_t turn_waits = 0;  // transactions that waited for their turn (Options::threads_at_once)
  uint64_t longest_active_us = 0;   // age of the oldest transaction that is running

  // Attempts that ended without a commit, for whatever cause: also those whose procedure
  // returned an error of its own.
  uint64_t aborts_total() const {
    uint64_t sum = 0;
    for (uint64_t count : aborts) sum += count;
    return sum;
  }
  // Those of them that another transaction won; in JSON "conflicts".
  uint64_t conflicts_total() const { return conflicts_of(aborts); }
  // Of any `aborts` of this file.
  static uint64_t conflicts_of(const std::array<uint64_t, kCauseCount>& aborts) {
    uint64_t sum = 0;
    for (size_t c = 0; c < kCauseCount; ++c)
      if (is_conflict(static_cast<Cause>(c))) sum += aborts[c];
    return sum;
  }
  // By the list of metrics (elider/metrics.h).
  std::string to_json() const;
};

}  // namespace elider
