#include "io/file.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <new>
#include <system_error>

#include "io/system_files.h"

namespace elider::io {

Status file_error(const char* what, const std::string& path, int error) {
  return Status(Code::kIoError, std::string("cannot ") + what + " '" + path + "': " + std::generic_category().message(error));
}

Status File::reserve(uint64_t bytes) {
  uint64_t now = 0;
  if (Status status = size(&now); !status.ok() || now >= bytes) return status;
  const std::byte last{0};
  return write_at(bytes - 1, {&last, 1});
}

Status File::map_copy_on_write(uint64_t offset, std::span<std::byte> memory) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  if (::mmap(memory.data(), memory.size(), PROT_READ | PROT_WRITE, kFlags, -1, 0) != memory.data()) return file_error("map", path(), errno);
  size_t count = 0;
  return read_at(offset, memory, &count);
}

std::string Folder::path_of(std::string_view name) const {
  std::string path = path_ == "." ? std::string() : path_;
  if (!path.empty() && path.back() != '/') path += '/';
  return path += name;
}

Status FileSystem::open_folder_of(const std::string& path, std::unique_ptr<Folder>* folder, std::string* name) {
  const size_t slash = path.find_last_of('/');
  *name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name->empty() && !path.empty()) *name = ".";  // "folder/": opening the folder as a file is then refused
  const std::string its_folder = slash == std::string::npos ? "." : path.substr(0, slash == 0 ? 1 : slash);
  // open_folder() reports a path that contains a 0 byte. It receives the whole path, because the
  // byte may be in the file's name.
  if (path.find('\0') != std::string::npos) return open_folder(path, folder);
  Status status = open_folder(its_folder, folder);
  return status.not_found() ? Status(Code::kNotFound, "the file '" + absolute(path) + "' does not exist") : status;
}

Status FileSystem::open(const std::string& path, OpenMode mode, std::unique_ptr<File>* file) {
  std::unique_ptr<Folder> folder;
  std::string name;
  Status status = open_folder_of(path, &folder, &name);
  if (status.ok()) return folder->open(name, mode, file);
  const bool creates = mode == OpenMode::kCreate || mode == OpenMode::kCreateNew;
  return status.not_found() && creates ? file_error("create", absolute(path), ENOENT) : status;
}

// -- reading --------------------------------------------------------------------------------------

Status file_bytes(Folder& folder, const std::string& name, uint64_t bytes_max, uint64_t* bytes) {
  std::unique_ptr<File> file;
  if (Status status = folder.open(name, OpenMode::kRead, &file); !status.ok()) return status;
  if (Status status = file->size(bytes); !status.ok()) return status;
  if (*bytes <= bytes_max) return {};
  return Status(Code::kCorrupt,
                "'" + file->path() + "' has " + std::to_string(*bytes) + " bytes; such a file has at most " + std::to_string(bytes_max));
}

Status ReadBuffer::read(Folder& folder, const std::string& name, uint64_t bytes_max) {
  size_ = 0;
  uint64_t bytes = 0;
  if (Status status = file_bytes(folder, name, bytes_max, &bytes); !status.ok()) return status;
  return read_part(folder, name, 0, bytes);
}

Status ReadBuffer::read_part(Folder& folder, const std::string& name, uint64_t offset, uint64_t bytes) {
  size_ = 0;
  std::unique_ptr<File> file;
  if (Status status = folder.open(name, OpenMode::kRead, &file); !status.ok()) return status;
  if (Status status = make_room(*file, bytes); !status.ok()) return status;
  return file->read_at(offset, {memory_.get(), bytes}, &size_);
}

Status ReadBuffer::make_room(const File& file, uint64_t bytes) {
  if (bytes <= capacity_) return {};
  // Rounded up, so that the buffer can be reused for files of similar size. The system does not
  // provide pages that are never written.
  constexpr uint64_t kStep = 64u << 10;
  const uint64_t room = (bytes + kStep - 1) / kStep * kStep;
  capacity_ = 0;
  memory_.reset();  // freed before the new memory is allocated
  memory_.reset(new (std::nothrow) std::byte[room]);
  if (memory_ == nullptr)
    return Status(Code::kMemoryLimit, "not enough memory for " + std::to_string(bytes) + " bytes of '" + file.path() + "'");
  capacity_ = room;
  return {};
}

// -- substitutes ----------------------------------------------------------------------------------

namespace {
std::atomic<FileSystem*> substitute{nullptr};
}  // namespace

FileSystem& system_files() {
  FileSystem* const other = substitute.load(std::memory_order_acquire);
  return other != nullptr ? *other : plain_system_files();
}

SubstituteFiles::SubstituteFiles(FileSystem& files) { substitute.store(&files, std::memory_order_release); }
SubstituteFiles::~SubstituteFiles() { substitute.store(nullptr, std::memory_order_release); }

}  // namespace elider::io
