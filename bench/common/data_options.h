// DataOptions says whether a benchmark's database lives only in memory or also in data folders with
// a log. LogUse holds what a run added to that log.
// Thread safety: none; both are plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/common/commands.h"
#include "elider/options.h"
#include "elider/statistics.h"

namespace elider::bench {

struct DataOptions {
  std::vector<std::string> folders;           // --data; empty: only in memory
  Durability durability = Durability::kAsync;  // --durability
  bool resume = false;                        // --resume: continue with the database in the folders
  uint32_t flush_interval_us = Options().flush_interval_us;  // --flush-interval
  uint64_t log_buffer_bytes = Options().log_buffer_bytes;    // --log-buffer
  uint64_t checkpoint_log_bytes = Options().checkpoint_log_bytes;  // --checkpoint-log

  bool logs() const { return !folders.empty() && durability != Durability::kNone; }
  // Copies these settings into the database's `options`.
  void apply(Options& options) const;
};

void add_data_options(Command command, DataOptions& options);
// Call this function in a command's callback. It refuses incompatible options: a nonempty folder
// without --resume, a missing folder with --resume, and --resume without --data.
void check_data_options(const DataOptions& options);
// Deletes the contents of the data folders. They were empty when the run began, so only the run's
// own files are lost. A run that creates several databases calls this function between them.
void empty_data_folders(const DataOptions& options);

// What a run added to the log, counted when everything that it wrote was durable.
struct LogUse {
  uint64_t bytes = 0, records = 0, frames = 0, syncs = 0, room_waits = 0;
  uint64_t lag_mean_us = 0, lag_max_us = 0;  // see Statistics::durable_lag_sum_us; the maximum is since opening
  bool kept = false;                         // whether the database writes a log

  static LogUse between(const Statistics& before, const Statistics& at_end);
};

}  // namespace elider::bench
