#include "cli/suggestion.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace elider::cli {

namespace {

// How many letters must be put in, taken out, changed, or swapped with their neighbours, to make the one of the other.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

// "; did you mean X?", of the nearest one, or nothing where none is near.
std::string meant(const std::string& word, const std::vector<std::string>& known) {
  const std::string* nearest = nullptr;
  size_t least = word.size() / 3 + 2;  // not as near as that: another word
  for (const std::string& candidate : known) {
    // What was cut short is near, however much is missing.
    const bool begins = word.size() > 3 && candidate.starts_with(word);
    if (const size_t apart = begins ? 1 : distance(word, candidate); apart < least) {
      least = apart;
      nearest = &candidate;
    }
  }
  return nullptr != nearest ? fmt::format("; did you mean {}?", *nearest) : std::string();
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(command->get_name());
  return names;
}

}  // namespace

std::string unknown_word(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* at = &app;
  std::string path = app.get_name();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") return {};
    if (word.size() > 1 && word[0] == '-') {
      const std::string name = word.substr(0, word.find('='));
      // Of short ones a value, or others, may follow without a blank.
      const CLI::Option* option = at->get_option_no_throw(word.starts_with("--") ? name : word.substr(0, 2));
      if (option == nullptr) return fmt::format("{}: there is no option '{}'{}\n{} --help lists those there are", path, name, meant(name, options_of(*at)), path);
      if (option->get_items_expected_min() > 0 && name == word && (word.starts_with("--") || word.size() == 2)) ++i;  // its value
      continue;
    }
    const std::vector<std::string> commands = commands_of(*at);
    if (commands.empty()) continue;  // a file, or another value
    if (std::find(commands.begin(), commands.end(), word) == commands.end())
      return fmt::format("{}: there is no command '{}'{}\n{} --help lists those there are", path, word, meant(word, commands), path);
    at = at->get_subcommand(word);
    path += " " + word;
  }
  return {};
}

}  // namespace elider::cli
