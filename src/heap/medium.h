// Medium: the storage that makes a heap durable. Stored bytes are durable once fence() returns.
//
// There are two kinds. One is a file with fdatasync, through io::File, which tests replace. The
// other is a mapped file whose cache lines are written back one by one (DAX, or a delay that
// replaces it). Transactions call store(), each for different bytes. The replayer calls patch().
// Thread safety: any thread may call these functions; patch() and settle() one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "elider/heap.h"
#include "io/file.h"

namespace elider::heap {

inline constexpr uint64_t kPatchBytesMax = 4096;

class Medium {
 public:
  virtual ~Medium() = default;

  // Stores the bytes. If the medium can do so, starts to make them durable.
  virtual Status store(uint64_t offset, std::span<const std::byte> bytes) = 0;
  // Ok: everything that this thread has stored before is durable. Unless the medium fences only for
  // its thread, this also holds for what other threads have stored before.
  virtual Status fence() = 0;
  virtual bool fences_for_its_thread() const { return false; }
  // Like store(), but the bytes are durable and may be read only after settle(). The range must not
  // cross a multiple of kPatchBytesMax.
  virtual Status patch(uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual Status settle() = 0;

  // Returns the bytes of a mapped file, for a caller that stores millions of words. The caller then
  // calls flush() if flushes_patched() requires it. Returns null if the file is not mapped.
  virtual std::byte* memory() { return nullptr; }
  virtual bool flushes_patched() const { return false; }
  virtual void flush(uint64_t offset, uint64_t bytes) {
    static_cast<void>(offset);
    static_cast<void>(bytes);
  }

  // Fills all of `bytes`. Bytes beyond the file's end read as 0.
  virtual Status read(uint64_t offset, std::span<std::byte> bytes) = 0;
  virtual Status size(uint64_t* bytes) = 0;
  // Reserves disk space for this many bytes of the file. kIoError: io::File::reserve() failed. The
  // file is unchanged, and the caller may request less.
  virtual Status reserve(uint64_t bytes) = 0;
  // Like reserve(), but also makes the file at least this long. The new length is durable if stores
  // are durable.
  virtual Status extend(uint64_t bytes) = 0;
  // Maps this part of the file to the memory. Writes to the memory do not change the file (section
  // 3).
  virtual Status map_copy_on_write(uint64_t offset, std::span<std::byte> memory) = 0;
  // Like map_copy_on_write(), for memory that holds zeros. Used if the disk may lack space for the
  // file's holes.
  virtual Status map_data_copy_on_write(uint64_t offset, std::span<std::byte> memory) { return map_copy_on_write(offset, memory); }

  virtual std::string_view promise() const = 0;  // which failures the heap survives
  virtual uint64_t syncs() const = 0;
};

// Tests substitute a medium. While this exists, HeapMedium::kDax selects the medium that make()
// returns for the file. Only one may exist at a time.
class SubstituteMedium {
 public:
  using Make = std::function<std::unique_ptr<Medium>(std::unique_ptr<io::File>)>;
  explicit SubstituteMedium(Make make);
  ~SubstituteMedium();
  SubstituteMedium(const SubstituteMedium&) = delete;
  SubstituteMedium& operator=(const SubstituteMedium&) = delete;

 private:
  friend Status open_medium(const HeapOptions&, std::unique_ptr<io::File>, std::unique_ptr<Medium>*);
  const Make make_;
};

// The file of a heap: the open folder and the file's name in it. The file is locked while this
// exists.
struct HeldFile {
  std::unique_ptr<io::Folder> folder;
  std::string name;
  std::unique_ptr<io::File> lock;
};
// Opens the folder. kNotFound: it does not exist. kInvalidArgument: no file can have this path.
Status find(const std::string& path, HeldFile* found);
// Locks the file, which is created if it does not exist. kInvalidArgument: another heap uses it.
Status hold(io::Hold how, HeldFile* found);
// Opens the medium of an existing file. kUnsupported: kDax was requested, and the file is not on
// persistent memory.
Status open_medium(const HeapOptions& options, std::unique_ptr<io::File> file, std::unique_ptr<Medium>* medium);
std::unique_ptr<Medium> make_file_medium(std::unique_ptr<io::File> file);
Status open_mapped_medium(const HeapOptions& options, std::unique_ptr<io::File> file, std::unique_ptr<Medium>* medium);

}  // namespace elider::heap
