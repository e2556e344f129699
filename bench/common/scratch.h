// Scratch: a temporary folder for the files of one figure or one history. The destructor removes
// the folder and its contents.
// Thread safety: one thread uses it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "elider/status.h"

namespace elider::bench {

// The new folder is created in `folder`, or in the system's temporary folder if `folder` is empty.
// Its name begins with `name`.
class Scratch {
 public:
  explicit Scratch(const std::string& folder, const char* name = "elider_heap") {
    const auto base = folder.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(folder);
    std::string text = (base / (std::string(name) + "_XXXXXX")).string();
    if (::mkdtemp(text.data()) != nullptr) path_ = text;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  // Empty if the folder could not be created.
  const std::filesystem::path& path() const { return path_; }
  Result<std::string> file(const std::string& name) const {
    if (path_.empty()) return Status(Code::kIoError, "cannot create a temporary folder; use --data to name another");
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace elider::bench
