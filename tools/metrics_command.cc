// The command `elider metrics`: the list of metrics (elider/metrics.h), for people, as
// JSON, and as docs/metrics.md.
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
      "`elider metrics --markdown` printed this page; [statistics.h](../include/elider/statistics.h) says more of each.\n"
      "`Database::statistics()` gives all of them, `Statistics::to_json()` as JSON, and `for_each_metric()` one after the other\n"
      "([metrics.h](../include/elider/metrics.h)). Counters begin at 0 when the database is opened.\n\n"
      "In JSON, \"memory.rows\" is \"rows\" in the object \"memory\". Each procedure, table and site is an object in the lists\n"
      "\"procedures\", \"tables\" and \"elision\"; a site is a place that runs hardware transactions, and the list is there where\n"
      "some ran. The list \"conflicted_keys\" has an object for each of a table's most conflicted keys, which names the table and\n"
      "the key; it is there where conflicts happened.\n"
      "\"aborts\" is an object with a number for each cause that has happened.\n\n"
      "| name | of each | kind | unit | what it is |\n|---|---|---|---|---|\n");
  for (const MetricInfo& metric : metric_table())
    fmt::print("| `{}` | {} | {} | {} | {} |\n", metric.name, element_of(metric), kind_of(metric), metric.unit, metric.words);
}

void print_list() {
  for (const MetricInfo& metric : metric_table())
    fmt::print("{} [of each {}, {}{}{}]\n    {}\n", metric.name, element_of(metric), kind_of(metric),
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
  Command command = app.add("metrics", "List the figures that a database keeps of itself: name, kind, unit, what each is");
  command.flag("--markdown", chosen->markdown, "As a page of the documents");
  command.option("--json", chosen->json, "Write them as JSON here instead (- for standard output)").type("FILE");
  command.footer("  elider metrics\n  elider metrics --json - | python3 -m json.tool");
  command.runs([chosen] { run(*chosen); });
}

}  // namespace elider::tools
