// TemporaryFolder: a separate folder for a test, which is removed with this object. Tests of
// several presets run at the same time.
//
// Thread safety: constant after construction.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "base/check.h"

namespace elider::test {

class TemporaryFolder {
 public:
  // Creates a folder in the system's temporary folder. Its name begins with `name`.
  explicit TemporaryFolder(const std::string& name) {
    std::string text = (std::filesystem::temp_directory_path() / (name + "_XXXXXX")).string();
    ELIDER_CHECK(::mkdtemp(text.data()) != nullptr, "no temporary folder can be made");
    path_ = text;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace elider::test
