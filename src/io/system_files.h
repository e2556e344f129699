// The operating system's file system, even if a test has substituted another one (io/file.h).
// Thread safety: all functions may be called from any thread.
#pragma once

#include "io/file.h"

namespace elider::io {

// The result exists until the process ends.
FileSystem& plain_system_files();

}  // namespace elider::io
