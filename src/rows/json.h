// check_json(): checks whether a string is one JSON text (RFC 8259). It does not build anything, so
// it needs neither memory nor a library.
//
// The text must be UTF-8, which the caller checks. The check refuses what RFC 8259 leaves to
// programs: escaped surrogates without a partner, which are not text, and more than kJsonDepthMax
// levels. It accepts numbers of any size and members with the same name.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace elider::rows {

inline constexpr size_t kJsonDepthMax = 512;

struct JsonMistake {
  const char* reason = nullptr;  // null: the text is valid
  size_t offset = 0;             // where the mistake is
};

JsonMistake check_json(std::string_view text);

}  // namespace elider::rows
