// The command `elider chopping report`: prints how procedures are divided into pieces
// (elider/chopping.h).
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/chopping/declaration_json.h"
#include "tools/chopping/examples.h"
#include "tools/chopping/report.h"
#include "tools/commands.h"

namespace elider::tools {

namespace {

struct ChoppingChosen {
  std::string what, format = "text", granularity = "group";
  std::vector<std::string> without;
};

chopping::Choices choices_of(const ChoppingChosen& chosen) {
  chopping::Choices choices;
  choices.granularity = chosen.granularity == "table"    ? chopping::Granularity::kTable
                        : chosen.granularity == "column" ? chopping::Granularity::kColumn
                                                         : chopping::Granularity::kGroup;
  for (const std::string& each : chosen.without) {
    if (each == "snapshots")
      choices.snapshots = false;
    else if (each == "adding")
      choices.adding = false;
    else if (each == "tokens")
      choices.tokens = false;
    else if (each == "deferring")
      choices.deferring = false;
    else if (each == "reordering")
      choices.reordering = false;
    else
      refuse_option("--without", "'" + each + "' is unknown; the choices are snapshots, adding, tokens, deferring and reordering");
  }
  return choices;
}

void run_report(const ChoppingChosen& chosen) {
  const chopping::Choices choices = choices_of(chosen);
  chopping::Declaration declaration;
  if (!find_example(chosen.what, &declaration)) {
    auto read = read_declaration(chosen.what);
    if (!read.ok()) refuse_option("DECLARATION", read.status().message());
    declaration = std::move(*read);
  }
  if (chosen.format == "declaration") {
    fmt::print("{}\n", to_json(declaration).dump(2));
    return;
  }
  chopping::Plan plan;
  if (Status status = chopping::analyze(declaration, choices, &plan); !status.ok()) refuse_option("DECLARATION", status.message());
  const ChoppingReport report{declaration, choices, plan};
  if (chosen.format == "json")
    fmt::print("{}\n", report.json().dump(2));
  else
    fmt::print("{}", chosen.format == "dot" ? report.dot() : report.text());
}

}  // namespace

void add_chopping(Command app) {
  Command chopping = app.add("chopping", "Analyze procedures that run as several pieces (transaction chopping)");
  Command report = chopping.add("report", "Show which operations must stay in one piece, and why");
  auto chosen = std::make_shared<ChoppingChosen>();
  report.option("DECLARATION", chosen->what, "tpcc, articles, or a JSON file that declares your own procedures").required();
  report.option("--format", chosen->format, "text, json, dot (for Graphviz), or declaration (the procedures as JSON)")
      .one_of({"text", "json", "dot", "declaration"})
      .shows_default();
  report
      .option("--granularity", chosen->granularity, "Two operations conflict if they access the same table, column group, or column")
      .one_of({"table", "group", "column"})
      .shows_default();
  report
      .option("--without", chosen->without,
              "Disable techniques that avoid merges, separated by commas: snapshots, adding, tokens, deferring, reordering")
      .between_commas();
  report.footer(
      "A declaration lists the operations of each procedure, and the tables and columns that each operation accesses.\n"
      "To print one, edit it, and analyze the result:\n\n"
      "  elider chopping report tpcc --format declaration > mine.json\n"
      "  elider chopping report mine.json\n"
      "  elider chopping report mine.json --format dot | dot -Tsvg -o mine.svg");
  report.runs([chosen] { run_report(*chosen); });
}

}  // namespace elider::tools
