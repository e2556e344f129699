// UTF-8: checks whether a string is valid text, and prints strings that are not.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace elider {

// Returns the number of bytes of the first character of `text`, which must not be empty. Returns 0
// if `text` does not begin with valid UTF-8. Overlong forms and surrogates are invalid.
inline size_t utf8_bytes(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const size_t bytes = first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  if (bytes == 0 || text.size() < bytes) return 0;
  for (size_t i = 1; i < bytes; ++i)
    if (at(i) < 0x80 || at(i) > 0xbf) return 0;
  const unsigned char second = at(1);
  const bool odd = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
                   (first == 0xf4 && second > 0x8f);
  return odd ? 0 : bytes;
}

// Returns the offset of the first byte that is not valid UTF-8, or the size if the text is valid.
inline size_t utf8_end(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    if (text.size() - i >= 8) {
      uint64_t word;
      std::memcpy(&word, text.data() + i, sizeof word);
      if ((word & 0x8080808080808080) == 0) {
        i += 8;
        continue;
      }
    }
    const size_t bytes = utf8_bytes(text.substr(i));
    if (bytes == 0) break;
    i += bytes;
  }
  return i;
}

// Returns the text with control characters and invalid bytes printed as \xNN. Sets *all_text to
// true if the text contains neither.
inline std::string printable(std::string_view text, bool* all_text = nullptr) {
  constexpr char kDigits[] = "0123456789abcdef";
  if (all_text != nullptr) *all_text = true;
  std::string shown;
  for (size_t i = 0; i < text.size();) {
    const size_t bytes = utf8_bytes(text.substr(i));
    const auto first = static_cast<unsigned char>(text[i]);
    if (bytes != 0 && first >= 0x20 && first != 0x7f) {
      shown += text.substr(i, bytes);
      i += bytes;
      continue;
    }
    shown += {'\\', 'x', kDigits[first >> 4], kDigits[first & 15]};
    if (all_text != nullptr) *all_text = false;
    ++i;
  }
  return shown;
}

}  // namespace elider
