// File, FileSystem: every access of the log to the disk. The implementation makes system calls
// (system_files()); tests have others that record what happened and refuse calls.
//
// Not a cache: what is written is with the system when a call returns, and on the disk when sync()
// does. A name is on the disk once its folder is synced. A failed call is never repeated here (but
// for EINTR, EAGAIN of what writes, and the rest of a short write): after a failed sync nobody
// knows what is on the disk.
//
// Thread safety: a File belongs to one thread at a time; a FileSystem to all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "elider/status.h"

namespace elider::log {

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
  // The file's bytes from `offset` on are the memory's from now on; what is written there stays in
  // memory. Both begin with a page, and the file has as many. Without a mapping of its own it is a
  // copy.
  virtual Status map_copy_on_write(uint64_t offset, std::span<std::byte> memory);
  // These bytes, which are synced, will hardly be read soon: the system
  // need not keep them in memory.
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

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Each returns kIoError that names the path and the system's reason; open() of
  // a missing file kNotFound.
  virtual Status open(const std::string& path, OpenMode mode, std::unique_ptr<File>* file) = 0;
  // The names in a folder, sorted. kNotFound: there is no such folder.
  virtual Status list(const std::string& folder, std::vector<std::string>* names) = 0;
  // Ok if it is there already.
  virtual Status make_folder(const std::string& folder) = 0;
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Status remove(const std::string& path) = 0;
  virtual Status sync_folder(const std::string& folder) = 0;
  // Holds the path, a file that is made if needed, against every other holder, in this process too,
  // until *held is destroyed. kInvalidArgument: somebody else holds it. A file that may only be
  // read is held together with others who only read; one that cannot be made, on a read-only disk,
  // is not held: *held is null.
  virtual Status lock(const std::string& path, std::unique_ptr<File>* held) = 0;
};

// How large the file is. kCorrupt: larger than `bytes_max`, which no file of its
// kind is; it names the file.
Status file_bytes(FileSystem& files, const std::string& path, uint64_t bytes_max, uint64_t* bytes);

// Room for the contents of a file, or of a part of one, used again for the next one.
class ReadBuffer {
 public:
  // Fills it with the whole file. kCorrupt: as file_bytes() says. kMemoryLimit: the heap has no
  // room for it; it names the file.
  Status read(FileSystem& files, const std::string& path, uint64_t bytes_max);
  // The same with `bytes` from `offset` on; fewer where the file ends before.
  Status read_part(FileSystem& files, const std::string& path, uint64_t offset, uint64_t bytes);
  std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  Status make_room(const std::string& path, uint64_t bytes);

  std::unique_ptr<std::byte[]> memory_;  // not set to zero first
  size_t capacity_ = 0;
  size_t size_ = 0;
};

// Plain system calls, unless a test has put something in their place; lives as long as the process.
FileSystem& system_files();

// For tests: while it lives, what is opened uses `files` instead of the system's. One at a time.
class SubstituteFiles {
 public:
  explicit SubstituteFiles(FileSystem& files);
  ~SubstituteFiles();
  SubstituteFiles(const SubstituteFiles&) = delete;
  SubstituteFiles& operator=(const SubstituteFiles&) = delete;
};

// kIoError: "cannot <what> '<path>': <the system's words for the errno>".
Status file_error(const char* what, const std::string& path, int error);

}  // namespace elider::log
