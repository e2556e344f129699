// The command `elider bench figures`: a page that says where a paper's sections stand, and what its
// figures give here.
#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/common/commands.h"
#include "bench/common/report.h"
#include "bench/figures/papers.h"
#include "tools/common/values.h"

namespace elider::bench {

namespace {

struct ChosenFigures {
  std::vector<std::string> papers{"hyper"};
  std::vector<std::string> files;
  std::string output = "-";
};

// By name; of several documents that have one, the last counts.
using Measured = std::map<std::string, Json>;

Result<Measured> read_documents(const std::vector<std::string>& files) {
  Measured measured;
  for (const std::string& file : files) {
    std::ifstream in(file);
    if (!in) return Status(Code::kIoError, fmt::format("'{}' cannot be read", file));
    const Json document = Json::parse(in, nullptr, false);
    if (document.is_discarded() || !document.is_object() || !document.contains("figures") || !document["figures"].is_array())
      return Status::invalid_argument(fmt::format("'{}' is no document of figures: bench protocols and bench htm write them with --json", file));
    for (const Json& figure : document["figures"]) {
      const bool whole = figure.is_object() && figure.value("figure", Json()).is_string() && figure.value("series", Json()).is_array();
      if (!whole) return Status::invalid_argument(fmt::format("'{}': a figure lacks its name or its series", file));
      measured[figure["figure"].get<std::string>()] = figure;
    }
  }
  return measured;
}

// Of each line the first and the last value: "occ 316 K to 594 K (threads 1 to 2)".
std::string summary_of(const Json& figure) {
  std::string text, range;
  for (const Json& line : figure["series"]) {
    const Json points = line.value("points", Json::array());
    if (points.empty()) continue;
    const auto value = [](const Json& point, const char* name) { return point.is_object() && point.contains(name) && point[name].is_number() ? point[name].get<double>() : 0; };
    const Json &first = points.front(), &last = points.back();
    text += fmt::format("{}{} {} to {}", text.empty() ? "" : "; ", line.value("name", "?"), short_number(value(first, "y")), short_number(value(last, "y")));
    range = fmt::format("{} {:g} to {:g}", figure.value("x", "x"), value(first, "x"), value(last, "x"));
  }
  return fmt::format("{} ({}; {}; by {})", text, figure.value("y", "?"), range, figure.value("regions_by", "?"));
}

std::string page_of(const papers::Paper& paper, const Measured& measured) {
  std::string page = fmt::format("# {}\n\nMade by `elider bench figures --paper {}` of what the commands below wrote with `--json`.\n\n## Sections\n\n"
                                 "| section | what | where | what differs, and why |\n|---|---|---|---|\n",
                                 paper.title, paper.name);
  for (const papers::Section& section : paper.sections)
    page += fmt::format("| {} | {} | {} | {} |\n", section.number, section.what, section.where, section.differs);
  page += "\n## Figures\n\n| figure | what | command, or where | published | here | what differs, and why |\n|---|---|---|---|---|---|\n";
  for (const papers::PaperFigure& figure : paper.figures) {
    const auto found = measured.find(figure.name);
    const bool here = *figure.name != '\0' && found != measured.end();
    std::string published = figure.published, differs = figure.differs;
    if (here && published.empty()) published = found->second.value("published", "");
    if (here)
      if (const std::string how = found->second.value("here", ""); !how.empty()) differs += (differs.empty() ? "" : "; ") + how;
    page += fmt::format("| {} | {} | {} | {} | {} | {} |\n", figure.number, figure.what, *figure.name != '\0' ? fmt::format("`{}`", figure.command) : figure.command,
                        published, here ? summary_of(found->second) : *figure.name != '\0' ? "not measured for this page" : "", differs);
  }
  return page;
}

void run_figures(const ChosenFigures& chosen) {
  std::vector<const papers::Paper*> wanted;
  for (const std::string& name : chosen.papers) {
    const auto all = papers::all();
    const auto paper = std::find_if(all.begin(), all.end(), [&](const papers::Paper& one) { return name == one.name; });
    if (paper == all.end()) refuse_option("--paper", fmt::format("'{}' is none of dbx, ydb, hyper, dbx-tc and dumbo", name));
    wanted.push_back(&*paper);
  }
  auto measured = read_documents(chosen.files);
  Status status = measured.status();
  if (status.ok()) {
    std::string page;
    for (const papers::Paper* paper : wanted) page += (page.empty() ? "" : "\n") + page_of(*paper, *measured);
    if (chosen.output == "-") {
      fmt::print("{}", page);
    } else {
      std::ofstream out(chosen.output);
      out << page;
      out.flush();
      if (!out) status = Status(Code::kIoError, fmt::format("'{}' could not be written", chosen.output));
    }
  }
  if (!status.ok()) {
    fmt::print(stderr, "elider bench figures: {}\n", status.message());
    set_exit_code(kExitFailed);
  }
}

}  // namespace

void add_figures(Command bench) {
  auto chosen = std::make_shared<ChosenFigures>();
  Command command = bench.add("figures", "A page for a paper: where its sections stand, and what its figures give here");
  command.option("--paper", chosen->papers, "Which, between commas: dbx, ydb, hyper, dbx-tc, dumbo [hyper]").between_commas().type("NAMES");
  command.option("--from", chosen->files, "Documents that bench protocols and bench htm wrote with --json").between_commas().type("FILES");
  command.option("-o,--output", chosen->output, "The page, in Markdown (- for standard output)").type("FILE.md").shows_default();
  command.footer(
      "  elider bench protocols --json protocols.json\n"
      "  elider bench htm --json htm.json\n"
      "  elider bench figures --paper hyper,dbx-tc --from protocols.json,htm.json -o papers.md\n");
  command.runs([chosen] { run_figures(*chosen); });
}

}  // namespace elider::bench
