// File, Folder, FileSystem: the interface through which the log accesses the disk. The
// implementation makes system calls (system_files()). Tests use implementations that record calls
// and make some of them fail.
//
// A folder is opened once, and its files are accessed through the open folder. The folder's path is
// not resolved again, so chdir() or the renaming of a folder does not redirect a call to other
// files.
//
// The interface does not cache: when a write returns, the operating system has the bytes, and when
// sync() has succeeded, they are on the disk. A file's name is on the disk once its folder has been
// synced. A failed call is not repeated, because the state of the disk is unknown after a failed
// sync. There are three exceptions: calls that a signal interrupts (EINTR), writes that fail with
// EAGAIN, and the rest of a short write.
//
// Thread safety: a File belongs to one thread at a time; a Folder or FileSystem may be used by any
// number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "elider/status.h"

namespace elider::io {

class File {
 public:
  explicit File(std::string path) : path_(std::move(path)) {}
  virtual ~File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }

  // Writes all bytes, or returns kIoError with a message that names the file.
  virtual Status write_at(uint64_t offset, std::span<const std::byte> bytes) = 0;
  // Returns ok only when the file's contents and length are on the disk.
  virtual Status sync() = 0;
  // Calls write_at(), and sync() if that succeeds.
  Status write_and_sync(uint64_t offset, std::span<const std::byte> bytes) {
    if (Status status = write_at(offset, bytes); !status.ok()) return status;
    return sync();
  }
  // Reads into `bytes` and sets *count to the number of bytes read, which is less than bytes.size()
  // only if the file ends first.
  virtual Status read_at(uint64_t offset, std::span<std::byte> bytes, size_t* count) = 0;
  virtual Status size(uint64_t* bytes) = 0;
  // Reserves disk space for `bytes` bytes from `offset` on, so that a sync after these bytes are
  // written is faster. Until they are written, the bytes read as zeros. Does nothing if the space
  // cannot be reserved; if the disk is full, the later write reports the error.
  virtual void make_room(uint64_t offset, uint64_t bytes) {
    static_cast<void>(offset);
    static_cast<void>(bytes);
  }
  // Releases reserved space beyond this length that has not been written. The call is only a hint:
  // the file may keep the space, or may have it again after a crash.
  virtual void trim(uint64_t bytes) { static_cast<void>(bytes); }
  // Enlarges the file to at least this many bytes, and reserves disk space for all of them, so that
  // later writes to them do not fail for lack of space. New bytes read as zeros. kIoError: the
  // message names the file and the number of bytes, and the file's length is unchanged. An
  // implementation that cannot reserve space only sets the length.
  virtual Status reserve(uint64_t bytes);
  // Maps the file's bytes from `offset` on into `memory`. Writes to the memory do not change the
  // file. `offset` and `memory` must be aligned to pages, and the file must have memory.size()
  // bytes from `offset` on. An implementation that cannot map files copies the bytes.
  virtual Status map_copy_on_write(uint64_t offset, std::span<std::byte> memory);
  // Like map_copy_on_write(), but leaves `memory` unchanged where the file has holes. The memory
  // must already hold zeros there. On some file systems (tmpfs), reading a mapped hole allocates
  // space, and the process is killed if no space is left.
  virtual Status map_data_copy_on_write(uint64_t offset, std::span<std::byte> memory) { return map_copy_on_write(offset, memory); }
  // Tells the system that these bytes, which must be synced, are unlikely to be read soon, so that
  // it need not cache them.
  virtual void forget(uint64_t offset, uint64_t bytes) {
    static_cast<void>(offset);
    static_cast<void>(bytes);
  }

 private:
  const std::string path_;
};

enum class OpenMode : uint8_t {
  kRead,       // the file must exist
  kWrite,      // read and write; the file must exist
  kCreate,     // read and write; the file must not exist
  kCreateNew,  // read and write; an existing file is emptied
};

enum class Hold : uint8_t {
  kShared,     // excludes only exclusive holders
  kExclusive,  // excludes all others
};

