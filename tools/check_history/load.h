// Reads a history file (docs/history.md) into memory, and refuses one that
// is malformed or cut short.
//
// Not a checker: it says whether the file is a history, not whether the history is right.
// Thread safety: a pure function of the file.
#pragma once

#include <istream>
#include <string>

#include "tools/check_history/model.h"
#include "elider/status.h"

namespace elider::check {

// kInvalidArgument: the message names the file, the line and what is wrong there. A file whose last
// line has no line end was cut off while it was written, and is refused too.
Result<RecordedHistory> load_history(const std::string& path);

// The same from a stream; `name` is what messages call it.
Result<RecordedHistory> load_history(std::istream& stream, const std::string& name);

}  // namespace elider::check
