// Messages of statuses within other messages.
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "elider/status.h"

namespace elider::tools {

// Returns the status's message without the name of its code.
inline std::string words_of(const Status& status) {
  const std::string message = status.message(), code = std::string(name_of(status.code())) + ": ";
  return message.starts_with(code) ? message.substr(code.size()) : message;
}

// Returns a status with the same code and the message "<where>: <words>".
inline Status with_place(const std::string& where, const Status& status) { return Status(status.code(), where + ": " + words_of(status)); }

}  // namespace elider::tools
