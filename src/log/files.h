// Makes the names of the file layer (src/io) available in the log's namespace.
//
// Thread safety: see io/file.h.
#pragma once

#include "io/file.h"

namespace elider::log {

using namespace io;

}  // namespace elider::log
