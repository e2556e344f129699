// Formats byte keys for messages.
// Thread safety: a pure function.
#pragma once

#include <string>
#include <string_view>

namespace elider {

// Returns the key in quotation marks. Control characters and bytes that are not UTF-8 are shown as
// \xNN. If a key is longer than 64 bytes, the result shows only its first 64 bytes and its size.
std::string quoted_key(std::string_view bytes);

}  // namespace elider
