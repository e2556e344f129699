// The files of the operating system (src/io), under the names that the log uses.
// Thread safety: as io/file.h says.
#pragma once

#include "io/file.h"

namespace elider::log {

using namespace io;

}  // namespace elider::log
