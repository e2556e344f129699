// Allocator: allocates and frees blocks of the heap. All allocator state is stored in the heap and
// is read and written by transactions. An allocation is therefore undone if its transaction is
// rolled back or if a crash prevents the commit.
//
//   HeapHead    the list of roots, the offset of the next chunk, batches of free blocks that all
//               arenas may use, and an arena for each slot
//   chunk       64 KiB of blocks, or one large block. A chunk begins with its size and the offset
//               up to which blocks have been cut from it; the blocks follow without gaps
//   block       a word that contains its size class and whether it is in use, then the object
//
// An arena's free lists are on cache lines that other slots do not write, so allocations by two
// threads do not conflict. An arena keeps up to two batches of free blocks of each size class.
// Further batches are moved to the heap's head, where all arenas find them. Blocks are never
// merged, so freed memory is reused only for objects of about the same size. Thread safety: used
// only by the transaction's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "elider/heap.h"
#include "heap/attempt.h"

namespace elider::heap {

// The size classes of blocks. The sizes, which include a block's first word, are 32, 48, ... 128
// bytes, and then four sizes per doubling.
inline constexpr uint32_t kBlockClasses = 152;
inline constexpr uint32_t kSmallClasses = 40;  // classes up to 32 KiB; arenas have free lists for these
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

// The beginning of the heap. The constants are offsets in the heap.
struct HeapHead {
  static constexpr uint64_t kMagicAt = 0;
  static constexpr uint64_t kRootsAt = 64;
  static constexpr uint64_t kNextChunkAt = 128;
  static constexpr uint64_t kBatchesAt = 192;  // a list of batches for each class
  static constexpr uint64_t kArenasAt = 2048;
  static constexpr uint64_t kArenaBytes = 1024;
  static constexpr uint64_t kMagic = 0x31'70'61'65'68'2e'6c'65;

  static constexpr uint64_t arena_at(uint32_t slot) { return kArenasAt + slot * kArenaBytes; }
  // Returns the size of the head, which is the offset of the first chunk.
  static constexpr uint64_t bytes(uint32_t threads) { return arena_at(threads); }
};
static_assert(HeapHead::kArenasAt % 64 == 0 && HeapHead::kArenaBytes % 64 == 0);
static_assert(HeapHead::kBatchesAt + kBlockClasses * 8 <= HeapHead::kArenasAt);

// An arena stores the offset of the chunk from which it cuts blocks. For each small class it also
// stores the first block of a free list, the length of this list, and the first block of a second
// free list, which is full or empty.
struct Arena {
  static constexpr uint64_t kChunkAt = 0;
  static constexpr uint64_t kListsAt = 64;
  static constexpr uint64_t kListBytes = 24;
  static constexpr uint64_t kBatchBlocks = 32;
};
static_assert(Arena::kListsAt + kSmallClasses * Arena::kListBytes <= HeapHead::kArenaBytes);

inline constexpr uint64_t kChunkBytes = 64 << 10;
inline constexpr uint64_t kChunkHeadBytes = 16;  // the chunk's size, and the offset up to which blocks have been cut
inline constexpr uint64_t kBlockHeadBytes = 8;
inline constexpr uint64_t kBlockUsed = 0x75736564, kBlockFree = 0x66726565;
constexpr uint64_t block_word(uint32_t block_class, uint64_t state) { return uint64_t{block_class} << 32 | state; }

class Allocator {
 public:
  explicit Allocator(detail::HeapAttempt& attempt);

  // Allocates a zeroed object. After an error, the transaction can only be rolled back.
  Status allocate(uint64_t bytes, uint64_t* offset);
  Status free(uint64_t offset);

 private:
  Status cut(uint32_t block_class, uint64_t* block);
  Status new_chunk(uint64_t bytes, uint64_t* chunk);
  Status give_back(uint64_t block, uint32_t block_class);
  // These functions check the offsets in lists and arenas, because a damaged heap must not crash
  // the process or cause memory that is in use to be allocated.
  bool is_free_block(uint64_t block, uint32_t block_class) const;
  bool is_in_heap(uint64_t offset, uint64_t bytes) const;
  Status damaged(const char* what, uint64_t offset) const;
  // Returns the offset of a word of the class's free lists: with `part` 0 the first block, with 1
  // the number of blocks, with 2 the full list.
  uint64_t list_at(uint32_t block_class, uint64_t part) const {
    return arena_ + Arena::kListsAt + block_class * Arena::kListBytes + part * 8;
  }
  static uint64_t batches_at(uint32_t block_class) { return HeapHead::kBatchesAt + block_class * 8; }

  detail::HeapAttempt& attempt_;
  const uint64_t arena_;
};

}  // namespace elider::heap
