#include "bench/common/options.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "bench/common/commands.h"
#include "bench/common/engine_option.h"
#include "bench/common/history_file.h"
#include "elider/laboratory.h"
#include "tools/common/values.h"

namespace elider::bench {

namespace {

std::string check_warmup(const std::string& text) { return text == "0" ? std::string() : check_seconds(text); }

}  // namespace

void add_sync_options(Command command, SyncPolicy& sync, HtmBackend& htm, Protocol& protocol) {
  add_engine_option(command, "--sync", "POLICY", "sync", [&sync](const Options& o) { sync = o.sync; });
  add_engine_option(command, "--htm", "BACKEND", "htm", [&htm](const Options& o) { htm = o.htm; });
  add_engine_option(command, "--protocol", "NAME", "protocol", [&protocol](const Options& o) { protocol = o.protocol; });
}

void check_sync_options(SyncPolicy sync, HtmBackend htm, Protocol protocol, uint32_t threads) {
  const bool elides = sync == SyncPolicy::kElided || sync == SyncPolicy::kAutomatic;
  if (sync == SyncPolicy::kSingleThreaded && threads != 1)
    refuse_option("--sync", fmt::format("single-threaded requires --threads 1, not {}", threads));
  // The database itself refuses the other invalid combinations.
  if ((protocol == Protocol::kWholeTransaction || protocol == Protocol::kSpinlock) && !elides)
    refuse_option("--protocol", fmt::format("{} requires --sync elided, not {}", elider::name_of(protocol), elider::name_of(sync)));
  if (htm == HtmBackend::kAutomatic) return;
  if (!elides) refuse_option("--htm", fmt::format("{} requires --sync elided, not {}", elider::name_of(htm), elider::name_of(sync)));
  // Opening a database in memory is cheap, and shows whether this build and this machine support
  // the options.
  Options options;
  options.sync = sync;
  options.htm = htm;
  options.protocol = protocol;
  if (auto db = Database::open(options); !db.ok()) refuse_option("--htm", db.status().message());
}

void add_group_option(Command command, CommonOptions& options) {
  command
      .option("--group", options.group,
              "Transactions that each thread submits at once (Database::run_group), so that their cache misses overlap [off]")
      .in(1u, GroupPolicy::kSizeMax);
}

void add_common_options(Command command, CommonOptions& options) {
  command.option("--threads", options.threads, "Worker threads (1 to 256)").in(1u, 256u).shows_default();
  add_options_but_threads(command, options);
}

void add_options_but_threads(Command command, CommonOptions& options) {
  command.option("--seconds", options.seconds, "Measured time in seconds").checked(check_seconds).shows_default();
  command.option("--warmup", options.warmup_seconds, "Seconds to run before measuring").checked(check_warmup).shows_default();
  command.option("--seed", options.seed, "Seed of all random inputs").checked(check_whole_number).shows_default();
  command.flag("--pin", options.pin, "Pin each thread to a processor, using one of each core first");
  add_sync_options(command, options.sync, options.htm, options.protocol);
  command.flag("--copied-reads", options.copied_reads,
               "With --sync elided: read a row by copying and validating it, not in a hardware transaction");
  command
      .option("--aborts-max", options.aborts_max,
              "With --sync elided: an operation takes its lock after this many aborts of any cause [by cause: 100, 10, 2]")
      .in(0u, 1'000'000u)
      .type("N");
  add_engine_flag(command, "--no-hints", "parts.hints", [&options] { options.parts.hints = false; });
  add_engine_flag(command, "--no-reclamation", "parts.reclamation", [&options] { options.parts.reclamation = false; });
  add_engine_flag(command, "--no-own-allocators", "parts.own_allocators", [&options] { options.parts.own_allocators = false; });
  add_engine_flag(command, "--count-lookups", "parts.counted_lookups", [&options] { options.parts.counted_lookups = true; });
  add_engine_option(command, "--block-threshold", "BYTES", "block_threshold_bytes",
                    [&options](const Options& o) { options.block_threshold_bytes = o.block_threshold_bytes; });
  add_engine_option(command, "--restarts-max", "N", "restarts_max",
                    [&options](const Options& o) { options.restarts_max = laboratory_of(o).restarts_max; });
  add_engine_option(command, "--memory-limit", "BYTES", "memory_limit_bytes",
                    [&options](const Options& o) { options.memory_limit_bytes = o.memory_limit_bytes; });
  add_engine_option(
      command, "--prefault", "BYTES", "prefault_bytes", [&options](const Options& o) { options.prefault_bytes = o.prefault_bytes; }, {},
      "tpcc: the estimated need of loading and running; otherwise 0");
  add_engine_flag(command, "--no-huge-pages", "huge_pages", [&options] { options.huge_pages = false; });
  add_data_options(command, options.data);
  command
      .option(
          "--json",
          [&options](const std::string& file) {
            options.json_file = file;
            if (file == "-") options.quiet = true;  // otherwise the table would mix with the JSON
          },
          "Write the results to this file (- for standard output, which implies --quiet)")
      .type("FILE");
  command
      .option("--history", options.history_file,
              "Write every transaction's reads and writes to this file (slow; see check-history); a second database of the run "
              "writes to FILE.2, and so on")
      .type("FILE");
  command.flag("--quiet", options.quiet, "Do not print progress or a table");
}

namespace {
std::string key_index_names() {
  std::string names;
  for (const KeyIndex kind : kKeyIndexes) names += (names.empty() ? "" : ", ") + std::string(elider::name_of(kind));
  return names;
}
}  // namespace

void add_index_option(Command command, KeyIndex& chosen, const char* words, bool* given) {
  command
      .option(
          "--index",
          [&chosen, given](const std::string& name) {
            if (given != nullptr) *given = true;
            if (!elider::parse(name, &chosen)) refuse_option("--index", fmt::format("'{}' is not one of {}", name, key_index_names()));
          },
          words)
      .type("KIND");
}

void check_common_options(const CommonOptions& options) {
  check_sync_options(options.sync, options.htm, options.protocol, options.threads);
  const bool named = options.htm != HtmBackend::kAutomatic || options.protocol != Protocol::kOcc;
  if (options.copied_reads && options.sync != SyncPolicy::kElided && !named)
    refuse_option("--copied-reads", fmt::format("requires --sync elided, not {}", elider::name_of(options.sync)));
  check_data_options(options.data);
  check_writable("--json", options.json_file);
  check_writable("--history", options.history_file);
}

namespace {

// A checker reads the history of one database, so each database that a benchmark opens writes its
// own file.
std::string next_history(const std::string& file) {
  static std::map<std::string, int> opened;
  const int count = ++opened[file];
  return count == 1 ? file : fmt::format("{}.{}", file, count);
}

}  // namespace

Session::Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&& other) noexcept {
  // Closes the open database before its history file, because closing may still write to the
  // history.
  db_ = std::move(other.db_);
  history_ = std::move(other.history_);
  return *this;
}
Session::~Session() = default;

