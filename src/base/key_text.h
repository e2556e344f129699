// Formats byte keys for messages.
// Thread safety: a pure function.
#pragma once

#include <string>
#include <string_view>

namespace elider {

// Returns the key in quotation marks. Bytes that are not text are shown as \xNN. For a long key,
// only the beginning and the size are shown.
std::string quoted_key(std::string_view bytes);

}  // namespace elider
