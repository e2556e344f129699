#include "tools/common/own_folder.h"

#include <array>
#include <climits>

#include <unistd.h>

namespace elider::tools {

std::filesystem::path own_folder() {
  std::array<char, PATH_MAX> self{};
  const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
  return length > 0 ? std::filesystem::path(self.data()).parent_path() : std::filesystem::path();
}

}  // namespace elider::tools
