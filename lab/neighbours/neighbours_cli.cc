// The command `elider-lab neighbours`.
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "lab/commands.h"
#include "bench/common/options.h"
#include "bench/common/report.h"
#include "lab/neighbours/neighbours.h"

namespace elider::bench {

namespace {

Status study(const NeighboursOptions& options, const std::string& json_file) {
  auto figures = run_neighbours(options);
  if (!figures.ok()) return figures.status();
  if (json_file != "-") {
    fmt::print("  {:>8} {:>10} {:>12} {:>12} {:>12}\n", "threads", "index", "commits/s", "conflicts", "of key");
    double key = 0;
    for (const NeighboursFigure& figure : *figures) {
      if (figure.meeting == Meeting::kKey) key = figure.commits_per_s;
      fmt::print("  {:>8} {:>10} {:>12.0f} {:>12} {:>11.2f}x\n", figure.threads, name_of(figure.meeting), figure.commits_per_s,
                 figure.conflicts, key > 0 ? figure.commits_per_s / key : 0);
    }
  }
  if (json_file.empty()) return {};
  Json document = {{"benchmark", "neighbours"}, {"runs", Json::array()}};
  for (const NeighboursFigure& figure : *figures)
    document["runs"].push_back({{"index", name_of(figure.meeting)},
                                {"threads", figure.threads},
                                {"commits_per_s", figure.commits_per_s},
                                {"commits", figure.commits},
                                {"conflicts", figure.conflicts}});
  document["configuration"] = {{"seconds", options.seconds}, {"think_ms", options.think_ms}};
  add_environment(document["configuration"]);
  return write_json(json_file, document);
}

}  // namespace

void add_neighbours(Command bench) {
  auto options = std::make_shared<NeighboursOptions>();
  auto json_file = std::make_shared<std::string>();
  Command command = bench.add("neighbours", "Measure whether slow transactions that insert adjacent values delay each other");
  command.option("--threads", options->threads, "Numbers of threads (1 to 256 each)")
      .between_commas()
      .in(1u, 256u)
      .shows_default();
  command.option("--seconds", options->seconds, "Measured seconds for each figure (0.01 to 3600)").in(0.01, 3600.0).shows_default();
  command.option("--think-ms", options->think_ms, "Milliseconds between an insert and its commit (0 to 10000)")
      .in(0u, 10'000u)
      .shows_default();
  command.option("--json", *json_file, "Also write the results as JSON to this file (- for standard output, instead of the table)")
      .type("FILE");
  command.footer(
      "key      the table has only its key index\n"
      "unique   the table also has a unique index on the inserted value\n"
      "scanned  the table also has an index on the value, which each transaction scans for its value before the insert\n"
      "No two transactions use the same row or value, so any conflict is caused by an index.");
  command.runs([options, json_file] {
    if (Status status = study(*options, *json_file); !status.ok()) {
      fmt::print(stderr, "elider-lab neighbours: {}\n", status.message());
      set_exit_code(kExitFailed);
    }
  });
}

}  // namespace elider::bench
