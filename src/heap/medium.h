// Medium: what a heap is durable on. Bytes are stored, and are durable once fence() returns.
//
// Two: a file with fdatasync, through the log's file seam, which tests replace; and a mapped file,
// whose lines are written back one by one (DAX, or a delay in its place).
// store() is what transactions do, each to bytes of its own; patch() is the replayer's.
// Thread safety: all; patch() and settle() one thread at a time.
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

  // Stores, and begins to make it durable where that can be begun.
  virtual Status store(uint64_t offset, std::span<const std::byte> bytes) = 0;
  // What this thread has stored before is durable when it returns ok; and what anybody has, unless
  // the medium fences for its thread.
  virtual Status fence() = 0;
  virtual bool fences_for_its_thread() const { return false; }
  // As store; durable, and to be read, after settle(). Does not cross a multiple of kPatchBytesMax.
  virtual Status patch(uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual Status settle() = 0;

  // Where a mapped file's bytes are, for what stores words by the million; flush() then begins to
  // make them durable, if that is to be done. Null: it is not mapped.
  virtual std::byte* memory() { return nullptr; }
  virtual bool flushes_patched() const { return false; }
  virtual void flush(uint64_t offset, uint64_t bytes) {
    static_cast<void>(offset);
    static_cast<void>(bytes);
  }

  // Fills all of it; what lies beyond the file's end is 0.
  virtual Status read(uint64_t offset, std::span<std::byte> bytes) = 0;
  virtual Status size(uint64_t* bytes) = 0;
  // The disk has room for this many bytes of the file. kIoError: io::File::reserve() failed; the
  // file is as it was, and less may be asked for.
  virtual Status reserve(uint64_t bytes) = 0;
  // reserve(), and the file then has at least this many bytes, durably where stores are.
  virtual Status extend(uint64_t bytes) = 0;
  // The part of the file is this memory's from now on, copied when it is written (section 3).
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

// A heap's file by its open folder and its name there, held while this lives.
struct HeldFile {
  std::unique_ptr<io::Folder> folder;
  std::string name;
  std::unique_ptr<io::File> lock;
};
// Opens the folder. kNotFound: it is not there. kInvalidArgument: no file has such a path.
Status find(const std::string& path, HeldFile* found);
// Holds the file, which is created if needed. kInvalidArgument: it is in use.
Status hold(io::Hold how, HeldFile* found);
// The file is there. kUnsupported: kDax, and it does not lie on persistent memory.
Status open_medium(const HeapOptions& options, std::unique_ptr<io::File> file, std::unique_ptr<Medium>* medium);
std::unique_ptr<Medium> make_file_medium(std::unique_ptr<io::File> file);
Status open_mapped_medium(const HeapOptions& options, std::unique_ptr<io::File> file, std::unique_ptr<Medium>* medium);

}  // namespace elider::heap
