// Medium: the storage that makes a heap durable. Bytes are stored, and are durable once fence()
// returns.
//
// There are two: a file with fdatasync, through io::File, which tests replace; and a mapped file,
// whose lines are written back one by one (DAX, or a delay in its place). Transactions call
// store(), each for bytes of its own; the replayer calls patch(). Thread safety: any thread may
// call this; patch() and settle() one thread at a time.
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

  // Stores the bytes, and begins to make them durable if the medium can.
  virtual Status store(uint64_t offset, std::span<const std::byte> bytes) = 0;
  // Ok: what this thread has stored before is durable; and also what other threads have stored,
  // unless the medium fences for its thread only.
  virtual Status fence() = 0;
  virtual bool fences_for_its_thread() const { return false; }
  // Like store(); the bytes are durable, and may be read, after settle(). The range must not cross
  // a multiple of kPatchBytesMax.
  virtual Status patch(uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual Status settle() = 0;

  // The bytes of a mapped file, for a caller that stores millions of words; flush() then begins to
  // make them durable, if required. Null: the file is not mapped.
  virtual std::byte* memory() { return nullptr; }
  virtual bool flushes_patched() const { return false; }
  virtual void flush(uint64_t offset, uint64_t bytes) {
    static_cast<void>(offset);
    static_cast<void>(bytes);
  }

  // Fills all of `bytes`; bytes beyond the file's end are 0.
  virtual Status read(uint64_t offset, std::span<std::byte> bytes) = 0;
  virtual Status size(uint64_t* bytes) = 0;
  // Reserves disk space for this many bytes of the file. kIoError: io::File::reserve() failed; the
  // file is unchanged, and the caller may request less.
  virtual Status reserve(uint64_t bytes) = 0;
  // Like reserve(); the file then has at least this many bytes, durably if stores are durable.
  virtual Status extend(uint64_t bytes) = 0;
  // Maps this part of the file to the memory, copied when it is written (section 3).
  virtual Status map_copy_on_write(uint64_t offset, std::span<std::byte> memory) = 0;
  // Like map_copy_on_write(), for memory that holds zeros, where the disk may lack room for the
  // file's holes.
  virtual Status map_data_copy_on_write(uint64_t offset, std::span<std::byte> memory) { return map_copy_on_write(offset, memory); }

  virtual std::string_view promise() const = 0;  // what it survives
  virtual uint64_t syncs() const = 0;
};

// Tests substitute a medium: while this exists, HeapMedium::kDax is what make() returns for the
// file. Only one may exist at a time.
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

// A heap's file: the open folder and the name in it, held while this exists.
struct HeldFile {
  std::unique_ptr<io::Folder> folder;
  std::string name;
  std::unique_ptr<io::File> lock;
};
// Opens the folder. kNotFound: it does not exist. kInvalidArgument: no file can have this path.
Status find(const std::string& path, HeldFile* found);
// Holds the file, which is created if needed. kInvalidArgument: it is in use.
Status hold(io::Hold how, HeldFile* found);
// The file must exist. kUnsupported: kDax, and the file is not on persistent memory.
Status open_medium(const HeapOptions& options, std::unique_ptr<io::File> file, std::unique_ptr<Medium>* medium);
std::unique_ptr<Medium> make_file_medium(std::unique_ptr<io::File> file);
Status open_mapped_medium(const HeapOptions& options, std::unique_ptr<io::File> file, std::unique_ptr<Medium>* medium);

}  // namespace elider::heap
