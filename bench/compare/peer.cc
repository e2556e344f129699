#include "bench/compare/peer.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <unistd.h>

#include <fmt/format.h>

#include "bench/common/report.h"

namespace elider::bench {

Result<std::unique_ptr<ScratchFolder>> ScratchFolder::make(const CompareOptions& options, const std::string& peer, uint64_t bytes_needed) {
  std::error_code error;
  const std::vector<std::string>& data = options.ycsb.common.data.folders;
  std::filesystem::path parent = data.empty() ? options.folder : data.front();
  if (!data.empty()) {
    std::filesystem::create_directories(parent, error);
  } else if (options.folder.empty()) {
    // Memory rather than a disk: the disk's speed is not what is compared.
    parent = "/dev/shm";
    if (::access(parent.c_str(), W_OK) != 0 || std::filesystem::space(parent, error).available < bytes_needed)
      parent = std::filesystem::temp_directory_path(error);
  }
  const std::filesystem::space_info space = std::filesystem::space(parent, error);
  const char* const option = data.empty() ? "--dir" : "--data";
  if (error) return Status::invalid_argument(fmt::format("{}: '{}' cannot be used: {}", option, parent.string(), error.message()));
  if (space.available < bytes_needed)
    return Status::invalid_argument(fmt::format("{}: '{}' has {} free, and {} needs {}", option, parent.string(),
                                                short_bytes(static_cast<double>(space.available)), peer,
                                                short_bytes(static_cast<double>(bytes_needed))));
  std::string path = (parent / ("elider-compare-" + peer + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr)
    return Status::invalid_argument(fmt::format("{}: no folder can be made in '{}': {}", option, parent.string(), std::strerror(errno)));
  return std::unique_ptr<ScratchFolder>(new ScratchFolder(std::move(path)));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;  // nothing more can be done about a folder that will not go
  std::filesystem::remove_all(path_, ignored);
}

Status built_without(const std::string& peer, const std::string& package) {
  return Status(Code::kUnsupported,
                fmt::format("{} was not there when this program was built: install the Debian package {} and build again", peer, package));
}

}  // namespace elider::bench
