#include "log/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <new>
#include <system_error>

#include "base/fork.h"

namespace elider::log {

Status file_error(const char* what, const std::string& path, int error) {
  return Status(Code::kIoError, std::string("cannot ") + what + " '" + path + "': " + std::generic_category().message(error));
}

Status file_bytes(FileSystem& files, const std::string& path, uint64_t bytes_max, uint64_t* bytes) {
  std::unique_ptr<File> file;
  if (Status status = files.open(path, OpenMode::kRead, &file); !status.ok()) return status;
  if (Status status = file->size(bytes); !status.ok()) return status;
  if (*bytes <= bytes_max) return {};
  return Status(Code::kCorrupt,
                "'" + path + "' has " + std::to_string(*bytes) + " bytes; such a file has " + std::to_string(bytes_max) + " at the most");
}

Status ReadBuffer::read(FileSystem& files, const std::string& path, uint64_t bytes_max) {
  size_ = 0;
  uint64_t bytes = 0;
  if (Status status = file_bytes(files, path, bytes_max, &bytes); !status.ok()) return status;
  return read_part(files, path, 0, bytes);
}

Status ReadBuffer::read_part(FileSystem& files, const std::string& path, uint64_t offset, uint64_t bytes) {
  size_ = 0;
  std::unique_ptr<File> file;
  if (Status status = files.open(path, OpenMode::kRead, &file); !status.ok()) return status;
  if (Status status = make_room(path, bytes); !status.ok()) return status;
  return file->read_at(offset, {memory_.get(), bytes}, &size_);
}

Status ReadBuffer::make_room(const std::string& path, uint64_t bytes) {
  if (bytes <= capacity_) return {};
  // Rounded up: files of about one size follow each other in the same memory.
  // What is not used costs none.
  constexpr uint64_t kStep = 64u << 10;
  const uint64_t room = (bytes + kStep - 1) / kStep * kStep;
  capacity_ = 0;
  memory_.reset();  // before the new one is taken
  memory_.reset(new (std::nothrow) std::byte[room]);
  if (memory_ == nullptr)
    return Status(Code::kMemoryLimit, "the heap has no room for " + std::to_string(bytes) + " bytes of '" + path + "'");
  capacity_ = room;
  return {};
}

Status File::map_copy_on_write(uint64_t offset, std::span<std::byte> memory) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  if (::mmap(memory.data(), memory.size(), PROT_READ | PROT_WRITE, kFlags, -1, 0) != memory.data()) return file_error("map", path(), errno);
  size_t count = 0;
  return read_at(offset, memory, &count);
}

namespace {

// An open file of the system's.
class SystemFile : public File {
 public:
  SystemFile(std::string path, int descriptor) : File(std::move(path)), descriptor_(descriptor) {}
  ~SystemFile() override { ::close(descriptor_); }

  Status write_at(uint64_t offset, std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t count = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count <= 0) return file_error("write", path(), count < 0 ? errno : ENOSPC);
      offset += static_cast<uint64_t>(count);
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
    return {};
  }

  // A file that somebody has removed is synced, but nobody will find it.
  Status sync() override {
    struct stat facts;
    if (::fdatasync(descriptor_) != 0 || ::fstat(descriptor_, &facts) != 0) return file_error("sync", path(), errno);
    if (facts.st_nlink == 0) return Status(Code::kIoError, "'" + path() + "' was removed by somebody: what is written to it is lost");
    return {};
  }

  Status read_at(uint64_t offset, std::span<std::byte> bytes, size_t* count) override {
    *count = 0;
    while (!bytes.empty()) {
      const ssize_t got = ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset + *count));
      if (got < 0) {
        if (errno == EINTR) continue;
        return file_error("read", path(), errno);
      }
      if (got == 0) break;
      *count += static_cast<size_t>(got);
      bytes = bytes.subspan(static_cast<size_t>(got));
    }
    return {};
  }

  Status size(uint64_t* bytes) override {
    struct stat facts;
    if (::fstat(descriptor_, &facts) != 0) return file_error("look at", path(), errno);
    *bytes = static_cast<uint64_t>(facts.st_size);
    return {};
  }

  void make_room(uint64_t offset, uint64_t bytes) override {
    static_cast<void>(::fallocate(descriptor_, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)));  // a hint
  }

  void trim(uint64_t bytes) override { [[maybe_unused]] const int unneeded = ::ftruncate(descriptor_, static_cast<off_t>(bytes)); }

  Status map_copy_on_write(uint64_t offset, std::span<std::byte> memory) override {
    void* const mapped = ::mmap(memory.data(), memory.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, descriptor_,
                                static_cast<off_t>(offset));
    return mapped == memory.data() ? Status() : file_error("map", path(), errno);
  }

  void forget(uint64_t offset, uint64_t bytes) override {  // a hint, too
    static_cast<void>(::posix_fadvise(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED));
  }

 protected:
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

// A lock belongs to the open file, which a forked child shares: closing it here leaves the lock to
// a child that lives on. Unlocking ends it for both, so only the process that locked does that.
class SystemLock final : public SystemFile {
 public:
  using SystemFile::SystemFile;
  ~SystemLock() override {
    if (!process_.in_child()) static_cast<void>(::flock(descriptor(), LOCK_UN));
  }

 private:
  const ForkGuard process_;
};

const char* kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISDIR(mode)) return "a folder";
  return S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "something else";
}

Status not_a_file(const std::string& path, mode_t mode) {
  return Status(Code::kCorrupt, "'" + path + "' is " + kind_of(mode) + ", where a file must be");
}

