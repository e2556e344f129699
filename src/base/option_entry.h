// Code that the option tables share (elider/option_table.h and elider/heap_option_table.h): table
// entries, and functions that set a member from text, print it as text, and check its range.
// Thread safety: the functions access only their arguments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "elider/option_info.h"
#include "elider/status.h"

namespace elider::option_entry {

inline constexpr uint64_t kAny = ~uint64_t{0};
inline constexpr uint64_t kMillion = 1'000'000;

constexpr OptionInfo number(std::string_view name, std::string_view unit, uint64_t min, uint64_t max, std::string_view words,
                            std::string_view zero = {}) {
  return {.name = name, .type = OptionInfo::Type::kNumber, .unit = unit, .min = min, .max = max, .zero = zero, .words = words};
}
constexpr OptionInfo bytes(std::string_view name, uint64_t min, uint64_t max, std::string_view words, std::string_view zero = {}) {
  return {.name = name, .type = OptionInfo::Type::kBytes, .unit = "bytes", .min = min, .max = max, .zero = zero, .words = words};
}
constexpr OptionInfo flag(std::string_view name, std::string_view words) {
  return {.name = name, .type = OptionInfo::Type::kFlag, .words = words};
}
constexpr OptionInfo choice(std::string_view name, std::string_view choices, std::string_view words) {
  return {.name = name, .type = OptionInfo::Type::kChoice, .choices = choices, .words = words};
}

// An option and the member that stores it.
template <class Member>
struct Entry {
  OptionInfo info;
  Member member;
};

template <class Member, size_t kCount>
constexpr std::array<OptionInfo, kCount> infos_of(const Entry<Member> (&entries)[kCount]) {
  std::array<OptionInfo, kCount> infos;
  for (size_t i = 0; i < kCount; ++i) infos[i] = entries[i].info;
  return infos;
}

bool parse_number(std::string_view text, bool with_unit, uint64_t* number);
// Returns a string that parse_number() accepts. Byte counts are abbreviated if possible, as in "4M"
// and "64K".
std::string number_text(const OptionInfo& option, uint64_t number);
bool allows(const OptionInfo& option, uint64_t number);
// Returns the error for a value that the option does not allow. `of` is the name of the options
// struct, such as "Options".
Status refuse(std::string_view of, const OptionInfo& option, const std::string& text);

// Sets *value from `text`. Returns false if the text is not a value of the option.
template <class T>
bool take(const OptionInfo& option, std::string_view text, T* value) {
  if constexpr (std::is_same_v<T, bool>) {
    *value = text == "true";
    return text == "true" || text == "false";
  } else if constexpr (std::is_enum_v<T>) {
    // Some named values are not allowed for this option. For example, "default" is allowed only in
    // a RunPolicy.
    return (", " + std::string(option.choices) + ",").find(", " + std::string(text) + ",") != std::string::npos && parse(text, value);
  } else if constexpr (std::is_integral_v<T>) {
    if (option.automatic && text == "automatic") return *value = static_cast<T>(kAny), true;
    uint64_t number = 0;
    if (!parse_number(text, option.type == OptionInfo::Type::kBytes, &number) || !allows(option, number)) return false;
    *value = static_cast<T>(number);
    return true;
  } else {
    value->clear();
    for (size_t from = 0; from < text.size();) {
      const size_t comma = std::min(text.find(',', from), text.size());
      if (comma == from) return false;
      value->emplace_back(text.substr(from, comma - from));
      from = comma + 1;
    }
    return text.empty() || text.back() != ',';
  }
}

template <class T>
std::string text_of(const OptionInfo& option, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(name_of(value));
  } else if constexpr (std::is_integral_v<T>) {
    return option.automatic && value == kAny ? "automatic" : number_text(option, value);
  } else {
    std::string text;
    for (const std::string& folder : value) text += (text.empty() ? "" : ",") + folder;
    return text;
  }
}

template <class Entries>
auto find(const Entries& entries, std::string_view name) -> decltype(&entries[0]) {
  for (const auto& entry : entries)
    if (entry.info.name == name) return &entry;
  return nullptr;
}

// Sets an option from text. at(options, member) returns a reference to the member of `options`.
template <class Entries, class Chosen, class At>
Status set(std::string_view of, const Entries& entries, const At& at, Chosen& options, std::string_view name, std::string_view text) {
  const auto* const entry = find(entries, name);
  if (entry == nullptr) return Status::invalid_argument("unknown option '" + std::string(name) + "'; 'elider options' lists the options");
  return std::visit(
      [&](auto member) -> Status {
        auto value = at(options, member);
        if (!take(entry->info, text, &value)) return refuse(of, entry->info, "'" + std::string(text) + "'");
        at(options, member) = std::move(value);
        return {};
      },
      entry->member);
}

template <class Entries, class Chosen, class At>
std::string text(const Entries& entries, const At& at, const Chosen& options, std::string_view name) {
  const auto* const entry = find(entries, name);
  if (entry == nullptr) return {};
  return std::visit([&](auto member) { return text_of(entry->info, at(options, member)); }, entry->member);
}

// Checks that each number is in its range, and that each named value is one of the option's
// choices.
template <class Entries, class Chosen, class At>
Status check(std::string_view of, const Entries& entries, const At& at, const Chosen& options) {
  for (const auto& entry : entries) {
    const Status status = std::visit(
        [&](auto member) -> Status {
          const auto& value = at(options, member);
          using Value = std::remove_cvref_t<decltype(value)>;
          if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>)
            if (!allows(entry.info, value)) return refuse(of, entry.info, std::to_string(value));
          if constexpr (std::is_enum_v<Value>)
            if (name_of(value) == "?") return refuse(of, entry.info, std::to_string(static_cast<unsigned>(value)));
          return {};
        },
        entry.member);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace elider::option_entry
