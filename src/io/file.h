// File, Folder, FileSystem: every access of the log to the disk. The implementation makes system
// calls (system_files()); tests use others that record calls and refuse some of them.
//
// A folder is opened once, and everything in it is reached through that open folder. Its path is
// not resolved again: neither chdir() nor a folder that is renamed leads a call to other files.
//
// This is not a cache: bytes are with the system when a write returns, and on the disk when sync()
// has succeeded. A name is on the disk once its folder is synced. A failed call is not repeated
// here, because the state of the disk is unknown after a failed sync. The exceptions are calls that
// a signal interrupts (EINTR), EAGAIN of a write, and the rest of a short write.
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

  // All of it, or kIoError that names the file.
  virtual Status write_at(uint64_t offset, std::span<const std::byte> bytes) = 0;
  // Contents and length are on the disk when it is ok.
  virtual Status sync() = 0;
  // As write_at and then sync.
  Status write_and_sync(uint64_t offset, std::span<const std::byte> bytes) {
    if (Status status = write_at(offset, bytes); !status.ok()) return status;
    return sync();
  }
  // Fills `bytes` from the file; *count is less than asked for only at the file's end.
  virtual Status read_at(uint64_t offset, std::span<std::byte> bytes, size_t* count) = 0;
  virtual Status size(uint64_t* bytes) = 0;
  // Makes room on the disk, so that a sync of what is written there has less to do; until then it
  // reads as zeros. Where that cannot be done nothing is: the write will tell.
  virtual void make_room(uint64_t offset, uint64_t bytes) {
    static_cast<void>(offset);
    static_cast<void>(bytes);
  }
  // Gives back the room that was made beyond this length and not written to. A hint: the room may
  // stay, and after a crash it may be there again.
  virtual void trim(uint64_t bytes) { static_cast<void>(bytes); }
  // The file has at least this many bytes, and the disk has room for all of them: no later write to
  // them fails for want of it. New ones read as zeros. kIoError: it names the file and the number
  // of bytes, and the file is as long as before. Where a file system cannot reserve room, the file
  // has the length alone.
  virtual Status reserve(uint64_t bytes);
  // The file's bytes from `offset` on are the memory's from now on; what is written there stays in
  // memory. Both begin with a page, and the file has as many. Without a mapping of its own it is a
  // copy.
  virtual Status map_copy_on_write(uint64_t offset, std::span<std::byte> memory);
  // Like map_copy_on_write(), but where the file has holes it leaves `memory` as it is; it must
  // already hold zeros there. On some file systems (tmpfs) reading a mapped hole allocates space,
  // and if none is left the process is killed.
  virtual Status map_data_copy_on_write(uint64_t offset, std::span<std::byte> memory) { return map_copy_on_write(offset, memory); }
  // These bytes are synced and will rarely be read soon: the system need not keep them in its
  // cache.
  virtual void forget(uint64_t offset, uint64_t bytes) {
    static_cast<void>(offset);
    static_cast<void>(bytes);
  }

 private:
  const std::string path_;
};

enum class OpenMode : uint8_t {
  kRead,       // it must be there
  kWrite,      // read and write; it must be there
  kCreate,     // read and write; it must not be there
  kCreateNew,  // read and write; what is there is emptied
};

enum class Hold : uint8_t {
  kShared,     // excludes only exclusive holders
  kExclusive,  // excludes all others
};

// An open folder. Names are those of files in it. A function that fails returns kIoError, unless it
// lists other codes; the message has the absolute path and the system's reason.
class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  virtual ~Folder() = default;
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  // The absolute path that led to the folder when it was opened. Messages use it; files are not
  // looked up by it.
  const std::string& path() const { return path_; }
  std::string path_of(std::string_view name) const;

  // kNotFound: the file does not exist. kCorrupt: it is not a regular file.
  virtual Status open(const std::string& name, OpenMode mode, std::unique_ptr<File>* file) = 0;
  // All names in it, sorted.
  virtual Status list(std::vector<std::string>* names) = 0;
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Status remove(const std::string& name) = 0;
  // Makes the names in it durable.
  virtual Status sync() = 0;
  // Makes its own name durable: syncs the folder that contains it.
  virtual Status sync_name() = 0;
  // Holds the folder against holders in this and other processes until it is closed, even if its
  // files are removed. A process that may not write in it holds it shared. Does nothing where the
  // file system cannot lock folders.
  // kInvalidArgument: another holder excludes it.
  virtual Status hold(Hold hold) = 0;
  // Holds a file, which is created if needed, until *held is destroyed. A process that may only
  // read the file holds it shared. On a read-only disk a missing file is not held: *held is null.
  // kInvalidArgument: another holder excludes it.
  virtual Status hold_file(const std::string& name, Hold hold, std::unique_ptr<File>* held) = 0;
  // kIoError: its path leads to another folder or to nothing, so a program that opens the path
  // would not find what is written here.
  virtual Status check_place() = 0;
  // Removes the folder itself, which must be empty.
  virtual Status remove_folder() = 0;

 private:
  const std::string path_;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // kNotFound: the folder does not exist. kInvalidArgument: no folder can have this path. kIoError.
  virtual Status open_folder(const std::string& path, std::unique_ptr<Folder>* folder) = 0;
  // Ok if it is there already; *made says whether it was created now. kInvalidArgument, kIoError.
  virtual Status make_folder(const std::string& path, bool* made) = 0;
  // The path as messages show it.
  virtual std::string absolute(const std::string& path) const { return path; }

  // Opens the folder that contains a file, and returns the file's name within it. kNotFound: the
  // folder does not exist. Otherwise as open_folder().
  Status open_folder_of(const std::string& path, std::unique_ptr<Folder>* folder, std::string* name);
  // Opens a file by its path. As Folder::open().
  Status open(const std::string& path, OpenMode mode, std::unique_ptr<File>* file);
};

// The size of the file. kCorrupt: it is larger than `bytes_max`, the limit for files of its kind.
// The message names the file.
Status file_bytes(Folder& folder, const std::string& name, uint64_t bytes_max, uint64_t* bytes);

// Room for the contents of a file, or of a part of one, used again for the next one.
class ReadBuffer {
 public:
  // Reads the whole file. kCorrupt: as file_bytes(). kMemoryLimit: memory is exhausted; the message
  // names the file.
  Status read(Folder& folder, const std::string& name, uint64_t bytes_max);
  // Reads `bytes` from `offset` on, or fewer if the file ends before.
  Status read_part(Folder& folder, const std::string& name, uint64_t offset, uint64_t bytes);
  std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  Status make_room(const File& file, uint64_t bytes);

  std::unique_ptr<std::byte[]> memory_;  // not set to zero first
  size_t capacity_ = 0;
  size_t size_ = 0;
};

// Plain system calls, unless a test has put something in their place; lives as long as the process.
FileSystem& system_files();

// Tests substitute another file system: while this exists, everything opened uses `files`. Only one
// may exist at a time.
class SubstituteFiles {
 public:
  explicit SubstituteFiles(FileSystem& files);
  ~SubstituteFiles();
  SubstituteFiles(const SubstituteFiles&) = delete;
  SubstituteFiles& operator=(const SubstituteFiles&) = delete;
};

// kIoError: "cannot <what> '<path>': <the system's words for the errno>".
Status file_error(const char* what, const std::string& path, int error);

}  // namespace elider::io
