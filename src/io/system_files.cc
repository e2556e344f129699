#include "io/system_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/fork.h"
#include "base/system_call.h"

namespace elider::io {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  explicit operator bool() const { return number_ >= 0; }
  int operator*() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

Descriptor open_at(int folder, const char* name, int flags) {
  return Descriptor(uninterrupted([&] { return ::openat(folder, name, flags | O_CLOEXEC, 0644); }));
}
int look_at(int descriptor, struct stat* facts) {
  return uninterrupted([&] { return ::fstat(descriptor, facts); });
}

// Calls reserve(offset, bytes) for consecutive parts of the range from `begin` to `end`. Stops at
// the first error and returns it. A file system may undo a call that a signal interrupts, so a
// single call for the whole range might never succeed.
template <class Reserve>
int reserve_in_steps(uint64_t begin, uint64_t end, Reserve&& reserve) {
  constexpr uint64_t kStep = 16u << 20;
  for (uint64_t at = begin; at < end; at += kStep)
    if (int error = reserve(static_cast<off_t>(at), static_cast<off_t>(std::min(kStep, end - at))); error != 0) return error;
  return 0;
}

class SystemFile : public File {
 public:
  SystemFile(std::string path, Descriptor descriptor) : File(std::move(path)), descriptor_(std::move(descriptor)) {}

  Status write_at(uint64_t offset, std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t count = uninterrupted([&] { return ::pwrite(*descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
      if (count < 0 && errno == EAGAIN) continue;
      if (count <= 0) return file_error("write", path(), count < 0 ? errno : ENOSPC);
      offset += static_cast<uint64_t>(count);
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
    return {};
  }

  // If the file was removed, sync() must fail: fsync() would succeed, but a program that opens the
  // folder later would not find the file.
  Status sync() override {
    struct stat facts;
    if (uninterrupted([&] { return ::fdatasync(*descriptor_); }) != 0 || look_at(*descriptor_, &facts) != 0)
      return file_error("sync", path(), errno);
    if (facts.st_nlink == 0)
      return Status(Code::kIoError, "'" + path() + "' was removed by another program, so data written to it is lost");
    return {};
  }

  Status read_at(uint64_t offset, std::span<std::byte> bytes, size_t* count) override {
    *count = 0;
    while (!bytes.empty()) {
      const auto read_more = [&] { return ::pread(*descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset + *count)); };
      const ssize_t got = uninterrupted(read_more);
      if (got < 0) return file_error("read", path(), errno);
      if (got == 0) break;
      *count += static_cast<size_t>(got);
      bytes = bytes.subspan(static_cast<size_t>(got));
    }
    return {};
  }

  Status size(uint64_t* bytes) override {
    struct stat facts;
    if (look_at(*descriptor_, &facts) != 0) return file_error("get the status of", path(), errno);
    *bytes = static_cast<uint64_t>(facts.st_size);
    return {};
  }

  void make_room(uint64_t offset, uint64_t bytes) override {  // a hint
    static_cast<void>(
        uninterrupted([&] { return ::fallocate(*descriptor_, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)); }));
  }

  void trim(uint64_t bytes) override {  // also a hint
    static_cast<void>(uninterrupted([&] { return ::ftruncate(*descriptor_, static_cast<off_t>(bytes)); }));
  }

  Status reserve(uint64_t bytes) override {
    uint64_t now = 0;
    if (Status status = size(&now); !status.ok()) return status;
    int error = reserve_in_steps(0, bytes, [&](off_t at, off_t count) {
      return uninterrupted([&] { return ::fallocate(*descriptor_, 0, at, count); }) == 0 ? 0 : errno;
    });
    // If the file system does not support the call, the C library emulates it by writing a byte to
    // each block. The range must therefore contain only new blocks, because other threads may be
    // writing to older ones.
    if (error == EOPNOTSUPP || error == ENOSYS)
      error = reserve_in_steps(now, bytes, [&](off_t at, off_t count) {
        return uninterrupted_error([&] { return ::posix_fallocate(*descriptor_, at, count); });
      });
    if (error == 0 || error == EOPNOTSUPP || error == ENOSYS) return {};
    if (bytes > now) trim(now);  // releases the space that was reserved
    return file_error(("reserve " + std::to_string(bytes) + " bytes for").c_str(), path(), error);
  }

  Status map_data_copy_on_write(uint64_t offset, std::span<std::byte> memory) override {
    constexpr uint64_t kPage = 4096, kMappedMin = 1 << 20;  // mapping each small extent would create too many mappings
    const uint64_t end = offset + memory.size();
    for (uint64_t at = offset; at < end;) {
      const off_t data = ::lseek(*descriptor_, static_cast<off_t>(at), SEEK_DATA);
      if (data < 0 && errno == ENXIO) return {};
      const off_t hole = data < 0 ? -1 : ::lseek(*descriptor_, data, SEEK_HOLE);
      if (hole < 0) return map_copy_on_write(at, memory.subspan(at - offset));
      const uint64_t from = std::max(at, static_cast<uint64_t>(data) / kPage * kPage);
      const uint64_t to = std::min(end, (static_cast<uint64_t>(hole) + kPage - 1) / kPage * kPage);
      if (from >= to) return {};
      const std::span<std::byte> part = memory.subspan(from - offset, to - from);
      size_t count = 0;
      Status status = part.size() >= kMappedMin ? map_copy_on_write(from, part) : read_at(from, part, &count);
      if (!status.ok()) return status;
      at = to;
    }
    return {};
  }

  Status map_copy_on_write(uint64_t offset, std::span<std::byte> memory) override {
    void* const mapped = ::mmap(memory.data(), memory.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, *descriptor_,
                                static_cast<off_t>(offset));
    return mapped == memory.data() ? Status() : file_error("map", path(), errno);
  }

  void forget(uint64_t offset, uint64_t bytes) override {  // also a hint
    static_cast<void>(::posix_fadvise(*descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED));
  }

 protected:
  int descriptor() const { return *descriptor_; }

 private:
  const Descriptor descriptor_;
};

// A lock on an open file or folder (flock). The lock belongs to the open file description and not
// to the process, so it also excludes a second database in the same process. A forked child would
// share the lock, and keep it when the parent is killed, so the child's descriptor is replaced. If
// the child unlocked the file, the parent's lock would end as well, so only the process that took
// the lock releases it.
class Lock {
 public:
  // Returns -1, with errno set, if the descriptor could not be locked.
  int take(int descriptor, Hold hold) {
    const int how = (hold == Hold::kExclusive ? LOCK_EX : LOCK_SH) | LOCK_NB;
    if (uninterrupted([&] { return ::flock(descriptor, how); }) != 0) return -1;
    descriptor_ = descriptor;
    closed_in_child_.emplace(descriptor);
    return 0;
  }
  // Must be called before the descriptor is closed.
  void release() {
    closed_in_child_.reset();
    if (descriptor_ >= 0 && !process_.in_child()) static_cast<void>(uninterrupted([&] { return ::flock(descriptor_, LOCK_UN); }));
    descriptor_ = -1;
  }

