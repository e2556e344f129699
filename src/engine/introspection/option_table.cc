#include "elider/option_table.h"

#include <array>
#include <variant>
#include <vector>

#include "base/option_entry.h"
#include "base/status_words.h"
#include "elider/laboratory.h"
#include "storage/table.h"

namespace elider {

namespace {

using Type = OptionInfo::Type;

// The member that stores an option.
using Member = std::variant<uint32_t Options::*, uint64_t Options::*, bool Options::*, SyncPolicy Options::*, Protocol Options::*,
                            HtmBackend Options::*, Durability Options::*, LogFailure Options::*,
                            std::vector<std::string> Options::*>;
using LaboratoryMember = std::variant<uint32_t LaboratoryOptions::*, uint32_t ElisionPolicy::*, bool ElisionPolicy::*, bool EngineParts::*>;

using option_entry::bytes;
using option_entry::choice;
using option_entry::flag;
using option_entry::kAny;
using option_entry::kMillion;
using option_entry::number;

// The names of all protocols, separated by ", ".
constexpr size_t kProtocolNamesBytes = [] {
  size_t bytes = 0;
  for (const ProtocolName& protocol : kProtocols) bytes += protocol.name.size() + 2;
  return bytes - 2;
}();
constexpr auto kProtocolNames = [] {
  std::array<char, kProtocolNamesBytes + 2> names{};
  size_t at = 0;
  for (const ProtocolName& protocol : kProtocols) {
    for (const char c : protocol.name) names[at++] = c;
    names[at++] = ',';
    names[at++] = ' ';
  }
  return names;
}();

constexpr option_entry::Entry<Member> kOptionEntries[] = {
    {choice("sync", "automatic, optimistic, latched, single-threaded, elided", "How shared index nodes are protected"), &Options::sync},
    {choice("protocol", {kProtocolNames.data(), kProtocolNamesBytes},
            "Concurrency control. Baselines for comparison are whole-transaction and spinlock (with sync elided), and serial, partitioned "
            "and two-phase-locking (with sync optimistic). chopped (with sync optimistic or elided) runs declared procedures in pieces"),
     &Options::protocol},
    {choice("htm", "automatic, rtm, none, always-aborts, emulated",
            "What executes the hardware transactions of sync elided"),
     &Options::htm},
    {bytes("memory_limit_bytes", 4u << 20, kAny, "Limit for the memory of rows, versions and index nodes", "no limit"),
     &Options::memory_limit_bytes},
    {flag("huge_pages", "Ask the system for 2 MiB pages"), &Options::huge_pages},
    {bytes("prefault_bytes", 0, uint64_t{1} << 40, "Memory to allocate and touch when the database opens"), &Options::prefault_bytes},
    {bytes("block_threshold_bytes", kBlockThresholdMin, kRowBytesMax,
           "Size from which a column group is stored as a separate block, which a commit replaces by pointer"),
     &Options::block_threshold_bytes},
    {number("workers_max", "threads", 1, 4096,
            "Threads and open transactions that may use the database at the same time"),
     &Options::workers_max},
    {{.name = "threads_at_once",
      .type = Type::kNumber,
      .unit = "threads",
      .min = 1,
      .max = 4096,
      .zero = "1.5 per processor",
      .words = "Threads that run transactions at the same time; further threads wait for a turn"},
     &Options::threads_at_once},
    {{.name = "data_folders", .type = Type::kFolders, .words = "Folders that hold the data; none: the data is only in memory"},
     &Options::data_folders},
    {flag("create_if_missing", "Create missing folders, a missing database and missing tables"), &Options::create_if_missing},
    {flag("error_if_exists", "Refuse to open an existing database"), &Options::error_if_exists},
    {choice("durability", "none, async, group",
            "When commits reach the disk: never (none), soon after they return (async), before they return (group)"),
     &Options::durability},
    {number("flush_interval_us", "us", 1, 10'000'000, "Longest pause between two writes of the log while no commit waits for the disk"),
     &Options::flush_interval_us},
    {number("log_threads", "threads", 1, 64, "Threads that write the log, each to its own file"), &Options::log_threads},
    {bytes("log_segment_bytes", 4096, uint64_t{1} << 32, "Maximum size of a log file"), &Options::log_segment_bytes},
    {{.name = "log_buffer_bytes",
      .type = Type::kBytes,
      .unit = "bytes",
      .min = 4096,
      .max = uint64_t{1} << 30,
      .power_of_two = true,
      .words = "Log buffer of each thread; commits wait while it is full"},
     &Options::log_buffer_bytes},
    {choice("log_failure", "read-only, stop",
            "What is refused after the log could not be written: commits with writes (read-only) or every transaction (stop)"),
     &Options::log_failure},
    {{.name = "checkpoint_log_bytes",
      .type = Type::kBytes,
      .unit = "bytes",
      .min = 65536,
      .max = kAny,
      .zero = "never",
      .automatic = true,
      .words = "Log size that triggers a checkpoint; automatic: a quarter of the size of the last checkpoint, at least 64M"},
     &Options::checkpoint_log_bytes},
    {number("checkpoint_interval_s", "s", 1, 10'000'000, "Time between checkpoints", "never"),
     &Options::checkpoint_interval_s},
    {bytes("checkpoint_bytes_per_second", 1, kAny, "Write rate limit of checkpoints and backups", "no limit"),
     &Options::checkpoint_bytes_per_second},
    {number("checkpoint_threads", "threads", 1, 64, "Threads that write a checkpoint or a backup"), &Options::checkpoint_threads},
    {number("checkpoints_kept", "checkpoints", 1, 16, "Number of checkpoints to keep, with the log since the oldest"),
     &Options::checkpoints_kept},
    {number("recovery_threads", "threads", 1, 64, "Threads that recover the database when it opens", "one per processor, at most 16"),
     &Options::recovery_threads},
    {number("recover_to", "", 0, kAny, "Recover the state as of this commit number and discard later commits"), &Options::recover_to},
    {flag("upgrade", "Add the columns that the program's descriptions have and the tables of described rows lack"), &Options::upgrade},
    {flag("leave_out_indexes", "Open tables whose schemas are not given, but without their secondary indexes"),
     &Options::leave_out_indexes},
};

constexpr option_entry::Entry<LaboratoryMember> kLaboratoryEntries[] = {
    {number("restarts_max", "attempts", 0, kMillion, "Restarts after which a procedure runs alone (protocol timestamp)"),
     &LaboratoryOptions::restarts_max},
    {number("open_patience_us", "us", 0, 1'000'000'000,
            "How long an open transaction keeps its claims (protocol timestamp) or waits for a lock (two-phase-locking)"),
     &LaboratoryOptions::open_patience_us},
    {number("lock_timeout_us", "us", 1, 1'000'000'000,
            "A procedure fails if the same transactions block it for this long in total (protocol two-phase-locking)", "never"),
     &LaboratoryOptions::lock_timeout_us},
    {number("partitions", "partitions", 1, 65536, "Number of partitions (protocol partitioned)"), &LaboratoryOptions::partitions},
    {number("elision.conflict_aborts_max", "aborts", 0, kMillion, "Conflict aborts after which a section takes its lock"),
     &ElisionPolicy::conflict_aborts_max},
    {number("elision.capacity_aborts_max", "aborts", 0, kMillion, "Capacity aborts after which a section takes its lock"),
     &ElisionPolicy::capacity_aborts_max},
    {number("elision.system_aborts_max", "aborts", 0, kMillion,
            "Aborts by interrupts and page faults after which a section takes its lock"),
     &ElisionPolicy::system_aborts_max},
    {number("elision.lock_held_aborts_max", "aborts", 0, kMillion, "Aborts due to a held lock after which a section queues for that lock"),
     &ElisionPolicy::lock_held_aborts_max},
    {flag("elision.less_for_tall_trees", "Divide the limits for conflict and capacity aborts by the height of the tree"),
     &ElisionPolicy::less_for_tall_trees},
    {number("elision.write_lines_max", "cache lines", 1, 512, "A commit that writes more does not run as one hardware transaction"),
     &ElisionPolicy::write_lines_max},
    {number("elision.read_lines_max", "cache lines", 1, 65536,
            "A commit that reads more takes its locks without trying a hardware transaction"),
     &ElisionPolicy::read_lines_max},
    {flag("elision.record_reads", "Read each row in a hardware transaction"), &ElisionPolicy::record_reads},
    {number("elision.window_runs", "runs", 1, kMillion,
            "Runs after which a site checks whether hardware transactions pay off, and disables them if not", "never"),
     &ElisionPolicy::window_runs},
    {number("elision.poor_percent", "percent", 0, 100,
            "Hardware transactions pay off at a site if at least this share of its runs succeeds as one"),
     &ElisionPolicy::poor_percent},
    {number("elision.off_runs", "runs", 1, kMillion, "Runs for which a site leaves hardware transactions disabled"),
     &ElisionPolicy::off_runs},
    {flag("parts.hints", "Remember where the last lookups ended; turned off only for studies"), &EngineParts::hints},
    {flag("parts.reclamation", "Reclaim unreachable memory while the database is open; turned off only for studies"),
     &EngineParts::reclamation},
    {flag("parts.own_allocators", "Give each worker its own allocator, instead of one with a lock; turned off only for studies"),
     &EngineParts::own_allocators},
    {flag("parts.counted_lookups", "Count lookups, and those without a descent; turned on only for studies"),
     &EngineParts::counted_lookups},
};

constexpr auto kTable = option_entry::infos_of(kOptionEntries);
constexpr auto kLaboratoryTable = option_entry::infos_of(kLaboratoryEntries);
static_assert(kCheckpointLogAutomatic == kAny, "what \"automatic\" means");

// Returns the address of a member.
struct At {
  template <class T>
  T& operator()(Options& options, T Options::*member) const { return options.*member; }
  template <class T>
  const T& operator()(const Options& options, T Options::*member) const { return options.*member; }
};
struct AtLaboratory {
  template <class T>
  auto& operator()(auto& options, T LaboratoryOptions::*member) const { return options.*member; }
  template <class T>
  auto& operator()(auto& options, T ElisionPolicy::*member) const { return options.elision.*member; }
  template <class T>
  auto& operator()(auto& options, T EngineParts::*member) const { return options.parts.*member; }
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
    return Status::invalid_argument("Options::durability is 'group', but Options::data_folders is empty");
  for (const Schema& schema : options.schemas)
    if (Status status = storage::check_schema(schema); !status.ok())
      return reworded(Code::kInvalidArgument, "Options::schemas: ", status);
  return {};
}

}  // namespace

std::span<const OptionInfo> option_table() { return kTable; }

std::span<const OptionInfo> laboratory_option_table() { return kLaboratoryTable; }

const OptionInfo* find_option(std::string_view name) {
  for (const std::span<const OptionInfo> table : {option_table(), laboratory_option_table()})
    for (const OptionInfo& option : table)
      if (option.name == name) return &option;
  return nullptr;
}

Status set_option(Options& options, std::string_view name, std::string_view text) {
  if (option_entry::find(kLaboratoryEntries, name) == nullptr)
    return option_entry::set("Options", kOptionEntries, At{}, options, name, text);
  return option_entry::set("LaboratoryOptions", kLaboratoryEntries, AtLaboratory{}, change_laboratory(options), name, text);
}

std::string option_text(const Options& options, std::string_view name) {
  if (option_entry::find(kLaboratoryEntries, name) == nullptr) return option_entry::text(kOptionEntries, At{}, options, name);
  return option_entry::text(kLaboratoryEntries, AtLaboratory{}, laboratory_of(options), name);
}

Status check_options(const Options& options) {
  if (Status status = option_entry::check("Options", kOptionEntries, At{}, options); !status.ok()) return status;
  const LaboratoryOptions& laboratory = laboratory_of(options);
  if (Status status = option_entry::check("LaboratoryOptions", kLaboratoryEntries, AtLaboratory{}, laboratory); !status.ok()) return status;
  return check_together(options);
}

}  // namespace elider
