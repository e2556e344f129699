// CommonOptions: the options of every macro benchmark, such as the duration, the number of threads,
// the engine, and the destination of the results. Options of a single benchmark, such as the number
// of warehouses, are defined with that benchmark. Session: a database opened with these options,
// and its history file if one was requested.
// Thread safety: options are plain values; a session is opened and closed by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/common/commands.h"
#include "bench/common/data_options.h"
#include "elider/database.h"
#include "elider/laboratory.h"
#include "elider/options.h"

namespace elider::bench {

class HistoryFile;

struct CommonOptions {
  uint32_t threads = 1;           // --threads, 1 to 256
  double seconds = 10;            // --seconds, the measured time; above 0
  // Used by tests: extends the measured time until each thread has committed this number of
  // transactions. On a busy machine, a thread might not be scheduled at all during a short run.
  uint64_t transactions_min = 0;
  double warmup_seconds = 0;      // --warmup, the time to run before measuring
  uint64_t seed = 1;              // --seed; equal seeds and thread counts give equal inputs
  uint32_t group = 0;             // --group, 1 to GroupPolicy::kSizeMax; 0: one transaction at a time
  bool pin = false;               // --pin: binds each thread to a processor, using one of each core first
  SyncPolicy sync = SyncPolicy::kAutomatic;  // --sync
  HtmBackend htm = HtmBackend::kAutomatic;   // --htm, for --sync elided
  Protocol protocol = Protocol::kOcc;        // --protocol
  bool copied_reads = false;                 // --copied-reads, for --sync elided
  uint32_t restarts_max = LaboratoryOptions{}.restarts_max;  // --restarts-max, for --protocol timestamp
  uint32_t partitions = LaboratoryOptions{}.partitions;      // for --protocol partitioned; set by the benchmark
  static constexpr uint32_t kByCause = ~uint32_t{0};
  uint32_t aborts_max = kByCause;            // --aborts-max, for --sync elided: applies to every cause
  ElisionPolicy elision;                     // the library's default, unless a study changes it
  EngineParts parts;                         // --no-hints, --no-reclamation, --no-own-allocators, --count-lookups
  uint32_t block_threshold_bytes = Options{}.block_threshold_bytes;  // --block-threshold
  uint64_t memory_limit_bytes = 0;           // --memory-limit; 0: unlimited
  bool huge_pages = true;                    // --no-huge-pages turns it off
  std::optional<uint64_t> prefault_bytes;    // --prefault; if not given, the benchmark decides
  DataOptions data;               // --data, --durability, --resume, ...
  std::string json_file;          // --json, "-" is standard output; empty: none
  std::string history_file;       // --history; empty: none
  bool quiet = false;             // --quiet: no progress line and no table
  bool reports_when_interrupted = true;  // true: SIGINT ends the measurement, and results are reported; false: SIGINT ends the process
};

// Declares the common options on a subcommand. The parser checks each option separately.
void add_common_options(Command command, CommonOptions& options);
void add_options_but_threads(Command command, CommonOptions& options);
// Declares --group, for benchmarks that can run transactions in groups.
void add_group_option(Command command, CommonOptions& options);
// Declares --index, which chooses a table's key index; `words` is its description.
void add_index_option(Command command, KeyIndex& chosen, const char* words, bool* given = nullptr);

// Call this function first in a command's callback. It refuses incompatible options and output
// files that cannot be written, so that these errors appear before the run and not after several
// minutes.
void check_common_options(const CommonOptions& options);

// Declares --sync, --htm and --protocol, and checks each separately. A command's callback then
// calls check_sync_options(), which checks that the three are compatible and that this machine
// supports them. Its error messages name the option.
void add_sync_options(Command command, SyncPolicy& sync, HtmBackend& htm, Protocol& protocol);
void check_sync_options(SyncPolicy sync, HtmBackend htm, Protocol protocol, uint32_t threads);

// An open database and the history file it writes.
class Session {
 public:
  Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // `schemas` becomes Options::schemas. May be called by one thread at a time.
  static Result<Session> open(const CommonOptions& options, std::vector<Schema> schemas = {});

  Database& db() { return db_; }
  // Closes the database, then the history file. If writing the history failed, the error message
  // names the file.
  Status close();

 private:
  std::unique_ptr<HistoryFile> history_;
  Database db_;
};

}  // namespace elider::bench
