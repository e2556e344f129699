// Reads a history file (docs/history.md) into memory. Rejects a malformed or truncated file.
//
// The loader checks only the format, not whether the history is correct.
// Thread safety: a pure function of the file.
#pragma once

#include <istream>
#include <string>

#include "tools/check_history/model.h"
#include "elider/status.h"

namespace elider::check {

//   kInvalidArgument  the file is malformed; the message names the file, the line and the error. If
//                     the last line does not end with a newline, the file was truncated
Result<RecordedHistory> load_history(const std::string& path);

// Like the other load_history(), but reads a stream, which messages call `name`.
Result<RecordedHistory> load_history(std::istream& stream, const std::string& name);

}  // namespace elider::check
