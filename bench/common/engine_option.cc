#include "bench/common/engine_option.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

namespace elider::bench {

Option add_engine_option(Command command, const char* flag, const char* type, std::string_view name,
                         std::function<void(const Options& options)> take, const std::string& before, std::string_view instead) {
  const OptionInfo& info = *find_option(name);
  const std::string range = range_text(info);
  const bool choice = info.type == OptionInfo::Type::kChoice;
  const bool unit = info.type == OptionInfo::Type::kNumber && !info.unit.empty();
  std::string words(info.words);
  if (!before.empty()) words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
  const std::string by_default = instead.empty() ? option_text(Options(), name) : std::string(instead);
  return command
      .option(
          flag,
          [flag, &info, range, choice, take = std::move(take)](const std::string& text) {
            Options options;
            if (!set_option(options, info.name, text).ok())
              refuse_option(flag,
                            choice ? fmt::format("'{}' is not one of {}", text, range) : fmt::format("must be {}, not '{}'", range, text));
            take(options);
          },
          fmt::format("{}{}: {}{}{} [{}]", before, words, range, unit ? " " : "", unit ? info.unit : "", by_default))
      .type(type);
}

void add_engine_flag(Command command, const char* flag, std::string_view name, std::function<void()> take) {
  const OptionInfo& info = *find_option(name);
  const bool on = option_text(Options(), name) == "true";
  command.flag(flag, std::move(take), fmt::format("Turn {} {}: {}", on ? "off" : "on", name, info.words));
}

std::vector<std::string> choices_of(const OptionInfo& option) {
  std::vector<std::string> choices;
  for (std::string_view rest = option.choices; !rest.empty();) {
    const size_t comma = std::min(rest.find(", "), rest.size());
    choices.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 2, rest.size()));
  }
  return choices;
}

}  // namespace elider::bench