 private:
  int descriptor_ = -1;
  std::optional<ClosedInChild> closed_in_child_;
  const ForkGuard process_;
};

class LockedFile final : public SystemFile {
 public:
  using SystemFile::SystemFile;
  ~LockedFile() override { lock_.release(); }
  int lock(Hold hold) { return lock_.take(descriptor(), hold); }

 private:
  Lock lock_;
};

const char* kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISDIR(mode)) return "a folder";
  return S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "of an unknown kind";
}

Status not_a_file(const std::string& path, mode_t mode) {
  return Status(Code::kCorrupt, "'" + path + "' is " + kind_of(mode) + ", not a regular file");
}

std::string in_use(const std::string& folder) {
  return "the folder '" + folder +
         "' is locked: another program, or another database of this program, has it open; close it there first (the commands elider "
         "tables, schema, rows and export also need a closed database)";
}

class SystemFolder final : public Folder {
 public:
  // If `readable` is false, the descriptor can be used to find files in the folder by name, but not
  // to list, lock or sync the folder.
  SystemFolder(std::string path, Descriptor descriptor, bool readable)
      : Folder(std::move(path)), descriptor_(std::move(descriptor)), readable_(readable) {}
  ~SystemFolder() override { lock_.release(); }

  Status open(const std::string& name, OpenMode mode, std::unique_ptr<File>* file) override {
    int flags = 0;
    const bool must_be_there = mode == OpenMode::kRead || mode == OpenMode::kWrite;
    if (mode == OpenMode::kRead) flags |= O_RDONLY;
    if (mode == OpenMode::kWrite) flags |= O_RDWR;
    if (mode == OpenMode::kCreate) flags |= O_RDWR | O_CREAT | O_EXCL;
    if (mode == OpenMode::kCreateNew) flags |= O_RDWR | O_CREAT | O_TRUNC;
    Descriptor opened;
    int error = 0;
    if (Status status = open_file(name, flags, &opened, &error); !status.ok()) return status;
    if (error == ENOENT && must_be_there) return Status(Code::kNotFound, "the file '" + path_of(name) + "' does not exist");
    if (error != 0) return cannot_open(name, flags, error);
    *file = std::make_unique<SystemFile>(path_of(name), std::move(opened));
    return {};
  }

