// Heap::check() and Heap::status_of(), which inspect the file of a heap that is not open. The
// commands `elider heap check` and `elider heap status` call them.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "heap/allocator.h"
#include "heap/format.h"
#include "heap/inside.h"
#include "heap/medium.h"
#include "heap/replayer.h"
#include "heap/roots.h"

namespace elider {

namespace {

using heap::Arena;
using heap::HeapHead;

// A heap as it would be after recovery, loaded from its file into private memory.
struct Looked {
  ~Looked() {
    if (memory != nullptr) ::munmap(memory, bytes);
  }
  heap::HeldFile held;
  std::unique_ptr<heap::Medium> medium;
  heap::Geometry geometry;
  heap::Found found;
  uint64_t replayed = 0;
  std::byte* memory = nullptr;
  uint64_t bytes = 0;
};

Status look(const std::string& path, Looked* looked) {
  heap::HeldFile& held = looked->held;
  std::unique_ptr<io::File> file;
  if (Status status = heap::find(path, &held); !status.ok()) return status;
  if (Status status = held.folder->open(held.name, io::OpenMode::kRead, &file); !status.ok()) return status;
  if (Status status = heap::hold(io::Hold::kShared, &held); !status.ok()) return status;
  heap::FileHeader header{};
  size_t count = 0;
  if (Status status = file->read_at(0, std::as_writable_bytes(std::span(&header, 1)), &count); !status.ok()) return status;
  if (Status status = heap::decode(header, path, &looked->geometry); !status.ok()) return status;
  looked->medium = heap::make_file_medium(std::move(file));
  heap::Replayer replayer(looked->geometry, *looked->medium, path);
  if (Status status = replayer.begin(); !status.ok()) return status;
  if (Status status = replayer.find(&looked->found); !status.ok()) return status;
  looked->replayed = replayer.replayed();
  // Log records that have not been applied yet may write beyond the file's end, so the heap may be
  // larger than the file.
  uint64_t end = 0;
  if (Status status = replayer.heap_bytes_with(looked->found, &end); !status.ok()) return status;
  void* const memory = ::mmap(nullptr, end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return {Code::kMemoryLimit, "cannot reserve address space for '" + path + "'"};
  looked->memory = static_cast<std::byte*>(memory);
  looked->bytes = end;
  return replayer.load_heap(looked->found, {looked->memory, end});
}

// Returns a function that reads the heap that is being inspected.
auto reader_of(const std::byte* base) {
  return [base](uint64_t offset, std::span<std::byte> into) { std::memcpy(into.data(), base + offset, into.size()); };
}

class Walk {
 public:
  Walk(const std::byte* base, uint64_t bytes, uint32_t threads, const std::string& path, uint64_t heap_at, HeapCheck* check)
      : base_(base), bytes_(bytes), threads_(threads), path_(path), heap_at_(heap_at), check_(*check) {}

  Status run() {
    if (Status status = walk_chunks(); !status.ok()) return status;
    if (Status status = walk_free(); !status.ok()) return status;
    std::sort(free_.begin(), free_.end());
    if (const auto twice = std::adjacent_find(free_.begin(), free_.end()); twice != free_.end())
      return damaged("the free lists contain a block twice", *twice);
    check_.lost_bytes = free_state_bytes_ - check_.free_bytes;
    return walk_roots();
  }

 private:
  uint64_t word(uint64_t offset) const {
    uint64_t value;
    std::memcpy(&value, base_ + offset, sizeof(value));
    return value;
  }
  Status damaged(const char* what, uint64_t offset) const {
    return {Code::kCorrupt, "'" + path_ + "' is damaged: " + what + ", at offset " + std::to_string(heap_at_ + offset)};
  }

  Status walk_chunks() {
    if (word(HeapHead::kMagicAt) != HeapHead::kMagic) return damaged("the heap's magic number", 0);
    first_ = HeapHead::bytes(threads_);
    const uint64_t end = word(HeapHead::kNextChunkAt);
    if (end < first_ || end > bytes_) return damaged("the position of the next chunk", HeapHead::kNextChunkAt);
    for (uint64_t chunk = first_; chunk < end;) {
      const uint64_t size = word(chunk), cut = word(chunk + 8);
      if (size < heap::kChunkHeadBytes || size % 64 != 0 || size > end - chunk) return damaged("a chunk's size", chunk);
      if (cut < chunk + heap::kChunkHeadBytes || cut > chunk + size) return damaged("the used length of a chunk", chunk + 8);
      for (uint64_t block = chunk + heap::kChunkHeadBytes; block < cut;) {
        const uint64_t head = word(block), state = head & 0xffffffff, block_class = head >> 32;
        if ((state != heap::kBlockUsed && state != heap::kBlockFree) || block_class == 0 || block_class >= heap::kBlockClasses ||
            heap::block_bytes(static_cast<uint32_t>(block_class)) > cut - block)
          return damaged("a block's head", block);
        const uint64_t size_of_block = heap::block_bytes(static_cast<uint32_t>(block_class));
        if (state == heap::kBlockUsed) {
          ++check_.blocks;
          check_.block_bytes += size_of_block;
        } else {
          free_state_bytes_ += size_of_block;
          ++free_state_blocks_;
        }
        block += size_of_block;
      }
      check_.unused_bytes += chunk + size - cut;
      chunk += size;
    }
    return {};
  }

  // Checks the first `count` blocks of a free list, or all of them if `count` is 0.
  Status walk_list(uint64_t block, uint64_t count, uint32_t block_class) {
    for (uint64_t i = 0; block != 0 && (count == 0 || i < count); ++i) {
      if (block % 8 != 0 || block < first_ || block > bytes_ || heap::block_bytes(block_class) > bytes_ - block ||
          word(block) != heap::block_word(block_class, heap::kBlockFree))
        return damaged("a free list contains a block that is not free", block < bytes_ ? block : 0);
      if (++check_.free_blocks > free_state_blocks_) return damaged("a free list contains a block twice", block);
      free_.push_back(block);
      check_.free_bytes += heap::block_bytes(block_class);
      block = word(block + heap::kBlockHeadBytes);
    }
    return {};
  }

  Status walk_free() {
    for (uint32_t block_class = 1; block_class < heap::kBlockClasses; ++block_class) {
      const bool small = block_class < heap::kSmallClasses;
      uint64_t batches = 0;
      for (uint64_t batch = word(HeapHead::kBatchesAt + block_class * 8); batch != 0; batch = word(batch + heap::kBlockHeadBytes + 8)) {
        if (batch % 8 != 0 || batch > bytes_ - 32 || ++batches > free_state_blocks_)
          return damaged("a list of free batches", HeapHead::kBatchesAt + block_class * 8);
        if (Status status = walk_list(batch, small ? Arena::kBatchBlocks : 1, block_class); !status.ok()) return status;
      }
      for (uint32_t slot = 0; small && slot < threads_; ++slot) {
        const uint64_t list = HeapHead::arena_at(slot) + Arena::kListsAt + block_class * Arena::kListBytes;
        if (Status status = walk_list(word(list), word(list + 8), block_class); !status.ok()) return status;
        if (Status status = walk_list(word(list + 16), Arena::kBatchBlocks, block_class); !status.ok()) return status;
      }
    }
    return {};
  }

  bool is_object(uint64_t offset, uint64_t bytes) const {
    const uint64_t head = word(offset - heap::kBlockHeadBytes), block_class = head >> 32;
    return (head & 0xffffffff) == heap::kBlockUsed && block_class < heap::kBlockClasses &&
           heap::kBlockHeadBytes + bytes <= heap::block_bytes(static_cast<uint32_t>(block_class));
  }
  Status walk_roots() {
    bool all_are_objects = true;
    const bool whole = heap::for_each_root(threads_, bytes_, reader_of(base_), [&](uint64_t at, const heap::RootNode& root) {
      ++check_.roots;
      all_are_objects = all_are_objects && is_object(at, sizeof(root) + root.name_bytes + root.type_bytes) &&
                        is_object(root.object, root.object_bytes);
    });
    return whole && all_are_objects ? Status() : damaged("the list of roots", HeapHead::kRootsAt);
  }

  const std::byte* const base_;
  const uint64_t bytes_;
  const uint32_t threads_;
  const std::string& path_;
  const uint64_t heap_at_;
  HeapCheck& check_;
  uint64_t first_ = 0;
  std::vector<uint64_t> free_;  // the blocks in the free lists
  uint64_t free_state_bytes_ = 0, free_state_blocks_ = 0;
};

}  // namespace

Result<HeapCheck> Heap::check(const std::string& path) {
  Looked looked;
  if (Status status = look(path, &looked); !status.ok()) return status;
  HeapCheck check;
  check.pending = looked.found.durable.size();
  Walk walk(looked.memory, looked.bytes, looked.geometry.threads, path, looked.geometry.heap_at, &check);
  if (Status status = walk.run(); !status.ok()) return status;
  return check;
}

Result<HeapStatus> Heap::status_of(const std::string& path) {
  Looked looked;
  if (Status status = look(path, &looked); !status.ok()) return status;
  HeapStatus status;
  status.heap_bytes = looked.bytes;
  std::memcpy(&status.used_bytes, looked.memory + HeapHead::kNextChunkAt, sizeof(status.used_bytes));
  status.log_bytes = looked.geometry.heap_at;
  status.last_number = looked.found.newest;
  status.replayed_number = looked.replayed;
  status.medium = "file";
  status.promise = "chosen by the program that writes the heap (HeapOptions::medium)";
  status.recovered = looked.found.durable.size();
  status.dropped = looked.found.dropped;
  if (!heap::list_roots(looked.geometry.threads, looked.bytes, reader_of(looked.memory), &status.roots))
    return Status(Code::kCorrupt, "'" + path + "' is damaged: the list of roots, at offset " +
                                      std::to_string(looked.geometry.heap_at + HeapHead::kRootsAt));
  return status;
}

}  // namespace elider
