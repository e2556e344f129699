// Recovery: a report of what the recovery of a data folder found and did. RecoveryProgress: the
// progress of a running recovery.
// Thread safety: both are values.
#pragma once

#include "elider/language.h"
#include "elider/snapshot_number.h"

#include <cstdint>
#include <string>
#include <vector>

namespace elider {

struct Recovery {
  SnapshotNumber snapshot = 0;         // the state contains all commits up to this number
  uint64_t checkpoint = 0;       // the number of the checkpoint that was loaded; 0 if none
  uint64_t checkpoint_rows = 0;
  uint64_t checkpoint_bytes = 0;
  uint64_t records = 0;          // records applied from the log: commits and created tables
  uint64_t records_void = 0;     // intact records after a gap in another log file; their commits were never acknowledged
  uint64_t log_bytes = 0;        // size of the log files
  uint64_t tables = 0, rows = 0; // tables and rows after recovery
  uint64_t judge_us = 0;         // time to check the log
  uint64_t checkpoint_us = 0;    // time to load the checkpoint
  uint64_t log_us = 0;           // time to apply the log after the checkpoint
  uint64_t index_us = 0;         // time to build secondary indexes
  uint64_t duration_us = 0;      // total time
  // The ends of log files that a crash left incomplete, and that recovery ignored. Format:
  // "'<file>' from byte <offset>: <count> bytes; <what is wrong with them>".
  std::vector<std::string> cuts;
  // Damaged checkpoints that recovery skipped. It used an older checkpoint and the log instead.
  std::vector<std::string> skipped;
  // 'table'.'index' of secondary indexes that were not built (Options::leave_out_indexes).
  std::vector<std::string> indexes_left_out;
};

struct RecoveryProgress {
  enum class Step : uint8_t { kJudge, kCheckpoint, kLog, kIndexes };
  Step step = Step::kJudge;
  uint64_t done = 0, all = 0;  // bytes of files; rows for kIndexes
};

}  // namespace elider
