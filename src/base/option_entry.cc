#include "base/option_entry.h"

#include <bit>
#include <charconv>

namespace elider {

std::string range_text(const OptionInfo& option) {
  switch (option.type) {
    case OptionInfo::Type::kFlag: return "true, false";
    case OptionInfo::Type::kChoice: return std::string(option.choices);
    case OptionInfo::Type::kFolders: return "paths, separated by commas";
    case OptionInfo::Type::kNumber:
    case OptionInfo::Type::kBytes: break;
  }
  std::string text = option.zero.empty() ? "" : "0 (" + std::string(option.zero) + ") or ";
  if (option.power_of_two) text += "a power of two, ";
  if (option.max == option_entry::kAny)
    return option.min == 0 ? text + "any number" : text + "at least " + option_entry::number_text(option, option.min);
  return text + option_entry::number_text(option, option.min) + " to " + option_entry::number_text(option, option.max);
}

namespace option_entry {

bool parse_number(std::string_view text, bool with_unit, uint64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  if (error != std::errc{}) return false;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (unit.empty()) return true;
  const size_t place = unit.size() == 1 ? std::string_view("KMGkmg").find(unit[0]) : std::string_view::npos;
  if (!with_unit || place == std::string_view::npos) return false;
  const unsigned shift = 10 * (static_cast<unsigned>(place % 3) + 1);
  if (*number > kAny >> shift) return false;
  *number <<= shift;
  return true;
}

std::string number_text(const OptionInfo& option, uint64_t number) {
  const char* unit = "";
  if (option.type == OptionInfo::Type::kBytes && number != 0)
    for (const char* larger : {"K", "M", "G"}) {
      if (number % 1024 != 0) break;
      number /= 1024;
      unit = larger;
    }
  return std::to_string(number) + unit;
}

bool allows(const OptionInfo& option, uint64_t number) {
  if (number == 0 && !option.zero.empty()) return true;
  return number >= option.min && number <= option.max && (!option.power_of_two || std::has_single_bit(number));
}

Status refuse(std::string_view of, const OptionInfo& option, const std::string& text) {
  return Status::invalid_argument(std::string(of) + "::" + std::string(option.name) + " is " + (text.empty() ? "empty" : text) +
                                  "; allowed: " + range_text(option));
}

}  // namespace option_entry
}  // namespace elider
