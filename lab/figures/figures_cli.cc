// The command `elider-lab figures`: measures the figures of the papers, and writes them as a page
// or into the marked sections of a document.
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
#include "lab/commands.h"
#include "lab/figures/measured.h"
#include "lab/figures/papers.h"
#include "tools/common/values.h"

namespace elider::bench {

namespace {

struct ChosenFigures {
  std::vector<std::string> papers;   // empty: all
  std::vector<std::string> files;    // JSON documents to read; empty: measure the figures
  std::vector<std::string> figures;  // our names, or numbers in the paper; empty: all
  std::string output;                // file of the page; empty: a default, or no page if `into` is set
  std::string into;                  // a document to update
  std::string folder = "papers";     // of the JSON documents and drawings that are written
  bool no_run = false, quick = false;
  bool measures() const { return !no_run && files.empty(); }
};

// The result for one figure: a drawing, or the reason why the figure could not be measured.
struct Made {
  std::string drawing;   // file name in the folder
  std::string left_out;  // the reason; empty: the figure was measured
};
using MadeOnes = std::map<std::string, Made>;

bool is_wanted(const ChosenFigures& chosen, const papers::PaperFigure& figure) {
  return chosen.figures.empty() ||
         std::any_of(chosen.figures.begin(), chosen.figures.end(), [&](const std::string& one) { return papers::is_called(figure, one); });
}

// The file to which the measured figure is written as JSON.
std::string document_of(const ChosenFigures& chosen, const papers::PaperFigure& figure) {
  return chosen.folder + "/" + figure.name + ".json";
}

// The page's section about one figure. `measured` is null if the figure was not measured.
std::string section_of(const papers::PaperFigure& figure, const MeasuredFigure* measured, const ChosenFigures& chosen,
                       const std::string& drawing) {
  if (measured == nullptr)
    return fmt::format("\n### {}\n\nNot measured: `{}`.\n", papers::label_of(figure),
                       papers::command_of(figure, "elider", "FILE", chosen.quick));
  const std::string title = text_in(measured->figure, "title"), here = text_in(measured->figure, "here");
  std::string section =
      fmt::format("\n### {}: {}\n\nPublished: {}.\n\n", papers::label_of(figure), title, text_in(measured->figure, "published"));
  if (!here.empty()) section += fmt::format("In this run: {}.\n\n", here);
  const std::string file = chosen.measures() ? document_of(chosen, figure) : "";
  section += markdown_of(*measured, papers::command_of(figure, "elider", file, measured->quick));
  return drawing.empty() ? section : section + fmt::format("\n![{}]({})\n", title, drawing);
}

std::string page_of(const papers::Paper& paper, const Measured& measured, const ChosenFigures& chosen, const MadeOnes& made) {
  std::string page =
      fmt::format("# {}\n\nWritten by `elider-lab figures --paper {}{}`. docs/lab/papers.md describes the paper's sections, and how "
                  "these figures differ from the paper's.\n",
                  paper.title, paper.name,
                  chosen.no_run        ? " --no-run"
                  : !chosen.measures() ? " --from FILES"
                  : chosen.quick       ? " --quick"
                                       : "");
  for (const papers::PaperFigure& figure : paper.figures) {
    if (!is_wanted(chosen, figure)) continue;
    const auto one = made.find(figure.name);
    if (one != made.end() && !one->second.left_out.empty()) {
      page += fmt::format("\n{} is left out: {}\n", papers::label_of(figure), one->second.left_out);
      continue;
    }
    const auto found = measured.find(figure.name);
    page += section_of(figure, found != measured.end() ? &found->second : nullptr, chosen, one != made.end() ? one->second.drawing : "");
  }
  return page;
}

// Extracts the reason from the output of a command that ended with kExitUnsupported: the last line.
std::string why_unsupported(const std::string& said) {
  if (said.find("no hardware transactions run here") != std::string::npos)
    return "this machine cannot run hardware transactions (see `elider hardware`)";
  std::string words = said.substr(0, said.find_last_not_of(" \n") + 1);
  words.erase(0, words.rfind('\n') + 1);
  for (const std::string_view begin : {"elider-lab htm: ", "unsupported: "})
    if (words.starts_with(begin)) words.erase(0, begin.size());
  return words.empty() ? "it cannot be measured here" : words;
}

// Measures each wanted figure in a separate process, and draws it.
Status make_figures(ChosenFigures& chosen, const std::vector<const papers::Paper*>& wanted, MadeOnes* made) {
  std::vector<std::pair<const papers::Paper*, const papers::PaperFigure*>> to_make;
  for (const papers::Paper* paper : wanted)
    for (const papers::PaperFigure& figure : paper->figures)
      if (is_wanted(chosen, figure) &&
          std::none_of(to_make.begin(), to_make.end(), [&](const auto& one) { return std::string_view(one.second->name) == figure.name; }))
        to_make.emplace_back(paper, &figure);
  if (to_make.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(chosen.folder, error);
  if (error) return Status(Code::kIoError, fmt::format("cannot create the folder '{}': {}", chosen.folder, error.message()));
  const std::string own = (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "elider").string();
  const auto begin = std::chrono::steady_clock::now();
  for (size_t i = 0; i < to_make.size(); ++i) {
    const auto& [paper, figure] = to_make[i];
    const std::string file = document_of(chosen, *figure), drawing = std::string(figure->name) + ".svg";
    const double minutes = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / 60;
    fmt::print(stderr, "{} of {}, after {:.0f} min: {}, {} ({})\n", i + 1, to_make.size(), minutes, paper->title,
               papers::label_of(*figure), figure->name);
    std::string said;
    constexpr double kSecondsMax = 3 * 3600.0;
    int exit_code = 0;
    const std::string command = papers::command_of(*figure, fmt::format("'{}'", own), fmt::format("'{}'", file), chosen.quick) + " --quiet";
    Status status = run_command(command, {.seconds_max = kSecondsMax, .variable = {}}, &said, &exit_code);
    if (exit_code == kExitUnsupported) {
      (*made)[figure->name].left_out = why_unsupported(said);
      continue;
    }
    if (!status.ok()) return Status(status.code(), fmt::format("{}: {}", figure->name, status.message()));
    chosen.files.push_back(file);
    status = run_command(fmt::format("'{}' plot '{}' -o '{}/{}'", own, file, chosen.folder, drawing), {}, &said);
    if (!status.ok()) return Status(status.code(), fmt::format("cannot draw the figure {}: {}", figure->name, status.message()));
    (*made)[figure->name].drawing = drawing;
  }
  return {};
}

std::vector<const papers::Paper*> chosen_papers(const ChosenFigures& chosen) {
  std::vector<const papers::Paper*> wanted;
  const auto all = papers::all();
  if (chosen.papers.empty())
    for (const papers::Paper& paper : all) wanted.push_back(&paper);
  for (const std::string& name : chosen.papers) {
    const auto paper = std::find_if(all.begin(), all.end(), [&](const papers::Paper& one) { return name == one.name; });
    if (paper == all.end()) refuse_option("--paper", fmt::format("'{}' is not one of dbx, ydb, hyper, dbx-tc and dumbo", name));
    wanted.push_back(&*paper);
  }
  for (const std::string& one : chosen.figures)
    if (std::none_of(wanted.begin(), wanted.end(), [&](const papers::Paper* paper) {
          return std::any_of(paper->figures.begin(), paper->figures.end(),
                             [&](const papers::PaperFigure& figure) { return papers::is_called(figure, one); });
        }))
      refuse_option("--figure", fmt::format("'{}' is not a figure in these papers", one));
  return wanted;
}

Status write_page(const std::string& file, const std::string& page) {
  if (file == "-") {
    fmt::print("{}", page);
    return {};
  }
  std::ofstream out(file);
  out << page;
  out.flush();
  return out ? Status() : Status(Code::kIoError, fmt::format("cannot write '{}'", file));
}

Status figures_of(ChosenFigures& chosen, const std::vector<const papers::Paper*>& wanted) {
  if (chosen.output.empty() && chosen.into.empty()) chosen.output = chosen.measures() ? chosen.folder + "/papers.md" : "-";
  const ChosenFigures asked = chosen;  // make_figures() adds files to its argument
  MadeOnes made;
  if (chosen.measures())
    if (Status status = make_figures(chosen, wanted, &made); !status.ok()) return status;
  auto measured = read_documents(chosen.files);
  if (!measured.ok()) return measured.status();
  if (!chosen.into.empty()) {
    std::vector<const papers::PaperFigure*> figures;
    for (const papers::Paper* paper : wanted)
      for (const papers::PaperFigure& figure : paper->figures)
        if (is_wanted(chosen, figure)) figures.push_back(&figure);
    if (Status status = merge_into(chosen.into, figures, *measured); !status.ok()) return status;
  }
  if (chosen.output.empty()) return {};
  std::string page;
  for (const papers::Paper* paper : wanted) page += (page.empty() ? "" : "\n") + page_of(*paper, *measured, asked, made);
  return write_page(chosen.output, page);
}

void run_figures(ChosenFigures& chosen) {
  const std::vector<const papers::Paper*> wanted = chosen_papers(chosen);
  if (chosen.no_run && !chosen.into.empty()) refuse_option("--into", "cannot be combined with --no-run, which does not measure any figure");
  if (Status status = figures_of(chosen, wanted); !status.ok()) {
    fmt::print(stderr, "elider-lab figures: {}\n", status.message());
    set_exit_code(kExitFailed);
  }
}

}  // namespace

void add_figures(Command bench) {
  auto chosen = std::make_shared<ChosenFigures>();
  Command command = bench.add("figures", "Measures the figures of the papers, and writes them as a page or into a document");
  command.option("--paper", chosen->papers, "Only these papers, separated by commas: dbx, ydb, hyper, dbx-tc, dumbo [all]")
      .between_commas()
      .type("NAMES");
  command.option("--figure", chosen->figures, "Only these figures: numbers in the paper or our names, separated by commas [all]")
      .between_commas()
      .type("N");
  command.flag("--quick", chosen->quick, "Measure short runs on small databases, which takes minutes instead of hours");
  command.option("--folder", chosen->folder, "The folder for JSON documents, drawings and, without -o, the page")
      .type("FOLDER")
      .shows_default();
  command
      .option("--from", chosen->files,
              "Do not measure; read these documents, separated by commas, which protocols, htm or heap wrote with --json")
      .between_commas()
      .type("FILES");
  command.flag("--no-run", chosen->no_run, "Do not measure; list the figures and the commands that measure them");
  command
      .option("--into", chosen->into,
              "Update this Markdown document: replace the text between <!-- measured NAME --> and <!-- end of NAME --> for each figure")
      .type("FILE.md");
  command
      .option("-o,--output", chosen->output,
              "The Markdown file for the page; - for standard output [FOLDER/papers.md; - if nothing is measured; no page with --into]")
      .type("FILE.md");
  command.footer(
      "  elider-lab figures --paper dbx --quick\n"
      "  elider-lab figures --paper dbx --figure 8,15 --folder dbx\n\n"
      "The page leaves out figures that need hardware transactions or the emulator if these are missing, and says so.\n\n"
      "To use documents that were measured earlier:\n\n"
      "  elider-lab protocols --json protocols.json\n"
      "  elider-lab htm --json htm.json\n"
      "  elider-lab figures --paper hyper,dbx-tc --from protocols.json,htm.json -o papers.md\n"
      "  elider-lab figures --from protocols.json,htm.json --into docs/lab/papers.md\n");
  command.runs([chosen] { run_figures(*chosen); });
}

}  // namespace elider::bench
