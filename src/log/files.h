// The names that the log uses for the operating system's files (src/io).
//
// Thread safety: that of io/file.h.
#pragma once

#include "io/file.h"

namespace elider::log {

using namespace io;

}  // namespace elider::log