// Opens it without waiting for anybody at the other end of a FIFO, and refuses what is no file.
// *error: the system's, where that is the reason.
Status open_file(const std::string& path, int flags, int* descriptor, int* error) {
  *error = 0;
  *descriptor = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
  struct stat facts;
  if (*descriptor < 0) {
    *error = errno;
    // A socket and a folder that is to be written cannot even be opened.
    if ((*error == ENXIO || *error == EISDIR) && ::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode))
      return not_a_file(path, facts.st_mode);
    return {};
  }
  const bool looked = ::fstat(*descriptor, &facts) == 0;
  // What is emptied to be written anew may be a device: it takes that or refuses it, and
  // nobody waits for what it says.
  const bool fits = looked && (S_ISREG(facts.st_mode) || ((flags & O_TRUNC) != 0 && S_ISCHR(facts.st_mode)));
  if (fits && ::fcntl(*descriptor, F_SETFL, flags & O_ACCMODE) == 0) return {};
  *error = errno;
  ::close(*descriptor);
  *descriptor = -1;
  return looked && !fits ? not_a_file(path, facts.st_mode) : Status();
}

Status open_descriptor(const std::string& path, OpenMode mode, int* descriptor) {
  int flags = 0;
  const bool must_be_there = mode == OpenMode::kRead || mode == OpenMode::kWrite;
  if (mode == OpenMode::kRead) flags |= O_RDONLY;
  if (mode == OpenMode::kWrite) flags |= O_RDWR;
  if (mode == OpenMode::kCreate) flags |= O_RDWR | O_CREAT | O_EXCL;
  if (mode == OpenMode::kCreateNew) flags |= O_RDWR | O_CREAT | O_TRUNC;
  int error = 0;
  if (Status status = open_file(path, flags, descriptor, &error); !status.ok() || *descriptor >= 0) return status;
  if (error == ENOENT && must_be_there) return Status(Code::kNotFound, "there is no file '" + path + "'");
  return file_error(must_be_there ? "open" : "create", path, error);
}

// A file of this descriptor, which is closed where the heap has no room for it.
template <class Kind = SystemFile>
std::unique_ptr<Kind> file_of(const std::string& path, int descriptor) {
  try {
    return std::make_unique<Kind>(path, descriptor);
  } catch (const std::bad_alloc&) {
    ::close(descriptor);
    throw;
  }
}

class SystemFiles final : public FileSystem {
 public:
  Status open(const std::string& path, OpenMode mode, std::unique_ptr<File>* file) override {
    int descriptor = -1;
    if (Status status = open_descriptor(path, mode, &descriptor); !status.ok()) return status;
    *file = file_of(path, descriptor);
    return {};
  }

  Status list(const std::string& folder, std::vector<std::string>* names) override {
    names->clear();
    const auto close = [](DIR* opened) { ::closedir(opened); };
    const std::unique_ptr<DIR, decltype(close)> opened(::opendir(folder.c_str()));
    if (opened == nullptr && errno == ENOENT) return Status(Code::kNotFound, "there is no folder '" + folder + "'");
    if (opened == nullptr) return file_error("list", folder, errno);
    errno = 0;
    while (const dirent* entry = ::readdir(opened.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names->push_back(name);
      errno = 0;
    }
    if (errno != 0) return file_error("list", folder, errno);
    std::sort(names->begin(), names->end());
    return {};
  }

  Status make_folder(const std::string& folder) override {
    if (::mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST) return {};
    return file_error("create the folder", folder, errno);
  }
  Status rename(const std::string& from, const std::string& to) override {
    return ::rename(from.c_str(), to.c_str()) == 0 ? Status() : file_error("rename", from, errno);
  }
  Status remove(const std::string& path) override { return ::unlink(path.c_str()) == 0 ? Status() : file_error("remove", path, errno); }

  Status sync_folder(const std::string& folder) override {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return file_error("open the folder", folder, errno);
    const int failed = ::fsync(descriptor) == 0 ? 0 : errno;
    ::close(descriptor);
    return failed == 0 ? Status() : file_error("sync the folder", folder, failed);
  }

  Status lock(const std::string& path, std::unique_ptr<File>* held) override {
    int descriptor = -1, refused = 0, unread = 0;
    if (Status status = open_file(path, O_RDWR | O_CREAT, &descriptor, &refused); !status.ok()) return status;
    // Who may only read shares it with others who do; on a disk that is read alone
    // there may be nothing to lock.
    if (refused == EROFS || refused == EACCES)
      if (Status status = open_file(path, O_RDONLY, &descriptor, &unread); !status.ok()) return status;
    if (descriptor < 0 && refused == EROFS && unread == ENOENT) return {};
    if (descriptor < 0) return file_error("create", path, refused);
    auto file = file_of<SystemLock>(path, descriptor);
    // Of the open file, not of the process: a second database in this process is refused, too.
    if (::flock(descriptor, (refused == 0 ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return Status::invalid_argument("'" + path + "' is locked: another database has the folder open");
      return file_error("lock", path, errno);
    }
    *held = std::move(file);
    return {};
  }
};

std::atomic<FileSystem*> substitute{nullptr};

}  // namespace

FileSystem& system_files() {
  static SystemFiles* const instance = new SystemFiles;  // never destroyed: a database may outlive statics
  FileSystem* const other = substitute.load(std::memory_order_acquire);
  return other != nullptr ? *other : *instance;
}

SubstituteFiles::SubstituteFiles(FileSystem& files) { substitute.store(&files, std::memory_order_release); }
SubstituteFiles::~SubstituteFiles() { substitute.store(nullptr, std::memory_order_release); }

}  // namespace elider::log
