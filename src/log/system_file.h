// SystemFile: an open file of the system's, by plain system calls.
// Thread safety: as File's.
#pragma once

#include <cerrno>

#include "log/file.h"

namespace elider::log {

class SystemFile : public File {
 public:
  SystemFile(std::string path, int descriptor) : File(std::move(path)), descriptor_(descriptor) {}
  ~SystemFile() override;

  Status write_at(uint64_t offset, std::span<const std::byte> bytes) override;
  Status sync() override;
  Status read_at(uint64_t offset, std::span<std::byte> bytes, size_t* count) override;
  Status size(uint64_t* bytes) override;
  void make_room(uint64_t offset, uint64_t bytes) override;
  void forget(uint64_t offset, uint64_t bytes) override;

 protected:
  int descriptor() const { return descriptor_; }

  // What a call that wrote came to: its count, or a negative errno. It takes what was written off *bytes; ok: go on while
  // any is left.
  Status wrote(int64_t result, uint64_t* offset, std::span<const std::byte>* bytes) const {
    if (result == -EINTR || result == -EAGAIN) return {};
    if (result < 0) return file_error("write", path(), static_cast<int>(-result));
    if (result == 0) return file_error("write", path(), ENOSPC);
    *offset += static_cast<uint64_t>(result);
    *bytes = bytes->subspan(static_cast<size_t>(result));
    return {};
  }

  // What a sync came to: zero or an errno. A file that somebody has removed is synced, but nobody will find it.
  Status synced(int error) const;

 private:
  const int descriptor_;
};

// As FileSystem::open; the descriptor is the caller's to close.
Status open_descriptor(const std::string& path, OpenMode mode, int* descriptor);

}  // namespace elider::log
