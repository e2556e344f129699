// The command `elider bench durability`: options, the order of the parts, the table and the JSON.
#include "bench/durability/durability.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <regex>

#include <fmt/format.h>

#include "bench/common/commands.h"
#include "tools/common/environment.h"
#include "tools/common/interrupt.h"
#include "tools/common/values.h"

namespace elider::bench {

namespace {

struct Part {
  const char* name;
  Status (*measure)(const DurabilityOptions& options, DurabilityRows* rows);
};
constexpr Part kParts[] = {{"bytes", measure_bytes}, {"async", measure_async},       {"checkpoint", measure_checkpoint},
                           {"group", measure_group}, {"recovery", measure_recovery}, {"load", measure_load},
                           {"peer", measure_peer}};
constexpr const char* kPartNames = "bytes, async, checkpoint, group, recovery, load, peer";

constexpr const char* kHelp =
    "What is measured:\n"
    "  bytes       log bytes of a TPC-C NewOrder, compared with the bytes of the columns that it changes\n"
    "  async       TPC-C whose commits return before they are on disk, compared with TPC-C without a log\n"
    "  checkpoint  the same TPC-C with continuous checkpoints, compared with none\n"
    "  group       sessions that wait until their commit is on disk: first as fast as they can, then at half\n"
    "              that rate with random arrivals. Compares the 99th percentile of the wait with that of writing\n"
    "              and syncing the bytes of an average group, on the same disk, taking turns\n"
    "  recovery    opening a folder with the log of a TPC-C run, its files in the page cache\n"
    "  load        loading a checkpoint of such a run into tables and key indexes, its files in the page cache\n"
    "  peer        TPC-C with async, compared with another system's TPC-C and log, run by --peer-command: a shell\n"
    "              command that exits with code 0 and prints its throughput, in transactions per second.\n"
    "              ELIDER_PEER_FOLDER names an empty folder for it on the same disk. Our run has --threads threads and\n"
    "              one warehouse per thread; make sure that the command's run is comparable\n"
    "The compared variants take turns, and the median of the rounds is reported. --data selects the disk; a folder in\n"
    "memory (/dev/shm) does not measure a disk. With fewer than three free processors, the log thread competes\n"
    "with the transactions, so do not run other programs at the same time.\n"
    "\n"
    "  elider bench durability --data /srv/scratch --seconds 5 --json durability.json\n"
    "  elider bench durability --data /srv/scratch --only group --sessions 32\n"
    "  elider bench durability --data /srv/scratch --only peer --threads 2 --peer-pattern 'agg_throughput: ([0-9.e+]+)' \\\n"
    "    --peer-command '/opt/other/tpcc --threads 2 --log $ELIDER_PEER_FOLDER'\n";

void print_row(const DurabilityRow& row) {
  const Spread spread = spread_of(row.runs);
  std::string wanted;
  if (row.at_least != 0)
    wanted += fmt::format("  {} {} {}: {}", row.smaller_is_better ? "at most" : "at least", row.at_least, row.unit,
                          row.met(row.at_least) ? "met" : "NOT MET");
  if (row.aim != 0) wanted += fmt::format("  aim {} {}: {}", row.aim, row.unit, row.met(row.aim) ? "met" : "not met");
  fmt::print("{}\n  {:.3g} {}  (of {} round{}, {:.3g} to {:.3g}){}\n", row.work, spread.median, row.unit, row.runs.size(),
             row.runs.size() == 1 ? "" : "s", spread.min, spread.max, wanted);
  for (const std::string& detail : row.details) fmt::print("  {}\n", detail);
}

Json to_json(const DurabilityOptions& options, const DurabilityRows& rows) {
  Report report;
  report.benchmark = "durability";
  Json json = {{"configuration", to_json(options.common, report)["configuration"]}, {"results", Json::array()}};
  if (interrupted()) json["interrupted"] = true;
  for (const DurabilityRow& row : rows) {
    const Spread spread = spread_of(row.runs);
    Json result = {{"part", row.part}, {"work", row.work}, {"unit", row.unit}, {"runs", row.runs},
                   {"min", spread.min}, {"median", spread.median}, {"max", spread.max}, {"figures", row.figures}};
    if (row.at_least != 0) result["at_least"] = {{"wanted", row.at_least}, {"met", row.met(row.at_least)}};
    if (row.aim != 0) result["aim"] = {{"wanted", row.aim}, {"met", row.met(row.aim)}};
    json["results"].push_back(std::move(result));
  }
  return json;
}

void check(const DurabilityOptions& options) {
  const CommonOptions& common = options.common;
  if (common.data.folders.empty()) refuse_option("--data", "is required: a folder on the disk to measure");
  if (common.data.resume)
    refuse_option("--resume", "is not supported here: durability creates the databases that it compares; bench tpcc can continue one");
  if (common.data.durability != Durability::kAsync)
    refuse_option("--durability", "is not supported here: durability measures both async and group");
  check_common_options(common);
  for (const std::string& name : options.parts)
    if (std::none_of(std::begin(kParts), std::end(kParts), [&](const Part& part) { return name == part.name; }))
      refuse_option("--only", fmt::format("'{}' is not one of {}", name, kPartNames));
  const bool named = std::find(options.parts.begin(), options.parts.end(), "peer") != options.parts.end();
  if (named && options.peer_command.empty()) refuse_option("--peer-command", "is required: the command that runs the peer's TPC-C");
  if (!options.peer_command.empty() && !options.wants("peer"))
    refuse_option("--peer-command", "is used only by the part 'peer', which --only leaves out");
  try {
    static_cast<void>(std::regex(options.peer_pattern));
  } catch (const std::regex_error& error) {
    refuse_option("--peer-pattern", fmt::format("'{}' is not a regular expression: {}", options.peer_pattern, error.what()));
  }
}

void run(DurabilityOptions& options) {
  check(options);
  std::error_code error;
  const std::string& folder = options.common.data.folders.front();
  const bool made = std::filesystem::create_directories(folder, error);
  DurabilityRows rows;
  Status status = error ? Status(Code::kIoError, fmt::format("--data: cannot create '{}': {}", folder, error.message())) : Status();
  for (const Part& part : kParts) {
    if (!status.ok() || interrupted() || !options.wants(part.name)) continue;
    const size_t first = rows.size();
    status = part.measure(options, &rows);
    show_step(options, "");
    if (interrupted()) {  // a part that was interrupted is not reported
      rows.resize(first);
      if (!status.ok()) status = Status();
    }
    for (size_t i = first; i < rows.size() && !options.common.quiet; ++i) print_row(rows[i]);
    std::fflush(stdout);
  }
  if (made) std::filesystem::remove(folder, error);
  if (status.ok() && !options.common.quiet) {
    if (interrupted()) fmt::print("interrupted: the results do not include the interrupted part and those after it\n");
    const Environment machine = environment();
    fmt::print("machine: {}, {} processors; commit {}, {}\n", machine.cpu, machine.cpus, machine.commit, machine.build);
  }
  if (status.ok() && !options.common.json_file.empty()) status = write_json(options.common.json_file, to_json(options, rows));
  if (status.ok()) return;
  fmt::print(stderr, "elider bench durability: {}\n", status.message());
  set_exit_code(kExitFailed);
}

}  // namespace

bool DurabilityOptions::wants(const std::string& part) const {
  if (parts.empty()) return part != "peer" || !peer_command.empty();
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

bool DurabilityRow::met(double wanted) const {
  const double median = spread_of(runs).median;
  return smaller_is_better ? median <= wanted : median >= wanted;
}

RunFolder::RunFolder(const DurabilityOptions& options, const std::string& name)
    : path_(options.common.data.folders.front() + "/elider-" + name + "-" + std::to_string(::getpid())) {
  std::error_code error;
  std::filesystem::create_directories(path_, error);  // an error is reported by the first use of the folder
}

RunFolder::~RunFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

void show_step(const DurabilityOptions& options, const std::string& what) {
  if (options.common.quiet || ::isatty(STDERR_FILENO) != 1) return;
  fmt::print(stderr, "\r{:<70}{}", what, what.empty() ? "\r" : "");
  std::fflush(stderr);
}

void add_durability(Command bench) {
  auto options = std::make_shared<DurabilityOptions>();
  options->common.seconds = 5;
  Command command = bench.add("durability", "Measure the cost of the log and of checkpoints, the latency of durable commits, and recovery");
  command.footer(kHelp);
  command.option("--repeat", options->repeat, "Rounds of each comparison (1 to 100)")
      .in(1u, 100u)
      .shows_default();
  command.option("--sessions", options->sessions, "For group: sessions that wait for the disk at the same time (1 to 256)")
      .in(1u, 256u)
      .shows_default();
  command.option("--only", options->parts, fmt::format("{}, separated by commas [all; peer only with --peer-command]", kPartNames))
      .between_commas()
      .type("PART");
  command.option("--peer-command", options->peer_command, "For peer: the command that runs another system's TPC-C").type("CMD");
  options->peer_pattern = kPeerPattern;
  command
      .option("--peer-pattern", options->peer_pattern,
              "Regular expression that finds the throughput in the command's output: the first match's first group, or the whole match "
              "[a number before txn/s or ops/s]")
      .type("REGEX");
  command.option("--peer-at-least", options->peer_at_least, "The expected ratio; the report says whether it was reached")
      .checked(check_positive);
  command.option("--peer-timeout", options->peer_seconds_max, "Maximum seconds for one run of the command")
      .checked(check_seconds)
      .shows_default();
  add_common_options(command, options->common);
  command.runs([options] { run(*options); });
}

}  // namespace elider::bench
