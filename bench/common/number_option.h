// number_in(): an option's check: a number from `min` to `max`. A refusal says which of the two it was that did not hold:
// that the text is no number, or the range.
// Thread safety: pure functions.
#pragma once

#include <charconv>
#include <string>
#include <type_traits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace elider::bench {

template <class T>
CLI::Validator number_in(T min, T max) {
  const auto check = [min, max](std::string& text) -> std::string {
    // Wider than T, so that what T cannot hold is out of range and not "no number".
    using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
    Wide number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool negative = text.size() > 1 && text[0] == '-' && text.find_first_not_of("0123456789", 1) == std::string::npos;
    if (!negative && (error == std::errc::invalid_argument || end != text.data() + text.size()))
      return fmt::format("'{}' is not a {}number", text, std::is_floating_point_v<T> ? "" : "whole ");
    if (error != std::errc{} || !(number >= static_cast<Wide>(min) && number <= static_cast<Wide>(max)))
      return fmt::format("{} is not in the range from {} to {}", text, min, max);
    return {};
  };
  return CLI::Validator(check, fmt::format("{} to {}", min, max), "");
}

}  // namespace elider::bench
