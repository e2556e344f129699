// Medium: the durable storage of a heap. Stored bytes are durable once fence() has returned.
//
// There are two kinds of media. One is a file that fdatasync makes durable; it is accessed through
// io::File, which tests can replace. The other is a mapped file whose cache lines are written back
// one by one (DAX), or for which a delay simulates the write-back. Transactions call store() for
// disjoint ranges of bytes. The replayer calls patch().
// Thread safety: all threads may call all functions, but only one thread at a time may call patch()
// or settle().
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

  // Stores the bytes. A medium that can make bytes durable in the background begins to do so.
  virtual Status store(uint64_t offset, std::span<const std::byte> bytes) = 0;
  // If the result is ok, everything that this thread has stored is durable. Unless
  // fences_for_its_thread() is true, everything that other threads stored before the call is
  // durable as well.
  virtual Status fence() = 0;
  virtual bool fences_for_its_thread() const { return false; }
  // Like store(), but the bytes may be read, and are durable, only after settle(). The range must
  // not cross a multiple of kPatchBytesMax.
  virtual Status patch(uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual Status settle() = 0;

  // Returns the memory of a mapped file, so that a caller that stores millions of words can write
  // to it directly. If flushes_patched() is true, the caller must then call flush(). Returns null
  // if the file is not mapped.
  virtual std::byte* memory() { return nullptr; }
  virtual bool flushes_patched() const { return false; }
  virtual void flush(uint64_t offset, uint64_t bytes) {
    static_cast<void>(offset);
    static_cast<void>(bytes);
  }

  // Fills all of `bytes`. Bytes beyond the file's end read as 0.
  virtual Status read(uint64_t offset, std::span<std::byte> bytes) = 0;
  virtual Status size(uint64_t* bytes) = 0;
  // Reserves disk space for the first `bytes` bytes of the file. kIoError: io::File::reserve()
  // failed. Then the file is unchanged, and the caller may retry with fewer bytes.
  virtual Status reserve(uint64_t bytes) = 0;
  // Like reserve(), but also makes the file at least this long. Once a later store is durable, the
  // new length is durable as well.
  virtual Status extend(uint64_t bytes) = 0;
  // Maps the file's bytes from `offset` on to `memory`. Writes to `memory` do not change the file
  // (DUMBO, section 3).
  virtual Status map_copy_on_write(uint64_t offset, std::span<std::byte> memory) = 0;
  // Like map_copy_on_write(), but may skip the file's holes, so `memory` must already contain
  // zeros. Used if the disk may lack space for the holes.
  virtual Status map_data_copy_on_write(uint64_t offset, std::span<std::byte> memory) { return map_copy_on_write(offset, memory); }

  virtual std::string_view promise() const = 0;  // which failures the heap survives
  virtual uint64_t syncs() const = 0;
};

// Used by tests. While an object of this class exists, HeapMedium::kDax selects the medium that
// make() returns for the file. Only one such object may exist at a time.
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

// A heap's file: its open folder, its name in the folder, and the lock on it, which is held until
// this object is destroyed.
struct HeldFile {
  std::unique_ptr<io::Folder> folder;
  std::string name;
  std::unique_ptr<io::File> lock;
};
// Opens the folder of the file at `path`. kNotFound: the folder does not exist. kInvalidArgument: a
// file cannot have this path.
Status find(const std::string& path, HeldFile* found);
// Locks the file, and creates it if it does not exist. kInvalidArgument: another heap uses it.
Status hold(io::Hold how, HeldFile* found);
// Opens the medium of an existing file. kUnsupported: kDax was requested, and the file is not on
// persistent memory.
Status open_medium(const HeapOptions& options, std::unique_ptr<io::File> file, std::unique_ptr<Medium>* medium);
std::unique_ptr<Medium> make_file_medium(std::unique_ptr<io::File> file);
Status open_mapped_medium(const HeapOptions& options, std::unique_ptr<io::File> file, std::unique_ptr<Medium>* medium);

}  // namespace elider::heap
