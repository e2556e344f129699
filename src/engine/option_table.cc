#include "elider/option_table.h"

#include <array>
#include <variant>
#include <vector>

#include "base/option_entry.h"
#include "base/status_words.h"
#include "storage/table.h"

namespace elider {

namespace {

using Type = OptionInfo::Type;

// Where an option stands.
using Member = std::variant<uint32_t Options::*, uint64_t Options::*, bool Options::*, SyncPolicy Options::*, Protocol Options::*,
                            HtmBackend Options::*, Durability Options::*, LogFailure Options::*,
                            std::vector<std::string> Options::*, uint32_t ElisionPolicy::*, bool ElisionPolicy::*,
                            bool EngineParts::*>;

using option_entry::bytes;
using option_entry::choice;
using option_entry::flag;
using option_entry::kAny;
using option_entry::kMillion;
using option_entry::number;

constexpr option_entry::Entry<Member> kOptionEntries[] = {
    {choice("sync", "automatic, optimistic, latched, single-threaded, elided", "How shared nodes are guarded"), &Options::sync},
    {choice("protocol", "occ, whole-transaction, spinlock, serial, timestamp, timestamp-validated, two-phase-locking, partitioned, chopped",
            "How transactions execute; whole-transaction, spinlock (both with sync elided), serial, partitioned and two-phase-locking "
            "(with optimistic) are baselines; chopped (with optimistic, or with elided, where a call is a hardware transaction) runs "
            "declared procedures in pieces"),
     &Options::protocol},
    {number("restarts_max", "attempts", 0, kMillion, "Conflicts of a procedure, under protocol timestamp, before it runs alone"),
     &Options::restarts_max},
    {number("open_patience_us", "us", 0, 1'000'000'000,
            "How long an open transaction keeps what it has claimed (protocol timestamp), or waits for a lock (two-phase-locking)"),
     &Options::open_patience_us},
    {number("lock_timeout_us", "us", 1, 1'000'000'000,
            "Under two-phase-locking: a procedure is given up when the same transactions have kept a lock for so long", "never"),
     &Options::lock_timeout_us},
    {number("partitions", "partitions", 1, 65536, "Under protocol partitioned: how many partitions there are"), &Options::partitions},
    {choice("htm", "automatic, rtm, none, always-aborts, emulated", "What runs the hardware transactions of sync elided"), &Options::htm},
    {number("elision.conflict_aborts_max", "aborts", 0, kMillion, "Aborts by conflict before a section takes its lock"),
     &ElisionPolicy::conflict_aborts_max},
    {number("elision.capacity_aborts_max", "aborts", 0, kMillion, "Aborts by capacity before a section takes its lock"),
     &ElisionPolicy::capacity_aborts_max},
    {number("elision.system_aborts_max", "aborts", 0, kMillion, "Aborts by interrupts and page faults before a section takes its lock"),
     &ElisionPolicy::system_aborts_max},
    {number("elision.lock_held_aborts_max", "aborts", 0, kMillion, "Waits for a lock that is held before a section queues for it"),
     &ElisionPolicy::lock_held_aborts_max},
    {flag("elision.less_for_tall_trees", "The bounds for conflicts and capacity are divided by the height of the tree"),
     &ElisionPolicy::less_for_tall_trees},
    {number("elision.write_lines_max", "cache lines", 1, 512, "A commit that writes more is not one hardware transaction"),
     &ElisionPolicy::write_lines_max},
    {number("elision.read_lines_max", "cache lines", 1, 65536, "A commit that reads more takes its locks at once"),
     &ElisionPolicy::read_lines_max},
    {flag("elision.record_reads", "A read of a row is a hardware transaction, too"), &ElisionPolicy::record_reads},
    {number("elision.window_runs", "runs", 1, kMillion, "Runs after which a site looks whether regions pay there, and else shuts them off",
            "never"),
     &ElisionPolicy::window_runs},
    {number("elision.poor_percent", "percent", 0, 100, "Regions do not pay at a site where fewer runs ended as hardware transactions"),
     &ElisionPolicy::poor_percent},
    {number("elision.off_runs", "runs", 1, kMillion, "Runs for which a site where regions do not pay tries none"),
     &ElisionPolicy::off_runs},
    {flag("parts.hints", "Where the last lookups ended is remembered; off for studies alone"), &EngineParts::hints},
    {flag("parts.reclamation", "What nobody can see is reclaimed before the database closes; off for studies alone"),
     &EngineParts::reclamation},
    {flag("parts.own_allocators", "Each worker has memory of its own at hand, and not one lock for all; off for studies alone"),
     &EngineParts::own_allocators},
    {flag("parts.counted_lookups", "Statistics count lookups, and those that needed no descent; on for studies alone"),
     &EngineParts::counted_lookups},
    {bytes("memory_limit_bytes", 4u << 20, kAny, "Memory of rows, versions and index nodes at the most", "no limit"),
     &Options::memory_limit_bytes},
    {flag("huge_pages", "Ask the system for pages of 2 MiB"), &Options::huge_pages},
    {bytes("prefault_bytes", 0, uint64_t{1} << 40, "Memory to take and touch when the database opens"), &Options::prefault_bytes},
    {bytes("block_threshold_bytes", kBlockThresholdMin, kRowBytesMax, "A commit group of this size is kept as a block that commits swap"),
     &Options::block_threshold_bytes},
    {number("workers_max", "threads", 1, 4096, "Threads and open transactions at one time"), &Options::workers_max},
    {{.name = "threads_at_once",
      .type = Type::kNumber,
      .unit = "threads",
      .min = 1,
      .max = 4096,
      .zero = "one and a half times the processors",
      .words = "Threads that run transactions at once; more wait for their turn"},
     &Options::threads_at_once},
    {{.name = "data_folders", .type = Type::kFolders, .words = "Where the data is kept; none: in memory alone"}, &Options::data_folders},
    {flag("create_if_missing", "Make folders, a database and tables that are not there"), &Options::create_if_missing},
    {flag("error_if_exists", "Refuse a database that is there"), &Options::error_if_exists},
    {choice("durability", "none, async, group", "When commits reach the disk: never; soon after they return; before they return"),
     &Options::durability},
    {number("flush_interval_us", "us", 1, 10'000'000, "Time between two groups of the log where nobody waits"),
     &Options::flush_interval_us},
    {number("log_threads", "threads", 1, 64, "Threads that write the log, each to a file of its own"), &Options::log_threads},
    {bytes("log_segment_bytes", 4096, uint64_t{1} << 32, "Size of a file of the log, at the most"), &Options::log_segment_bytes},
    {{.name = "log_buffer_bytes",
      .type = Type::kBytes,
      .unit = "bytes",
      .min = 4096,
      .max = uint64_t{1} << 30,
      .power_of_two = true,
      .words = "How much a thread may have committed that the log has not written yet"},
     &Options::log_buffer_bytes},
    {choice("log_failure", "read-only, stop", "What is refused once the log could not be written: commits with writes, or everything"),
     &Options::log_failure},
    {{.name = "checkpoint_log_bytes",
      .type = Type::kBytes,
      .unit = "bytes",
      .min = 65536,
      .max = kAny,
      .zero = "never",
      .automatic = true,
      .words = "Size of the log at which a checkpoint is taken; automatic: by the size of the last checkpoint"},
     &Options::checkpoint_log_bytes},
    {number("checkpoint_interval_s", "s", 1, 10'000'000, "Time after which a checkpoint is taken", "never for that reason"),
     &Options::checkpoint_interval_s},
    {bytes("checkpoint_bytes_per_second", 1, kAny, "Bytes that a checkpoint or a backup writes a second, at the most", "no limit"),
     &Options::checkpoint_bytes_per_second},
    {number("checkpoint_threads", "threads", 1, 64, "Threads that write a checkpoint or a backup"), &Options::checkpoint_threads},
    {number("checkpoints_kept", "checkpoints", 1, 16, "Checkpoints that are kept, with the log since the oldest"),
     &Options::checkpoints_kept},
    {number("recovery_threads", "threads", 1, 64, "Threads that recover when the database opens", "one a processor, 16 at the most"),
     &Options::recovery_threads},
    {number("recover_to", "", 0, kAny, "Recover the state after this commit number alone"), &Options::recover_to},
    {flag("leave_out_indexes", "Open tables whose secondary indexes the program does not know, to read"), &Options::leave_out_indexes},
};

constexpr auto kTable = option_entry::infos_of(kOptionEntries);
static_assert(kCheckpointLogAutomatic == kAny, "what \"automatic\" stands for");

// Where a member stands.
struct At {
  template <class T>
  T& operator()(Options& options, T Options::*member) const { return options.*member; }
  template <class T>
  const T& operator()(const Options& options, T Options::*member) const { return options.*member; }
  template <class T>
  T& operator()(Options& options, T ElisionPolicy::*member) const { return options.elision.*member; }
  template <class T>
  const T& operator()(const Options& options, T ElisionPolicy::*member) const { return options.elision.*member; }
  template <class T>
  T& operator()(Options& options, T EngineParts::*member) const { return options.parts.*member; }
  template <class T>
  const T& operator()(const Options& options, T EngineParts::*member) const { return options.parts.*member; }
};

// -- what goes together ---------------------------------------------------------------------------

Status check_together(const Options& options) {
  if (options.memory_limit_bytes != 0 && options.prefault_bytes > options.memory_limit_bytes)
    return Status::invalid_argument("Options::prefault_bytes is " + std::to_string(options.prefault_bytes) +
                                    ", more than memory_limit_bytes, which is " + std::to_string(options.memory_limit_bytes));
  if (options.htm != HtmBackend::kAutomatic && options.sync != SyncPolicy::kElided && options.sync != SyncPolicy::kAutomatic)
    return Status::invalid_argument("Options::htm is '" + std::string(name_of(options.htm)) +
                                    "', which goes with sync policy 'elided', not '" + std::string(name_of(options.sync)) + "'");
  if (options.durability == Durability::kDefault)
    return Status::invalid_argument("Options::durability is 'default', which is for a RunPolicy");
  if (options.durability == Durability::kGroup && options.data_folders.empty())
    return Status::invalid_argument("Options::durability is 'group', but there is no data folder (Options::data_folders)");
  for (const Schema& schema : options.schemas)
    if (Status status = storage::check_schema(schema); !status.ok())
      return reworded(Code::kInvalidArgument, "Options::schemas: ", status);
  return {};
}

}  // namespace

std::span<const OptionInfo> option_table() { return kTable; }

const OptionInfo* find_option(std::string_view name) {
  for (const OptionInfo& option : kTable)
    if (option.name == name) return &option;
  return nullptr;
}

Status set_option(Options& options, std::string_view name, std::string_view text) {
  return option_entry::set("Options", kOptionEntries, At{}, options, name, text);
}

std::string option_text(const Options& options, std::string_view name) { return option_entry::text(kOptionEntries, At{}, options, name); }

Status check_options(const Options& options) {
  if (Status status = option_entry::check("Options", kOptionEntries, At{}, options); !status.ok()) return status;
  return check_together(options);
}

}  // namespace elider
