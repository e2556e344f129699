// own_folder(): the folder of the running program, where other built or installed files are found.
// Thread safety: a pure function.
#pragma once

#include <filesystem>

namespace elider::tools {

// Returns "" if the system does not report it.
std::filesystem::path own_folder();

}  // namespace elider::tools
