// The command `elider metrics`: prints the list of metrics (elider/metrics.h) as text, JSON, or
// docs/metrics.md.
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "elider/metrics.h"
#include "tools/commands.h"
#include "tools/common/json.h"

namespace elider::tools {

namespace {

struct MetricsChosen {
  bool markdown = false;
  std::string json;
};

constexpr const char* kKinds[] = {"counter", "gauge", "text"};
constexpr const char* kOf[] = {"database", "procedure", "table", "site", "conflicted key"};

std::string kind_of(const MetricInfo& metric) { return kKinds[static_cast<size_t>(metric.kind)]; }
std::string element_of(const MetricInfo& metric) { return kOf[static_cast<size_t>(metric.of)]; }

void print_metrics_in_markdown() {
  fmt::print(
      "# Metrics\n\n"
      "`Database::statistics()` returns all metrics, `Statistics::to_json()` formats them as JSON, and `for_each_metric()` visits them\n"
      "one by one ([metrics.h](../include/elider/metrics.h)). [statistics.h](../include/elider/statistics.h) describes each in detail.\n"
      "Counters start at 0 when the database is opened. This page is the output of `elider metrics --markdown`.\n\n"
      "In JSON:\n\n"
      "- `memory.rows` is the member `rows` of the object `memory`.\n"
      "- The lists `procedures` and `tables` have an object for each procedure and each table.\n"
      "- The list `elision` has an object for each site, which is a place in the code that runs hardware transactions. The list is\n"
      "  present only if some ran.\n"
      "- The list `conflicted_keys` has an object for each of the most conflicted keys, with its table and key. The list is present\n"
      "  only if conflicts occurred.\n"
      "- `aborts` is an object with a number for each cause that has occurred.\n\n"
      "| name | scope | kind | unit | description |\n|---|---|---|---|---|\n");
  for (const MetricInfo& metric : metric_table())
    fmt::print("| `{}` | {} | {} | {} | {} |\n", metric.name, element_of(metric), kind_of(metric), metric.unit, metric.words);
}

void print_list() {
  for (const MetricInfo& metric : metric_table())
    fmt::print("{} [per {}, {}{}{}]\n    {}\n", metric.name, element_of(metric), kind_of(metric),
               metric.unit.empty() ? "" : ", ", metric.unit, metric.words);
}

Json to_json(const MetricInfo& metric) {
  Json json = {{"name", metric.name}, {"of", element_of(metric)}, {"kind", kind_of(metric)}};
  if (metric.by_cause) json["by"] = "cause";
  if (!metric.unit.empty()) json["unit"] = metric.unit;
  json["words"] = metric.words;
  return json;
}

void run(const MetricsChosen& chosen) {
  if (!chosen.json.empty()) {
    Json list = Json::array();
    for (const MetricInfo& metric : metric_table()) list.push_back(to_json(metric));
    if (const Status status = write_json(chosen.json, list); !status.ok()) {
      fmt::print(stderr, "elider metrics: {}\n", status.message());
      set_exit_code(kExitFailed);
    }
    return;
  }
  chosen.markdown ? print_metrics_in_markdown() : print_list();
}

}  // namespace

void add_metrics(Command app) {
  auto chosen = std::make_shared<MetricsChosen>();
  Command command = app.add("metrics", "List the metrics of a database: names, kinds, units, descriptions");
  command.flag("--markdown", chosen->markdown, "Print docs/metrics.md");
  command.option("--json", chosen->json, "Write JSON to this file instead (- for standard output)").type("FILE");
  command.footer("  elider metrics\n  elider metrics --json - | python3 -m json.tool");
  command.runs([chosen] { run(*chosen); });
}

}  // namespace elider::tools
