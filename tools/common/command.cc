#include "tools/common/command.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <type_traits>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tools/common/interrupt.h"
#include "tools/common/suggestion.h"

namespace elider::tools {

namespace {

int chosen_exit_code = 0;

// Returns a description of the error if the text is not a number in the range, and otherwise an
// empty string. `Number` is wider than the option's type, so that a number that does not fit into
// this type is reported as out of range and not as malformed.
template <class Number>
std::string why_not_in(const std::string& text, Number min, Number max) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool negative = text.size() > 1 && text[0] == '-' && text.find_first_not_of("0123456789", 1) == std::string::npos;
  if (!negative && (error == std::errc::invalid_argument || end != text.data() + text.size()))
    return fmt::format("'{}' is not a {}number", text, std::is_floating_point_v<Number> ? "" : "whole ");
  if (error != std::errc{} || !(number >= min && number <= max))
    return fmt::format("{} is not in the range from {} to {}", text, min, max);
  return {};
}

template <class Number>
CLI::Validator range(Number min, Number max) {
  return CLI::Validator([min, max](std::string& text) { return why_not_in(text, min, max); }, fmt::format("{} to {}", min, max), "");
}

}  // namespace

void set_exit_code(int code) { chosen_exit_code = code; }
int exit_code() { return chosen_exit_code; }

int flush_output(int code) {
  std::cout.flush();
  const int refused = std::fflush(stdout) != 0 || !std::cout ? errno : 0;
  if (refused == 0 && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "elider: cannot write the output: %s\n", refused != 0 ? std::strerror(refused) : "part of it was not accepted");
  return code != 0 ? code : kExitFailed;
}

void refuse_option(const std::string& option, const std::string& why) { throw CLI::ValidationError(option, why); }

// -- Option ---------------------------------------------------------------------------------------

Option& Option::type(const char* name) { return option_->type_name(name), *this; }
Option& Option::shows_default() { return option_->capture_default_str(), *this; }
Option& Option::required() { return option_->required(), *this; }
Option& Option::needs(const Option& other) { return option_->needs(other.option_), *this; }
Option& Option::excludes(const Option& other) { return option_->excludes(other.option_), *this; }
Option& Option::between_commas() { return option_->delimiter(','), *this; }
Option& Option::one_at_a_time() { return option_->allow_extra_args(false), *this; }
Option& Option::one_of(std::vector<std::string> words) { return option_->check(CLI::IsMember(std::move(words))), *this; }
Option& Option::existing_file() { return option_->check(CLI::ExistingFile), *this; }
Option& Option::checked(std::function<std::string(const std::string&)> why) { return option_->check(std::move(why)), *this; }
Option& Option::in(double min, double max) { return option_->check(range(min, max)), *this; }
Option& Option::in_whole(uint64_t min, uint64_t max) { return option_->check(range(min, max)), *this; }
bool Option::given() const { return option_->count() != 0; }

// -- Command --------------------------------------------------------------------------------------

Command Command::add(const char* name, const std::string& words) {
  app_->require_subcommand(1);
  return Command(*app_->add_subcommand(name, words));
}
Option Command::option(const char* name, uint32_t& value, const std::string& words) { return Option(app_->add_option(name, value, words)); }
Option Command::option(const char* name, int& value, const std::string& words) { return Option(app_->add_option(name, value, words)); }
Option Command::option(const char* name, uint64_t& value, const std::string& words) { return Option(app_->add_option(name, value, words)); }
Option Command::option(const char* name, double& value, const std::string& words) { return Option(app_->add_option(name, value, words)); }
Option Command::option(const char* name, std::string& value, const std::string& words) {
  return Option(app_->add_option(name, value, words));
}
Option Command::option(const char* name, std::vector<uint32_t>& values, const std::string& words) {
  return Option(app_->add_option(name, values, words));
}
Option Command::option(const char* name, std::vector<std::string>& values, const std::string& words) {
  return Option(app_->add_option(name, values, words));
}
Option Command::option(const char* name, std::function<void(const std::string&)> take, const std::string& words) {
  return Option(app_->add_option_function<std::string>(name, take, words));
}
Option Command::flag(const char* name, bool& value, const std::string& words) { return Option(app_->add_flag(name, value, words)); }
Option Command::flag(const char* name, std::function<void()> given, const std::string& words) {
  return Option(app_->add_flag_callback(name, std::move(given), words));
}
Option Command::named(const char* name) const { return Option(app_->get_option(name)); }
void Command::footer(const std::string& words) { app_->footer(words); }
void Command::runs(std::function<void()> body) { app_->callback(std::move(body)); }

// -- Program --------------------------------------------------------------------------------------

Program::Program(const std::string& name, const std::string& about, const std::string& version)
    : app_(std::make_unique<CLI::App>(about, name)), root_(*app_) {
  if (!version.empty()) app_->set_version_flag("--version", version);
  app_->get_formatter()->column_width(32);
}
Program::~Program() = default;

void Program::examples(const std::string& words) { app_->footer(words); }

namespace {

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

// Returns an error message for the first argument that is an unknown command or option, or "" if
// all are known.
std::string Program::unknown_word(const std::vector<std::string>& arguments) const {
  const CLI::App* at = app_.get();
  std::string path = app_->get_name();
  const auto unknown = [&](const char* kind, const std::string& word, const std::vector<std::string>& known) {
    return fmt::format("{}: unknown {} '{}'{}\nsee {} --help", path, kind, word, suggestion(word, known), path);
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") return {};
    if (word.size() > 1 && word[0] == '-') {
      const std::string name = word.substr(0, word.find('='));
      // The value of a short option, or other short options, may follow without a space.
      const CLI::Option* option = at->get_option_no_throw(word.starts_with("--") ? name : word.substr(0, 2));
      if (option == nullptr) return unknown("option", name, options_of(*at));
      // Skips the value of the option.
      if (option->get_items_expected_min() > 0 && name == word && (word.starts_with("--") || word.size() == 2)) ++i;
      continue;
    }
    const std::vector<std::string> commands = commands_of(*at);
    if (commands.empty()) continue;  // a positional argument
    if (std::find(commands.begin(), commands.end(), word) == commands.end()) return unknown("command", word, commands);
    at = at->get_subcommand(word);
    path += " " + word;
  }
  return {};
}

int Program::run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    fmt::print(stderr, "{}", app_->help());
    return kExitUsage;
  }
  if (const std::string words = unknown_word(arguments); !words.empty()) {
    fmt::print(stderr, "{}\n", words);
    return kExitUsage;
  }
  try {
    app_->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // parse() expects them in reverse order
  } catch (const CLI::ParseError& error) {
    // The parser has an exit code for each kind of error. We use only one.
    return app_->exit(error) == 0 ? 0 : kExitUsage;
  }
  const int code = exit_code();
  return code == 0 && interrupted() ? kExitInterrupted : code;
}

std::string Program::refusal(const std::vector<std::string>& arguments) {
  try {
    app_->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return {};
}

}  // namespace elider::tools
