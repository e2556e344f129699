// The command `elider-lab scan`.
#include <memory>
#include <string>

#include <fmt/format.h>

#include "lab/commands.h"
#include "bench/common/report.h"
#include "lab/scan/scan.h"

namespace elider::bench {

namespace {

struct ScanChosen {
  ScanStudyOptions study;
  std::string json_file;
};

std::string times(double a, double b) { return b > 0 ? fmt::format("{:.2f}", a / b) : "-"; }

void print_scans(const ScanStudy& study) {
  const ScanFigure& one = study.figures.front();
  fmt::print("  {:>7} {:>14} {:>14} {:>12} {:>14} {:>15}\n", "threads", "B+-tree rows/s", "zoned rows/s", "zoned B/s", "memory B/s",
             "zoned inserts/s");
  const auto shown = [](double value) { return value > 0 ? short_number(value) : "-"; };
  for (const ScanFigure& figure : study.figures)
    fmt::print("  {:>7} {:>14} {:>14} {:>12} {:>14} {:>15}\n", figure.threads, shown(figure.tree_rows_per_s),
               shown(figure.zoned_rows_per_s), shown(figure.zoned_bytes_per_s), shown(figure.memory_bytes_per_s),
               shown(figure.zoned_inserts_per_s));
  if (study.bytes_a_row == 0) return;
  fmt::print("  rows have {} bytes, {:.0f} with headers; with one thread: zoned / memory {}, zoned / B+-tree {}\n", study.row_bytes,
             study.bytes_a_row, times(one.zoned_bytes_per_s, one.memory_bytes_per_s), times(one.zoned_rows_per_s, one.tree_rows_per_s));
  if (study.figures.size() > 1)
    fmt::print("  {} threads compared with one: inserts {}, scans {}\n", study.figures.back().threads,
               times(study.figures.back().zoned_inserts_per_s, one.zoned_inserts_per_s),
               times(study.figures.back().zoned_rows_per_s, one.zoned_rows_per_s));
}

Status scan_study(const ScanChosen& chosen) {
  auto figures = run_scan_study(chosen.study);
  if (!figures.ok()) return figures.status();
  if (chosen.json_file != "-") print_scans(*figures);
  if (chosen.json_file.empty()) return {};
  Json document = {
      {"benchmark", "scan"}, {"runs", Json::array()}, {"row_bytes", figures->row_bytes}, {"bytes_a_row", figures->bytes_a_row}};
  for (const ScanFigure& figure : figures->figures)
    document["runs"].push_back({{"threads", figure.threads},
                                {"tree_rows_per_s", figure.tree_rows_per_s},
                                {"zoned_rows_per_s", figure.zoned_rows_per_s},
                                {"zoned_bytes_per_s", figure.zoned_bytes_per_s},
                                {"memory_bytes_per_s", figure.memory_bytes_per_s},
                                {"zoned_inserts_per_s", figure.zoned_inserts_per_s}});
  document["configuration"] = {{"rows", chosen.study.rows},
                               {"threads", chosen.study.threads},
                               {"seconds", chosen.study.seconds},
                               {"zoned", chosen.study.zoned},
                               {"zones", chosen.study.zones == kZonesAutomatic ? Json("automatic") : Json(chosen.study.zones)},
                               {"seed", chosen.study.seed}};
  add_environment(document["configuration"]);
  return write_json(chosen.json_file, document);
}

}  // namespace

void add_scan(Command bench) {
  auto chosen = std::make_shared<ScanChosen>();
  Command command = bench.add("scan", "Measure full scans through the B+-tree, and over the rows of a zoned table");
  command.option("--rows", chosen->study.rows, "Number of rows of 100 bytes").in(uint64_t{1000}, uint64_t{1} << 32).shows_default();
  command.option("--threads", chosen->study.threads, "Threads; each figure is measured with one thread and with this many (1 to 256)")
      .in(1u, 256u)
      .shows_default();
  command.option("--seconds", chosen->study.seconds, "Measured seconds for each figure (0.01 to 3600)").in(0.01, 3600.0).shows_default();
  command.flag("--zoned", chosen->study.zoned, "Also measure a zoned table: scans, compared with reads of plain memory, and inserts");
  command.option("--zones", chosen->study.zones, "Zones of the zoned table (1 to 1024) [twice the processors]").in(1u, 1024u).type("N");
  command.option("--seed", chosen->study.seed, "Seed of the order in which rows are inserted").shows_default();
  command.option("--json", chosen->json_file, "Also write the results as JSON to this file (- for standard output, instead of the table)")
      .type("FILE");
  command.flag("--quiet", chosen->study.quiet, "Do not print progress");
  command.footer(
      "zoned B/s: bytes of rows and their headers. memory B/s: an array as large as the rows, whose words are added up.\n"
      "zoned inserts/s: one row per transaction. If a scan does not find every row, the command fails.");
  command.runs([chosen] {
    if (Status status = scan_study(*chosen); !status.ok()) {
      fmt::print(stderr, "elider-lab scan: {}\n", status.message());
      set_exit_code(kExitFailed);
    }
  });
}

}  // namespace elider::bench
