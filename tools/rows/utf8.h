// utf8_end(): checks whether bytes are UTF-8 (RFC 3629), with RapidJSON's decoder.
// Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <rapidjson/encodings.h>
#include <rapidjson/memorystream.h>

namespace elider::tools {

// Returns the offset of the first byte that is not UTF-8, or the size if the text is valid.
inline size_t utf8_end(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    uint64_t word = 0;
    if (text.size() - at >= sizeof word)
      std::memcpy(&word, text.data() + at, sizeof word);
    else
      word = ~uint64_t{0};
    if ((word & 0x8080808080808080) == 0) {
      at += sizeof word;
    } else if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
    } else {
      rapidjson::MemoryStream stream(text.data() + at, text.size() - at);
      unsigned codepoint = 0;
      if (!rapidjson::UTF8<>::Decode(stream, &codepoint) || stream.Tell() > text.size() - at) return at;
      at += stream.Tell();
    }
  }
  return at;
}

}  // namespace elider::tools
