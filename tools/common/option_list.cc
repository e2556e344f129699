#include "tools/common/option_list.h"

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "tools/common/json.h"

namespace elider::tools {

namespace {

struct Chosen {
  bool markdown = false;
  std::string json;
};

constexpr const char* kTypes[] = {"number", "bytes", "flag", "choice", "folders"};

std::string default_of(const OptionStruct& options, const OptionInfo& option) {
  if (option.name == "recover_to") return "all";
  const std::string text = options.default_text(option.name);
  return text.empty() ? "none" : text;
}

// The allowed values of the option, with their unit.
std::string range_of(const OptionInfo& option) {
  const std::string range = range_text(option);
  return option.unit.empty() || option.type == OptionInfo::Type::kBytes ? range : fmt::format("{} {}", range, option.unit);
}

void print_in_markdown(const OptionStruct& options) {
  fmt::print("{}", options.markdown_heading);
  fmt::print("| name | default | values | description |\n|---|---|---|---|\n");
  for (const OptionInfo& option : options.table)
    fmt::print("| `{}` | {} | {} | {} |\n", option.name, default_of(options, option), range_of(option), option.words);
}

void print_as_text(const OptionStruct& options) {
  for (const OptionInfo& option : options.table)
    fmt::print("{}::{} [{}]\n    {}.\n    {}\n", options.name, option.name, default_of(options, option), option.words, range_of(option));
}

Json to_json(const OptionStruct& options, const OptionInfo& option) {
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

void run(const Chosen& chosen, const char* program, std::span<const OptionStruct> structs) {
  if (!chosen.json.empty()) {
    Json table = Json::array();
    for (const OptionStruct& options : structs)
      for (const OptionInfo& option : options.table) table.push_back(to_json(options, option));
    if (const Status status = write_json(chosen.json, table); !status.ok()) {
      fmt::print(stderr, "{} options: {}\n", program, status.message());
      set_exit_code(kExitFailed);
    }
    return;
  }
  for (const OptionStruct& options : structs) chosen.markdown ? print_in_markdown(options) : print_as_text(options);
}

}  // namespace

void add_option_list(Command app, const char* program, const char* summary, const char* page, std::span<const OptionStruct> structs) {
  auto chosen = std::make_shared<Chosen>();
  Command command = app.add("options", summary);
  command.flag("--markdown", chosen->markdown, fmt::format("Print {}", page));
  command.option("--json", chosen->json, "Write JSON to this file instead (- for standard output)").type("FILE");
  command.footer(fmt::format("  {0} options\n  {0} options --json - | python3 -m json.tool", program));
  command.runs([chosen, program, structs] { run(*chosen, program, structs); });
}

}  // namespace elider::tools
