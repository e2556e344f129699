// The files of the operating system, whatever a test has put in their place (system_files()).
// Thread safety: all functions may be called from any thread.
#pragma once

#include "io/file.h"

namespace elider::io {

// Lives as long as the process.
FileSystem& plain_system_files();

}  // namespace elider::io
