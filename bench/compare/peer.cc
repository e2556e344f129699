#include "bench/compare/peer.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "bench/common/report.h"

namespace elider::bench {

namespace {

// Upper bounds for loading: how many copies of a record the files of all stores contain together,
// and how many bytes each copy takes in addition to the value.
constexpr uint64_t kCopiesWhileLoading = 8;
constexpr uint64_t kBytesBesideValue = 64;

const char* option_of(const CompareOptions& options) { return options.ycsb.common.data.folders.empty() ? "--dir" : "--data"; }

// Returns the error for a folder that cannot be used. The message names the option that chose the
// folder.
Status unusable(const CompareOptions& options, const std::string& folder, const std::string& why) {
  return Status::invalid_argument(fmt::format("{}: '{}' {}", option_of(options), folder, why));
}

std::filesystem::path parent_of_run(const CompareOptions& options) {
  std::error_code error;
  if (const std::vector<std::string>& data = options.ycsb.common.data.folders; !data.empty()) {
    std::filesystem::create_directories(data.front(), error);
    return data.front();
  }
  if (!options.folder.empty()) return options.folder;
  // Prefers memory to a disk, because the comparison is not about the speed of the disk.
  const std::filesystem::path memory = "/dev/shm";
  const uint64_t needed = kCopiesWhileLoading * options.ycsb.records * (options.ycsb.value_bytes + kBytesBesideValue);
  if (::access(memory.c_str(), W_OK) == 0 && std::filesystem::space(memory, error).available >= needed && !error) return memory;
  return std::filesystem::temp_directory_path(error);
}

}  // namespace

Result<std::unique_ptr<ScratchFolder>> ScratchFolder::of_run(const CompareOptions& options) {
  const std::filesystem::path parent = parent_of_run(options);
  std::string path = (parent / "elider-compare-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr)
    return unusable(options, parent.string(), fmt::format("cannot hold a temporary folder: {}", std::strerror(errno)));
  return std::unique_ptr<ScratchFolder>(new ScratchFolder(std::move(path)));
}

Result<std::unique_ptr<ScratchFolder>> ScratchFolder::of_peer(const CompareOptions& options, const std::string& peer,
                                                              uint64_t bytes_needed) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(options.scratch, error);
  if (error) return unusable(options, options.scratch, fmt::format("cannot be used: {}", error.message()));
  if (space.available < bytes_needed)
    return unusable(options, options.scratch,
                    fmt::format("has only {} free, but {} needs {}", short_bytes(static_cast<double>(space.available)), peer,
                                short_bytes(static_cast<double>(bytes_needed))));
  std::string path = options.scratch + "/" + peer;
  if (::mkdir(path.c_str(), 0700) != 0) return unusable(options, path, fmt::format("cannot be created: {}", std::strerror(errno)));
  return std::unique_ptr<ScratchFolder>(new ScratchFolder(std::move(path)));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;  // a folder that cannot be removed is left behind
  std::filesystem::remove_all(path_, ignored);
}

Status built_without(const std::string& peer, const std::string& package) {
  return Status(
      Code::kUnsupported,
      fmt::format("{} was not available when this program was built; install the Debian package {} and build again", peer, package));
}

}  // namespace elider::bench
