#include "tools/common/values.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/common/command.h"

namespace elider::tools {

std::string check_whole_number(const std::string& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) return {};
  return "'" + text + "' is not a whole number from 0 to 18446744073709551615";
}

std::string check_seconds(const std::string& text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size()) return "'" + text + "' is not a number of seconds";
  if (!(seconds > 0 && seconds <= 86400)) return "must be above 0 and at most 86400, not " + text;
  return {};
}

std::string check_positive(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size() && number > 0) return {};
  return "'" + text + "' is not a number above 0";
}

bool parse_bytes(const std::string& text, uint64_t* bytes) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data()) return false;
  const std::string unit(end, text.data() + text.size());
  unsigned shift = 0;
  if (unit == "K" || unit == "k") shift = 10;
  else if (unit == "M" || unit == "m") shift = 20;
  else if (unit == "G" || unit == "g") shift = 30;
  else if (!unit.empty()) return false;
  if (number > ~uint64_t{0} >> shift) return false;
  *bytes = number << shift;
  return true;
}

void check_writable(const char* option, const std::string& path) {
  if (path.empty() || path == "-") return;
  const bool existed = ::access(path.c_str(), F_OK) == 0;
  std::FILE* file = std::fopen(path.c_str(), "a");
  if (file == nullptr) refuse_option(option, fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  std::fclose(file);
  if (!existed) ::unlink(path.c_str());
}

}  // namespace elider::tools