  // Opens the directory again instead of calling dup(), because duplicated descriptors share one
  // read position.
  Status list(std::vector<std::string>* names) override {
    names->clear();
    Descriptor copy = open_at(*descriptor_, ".", O_RDONLY | O_DIRECTORY);
    if (!copy) return file_error("list", path(), errno);
    const auto close = [](DIR* opened) { ::closedir(opened); };
    const std::unique_ptr<DIR, decltype(close)> opened(::fdopendir(*copy));
    if (opened == nullptr) return file_error("list", path(), errno);
    copy.release();  // closedir() closes it
    for (;;) {
      errno = 0;
      const dirent* const entry = ::readdir(opened.get());
      if (entry == nullptr && errno == EINTR) continue;
      if (entry == nullptr) break;
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names->push_back(name);
    }
    if (errno != 0) return file_error("list", path(), errno);
    std::sort(names->begin(), names->end());
    return {};
  }

  Status rename(const std::string& from, const std::string& to) override {
    const auto rename_it = [&] { return ::renameat(*descriptor_, from.c_str(), *descriptor_, to.c_str()); };
    return uninterrupted(rename_it) == 0 ? Status() : file_error("rename", path_of(from), errno);
  }
  Status remove(const std::string& name) override {
    const int removed = uninterrupted([&] { return ::unlinkat(*descriptor_, name.c_str(), 0); });
    return removed == 0 ? Status() : file_error("remove", path_of(name), errno);
  }

  Status sync() override {
    if (!readable_) return file_error("sync the folder", path(), EACCES);
    return uninterrupted([&] { return ::fsync(*descriptor_); }) == 0 ? Status() : file_error("sync the folder", path(), errno);
  }
  Status sync_name() override {
    const Descriptor parent = open_at(*descriptor_, "..", O_RDONLY | O_DIRECTORY);
    if (!parent) return file_error("open the folder", path_of(".."), errno);
    return uninterrupted([&] { return ::fsync(*parent); }) == 0 ? Status() : file_error("sync the folder", path_of(".."), errno);
  }

  // A network file system may refuse to lock a folder. In that case only the lock on the lock file
  // protects the database.
  Status hold(Hold hold) override {
    const bool reads_only = uninterrupted([&] { return ::faccessat(*descriptor_, ".", W_OK, AT_EACCESS); }) != 0;
    if (lock_.take(*descriptor_, reads_only ? Hold::kShared : hold) != 0 && errno == EWOULDBLOCK)
      return Status::invalid_argument(in_use(path()));
    return {};
  }

  Status hold_file(const std::string& name, Hold hold, std::unique_ptr<File>* held) override {
    Descriptor opened;
    int error = 0, unread = 0;
    if (Status status = open_file(name, O_RDWR | O_CREAT, &opened, &error); !status.ok()) return status;
    const bool reads_only = error == EROFS || error == EACCES;
    if (reads_only) {
      if (Status status = open_file(name, O_RDONLY, &opened, &unread); !status.ok()) return status;
      if (error == EROFS && unread == ENOENT) return {};
    }
    if (!opened) return cannot_open(name, O_CREAT, error);
    auto file = std::make_unique<LockedFile>(path_of(name), std::move(opened));
    if (file->lock(reads_only ? Hold::kShared : hold) != 0) {
      if (errno == EWOULDBLOCK) return Status::invalid_argument(in_use(path()));
      return file_error("lock", path_of(name), errno);
    }
    *held = std::move(file);
    return {};
  }

