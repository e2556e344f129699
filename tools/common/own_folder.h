// own_folder(): where the program that runs lies, and so what was built or installed with it.
// Thread safety: a pure read.
#pragma once

#include <filesystem>

namespace elider::tools {

// Empty where the system does not say.
std::filesystem::path own_folder();

}  // namespace elider::tools
