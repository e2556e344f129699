// Allocator: allocates and frees blocks of the heap. All of its state is in the heap, where
// transactions read and write it. So an allocation is undone if its transaction is rolled back, or
// if a crash prevents the commit.
//
//   HeapHead    the roots, the next chunk, batches of free blocks that any arena may use, and an
//               arena for each slot
//   chunk       64 KiB or one large block. It begins with its size and the offset up to which
//               blocks have been cut from it, followed by the blocks without gaps
//   block       a word that contains its size class and whether it is in use, then the object
//
// The lists of an arena are on cache lines that other slots do not write, so allocations of two
// threads do not conflict. An arena keeps two batches of each size. A third batch is moved to the
// head, where other arenas find it. Blocks are never merged, so freed memory is reused only for
// objects of about the same size. Thread safety: used by the thread of its transaction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "elider/heap.h"
#include "heap/attempt.h"

namespace elider::heap {

// The sizes of blocks, including their first word: 32, 48, .. 128, then four per doubling.
inline constexpr uint32_t kBlockClasses = 152;
inline constexpr uint32_t kSmallClasses = 40;  // up to 32 KiB; arenas have lists of these
constexpr uint64_t block_bytes(uint32_t block_class) {
  if (block_class < 8) return 16 * (uint64_t{block_class} + 1);
  const uint32_t doubling = (block_class - 8) / 4, quarter = (block_class - 8) % 4;
  return (uint64_t{128} << doubling) / 4 * (5 + quarter);
}
constexpr uint32_t block_class_of(uint64_t bytes) {
  if (bytes <= 32) return 1;  // a free block must have room for two links
  if (bytes <= 128) return static_cast<uint32_t>((bytes + 15) / 16 - 1);
  uint32_t doubling = 0;
  while ((uint64_t{256} << doubling) < bytes) ++doubling;
  const uint64_t quarter = (uint64_t{128} << doubling) / 4;
  return 8 + 4 * doubling + static_cast<uint32_t>((bytes - (uint64_t{128} << doubling) + quarter - 1) / quarter) - 1;
}
static_assert(block_bytes(kSmallClasses - 1) == 32 << 10);
static_assert(block_class_of(129) == 8 && block_class_of(160) == 8 && block_class_of(161) == 9 && block_class_of(256) == 11);

// The offsets of the head's words in the heap.
struct HeapHead {
  static constexpr uint64_t kMagicAt = 0;
  static constexpr uint64_t kRootsAt = 64;
  static constexpr uint64_t kNextChunkAt = 128;
  static constexpr uint64_t kBatchesAt = 192;  // a list of batches for each class
  static constexpr uint64_t kArenasAt = 2048;
  static constexpr uint64_t kArenaBytes = 1024;
  static constexpr uint64_t kMagic = 0x31'70'61'65'68'2e'6c'65;

  static constexpr uint64_t arena_at(uint32_t slot) { return kArenasAt + slot * kArenaBytes; }
  // The offset of the first chunk.
  static constexpr uint64_t bytes(uint32_t threads) { return arena_at(threads); }
};
static_assert(HeapHead::kArenasAt % 64 == 0 && HeapHead::kArenaBytes % 64 == 0);
static_assert(HeapHead::kBatchesAt + kBlockClasses * 8 <= HeapHead::kArenasAt);

// An arena has the chunk from which it cuts blocks. For each small class it also has the first free
// block, the length of that list, and a full list.
struct Arena {
  static constexpr uint64_t kChunkAt = 0;
  static constexpr uint64_t kListsAt = 64;
  static constexpr uint64_t kListBytes = 24;
  static constexpr uint64_t kBatchBlocks = 32;
};
static_assert(Arena::kListsAt + kSmallClasses * Arena::kListBytes <= HeapHead::kArenaBytes);

inline constexpr uint64_t kChunkBytes = 64 << 10;
inline constexpr uint64_t kChunkHeadBytes = 16;  // {bytes, offset up to which it is cut}
inline constexpr uint64_t kBlockHeadBytes = 8;
inline constexpr uint64_t kBlockUsed = 0x75736564, kBlockFree = 0x66726565;
constexpr uint64_t block_word(uint32_t block_class, uint64_t state) { return uint64_t{block_class} << 32 | state; }

class Allocator {
 public:
  explicit Allocator(detail::HeapAttempt& attempt);

  // Allocates an object and zeroes it.
  Status allocate(uint64_t bytes, uint64_t* offset);
  Status free(uint64_t offset);

 private:
  Status cut(uint32_t block_class, uint64_t* block);
  Status new_chunk(uint64_t bytes, uint64_t* chunk);
  Status give_back(uint64_t block, uint32_t block_class);
  // Checks a block that a list or an arena refers to. A damaged heap must not stop the process, and
  // must not cause the allocation of memory that is in use.
  bool is_free_block(uint64_t block, uint32_t block_class) const;
  bool is_in_heap(uint64_t offset, uint64_t bytes) const;
  Status damaged(const char* what, uint64_t offset) const;
  // Returns the offset of a word of the class's list. `part` 0 is the first block, 1 the count, 2
  // the full list.
  uint64_t list_at(uint32_t block_class, uint64_t part) const {
    return arena_ + Arena::kListsAt + block_class * Arena::kListBytes + part * 8;
  }
  static uint64_t batches_at(uint32_t block_class) { return HeapHead::kBatchesAt + block_class * 8; }

  detail::HeapAttempt& attempt_;
  const uint64_t arena_;
};

}  // namespace elider::heap
