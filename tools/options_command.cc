// The command `elider options`: prints the tables of options (elider/option_table.h,
// elider/heap_option_table.h) as text, JSON, or docs/options.md.
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "elider/heap_option_table.h"
#include "elider/option_table.h"
#include "tools/commands.h"
#include "tools/common/json.h"

namespace elider::tools {

namespace {

struct OptionsChosen {
  bool markdown = false;
  std::string json;
};

constexpr const char* kTypes[] = {"number", "bytes", "flag", "choice", "folders"};

// A table of options and the defaults of the options.
struct OptionsOf {
  const char* name;  // the name of the type
  std::span<const OptionInfo> table;
  std::string (*default_text)(std::string_view name);
};
const OptionsOf kAll[] = {{"Options", option_table(), [](std::string_view name) { return option_text(Options(), name); }},
                          {"HeapOptions", heap_option_table(), [](std::string_view name) { return option_text(HeapOptions(), name); }}};

std::string default_of(const OptionsOf& options, const OptionInfo& option) {
  if (option.name == "recover_to") return "all";
  const std::string text = options.default_text(option.name);
  return text.empty() ? "none" : text;
}

// The allowed values of the option, with their unit.
std::string range_of(const OptionInfo& option) {
  const std::string range = range_text(option);
  return option.unit.empty() || option.type == OptionInfo::Type::kBytes ? range : fmt::format("{} {}", range, option.unit);
}

void print_rows_in_markdown(const OptionsOf& options) {
  fmt::print("| name | default | values | description |\n|---|---|---|---|\n");
  for (const OptionInfo& option : options.table)
    fmt::print("| `{}` | {} | {} | {} |\n", option.name, default_of(options, option), range_of(option), option.words);
}

void print_options_in_markdown() {
  fmt::print(
      "# Options\n\n"
      "These are the members of `Options`. [options.h](../include/elider/options.h) describes each in detail. To set an option from\n"
      "text, call `set_option()` ([option_table.h](../include/elider/option_table.h)); sizes may be written as 64K, 512M or 2G.\n"
      "This page is the output of `elider options --markdown`.\n\n");
  print_rows_in_markdown(kAll[0]);
  fmt::print(
      "\n## Durable heap\n\n"
      "These are the members of `HeapOptions` ([heap.md](heap.md), [heap.h](../include/elider/heap.h)). `set_option()` also sets them\n"
      "from text ([heap_option_table.h](../include/elider/heap_option_table.h)). An existing file keeps the values it was created with\n"
      "for options that apply to new files.\n\n");
  print_rows_in_markdown(kAll[1]);
}

void print_table() {
  for (const OptionsOf& options : kAll)
    for (const OptionInfo& option : options.table)
      fmt::print("{}::{} [{}]\n    {}.\n    {}\n", options.name, option.name, default_of(options, option), option.words, range_of(option));
}

Json to_json(const OptionsOf& options, const OptionInfo& option) {
  Json json = {{"of", options.name},
               {"name", option.name},
               {"type", kTypes[static_cast<size_t>(option.type)]},
               {"default", default_of(options, option)}};
  if (!option.unit.empty()) json["unit"] = option.unit;
  if (option.type == OptionInfo::Type::kNumber || option.type == OptionInfo::Type::kBytes) {
    json["min"] = option.min;
    json["max"] = option.max;
    if (!option.zero.empty()) json["zero"] = option.zero;
    if (option.power_of_two) json["power_of_two"] = true;
  }
  if (!option.choices.empty()) json["choices"] = option.choices;
  json["words"] = option.words;
  return json;
}

void run(const OptionsChosen& chosen) {
  if (!chosen.json.empty()) {
    Json table = Json::array();
    for (const OptionsOf& options : kAll)
      for (const OptionInfo& option : options.table) table.push_back(to_json(options, option));
    if (const Status status = write_json(chosen.json, table); !status.ok()) {
      fmt::print(stderr, "elider options: {}\n", status.message());
      set_exit_code(kExitFailed);
    }
    return;
  }
  chosen.markdown ? print_options_in_markdown() : print_table();
}

}  // namespace

void add_options(Command app) {
  auto chosen = std::make_shared<OptionsChosen>();
  Command command =
      app.add("options", "List the options of a database and of a durable heap: defaults, ranges, descriptions");
  command.flag("--markdown", chosen->markdown, "Print docs/options.md");
  command.option("--json", chosen->json, "Write JSON to this file instead (- for standard output)").type("FILE");
  command.footer("  elider options\n  elider options --json - | python3 -m json.tool");
  command.runs([chosen] { run(*chosen); });
}

}  // namespace elider::tools
