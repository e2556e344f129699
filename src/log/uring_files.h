// UringFiles: the system's files, but what is written and synced goes to the kernel as one submission of io_uring, the
// sync linked to the write: it begins when all is written, and not at all otherwise.
//
// Everything else, and what a short write or an error means, is as with plain system calls.
// Thread safety: as FileSystem's.
#pragma once

#include "log/file.h"

namespace elider::log {

// kUnsupported: this build or this kernel has no io_uring, or does not allow it; the message says which.
Status uring_files(FileSystem** files);

}  // namespace elider::log
