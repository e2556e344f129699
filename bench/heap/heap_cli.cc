// The options, help and tables of `elider bench heap`.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "bench/common/commands.h"
#include "bench/common/engine_option.h"
#include "bench/common/report.h"
#include "bench/common/figure.h"
#include "bench/common/spread.h"
#include "bench/heap/heap_figures.h"
#include "bench/heap/heap_history.h"
#include "bench/heap/heap_study.h"
#include "elider/heap_option_table.h"
#include "elider/hardware.h"
#include "elider/try.h"
#include "tools/common/environment.h"
#include "tools/common/interrupt.h"

namespace elider::bench {

namespace {

constexpr const char* kHeapHelp =
    "Each study measures its variants in turns, and prints the heap's speed relative to each of the others.\n"
    "\n"
    "  reads    read-only transactions with one concurrent writer; also on plain memory without synchronization\n"
    "  updates  transactions that read and write words, with DUMBO's durability wait, SPHT's, and Pisces's order\n"
    "  map      puts into a durable map that wait for the disk once per group; LMDB and RocksDB sync each put\n"
    "  tpcc     TPC-C with the mixes of the paper's figures, with both isolations, SPHT's wait and Pisces's order; checks\n"
    "           TPC-C's twelve conditions. Loading and checking take about 20 seconds for each of eight mixes\n"
    "  lines    the cache lines that a transaction of TPC-C reads and writes, by kind\n"
    "  replay   replay of the log, compared with following links from record to record\n"
    "\n"
    "--figure runs these studies by thread count to make DUMBO's figures, as `elider-lab protocols` does for other papers:\n"
    "dumbo-1, dumbo-4, dumbo-6 to dumbo-8 use tpcc, dumbo-table-1 uses lines, dumbo-9 uses replay. Without --backend,\n"
    "the figures' update transactions run in hardware transactions if the processor supports them, as in the paper.\n"
    "\n"
    "  elider bench heap\n"
    "  elider bench heap --study map --data /data --group 256\n"
    "  elider bench heap --figure dumbo-7 --json dumbo.json && elider plot dumbo.json -o dumbo.svg\n"
    "  elider bench heap --history elle.jsonl --threads 4\n"
    "\n"
    "Sums of the written values are checked; if one is wrong, the exit code is 1. SPHT's wait and Pisces's order (a commit\n"
    "becomes durable before it becomes visible) are implemented in our heap, to compare the ideas. With --medium delay,\n"
    "writing back a cache line takes --flush-ns, as in the paper.\n";

struct HeapChosen {
  HeapStudyOptions study;
  std::string medium = "delay", isolation = "serializable", backend = "automatic";
  std::string durability = "wait", wait = "pruned";
  HeapHistoryOptions history;
  std::vector<std::string> figures;
  bool quick = false;
  uint32_t threads = 0;  // 0: the default that --help shows
  std::string json_file;
};

// Returns the ratio of the first variant to another one, computed within each repetition.
Spread ratio_of(const HeapSeries& first, const HeapSeries& other) {
  std::vector<double> ratios;
  for (size_t i = 0; i < first.values.size() && i < other.values.size(); ++i) ratios.push_back(first.values[i] / other.values[i]);
  return spread_of(std::move(ratios));
}

void print_heap(const std::vector<HeapFigure>& figures) {
  for (const HeapFigure& figure : figures) {
    const HeapSeries* const subject = figure.subject == HeapFigure::kNone ? nullptr : &figure.series[figure.subject];
    fmt::print("\n{}: {}\n  {:<24} {:>9} {:>9} {:>9}   {}\n", figure.study, figure.unit, "", "median", "min", "max",
               subject == nullptr ? "" : fmt::format("{} / this", subject->variant));
    for (const HeapSeries& series : figure.series) {
      const Spread spread = spread_of(series.values);
      fmt::print("  {:<24} {:>9} {:>9} {:>9}", series.variant, short_number(spread.median), short_number(spread.min),
                 short_number(spread.max));
      if (subject != nullptr && subject != &series) {
        const Spread ratio = ratio_of(*subject, series);
        fmt::print("   {:.2f} ({:.2f} to {:.2f})", ratio.median, ratio.min, ratio.max);
      }
      fmt::print("\n");
    }
  }
}

Json configuration_of(const HeapChosen& chosen) {
  Json configuration = {{"benchmark", "heap"},               {"quick", chosen.quick},
                        {"medium", chosen.medium},           {"isolation", chosen.isolation},
                        {"backend", chosen.backend},         {"suspended_reads", chosen.study.suspended_reads},
                        {"flush_ns", chosen.study.flush_ns}, {"threads", chosen.study.threads},
                        {"seconds", chosen.study.seconds},   {"words", chosen.study.words},
                        {"reads", chosen.study.reads},       {"writes", chosen.study.writes},
                        {"group", chosen.study.group},       {"replayed", chosen.study.replayed},
                        {"seed", chosen.study.seed}};
  add_environment(configuration);
  return configuration;
}

// Prints one table per figure and writes one JSON document, like the commands for other papers'
// figures.
Status heap_figures(HeapChosen& chosen) {
  if (chosen.quick) {
    chosen.study.sizes.items = 1000;
    chosen.study.sizes.customers = 60;
    chosen.study.seconds = std::min(chosen.study.seconds, 0.1);
    chosen.study.repeat = 1;
    chosen.study.replayed = 20'000;
  }
  if (chosen.threads == 0) chosen.study.threads = std::clamp(std::thread::hardware_concurrency(), 2u, 64u);
  if (chosen.study.backend == HtmBackend::kAutomatic) chosen.study.backend = hardware().automatic_htm;
  const std::string by = tools::machine_line();
  Json document = {{"configuration", configuration_of(chosen)}, {"figures", Json::array()}};
  document["configuration"]["regions_by"] = by;
  for (const HeapPaperFigure& one : heap_paper_figures()) {
    if (std::find(chosen.figures.begin(), chosen.figures.end(), one.name) == chosen.figures.end()) continue;
    ELIDER_ASSIGN(const Figure figure, one.run(chosen.study));
    if (interrupted()) break;  // points are missing from the figure
    if (chosen.json_file != "-") print_figure(figure, by);
    document["figures"].push_back(to_json(figure, by));
  }
  return chosen.json_file.empty() ? Status() : write_json(chosen.json_file, document);
}

Status heap_study(HeapChosen& chosen) {
  for (const HtmBackend backend : {HtmBackend::kAutomatic, HtmBackend::kRtm, HtmBackend::kEmulated})
    if (name_of(backend) == chosen.backend) chosen.study.backend = backend;
  if (chosen.backend == "software") chosen.study.backend = HtmBackend::kNone;
  for (const HeapMedium medium : {HeapMedium::kFile, HeapMedium::kDax, HeapMedium::kDelay})
    if (name_of(medium) == chosen.medium) chosen.study.medium = medium;
  if (chosen.threads != 0) chosen.study.threads = chosen.threads;
  if (chosen.isolation == "snapshot") chosen.study.isolation = HeapIsolation::kSnapshot;
  if (!chosen.history.path.empty()) {
    chosen.history.medium = chosen.study.medium;
    chosen.history.isolation = chosen.study.isolation;
    chosen.history.backend = chosen.study.backend;
    chosen.history.suspended_reads = chosen.study.suspended_reads;
    if (chosen.durability == "later") chosen.history.durability = HeapDurability::kLater;
    for (const HeapWait wait : {HeapWait::kPruned, HeapWait::kTotal, HeapWait::kOwn})
      if (name_of(wait) == chosen.wait) chosen.history.wait = wait;
    chosen.history.threads = chosen.study.threads;
    chosen.history.seed = chosen.study.seed;
    chosen.history.folder = chosen.study.folder;
    uint64_t again = 0, in_regions = 0;
    ELIDER_TRY(write_heap_history(chosen.history, &again, &in_regions));
    fmt::print("{} transactions, {} of them in regions, and the reads of {} runs that met a conflict were written to '{}'\n",
               chosen.history.transactions, in_regions, again, chosen.history.path);
    return {};
  }
  if (chosen.study.threads < 2) refuse_option("--threads", "must be at least 2, because one thread writes while the others read");
  if (!chosen.figures.empty()) {
    const Status status = heap_figures(chosen);
    if (interrupted()) set_exit_code(kExitInterrupted);
    return status;
  }
  auto figures = run_heap_study(chosen.study);
  if (!figures.ok()) return figures.status();
  if (chosen.json_file != "-") print_heap(*figures);
  if (interrupted()) set_exit_code(kExitInterrupted);
  if (chosen.json_file.empty()) return {};
  Json document = {{"benchmark", "heap"}, {"figures", Json::array()}};
  for (const HeapFigure& figure : *figures) {
    Json series = Json::array();
    for (const HeapSeries& one : figure.series) series.push_back({{"variant", one.variant}, {"values", one.values}});
    document["figures"].push_back({{"study", figure.study}, {"unit", figure.unit}, {"series", series}});
  }
  document["configuration"] = configuration_of(chosen);
  return write_json(chosen.json_file, document);
}

const OptionInfo& heap_option(std::string_view name) {
  for (const OptionInfo& option : heap_option_table())
    if (option.name == name) return option;
  throw std::logic_error("the heap does not have such an option");
}

std::vector<std::string> figure_names() {
  std::vector<std::string> names;
  for (const HeapPaperFigure& figure : heap_paper_figures()) names.emplace_back(figure.name);
  return names;
}

}  // namespace

void add_heap(Command bench) {
  auto chosen = std::make_shared<HeapChosen>();
  Command command =
      bench.add("heap", "Measure the durable heap: reads, updates, map, TPC-C and replay, compared with other systems (DUMBO)");
  HeapStudyOptions& study = chosen->study;
  command.option("--study", study.studies, "Run only these studies: reads, updates, map, tpcc, lines, replay [all]")
      .between_commas()
      .one_of(heap_studies());
  command.option("--figure", chosen->figures, "Produce these figures of the DUMBO paper instead of running studies, separated by commas")
      .between_commas()
      .one_of(figure_names())
      .excludes(command.named("--study"));
  command.flag("--quick", chosen->quick, "With --figure: short runs on small warehouses, for a first look");
  command.option("--backend", chosen->backend, "How update transactions run, except in map and replay")
      .one_of({"automatic", "software", "rtm", "emulated"})
      .shows_default();
  command.flag(
      "--tracked-reads", [chosen] { chosen->study.suspended_reads = false; },
      "With --backend rtm: track reads while waiting, as on processors that cannot suspend tracking");
  command.option("--medium", chosen->medium, "Durable medium in reads, updates and --history")
      .one_of(choices_of(heap_option("medium")))
      .shows_default();
  command.option("--isolation", chosen->isolation, "Isolation in reads, updates and --history")
      .one_of(choices_of(heap_option("isolation")))
      .shows_default();
  command.option("--flush-ns", study.flush_ns, "With --medium delay: time to flush a cache line, in nanoseconds")
      .in(0u, static_cast<uint32_t>(heap_option("flush_ns").max))
      .shows_default();
  command.option("--threads", chosen->threads, "Threads; in the study reads, one of them writes [2; with --figure, one per processor]")
      .in(1u, 64u)
      .type("N");
  command.option("--seconds", study.seconds, "Measured seconds for each value (0.01 to 3600)").in(0.01, 3600.0).shows_default();
  command.option("--repeat", study.repeat, "Repetitions, with the variants taking turns").in(1u, 100u).shows_default();
  command.option("--words", study.words, "Number of 8-byte words that are read and written")
      .in(uint64_t{1024}, uint64_t{1} << 30)
      .shows_default();
  command.option("--reads", study.reads, "Words that a transaction reads").in(1u, 1'000'000u).shows_default();
  command.option("--writes", study.writes, "Words that an update writes").in(2u, 10'000u).shows_default();
  command.option("--warehouses", study.sizes.warehouses, "For tpcc: warehouses [one per thread]").in(1u, 1000u).type("N");
  command.option("--items", study.sizes.items, "For tpcc: items; smaller numbers are only for tests")
      .in(100u, tpcc::Sizes{}.items)
      .shows_default();
  command.option("--customers", study.sizes.customers, "For tpcc: customers per district; smaller numbers are only for tests")
      .in(20u, tpcc::Sizes{}.customers)
      .shows_default();
  command.option("--group", study.group, "For map: puts after which a thread waits for the disk").in(1u, 100'000u).shows_default();
  command.option("--replayed", study.replayed, "For replay: transactions in the log")
      .in(uint64_t{1000}, uint64_t{4'000'000})
      .shows_default();
  command.option("--data", study.folder, "Folder for the files [the temporary folder]").type("FOLDER");
  command.option("--history", chosen->history.path, "Do not measure; write a history of lists in Elle's format (docs/history.md)")
      .type("FILE")
      .excludes(command.named("--study"))
      .excludes(command.named("--figure"));
  command.option("--transactions", chosen->history.transactions, "For --history: number of transactions")
      .in(uint64_t{1}, uint64_t{10'000'000})
      .shows_default();
  command.option("--durability", chosen->durability, "For --history: when a transaction returns")
      .one_of(choices_of(heap_option("durability")))
      .shows_default();
  command.option("--wait", chosen->wait, "For --history: the transactions whose durability a transaction waits for (docs/heap.md)")
      .one_of(choices_of(heap_option("wait")))
      .shows_default();
  command.option("--seed", study.seed, "Seed of all random inputs").shows_default();
  command.option("--json", chosen->json_file, "Also write the results as JSON to this file (- for standard output, instead of the table)")
      .type("FILE");
  command.flag("--quiet", study.quiet, "Do not print progress");
  command.footer(kHeapHelp);
  command.runs([chosen] {
    if (Status status = heap_study(*chosen); !status.ok()) {
      fmt::print(stderr, "elider bench heap: {}\n", status.message());
      set_exit_code(kExitFailed);
    }
  });
}

}  // namespace elider::bench
