// The command `elider-lab htm`: measures the papers' figures about hardware transactions, with a
// backend that this machine supports.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "lab/commands.h"
#include "tools/common/interrupt.h"
#include "bench/common/options.h"
#include "tools/common/environment.h"
#include "lab/htm/studies.h"
#include "elider/hardware.h"
#include "elider/options.h"
#include "lab/studies/try_region.h"
#include "tools/common/values.h"

namespace elider::bench {

namespace htm {

std::span<const Study> studies() {
  static constexpr Study kStudies[] = {
      {"dbx-1a", "abort rate by size of the working set, accessed in order", dbx_1a},
      {"dbx-1b", "the same with two threads per core", dbx_1b},
      {"dbx-1c", "amount of data that a region can read, by amount written", dbx_1c},
      {"dbx-1d", "abort rate by duration", dbx_1d},
      {"hyper-5", "abort rate by number of random lines written", hyper_5},
      {"hyper-6", "abort rate by duration, in powers of ten", hyper_6},
      {"dbx-tc-1b", "abort rate by length of a chain of random elements written", dbx_tc_1b},
      {"dbx-9", "TPC-C: aborted regions and acquired locks, by number of threads", dbx_9},
      {"dbx-10", "TPC-C: whole transactions as regions compared with small regions", dbx_10},
      {"dbx-15", "TPC-C: the contribution of each part", dbx_15},
      {"dbx-tc-1c", "TPC-C with whole transactions as regions, by contention", dbx_tc_1c},
      {"hyper-9", "lookups in a B+-tree, by restarts", hyper_9},
      {"hyper-21", "TPC-C: sections that acquire their lock, and aborted regions, by restarts", hyper_21},
      {"dbx-tc-table-1", "TPC-C: bytes that each transaction reads and writes (emulator)", dbx_tc_table_1, true},
  };
  return kStudies;
}

}  // namespace htm

namespace {

constexpr uint32_t kThreadsMax = 64;

struct Chosen {
  htm::StudyOptions study;
  std::vector<std::string> figures = {"all"};
  std::string backend = "automatic", index = "btree";
  std::string json_file;
  bool quiet = false;
};

// Describes what ran the hardware transactions.
std::string regions_by(HtmBackend backend) {
  switch (backend) {
    case HtmBackend::kRtm: return "rtm: " + hardware().name;
    case HtmBackend::kEmulated: return "emulated: not the speed of a processor";
    case HtmBackend::kAlwaysAborts: return "always-aborts: no region ever commits";
    default: return std::string(name_of(backend));
  }
}

std::vector<const htm::Study*> wanted(const Chosen& chosen) {
  std::vector<const htm::Study*> found;
  for (const std::string& name : chosen.figures) {
    const size_t before = found.size();
    for (const htm::Study& study : htm::studies())
      if (name == "all" || name == study.name) found.push_back(&study);
    if (found.size() == before) refuse_option("--figure", fmt::format("'{}' is unknown; --help lists all figures", name));
  }
  return found;
}

// If the regions do not run on the emulator, removes the studies that require it from *studies.
//   kUnsupported  the user named one of these studies
Status leave_out(const Chosen& chosen, bool emulated, std::vector<const htm::Study*>* studies) {
  for (const htm::Study* study : *studies)
    if (study->needs_emulator && !emulated && std::find(chosen.figures.begin(), chosen.figures.end(), study->name) != chosen.figures.end())
      return Status(
          Code::kUnsupported,
          fmt::format("{}: only the emulator can measure this figure; use the preset emulator (docs/lab/emulator.md) with --htm emulated",
                      study->name));
  std::erase_if(*studies, [&](const htm::Study* study) { return study->needs_emulator && !emulated; });
  return {};
}

Status run_studies(const Chosen& chosen, const std::vector<const htm::Study*>& studies) {
  const std::string backend = regions_by(chosen.study.htm);
  if (!chosen.quiet) fmt::print("regions by {}\n", backend);
  Json figures = Json::array();
  const InterruptWatch watch(true);
  for (const htm::Study* study : studies) {
    auto figure = study->run(chosen.study);
    if (interrupted()) break;  // the figure is incomplete
    if (!figure.ok()) return Status(figure.status().code(), std::string(study->name) + ": " + figure.status().message());
    if (!chosen.quiet) print_figure(*figure, backend);
    std::fflush(stdout);
    figures.push_back(to_json(*figure, backend));
  }
  if (interrupted()) fmt::print(stderr, "elider-lab htm: interrupted after {} of {} figures\n", figures.size(), studies.size());
  Json configuration = {{"benchmark", "htm"},
                        {"htm_used", std::string(name_of(chosen.study.htm))},
                        {"regions_by", backend},
                        {"quick", chosen.study.quick},
                        {"threads", chosen.study.threads},
                        {"index", chosen.index},
                        {"groups", chosen.study.groups},
                        {"additions", chosen.study.additions},
                        {"seconds", chosen.study.seconds},
                        {"seed", chosen.study.seed},
                        {"data", chosen.study.data.folders},
                        {"durability", chosen.study.data.folders.empty() ? "none" : std::string(name_of(chosen.study.data.durability))}};
  add_environment(configuration);
  Json document = {{"configuration", configuration}, {"figures", figures}};
  if (interrupted()) document["interrupted"] = true;
  return chosen.json_file.empty() ? Status() : write_json(chosen.json_file, document);
}

void run(Chosen& chosen) {
  if (chosen.study.quick) chosen.study.seconds = std::min(chosen.study.seconds, 0.5);
  std::vector<const htm::Study*> studies = wanted(chosen);
  chosen.study.mixed_indexes = chosen.index == "mixed";
  const DataOptions& data = chosen.study.data;
  if (data.resume) refuse_option("--resume", "is not supported by htm, because each point of a figure uses a new database");
  check_data_options(data);
  check_writable("--history", chosen.study.history_file);
  if (!parse(chosen.backend, &chosen.study.htm)) refuse_option("--htm", fmt::format("'{}' is not a backend", chosen.backend));
  const Status found = find_regions(&chosen.study.htm);
  Status status = leave_out(chosen, found.ok() && chosen.study.emulated(), &studies);
  if (status.ok()) status = found;
  if (!status.ok()) {
    fmt::print(stderr, "elider-lab htm: {}\n", status.message());
    set_exit_code(kExitUnsupported);
    return;
  }
  if (status = run_studies(chosen, studies); !status.ok()) {
    fmt::print(stderr, "elider-lab htm: {}\n", status.message());
    set_exit_code(kExitFailed);
  }
}

std::string footer() {
  std::string text = "Figures (DBX, EuroSys 2014; HyPer-HTM, TKDE 2015; DBX-TC):\n";
  for (const htm::Study& study : htm::studies()) text += fmt::format("  {:<14} {}\n", study.name, study.about);
  return text +
         "\nEach figure names the backend that ran the regions. Figures of the emulator do not show a processor's speed.\n"
         "Exit code 3: this machine cannot run regions (see elider hardware); use another machine or the preset emulator.\n"
         "With --data, the databases of dbx-9 and the figures after it write a log to this folder, which is emptied after each\n"
         "run. The other figures do not use a database.\n"
         "\n  elider-lab htm --quick\n  elider-lab htm --figure dbx-1a,hyper-5 --json htm.json && elider plot htm.json -o htm.png\n";
}

}  // namespace

void add_htm(Command bench) {
  auto chosen = std::make_shared<Chosen>();
  Command command = bench.add("htm", "Reproduce the papers' figures about hardware transactions on this machine");
  chosen->study.threads = std::clamp(std::thread::hardware_concurrency(), 1u, kThreadsMax);
  command.option("--figure", chosen->figures, "Names of the figures, or all").between_commas().type("NAMES").shows_default();
  command.option("--htm", chosen->backend, "Backend of the regions: automatic, rtm, always-aborts, emulated")
      .type("BACKEND")
      .shows_default();
  command.flag("--quick", chosen->study.quick, "For a first look: fewer points and regions, runs of up to 0.5 s, small databases");
  command.option("--threads", chosen->study.threads, "Maximum number of threads (1 to 64)").in(1u, kThreadsMax).shows_default();
  command.option("--seconds", chosen->study.seconds, "Seconds per point, in figures with a database")
      .checked(check_seconds)
      .in(0.1, 3600.0)
      .shows_default();
  command.option("--records", chosen->study.records, "Entries of hyper-9")
      .in(uint64_t{1000}, uint64_t{100'000'000})
      .shows_default();
  command.option("--index", chosen->index, "Indexes of TPC-C: btree, as in the papers, or mixed")
      .one_of({"btree", "mixed"})
      .shows_default();
  command.flag("--groups", chosen->study.groups, "Use column groups in TPC-C, unlike the papers");
  command.flag("--additions", chosen->study.additions, "Use additions in TPC-C's Payments, unlike the papers, which read and write sums");
  command.option("--seed", chosen->study.seed, "Seed of all random inputs").checked(check_whole_number).shows_default();
  command.option("--json", chosen->json_file, "Write the figures to this file (- for standard output, which implies --quiet)").type("FILE");
  command
      .option("--history", chosen->study.history_file,
                  "Record the transactions of figures with databases in this file (slow; see check-history), those of the second in FILE.2")
      .type("FILE");
  add_data_options(command, chosen->study.data);
  command.flag("--quiet", chosen->quiet, "No tables");
  command.footer(footer());
  command.runs([chosen] {
    if (chosen->json_file == "-") chosen->quiet = true;  // a table on standard output would not be JSON
    run(*chosen);
  });
}

}  // namespace elider::bench
