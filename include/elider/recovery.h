// Recovery: what opening a data folder found and did, and how far it is. Thread safety: values.
#pragma once

#include "elider/language.h"
#include "elider/snapshot_number.h"

#include <cstdint>
#include <string>
#include <vector>

namespace elider {

struct Recovery {
  SnapshotNumber snapshot = 0;         // the state is that after all commits up to this number
  uint64_t checkpoint = 0;       // the number of the checkpoint it began with; 0: none
  uint64_t checkpoint_rows = 0;
  uint64_t checkpoint_bytes = 0;
  uint64_t records = 0;          // taken from the log: commits, and tables made
  uint64_t records_void = 0;     // whole, but not acknowledged, and behind a gap in another file of the log
  uint64_t log_bytes = 0;        // of the log's files
  uint64_t tables = 0, rows = 0; // that are there now
  uint64_t judge_us = 0;         // to see whether the log is whole,
  uint64_t checkpoint_us = 0;    // to load the checkpoint,
  uint64_t log_us = 0;           // to bring in the log behind it,
  uint64_t index_us = 0;         // to build secondary indexes,
  uint64_t duration_us = 0;      // and all of it
  // A crash's tails, which were left out: "'<file>' from byte <offset>: <count> bytes;
  // <what is wrong with them>".
  std::vector<std::string> cuts;
  // Newer checkpoints that are damaged; older ones and the log made up for them.
  std::vector<std::string> skipped;
  // 'table'.'index' of secondary indexes that were not built (Options::leave_out_indexes).
  std::vector<std::string> indexes_left_out;
};

struct RecoveryProgress {
  enum class Step : uint8_t { kJudge, kCheckpoint, kLog, kIndexes };
  Step step = Step::kJudge;
  uint64_t done = 0, all = 0;  // bytes of files; of kIndexes, rows
};

}  // namespace elider
