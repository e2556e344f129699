// The command `elider bench figures`: makes a paper's figures, and a page that says where its
// sections stand and what its figures give here.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/common/child_command.h"
#include "bench/common/commands.h"
#include "bench/common/report.h"
#include "bench/figures/papers.h"
#include "tools/common/values.h"

namespace elider::bench {

namespace {

struct ChosenFigures {
  std::vector<std::string> papers;   // empty: all
  std::vector<std::string> files;    // in place of measuring
  std::vector<std::string> figures;  // by the paper's number or our name; empty: all
  std::string output;                // empty: into the folder, or to standard output if nothing is measured
  std::string folder = "papers";     // where documents and drawings go
  bool no_run = false, quick = false;
  bool measures() const { return !no_run && files.empty(); }
};

struct MeasuredFigure {
  Json figure;
  bool quick = false;  // the command that made it had --quick
};
// By name; of several documents that have one, the last counts.
using Measured = std::map<std::string, MeasuredFigure>;

Result<Measured> read_documents(const std::vector<std::string>& files) {
  Measured measured;
  for (const std::string& file : files) {
    std::ifstream in(file);
    if (!in) return Status(Code::kIoError, fmt::format("'{}' cannot be read", file));
    const Json document = Json::parse(in, nullptr, false);
    if (document.is_discarded() || !document.is_object() || !document.contains("figures") || !document["figures"].is_array())
      return Status::invalid_argument(
          fmt::format("'{}' is no document of figures: bench protocols, bench htm and bench heap --figure write them with --json", file));
    const Json configuration = document.value("configuration", Json());
    const bool quick = configuration.is_object() && configuration.value("quick", Json()) == Json(true);
    for (const Json& figure : document["figures"]) {
      const bool whole = figure.is_object() && figure.value("figure", Json()).is_string() && figure.value("series", Json()).is_array();
      if (!whole) return Status::invalid_argument(fmt::format("'{}': a figure lacks its name or its series", file));
      measured[figure["figure"].get<std::string>()] = {figure, quick};
    }
  }
  return measured;
}

// Three digits, with K, M or G from 10,000 on.
std::string digits_of(double value) { return value < 1000 ? fmt::format("{:.3g}", value) : short_number(value); }

// Of each line the first and the last value: "occ 316 K to 594 K (threads 1 to 2)"; of a single
// point its value. Where lines go over different ranges, each says its own. Where x numbers what is
// shown, as "1 read, 2 written", all values: "payment 70, 9 (1 read, 2 written)".
std::string summary_of(const Json& figure) {
  const auto value = [](const Json& point, const char* name) {
    return point.is_object() && point.contains(name) && point[name].is_number() ? point[name].get<double>() : 0;
  };
  const std::string x = figure.value("x", "x");
  const bool numbered = x.starts_with("1 ");
  std::vector<std::string> lines, ranges;
  for (const Json& line : figure["series"]) {
    const Json points = line.value("points", Json::array());
    if (points.empty()) continue;
    const Json &first = points.front(), &last = points.back();
    lines.push_back(fmt::format("{} {}", line.value("name", "?"), digits_of(value(first, "y"))));
    ranges.push_back(numbered ? x : "");
    if (points.size() == 1) continue;
    if (numbered) {
      for (size_t i = 1; i < points.size(); ++i) lines.back() += ", " + digits_of(value(points[i], "y"));
      continue;
    }
    lines.back() += fmt::format(" to {}", digits_of(value(last, "y")));
    ranges.back() = fmt::format("{} {:g} to {:g}", x, value(first, "x"), value(last, "x"));
  }
  const bool one_range = std::equal(ranges.begin() + (ranges.empty() ? 0 : 1), ranges.end(), ranges.begin());
  for (size_t i = 0; i < lines.size() && !one_range; ++i)
    if (!ranges[i].empty()) lines[i] += fmt::format(" ({})", ranges[i]);
  const std::string range = one_range && !ranges.empty() && !ranges[0].empty() ? ranges[0] + "; " : "";
  return fmt::format("{} ({}; {}by {})", fmt::join(lines, "; "), figure.value("y", "?"), range, figure.value("regions_by", "?"));
}

// What was made of a figure: a document, and a drawing; or why not.
struct Made {
  std::string drawing;   // beside the page
  std::string left_out;  // empty: it was made
};
using MadeOnes = std::map<std::string, Made>;

// By our name, or by the paper's number: "12", where it stands as "12, 13".
bool is_called(const papers::PaperFigure& figure, const std::string& name) {
  return name == figure.name || fmt::format(", {}, ", figure.number).find(fmt::format(", {}, ", name)) != std::string::npos;
}
bool is_wanted(const ChosenFigures& chosen, const papers::PaperFigure& figure) {
  return chosen.figures.empty() ||
         std::any_of(chosen.figures.begin(), chosen.figures.end(), [&](const std::string& one) { return is_called(figure, one); });
}

// Where the document of a figure goes that is measured here.
std::string document_of(const ChosenFigures& chosen, const papers::PaperFigure& figure) {
  return chosen.folder + "/" + figure.name + ".json";
}

// The command that makes a figure: `elider bench protocols --figure dbx-8 --json FILE`, with this
// program and this file in their places.
std::string command_of(const papers::PaperFigure& figure, const std::string& program, const std::string& file, bool quick) {
  std::string command = figure.command;
  command.replace(0, std::string("elider").size(), program);
  command.replace(command.rfind("FILE"), 4, file);
  return command + (quick ? " --quick" : "");
}
// As the page shows it: what was run here, or what its document says.
std::string command_shown(const papers::PaperFigure& figure, const ChosenFigures& chosen, const MeasuredFigure* measured) {
  if (*figure.name == '\0') return figure.command;
  const std::string command = chosen.measures() ? command_of(figure, "elider", document_of(chosen, figure), chosen.quick)
                                                : command_of(figure, "elider", "FILE", measured != nullptr && measured->quick);
  return fmt::format("`{}`", command);
}

std::string page_of(const papers::Paper& paper, const Measured& measured, const ChosenFigures& chosen, const MadeOnes& made) {
  std::string page = fmt::format(
      "# {}\n\nMade by `elider bench figures --paper {}{}{}\n\n## Sections\n\n"
      "| section | what | where | what differs, and why |\n|---|---|---|---|\n",
      paper.title, paper.name, chosen.measures() && chosen.quick ? " --quick" : "",
      chosen.measures() ? "`, which ran the commands below."
      : chosen.no_run   ? " --no-run`, which measured nothing."
                        : " --from FILES`, of what the commands below wrote with `--json`.");
  for (const papers::Section& section : paper.sections)
    page += fmt::format("| {} | {} | {} | {} |\n", section.number, section.what, section.where, section.differs);
  page += "\n## Figures\n\n| figure | what | command, or where | published | here | what differs, and why |\n|---|---|---|---|---|---|\n";
  for (const papers::PaperFigure& figure : paper.figures) {
    if (!is_wanted(chosen, figure)) continue;
    const auto found = measured.find(figure.name);
    const MeasuredFigure* const here = *figure.name != '\0' && found != measured.end() ? &found->second : nullptr;
    std::string published = figure.published, differs = figure.differs;
    if (here != nullptr && published.empty()) published = here->figure.value("published", "");
    if (here != nullptr)
      if (const std::string how = here->figure.value("here", ""); !how.empty()) differs += (differs.empty() ? "" : "; ") + how;
    page += fmt::format("| {} | {} | {} | {} | {} | {} |\n", figure.number, figure.what, command_shown(figure, chosen, here), published,
                        here != nullptr        ? summary_of(here->figure)
                        : *figure.name != '\0' ? "not measured for this page"
                                               : "",
                        differs);
  }
  for (const papers::PaperFigure& figure : paper.figures) {
    const auto one = made.find(figure.name);
    if (!is_wanted(chosen, figure) || one == made.end()) continue;
    page += one->second.left_out.empty()
                ? fmt::format("\n### Figure {}: {}\n\n![{}]({})\n", figure.number, figure.what, figure.what, one->second.drawing)
                : fmt::format("\nFigure {} is left out: {}\n", figure.number, one->second.left_out);
  }
  return page;
}

// Of what a command said that ended with kExitUnsupported: its last line.
std::string why_unsupported(const std::string& said) {
  if (said.find("no hardware transactions run here") != std::string::npos)
    return "nothing runs hardware transactions here (`elider hardware`)";
  std::string words = said.substr(0, said.find_last_not_of(" \n") + 1);
  words.erase(0, words.rfind('\n') + 1);
  for (const std::string_view begin : {"elider bench htm: ", "unsupported: "})
    if (words.starts_with(begin)) words.erase(0, begin.size());
  return words.empty() ? "it cannot be made here" : words;
}

// Measures each wanted figure that a command makes, by a process of its own, and draws it.
Status make_figures(ChosenFigures& chosen, const std::vector<const papers::Paper*>& wanted, MadeOnes* made) {
  std::vector<std::pair<const papers::Paper*, const papers::PaperFigure*>> to_make;
  for (const papers::Paper* paper : wanted)
    for (const papers::PaperFigure& figure : paper->figures)
      if (*figure.name != '\0' && is_wanted(chosen, figure) &&
          std::none_of(to_make.begin(), to_make.end(), [&](const auto& one) { return std::string_view(one.second->name) == figure.name; }))
        to_make.emplace_back(paper, &figure);
  if (to_make.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(chosen.folder, error);
  if (error) return Status(Code::kIoError, fmt::format("'{}' cannot be made: {}", chosen.folder, error.message()));
  const std::string own = (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "elider").string();
  const auto begin = std::chrono::steady_clock::now();
  for (size_t i = 0; i < to_make.size(); ++i) {
    const auto& [paper, figure] = to_make[i];
    const std::string file = document_of(chosen, *figure), drawing = std::string(figure->name) + ".svg";
    const double minutes = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / 60;
    fmt::print(stderr, "{} of {}, after {:.0f} minutes: {}, figure {}: {}\n", i + 1, to_make.size(), minutes, paper->name, figure->number,
               figure->what);
    std::string said;
    constexpr double kSecondsMax = 3 * 3600.0;
    int exit_code = 0;
    const std::string command = command_of(*figure, fmt::format("'{}'", own), fmt::format("'{}'", file), chosen.quick) + " --quiet";
    Status status = run_command(command, {.seconds_max = kSecondsMax, .variable = {}}, &said, &exit_code);
    if (exit_code == kExitUnsupported) {
      (*made)[figure->name].left_out = why_unsupported(said);
      continue;
    }
    if (!status.ok()) return Status(status.code(), fmt::format("figure {}: {}", figure->number, status.message()));
    chosen.files.push_back(file);
    status = run_command(fmt::format("'{}' plot '{}' -o '{}/{}'", own, file, chosen.folder, drawing), {}, &said);
    if (!status.ok()) return Status(status.code(), fmt::format("figure {} cannot be drawn: {}", figure->number, status.message()));
    (*made)[figure->name].drawing = drawing;
  }
  return {};
}

void run_figures(ChosenFigures& chosen) {
  std::vector<const papers::Paper*> wanted;
  const auto all = papers::all();
  if (chosen.papers.empty())
    for (const papers::Paper& paper : all) wanted.push_back(&paper);
  for (const std::string& name : chosen.papers) {
    const auto paper = std::find_if(all.begin(), all.end(), [&](const papers::Paper& one) { return name == one.name; });
    if (paper == all.end()) refuse_option("--paper", fmt::format("'{}' is none of dbx, ydb, hyper, dbx-tc and dumbo", name));
    wanted.push_back(&*paper);
  }
  for (const std::string& one : chosen.figures)
    if (std::none_of(wanted.begin(), wanted.end(), [&](const papers::Paper* paper) {
          return std::any_of(paper->figures.begin(), paper->figures.end(),
                             [&](const papers::PaperFigure& figure) { return is_called(figure, one); });
        }))
      refuse_option("--figure", fmt::format("'{}' is no figure of these papers", one));
  MadeOnes made;
  Status status;
  const ChosenFigures asked = chosen;  // make_figures() adds to its files
  if (chosen.measures()) {
    if (chosen.output.empty()) chosen.output = chosen.folder + "/papers.md";
    status = make_figures(chosen, wanted, &made);
  } else if (chosen.output.empty()) {
    chosen.output = "-";
  }
  auto measured = read_documents(chosen.files);
  if (status.ok()) status = measured.status();
  if (status.ok()) {
    std::string page;
    for (const papers::Paper* paper : wanted) page += (page.empty() ? "" : "\n") + page_of(*paper, *measured, asked, made);
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
  Command command = bench.add("figures", "A paper's figures, made here, and a page: where its sections stand, and what the figures give");
  command.option("--paper", chosen->papers, "Which, between commas: dbx, ydb, hyper, dbx-tc, dumbo [all]").between_commas().type("NAMES");
  command.option("--figure", chosen->figures, "These alone, by the paper's number or our name, between commas [all]")
      .between_commas()
      .type("N");
  command.flag("--quick", chosen->quick, "Short runs on small databases: minutes in place of hours");
  command.option("--folder", chosen->folder, "Where documents, drawings and, without -o, the page go").type("FOLDER").shows_default();
  command
      .option("--from", chosen->files,
              "Measure nothing: documents that bench protocols, htm and heap --figure wrote with --json, between commas")
      .between_commas()
      .type("FILES");
  command.flag("--no-run", chosen->no_run, "Measure nothing: where sections and figures stand");
  command
      .option("-o,--output", chosen->output,
              "The page, in Markdown (- for standard output) [FOLDER/papers.md; where nothing is measured, -]")
      .type("FILE.md");
  command.footer(
      "  elider bench figures --paper dbx --quick\n"
      "  elider bench figures --paper dbx --figure 8,15 --folder dbx\n\n"
      "What needs hardware transactions or the emulator is left out where there are none, and the page says so.\n\n"
      "Of documents that are there:\n\n"
      "  elider bench protocols --json protocols.json\n"
      "  elider bench htm --json htm.json\n"
      "  elider bench figures --paper hyper,dbx-tc --from protocols.json,htm.json -o papers.md\n");
  command.runs([chosen] { run_figures(*chosen); });
}

}  // namespace elider::bench
