// The command `elider-lab protocols`: its options, and the page that it writes.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bench/common/child_command.h"
#include "lab/commands.h"
#include "bench/common/options.h"
#include "lab/protocols/protocols.h"
#include "tools/common/environment.h"
#include "tools/common/interrupt.h"
#include "tools/common/values.h"

namespace elider::bench {

namespace {

struct ChosenProtocols {
  protocols::StudyOptions study;
  std::vector<std::string> names = {"occ", "timestamp", "two-phase-locking", "partitioned", "serial"};
  std::vector<std::string> figures = {"all"};
  std::string json_file, page;
  bool quiet = false;
};

// Returns a Markdown table with one row per value of x and one column per series.
std::string table_of(const Figure& figure) {
  std::map<double, std::vector<std::optional<double>>> rows;
  std::string text = fmt::format("| {} |", figure.x), rule = "|---|";
  for (size_t i = 0; i < figure.series.size(); ++i) {
    text += fmt::format(" {} |", figure.series[i].name);
    rule += "---|";
    for (const Point& point : figure.series[i].points) {
      auto& row = rows[point.x];
      row.resize(figure.series.size());
      row[i] = point.y;
    }
  }
  text += "\n" + rule + "\n";
  for (const auto& [x, row] : rows) {
    text += fmt::format("| {:.10g} |", x);
    for (const std::optional<double>& y : row) text += y ? fmt::format(" {} |", short_number(*y)) : " |";
    text += "\n";
  }
  return text;
}

// Writes the page in Markdown. For each figure, `elider plot` makes a drawing in the same folder.
Status write_page(const std::string& file, const Json& configuration, const std::vector<Figure>& figures, const std::string& by) {
  const std::filesystem::path page(file);
  std::error_code ignored;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "elider";
  std::ofstream out(page);
  out << fmt::format("# Measurements of protocols\n\nWritten by `elider-lab protocols` on {}; commit {}.\n", by,
                     configuration.value("commit", "unknown"));
  for (const Figure& figure : figures) {
    const std::filesystem::path drawing = page.parent_path() / (page.stem().string() + "-" + figure.name + ".svg"),
                                data = page.parent_path() / (page.stem().string() + "-" + figure.name + ".json");
    out << fmt::format("\n## {}: {}\n\nShown: {}.", figure.name, figure.title, figure.y);
    if (!figure.here.empty()) out << " Here: " << figure.here << ".";
    out << " Published: " << figure.published << ".\n\n" << table_of(figure);
    Json document = {{"configuration", configuration}, {"figures", Json::array({to_json(figure, by)})}};
    if (Status status = write_json(data.string(), document); !status.ok()) return status;
    std::string said;
    Status drawn = run_command(fmt::format("'{}' plot '{}' -o '{}'", own.string(), data.string(), drawing.string()), {}, &said);
    if (!drawn.ok()) return Status(drawn.code(), fmt::format("drawing '{}': {}", drawing.string(), drawn.message()));
    std::filesystem::remove(data, ignored);
    out << fmt::format("\n![{}]({})\n", figure.title, drawing.filename().string());
  }
  out.flush();
  return out ? Status() : Status(Code::kIoError, fmt::format("cannot write '{}'", file));
}

Status run_studies_of(const ChosenProtocols& chosen) {
  const std::string by = tools::machine_line();
  std::vector<Figure> figures;
  const InterruptWatch watch(true);
  for (const protocols::Study& study : protocols::studies()) {
    if (std::none_of(chosen.figures.begin(), chosen.figures.end(),
                     [&](const std::string& name) { return name == "all" || name == study.name; }))
      continue;
    if (!chosen.quiet) fmt::print(stderr, "measuring {}: {}\n", study.name, study.about);
    auto figure = study.run(chosen.study);
    if (interrupted()) break;
    if (!figure.ok()) return Status(figure.status().code(), std::string(study.name) + ": " + figure.status().message());
    if (!chosen.quiet) print_figure(*figure, by);
    std::fflush(stdout);
    figures.push_back(std::move(*figure));
  }
  Json configuration = {{"benchmark", "protocols"},  {"regions_by", by},
                        {"quick", chosen.study.quick},     {"threads", chosen.study.threads},
                        {"seconds", chosen.study.seconds}, {"repeats", chosen.study.repeats},
                        {"seed", chosen.study.seed}};
  add_environment(configuration);
  Json document = {{"configuration", configuration}, {"figures", Json::array()}};
  for (const Figure& figure : figures) document["figures"].push_back(to_json(figure, by));
  if (interrupted()) document["interrupted"] = true;
  if (!chosen.json_file.empty())
    if (Status status = write_json(chosen.json_file, document); !status.ok()) return status;
  return chosen.page.empty() ? Status() : write_page(chosen.page, configuration, figures, by);
}

void run_protocols(ChosenProtocols& chosen) {
  if (chosen.study.quick) chosen.study.seconds = std::min(chosen.study.seconds, 0.3);
  chosen.study.protocols.clear();
  for (const std::string& name : chosen.names) {
    Protocol protocol;
    if (!parse(name, &protocol)) refuse_option("--protocol", fmt::format("'{}' is unknown", name));
    if (protocol == Protocol::kWholeTransaction || protocol == Protocol::kSpinlock)
      refuse_option("--protocol", fmt::format("{} requires --sync elided, which elider-lab htm measures", name));
    chosen.study.protocols.push_back(protocol);
  }
  for (const std::string& name : chosen.figures) {
    const auto all = protocols::studies();
    if (name != "all" && std::none_of(all.begin(), all.end(), [&](const protocols::Study& study) { return name == study.name; }))
      refuse_option("--figure", fmt::format("'{}' is unknown; --help lists all figures", name));
  }
  if (!chosen.page.empty()) check_writable("--page", chosen.page);
  if (!std::filesystem::is_directory(chosen.study.folder))
    refuse_option("--data", fmt::format("'{}' is not a folder", chosen.study.folder));
  if (Status status = run_studies_of(chosen); !status.ok()) {
    fmt::print(stderr, "elider-lab protocols: {}\n", status.message());
    set_exit_code(kExitFailed);
  }
}

std::string footer_of_protocols() {
  std::string text = "Figures (HyPer-HTM, TKDE 2015; DBX, EuroSys 2014; yDB; DBX-TC):\n";
  for (const protocols::Study& study : protocols::studies()) text += fmt::format("  {:<10} {}\n", study.name, study.about);
  return text +
         "\nEvery run of TPC-C checks its consistency conditions. --page writes a Markdown page and a drawing of each figure\n"
         "(needs python3-matplotlib).\n"
         "\n  elider-lab protocols --quick\n  elider-lab protocols --repeats 3 --page protocols.md\n";
}

}  // namespace

void add_protocols(Command bench) {
  auto chosen = std::make_shared<ChosenProtocols>();
  Command command = bench.add("protocols", "Compare protocols: TPC-C by threads, warehouses, partition crossing and restarts; zones");
  chosen->study.threads = std::clamp(std::thread::hardware_concurrency(), 1u, 64u);
  command.option("--figure", chosen->figures, "Names of the figures, or all").between_commas().type("NAMES").shows_default();
  command.option("--protocol", chosen->names, "The protocols to compare").between_commas().type("NAMES").shows_default();
  if (const char* temporary = std::getenv("TMPDIR"); temporary != nullptr && *temporary != '\0') chosen->study.folder = temporary;
  command
      .option("--data", chosen->study.folder,
              "For dbx-16, dbx-17, dbx-tc-13b and dbx-tc-13c: a folder on the disk to measure, for temporary databases "
              "[TMPDIR, or the current folder]")
      .type("FOLDER");
  command.flag("--quick", chosen->study.quick, "For a first look: fewer points, small warehouses, and runs of up to 0.3 s");
  command.option("--threads", chosen->study.threads, "Maximum number of threads (1 to 64)").in(1u, 64u).shows_default();
  command.option("--seconds", chosen->study.seconds, "A run").checked(check_seconds).in(0.1, 3600.0).shows_default();
  command.option("--repeats", chosen->study.repeats, "Runs per point, of which the median is used (1 to 100)").in(1u, 100u).shows_default();
  command.option("--seed", chosen->study.seed, "Seed of all random inputs").checked(check_whole_number).shows_default();
  command.option("--json", chosen->json_file, "Write the figures to this file (- for standard output, which implies --quiet)").type("FILE");
  command.option("--page", chosen->page, "Write a Markdown page with all figures to this file").type("FILE.md");
  command.flag("--quiet", chosen->quiet, "No tables");
  command.footer(footer_of_protocols());
  command.runs([chosen] {
    if (chosen->json_file == "-") chosen->quiet = true;  // a table on standard output would not be JSON
    run_protocols(*chosen);
  });
}

}  // namespace elider::bench