Result<Session> Session::open(const CommonOptions& common, std::vector<Schema> schemas) {
  Session session;
  Options options;
  options.sync = common.sync;
  options.htm = common.htm;
  options.protocol = common.protocol;
  LaboratoryOptions& laboratory = change_laboratory(options);
  laboratory.restarts_max = common.restarts_max;
  laboratory.partitions = common.partitions;
  laboratory.elision = common.elision;
  if (common.aborts_max != CommonOptions::kByCause) {
    laboratory.elision.conflict_aborts_max = laboratory.elision.capacity_aborts_max = common.aborts_max;
    laboratory.elision.system_aborts_max = common.aborts_max;
  }
  if (common.copied_reads) laboratory.elision.record_reads = false;
  laboratory.parts = common.parts;
  options.block_threshold_bytes = common.block_threshold_bytes;
  options.memory_limit_bytes = common.memory_limit_bytes;
  options.huge_pages = common.huge_pages;
  options.prefault_bytes = common.prefault_bytes.value_or(0);
  options.schemas = std::move(schemas);
  common.data.apply(options);
  if (!common.history_file.empty()) {
    auto history = HistoryFile::open(next_history(common.history_file));
    if (!history.ok()) return history.status();
    session.history_ = std::move(*history);
    options.history = session.history_.get();
  }
  auto db = Database::open(options);
  if (!db.ok()) return db.status();
  session.db_ = std::move(*db);
  return session;
}

Status Session::close() {
  db_ = Database();
  return history_ ? history_->close() : Status();
}

}  // namespace elider::bench
