// Reads a history file (docs/history.md) into memory, and refuses a malformed or truncated one.
//
// It decides whether the file is a history, not whether the history is correct.
// Thread safety: a pure function of the file.
#pragma once

#include <istream>
#include <string>

#include "tools/check_history/model.h"
#include "elider/status.h"

namespace elider::check {

//   kInvalidArgument  the message names the file, the line and the mistake. A file whose last line
//                     does not end with a newline was truncated, and is refused as well
Result<RecordedHistory> load_history(const std::string& path);

// Like load_history(), from a stream. Messages call it `name`.
Result<RecordedHistory> load_history(std::istream& stream, const std::string& name);

}  // namespace elider::check
