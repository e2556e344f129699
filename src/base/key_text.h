// Formats byte keys for messages.
// Thread safety: a pure function.
#pragma once

#include <string>
#include <string_view>

namespace elider {

// Returns the key in quotation marks. Control characters and bytes that are not UTF-8 are shown as
// \xNN. Of a key that is longer than 64 bytes, only the first 64 bytes and the size are shown.
std::string quoted_key(std::string_view bytes);

}  // namespace elider
