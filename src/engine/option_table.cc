#include "elider/option_table.h"

#include <array>
#include <bit>
#include <charconv>
#include <type_traits>
#include <variant>
#include <vector>

#include "storage/table.h"

namespace elider {

namespace {

using Type = OptionInfo::Type;

// Where an option stands.
using Member = std::variant<uint32_t Options::*, uint64_t Options::*, bool Options::*, SyncPolicy Options::*, Protocol Options::*,
                            HtmBackend Options::*, Durability Options::*, LogFailure Options::*,
                            std::vector<std::string> Options::*, uint32_t ElisionPolicy::*, bool ElisionPolicy::*,
                            bool EngineParts::*>;

struct OptionEntry {
  OptionInfo info;
  Member member;
};

constexpr uint64_t kAny = ~uint64_t{0};
constexpr uint64_t kMillion = 1'000'000;

constexpr OptionInfo number(std::string_view name, std::string_view unit, uint64_t min, uint64_t max, std::string_view words,
                            std::string_view zero = {}) {
  return {.name = name, .type = Type::kNumber, .unit = unit, .min = min, .max = max, .zero = zero, .words = words};
}
constexpr OptionInfo bytes(std::string_view name, uint64_t min, uint64_t max, std::string_view words, std::string_view zero = {}) {
  return {.name = name, .type = Type::kBytes, .unit = "bytes", .min = min, .max = max, .zero = zero, .words = words};
}
constexpr OptionInfo flag(std::string_view name, std::string_view words) { return {.name = name, .type = Type::kFlag, .words = words}; }
constexpr OptionInfo choice(std::string_view name, std::string_view choices, std::string_view words) {
  return {.name = name, .type = Type::kChoice, .choices = choices, .words = words};
}

constexpr OptionEntry kOptionEntries[] = {
    {choice("sync", "automatic, optimistic, latched, single-threaded, elided", "How shared nodes are guarded"), &Options::sync},
    {choice("protocol", "occ, whole-transaction, spinlock, serial, timestamp, timestamp-validated, two-phase-locking, partitioned, chopped",
            "How transactions execute; whole-transaction, spinlock (both with sync elided), serial, partitioned and two-phase-locking (with optimistic) are baselines; chopped (with optimistic, or with elided, where a call is a hardware transaction) runs declared procedures in pieces"),
     &Options::protocol},
    {number("restarts_max", "attempts", 0, kMillion, "Conflicts of a procedure, under protocol timestamp, before it runs alone"),
     &Options::restarts_max},
    {number("open_patience_us", "us", 0, 1'000'000'000, "How long an open transaction keeps what it has claimed (protocol timestamp), or waits for a lock (two-phase-locking)"),
     &Options::open_patience_us},
    {number("lock_timeout_us", "us", 0, 1'000'000'000,
            "Under two-phase-locking: a procedure is given up when the same transactions have kept a lock for so long; 0: never"),
     &Options::lock_timeout_us},
    {number("partitions", "partitions", 1, 65536, "Under protocol partitioned: how many partitions there are"), &Options::partitions},
    {choice("htm", "automatic, rtm, none, always-aborts, emulated", "What runs the hardware transactions of sync elided"), &Options::htm},
    {number("elision.conflict_aborts_max", "aborts", 0, kMillion, "Aborts by conflict before a section takes its lock"),
     &ElisionPolicy::conflict_aborts_max},
    {number("elision.capacity_aborts_max", "aborts", 0, kMillion, "Aborts by capacity before that"), &ElisionPolicy::capacity_aborts_max},
    {number("elision.system_aborts_max", "aborts", 0, kMillion, "Aborts by interrupts and page faults before that"),
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
    {number("elision.window_runs", "runs", 0, kMillion, "After so many a site looks whether it pays; 0: it never shuts itself off"),
     &ElisionPolicy::window_runs},
    {number("elision.poor_percent", "percent", 0, 100, "It does not pay where fewer ended as hardware transactions"),
     &ElisionPolicy::poor_percent},
    {number("elision.off_runs", "runs", 1, kMillion, "A site that does not pay tries none for so many"), &ElisionPolicy::off_runs},
    {flag("parts.hints", "Where the last lookups ended is remembered; off for studies alone"), &EngineParts::hints},
    {flag("parts.reclamation", "What nobody can see is reclaimed before the database closes; off for studies alone"),
     &EngineParts::reclamation},
    {flag("parts.own_allocators", "Each worker has memory of its own at hand, and not one lock for all; off for studies alone"),
     &EngineParts::own_allocators},
    {flag("parts.counted_lookups", "Statistics count lookups, and those that needed no descent; on for studies alone"),
     &EngineParts::counted_lookups},
    {bytes("memory_limit_bytes", 4u << 20, kAny, "Rows, versions and index nodes at the most", "no limit"), &Options::memory_limit_bytes},
    {flag("huge_pages", "Ask the system for pages of 2 MiB"), &Options::huge_pages},
    {bytes("prefault_bytes", 0, uint64_t{1} << 40, "Memory to take and touch when the database opens"), &Options::prefault_bytes},
    {bytes("block_threshold_bytes", kBlockThresholdMin, kRowBytesMax, "A commit group of this size is kept as a block that commits swap"),
     &Options::block_threshold_bytes},
    {number("workers_max", "threads", 1, 4096, "Threads and open transactions at one time"), &Options::workers_max},
    {{.name = "threads_at_once", .type = Type::kNumber, .unit = "threads", .min = 1, .max = 4096,
      .zero = "one and a half times the processors", .words = "That run transactions at once; more wait for their turn"},
     &Options::threads_at_once},
    {{.name = "data_folders", .type = Type::kFolders, .words = "Where the data is kept; none: in memory alone"}, &Options::data_folders},
    {flag("create_if_missing", "Make folders, a database and tables that are not there"), &Options::create_if_missing},
    {flag("error_if_exists", "Refuse a database that is there"), &Options::error_if_exists},
    {choice("durability", "none, async, group", "When commits reach the disk: never; soon after they return; before they return"),
     &Options::durability},
    {number("flush_interval_us", "us", 1, 10'000'000, "Time between two groups of the log where nobody waits"),
     &Options::flush_interval_us},
    {number("log_threads", "threads", 1, 64, "That write the log, each to a file of its own"), &Options::log_threads},
    {bytes("log_segment_bytes", 4096, uint64_t{1} << 32, "A file of the log, at the most"), &Options::log_segment_bytes},
    {{.name = "log_buffer_bytes", .type = Type::kBytes, .unit = "bytes", .min = 4096, .max = uint64_t{1} << 30, .power_of_two = true,
      .words = "A thread may be ahead of the log by as much"},
     &Options::log_buffer_bytes},
    {choice("log_failure", "read-only, stop", "What is refused once the log could not be written: commits with writes, or everything"),
     &Options::log_failure},
    {bytes("checkpoint_log_bytes", 65536, kAny, "Log after which a checkpoint is taken; automatic: by the size of the last one", "never"),
     &Options::checkpoint_log_bytes},
    {number("checkpoint_interval_s", "s", 0, 10'000'000, "Time after which one is taken; 0: never for that reason"),
     &Options::checkpoint_interval_s},
    {bytes("checkpoint_bytes_per_second", 0, kAny, "That it writes at the most; 0: no limit"), &Options::checkpoint_bytes_per_second},
    {number("checkpoint_threads", "threads", 1, 64, "That write it, or a backup"), &Options::checkpoint_threads},
    {number("checkpoints_kept", "checkpoints", 1, 16, "With the log behind the oldest of them"), &Options::checkpoints_kept},
    {number("recovery_threads", "threads", 0, 64, "That recover when the database opens; 0: one a processor, 16 at the most"),
     &Options::recovery_threads},
    {number("recover_to", "", 0, kAny, "Recover the state after this commit number alone"), &Options::recover_to},
    {flag("leave_out_indexes", "Open tables whose secondary indexes the program does not know, to read"), &Options::leave_out_indexes},
};

constexpr auto kTable = [] {
  std::array<OptionInfo, std::size(kOptionEntries)> table;
  for (size_t i = 0; i < table.size(); ++i) table[i] = kOptionEntries[i].info;
  return table;
}();

const OptionEntry* entry_of(std::string_view name) {
  for (const OptionEntry& entry : kOptionEntries)
    if (entry.info.name == name) return &entry;
  return nullptr;
}

template <class T>
T& at(Options& options, T Options::*member) { return options.*member; }
template <class T>
const T& at(const Options& options, T Options::*member) { return options.*member; }
template <class T>
T& at(Options& options, T ElisionPolicy::*member) { return options.elision.*member; }
template <class T>
const T& at(const Options& options, T ElisionPolicy::*member) { return options.elision.*member; }
template <class T>
T& at(Options& options, T EngineParts::*member) { return options.parts.*member; }
template <class T>
const T& at(const Options& options, T EngineParts::*member) { return options.parts.*member; }

std::string_view name_of(LogFailure failure) { return failure == LogFailure::kReadOnly ? "read-only" : "stop"; }
bool parse(std::string_view name, LogFailure* failure) {
  *failure = name == "stop" ? LogFailure::kStop : LogFailure::kReadOnly;
  return name == "stop" || name == "read-only";
}

// -- texts ----------------------------------------------------------------------------------------

bool parse_number(std::string_view text, bool with_unit, uint64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  if (error != std::errc{}) return false;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (unit.empty()) return true;
  const size_t place = unit.size() == 1 ? std::string_view("KMGkmg").find(unit[0]) : std::string_view::npos;
  if (!with_unit || place == std::string_view::npos) return false;
  const unsigned shift = 10 * (static_cast<unsigned>(place % 3) + 1);
  if (*number > kAny >> shift) return false;
  *number <<= shift;
  return true;
}

// As parse_number() takes it: "4M", "64K"; bytes that are no whole number of those as they are.
std::string number_text(const OptionInfo& option, uint64_t number) {
  const char* unit = "";
  if (option.type == Type::kBytes && number != 0)
    for (const char* larger : {"K", "M", "G"}) {
      if (number % 1024 != 0) break;
      number /= 1024;
      unit = larger;
    }
  return std::to_string(number) + unit;
}

bool allows(const OptionInfo& option, uint64_t number) {
  if (number == 0 && !option.zero.empty()) return true;
  return number >= option.min && number <= option.max && (!option.power_of_two || std::has_single_bit(number));
}

// False: the text is no value of the option.
template <class T>
bool take(const OptionInfo& option, std::string_view text, T* value) {
  if constexpr (std::is_same_v<T, bool>) {
    *value = text == "true";
    return text == "true" || text == "false";
  } else if constexpr (std::is_enum_v<T>) {
    // Not all that has a name may be chosen: "default" is for a RunPolicy.
    return (", " + std::string(option.choices) + ",").find(", " + std::string(text) + ",") != std::string::npos && parse(text, value);
  } else if constexpr (std::is_integral_v<T>) {
    if (option.name == "checkpoint_log_bytes" && text == "automatic") return *value = static_cast<T>(kCheckpointLogAutomatic), true;
    uint64_t number = 0;
    if (!parse_number(text, option.type == Type::kBytes, &number) || !allows(option, number)) return false;
    *value = static_cast<T>(number);
    return true;
  } else {
    value->clear();
    for (size_t from = 0; from < text.size();) {
      const size_t comma = std::min(text.find(',', from), text.size());
      if (comma == from) return false;
      value->emplace_back(text.substr(from, comma - from));
      from = comma + 1;
    }
    return text.empty() || text.back() != ',';
  }
}

template <class T>
std::string text_of(const OptionInfo& option, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(name_of(value));
  } else if constexpr (std::is_integral_v<T>) {
    return option.name == "checkpoint_log_bytes" && value == kCheckpointLogAutomatic ? "automatic" : number_text(option, value);
  } else {
    std::string text;
    for (const std::string& folder : value) text += (text.empty() ? "" : ",") + folder;
    return text;
  }
}

Status refuse(const OptionInfo& option, const std::string& text) {
  return Status::invalid_argument("Options::" + std::string(option.name) + " is " + (text.empty() ? "empty" : text) + "; it is " +
                                  range_text(option));
}

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
      return Status::invalid_argument("Options::schemas: " + status.message());
  return {};
}

}  // namespace

std::span<const OptionInfo> option_table() { return kTable; }

const OptionInfo* find_option(std::string_view name) {
  for (const OptionInfo& option : kTable)
    if (option.name == name) return &option;
  return nullptr;
}

std::string range_text(const OptionInfo& option) {
  switch (option.type) {
    case Type::kFlag: return "true, false";
    case Type::kChoice: return std::string(option.choices);
    case Type::kFolders: return "paths, with commas between";
    case Type::kNumber:
    case Type::kBytes: break;
  }
  std::string text = option.zero.empty() ? "" : "0 (" + std::string(option.zero) + ") or ";
  if (option.power_of_two) text += "a power of two, ";
  if (option.max == kAny) return option.min == 0 ? text + "any number" : text + "at least " + number_text(option, option.min);
  return text + number_text(option, option.min) + " to " + number_text(option, option.max);
}

Status set_option(Options& options, std::string_view name, std::string_view text) {
  const OptionEntry* const entry = entry_of(name);
  if (entry == nullptr) return Status::invalid_argument("there is no option '" + std::string(name) + "' (elider options lists them)");
  return std::visit(
      [&](auto member) -> Status {
        auto value = at(options, member);
        if (!take(entry->info, text, &value)) return refuse(entry->info, "'" + std::string(text) + "'");
        at(options, member) = std::move(value);
        return {};
      },
      entry->member);
}

std::string option_text(const Options& options, std::string_view name) {
  const OptionEntry* const entry = entry_of(name);
  if (entry == nullptr) return {};
  return std::visit([&](auto member) { return text_of(entry->info, at(options, member)); }, entry->member);
}

Status check_options(const Options& options) {
  for (const OptionEntry& entry : kOptionEntries) {
    const Status status = std::visit(
        [&](auto member) -> Status {
          const auto& value = at(options, member);
          if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(value)>> && !std::is_same_v<std::remove_cvref_t<decltype(value)>, bool>)
            if (!allows(entry.info, value)) return refuse(entry.info, std::to_string(value));
          return {};
        },
        entry.member);
    if (!status.ok()) return status;
  }
  return check_together(options);
}

}  // namespace elider
