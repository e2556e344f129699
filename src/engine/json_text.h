// quoted(): a text as a JSON string. All the JSON that the library itself writes needs no more.
// Thread safety: a pure function.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace elider::detail {

inline std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += escaped;
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

}  // namespace elider::detail