// An open folder. The parameters `name`, `from` and `to` are the names of files in the folder. A
// function that fails returns kIoError unless its comment lists other codes. The message contains
// the absolute path and the system's reason.
class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  virtual ~Folder() = default;
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  // Returns the absolute path that led to the folder when it was opened. Messages, check_place()
  // and remove_folder() use this path, but files are not found through it.
  const std::string& path() const { return path_; }
  std::string path_of(std::string_view name) const;

  // Opens a file. kNotFound: the file does not exist. kCorrupt: it is not a regular file.
  virtual Status open(const std::string& name, OpenMode mode, std::unique_ptr<File>* file) = 0;
  // Returns all names in the folder, sorted.
  virtual Status list(std::vector<std::string>* names) = 0;
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Status remove(const std::string& name) = 0;
  // Makes created, renamed and removed names in the folder durable.
  virtual Status sync() = 0;
  // Makes the folder's own name durable, by syncing its parent folder.
  virtual Status sync_name() = 0;
  // Locks the folder against other holders in this and other processes, until the Folder is closed.
  // The lock remains even if the folder's files are removed. A process that may not write to the
  // folder takes a shared lock. Does nothing if the file system cannot lock folders.
  // kInvalidArgument: another holder's lock conflicts with this one.
  virtual Status hold(Hold hold) = 0;
  // Locks a file, which is created if it does not exist, until *held is destroyed. A process that
  // may only read the file takes a shared lock. On a read-only disk a missing file is not locked,
  // and *held is null. kInvalidArgument: another holder's lock conflicts with this one.
  virtual Status hold_file(const std::string& name, Hold hold, std::unique_ptr<File>* held) = 0;
  // Checks that the path still leads to this folder. kIoError: the path leads to another folder or
  // to nothing, so a program that opens the path would not find the files in this one.
  virtual Status check_place() = 0;
  // Removes the folder, which must be empty.
  virtual Status remove_folder() = 0;

 private:
  const std::string path_;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Opens a folder. kNotFound: it does not exist. kInvalidArgument: the path is not a valid path.
  // kIoError: the system reported another error.
  virtual Status open_folder(const std::string& path, std::unique_ptr<Folder>* folder) = 0;
  // Creates a folder, and sets *made to whether this call created it. A folder that already exists
  // is not an error. The errors are kInvalidArgument and kIoError, as in open_folder().
  virtual Status make_folder(const std::string& path, bool* made) = 0;
  // Returns the path as messages show it.
  virtual std::string absolute(const std::string& path) const { return path; }

  // Opens the folder that contains a file, and sets *name to the file's name within it. kNotFound:
  // the folder does not exist. Other statuses: as open_folder().
  Status open_folder_of(const std::string& path, std::unique_ptr<Folder>* folder, std::string* name);
  // Opens a file by its path. Statuses: as Folder::open().
  Status open(const std::string& path, OpenMode mode, std::unique_ptr<File>* file);
};

// Returns the size of the file. kCorrupt: the size exceeds `bytes_max`, the limit for files of its
// kind. The message names the file.
Status file_bytes(Folder& folder, const std::string& name, uint64_t bytes_max, uint64_t* bytes);

// A buffer for the contents of a file or of a part of it. Each read replaces the contents, and
// reuses the memory.
class ReadBuffer {
 public:
  // Reads the whole file. Statuses: as file_bytes(), and kMemoryLimit if memory is exhausted. The
  // message names the file.
  Status read(Folder& folder, const std::string& name, uint64_t bytes_max);
  // Reads `bytes` bytes from `offset` on, or fewer if the file ends first.
  Status read_part(Folder& folder, const std::string& name, uint64_t offset, uint64_t bytes);
  std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  Status make_room(const File& file, uint64_t bytes);

  std::unique_ptr<std::byte[]> memory_;  // not initialized
  size_t capacity_ = 0;
  size_t size_ = 0;
};

// Returns the operating system's file system, unless a test has substituted another one. The result
// exists until the process ends.
FileSystem& system_files();

// Used by tests. While a SubstituteFiles exists, system_files() returns `files`. Only one may exist
// at a time.
class SubstituteFiles {
 public:
  explicit SubstituteFiles(FileSystem& files);
  ~SubstituteFiles();
  SubstituteFiles(const SubstituteFiles&) = delete;
  SubstituteFiles& operator=(const SubstituteFiles&) = delete;
};

// Returns kIoError with the message "cannot <what> '<path>': <the system's message for the errno>".
Status file_error(const char* what, const std::string& path, int error);

}  // namespace elider::io
