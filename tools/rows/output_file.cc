#include "tools/rows/output_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace elider::tools {

OutputFile::~OutputFile() {
  if (file_ > STDOUT_FILENO) ::close(file_);
}

Status OutputFile::open(const std::string& path) {
  text_.reserve(2 * kPieceBytes);
  if (path.empty() || path == "-") {
    std::fflush(stdout);
    file_ = STDOUT_FILENO;
    path_ = "standard output";
    return {};
  }
  path_ = "'" + path + "'";
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ >= 0) return {};
  return Status(Code::kIoError, fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

bool OutputFile::write_all() {
  for (size_t at = 0; wanted_ && at < text_.size();) {
    const ssize_t written = ::write(file_, text_.data() + at, text_.size() - at);
    if (written >= 0) {
      at += static_cast<size_t>(written);
    } else if (errno != EINTR) {
      wanted_ = false;
      if (errno != EPIPE) status_ = Status(Code::kIoError, fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
    }
  }
  text_.clear();
  return wanted_;
}

Status OutputFile::finish() {
  write_all();
  if (file_ > STDOUT_FILENO && ::close(file_) != 0 && status_.ok())
    status_ = Status(Code::kIoError, fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
  file_ = -1;
  wanted_ = false;
  return status_;
}

}  // namespace elider::tools