  Status check_place() override {
    struct stat ours, found;
    if (look_at(*descriptor_, &ours) != 0) return file_error("get the status of the folder", path(), errno);
    const char* leads = "nowhere";
    if (uninterrupted([&] { return ::stat(path().c_str(), &found); }) == 0) {
      if (found.st_dev == ours.st_dev && found.st_ino == ours.st_ino) return {};
      leads = "to another folder";
    } else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP) {
      return {};  // the path cannot be followed now, which does not prove that it leads elsewhere
    }
    return Status(Code::kIoError, "the folder '" + path() + "' was moved or replaced while it was open: its path leads " + leads);
  }

  Status remove_folder() override {
    if (Status status = check_place(); !status.ok()) return status;
    const int removed = uninterrupted([&] { return ::rmdir(path().c_str()); });
    return removed == 0 ? Status() : file_error("remove the folder", path(), errno);
  }

 private:
  bool look_at_name(const std::string& name, struct stat* facts) const {
    return uninterrupted([&] { return ::fstatat(*descriptor_, name.c_str(), facts, 0); }) == 0;
  }

  // Opens a regular file, without waiting for the other end of a FIFO. kCorrupt: it is not a
  // regular file. If the system refuses to open the file, returns ok and sets *error to the
  // system's error.
  Status open_file(const std::string& name, int flags, Descriptor* opened, int* error) const {
    *error = 0;
    struct stat facts;
    Descriptor descriptor = open_at(*descriptor_, name.c_str(), flags | O_NONBLOCK | O_NOCTTY);
    if (!descriptor) {
      *error = errno;
      // open() fails for a socket, and for a folder that is opened for writing. These cases are
      // reported as "not a regular file" as well.
      if ((*error == ENXIO || *error == EISDIR) && look_at_name(name, &facts) && !S_ISREG(facts.st_mode))
        return not_a_file(path_of(name), facts.st_mode);
      return {};
    }
    const bool looked = look_at(*descriptor, &facts) == 0;
    // A file that is opened with O_TRUNC may be a character device such as /dev/full, because the
    // bytes written to it are not read back.
    const bool fits = looked && (S_ISREG(facts.st_mode) || ((flags & O_TRUNC) != 0 && S_ISCHR(facts.st_mode)));
    if (fits && uninterrupted([&] { return ::fcntl(*descriptor, F_SETFL, flags & O_ACCMODE); }) == 0) {
      *opened = std::move(descriptor);
      return {};
    }
    *error = errno;
    return looked && !fits ? not_a_file(path_of(name), facts.st_mode) : Status();
  }

  Status cannot_open(const std::string& name, int flags, int error) const {
    struct stat facts;
    const bool creates = (flags & O_CREAT) != 0 && (error == EEXIST || !look_at_name(name, &facts));
    return file_error(creates ? "create" : "open", path_of(name), error);
  }

  const Descriptor descriptor_;
  const bool readable_;
  Lock lock_;
};

class SystemFiles final : public FileSystem {
 public:
  Status open_folder(const std::string& path, std::unique_ptr<Folder>* folder) override {
    const std::string its_path = absolute(path);
    if (Status status = check_path(path, its_path); !status.ok()) return status;
    constexpr int kFlags = O_DIRECTORY;
    bool readable = true;
    Descriptor opened = open_at(AT_FDCWD, path.c_str(), kFlags | O_RDONLY);
    if (!opened && errno == EACCES) {
      readable = false;
      opened = open_at(AT_FDCWD, path.c_str(), kFlags | O_PATH);
    }
    if (!opened && errno == ENOENT) return Status(Code::kNotFound, "the folder '" + its_path + "' does not exist");
    if (!opened) return file_error("open the folder", its_path, errno);
    *folder = std::make_unique<SystemFolder>(its_path, std::move(opened), readable);
    return {};
  }

  Status make_folder(const std::string& path, bool* made) override {
    const std::string its_path = absolute(path);
    if (Status status = check_path(path, its_path); !status.ok()) return status;
    *made = uninterrupted([&] { return ::mkdir(path.c_str(), 0755); }) == 0;
    return *made || errno == EEXIST ? Status() : file_error("create the folder", its_path, errno);
  }

  // The path is not normalized further: "a/../b" is not "b" if "a" is a symbolic link.
  std::string absolute(const std::string& path) const override {
    std::string_view rest = path;
    while (rest.size() > 1 && rest.back() == '/') rest.remove_suffix(1);
    if (rest.empty() || rest.front() == '/') return std::string(rest);
    while (rest.starts_with("./")) rest.remove_prefix(std::min(rest.find_first_not_of('/', 1), rest.size()));
    std::error_code failed;
    std::string here = std::filesystem::current_path(failed).string();
    if (failed || rest == "." || rest.empty()) return failed ? path : here;
    if (here.back() != '/') here += '/';
    return here.append(rest);
  }

 private:
  static Status check_path(const std::string& path, const std::string& its_path) {
    if (path.find('\0') != std::string::npos) {
      std::string shown;
      for (const char letter : its_path) letter == '\0' ? shown += "\\0" : shown += letter;
      return Status::invalid_argument("the path '" + shown + "' contains a zero byte");
    }
    if (its_path.size() < PATH_MAX) return {};
    return Status::invalid_argument("the path '" + its_path + "' has " + std::to_string(its_path.size()) + " bytes; at most " +
                                    std::to_string(PATH_MAX - 1) + " are possible");
  }
};

}  // namespace

FileSystem& plain_system_files() {
  static SystemFiles* const instance = new SystemFiles;  // never destroyed, because a database may outlive statics
  return *instance;
}

}  // namespace elider::io
