// quoted() converts a string to a JSON string. Bytes that are not valid UTF-8 are written as \xNN.
// Such bytes may occur in the name of a folder, or of a table in an old file.
// Thread safety: a pure function.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace elider::detail {

inline std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const size_t bytes = utf8_bytes(text.substr(i));
    if (bytes == 0) {
      out += "\\" + printable(text.substr(i, 1));
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += escaped;
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += text.substr(i, bytes);
    }
    i += bytes == 0 ? 1 : bytes;
  }
  out += '"';
  return out;
}

}  // namespace elider::detail
