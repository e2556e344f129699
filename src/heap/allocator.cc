#include "heap/allocator.h"

#include <algorithm>

#include "base/cache_line.h"
#include "heap/inside.h"
#include "heap/roots.h"

namespace elider::heap {

namespace {
// The offsets of the links in a free block. The link at kNextAt refers to the next block in the
// same list. In the first block of a batch, the link at kNextBatchAt refers to the next batch.
constexpr uint64_t kNextAt = kBlockHeadBytes, kNextBatchAt = kBlockHeadBytes + 8;
constexpr uint64_t kZeroedByWords = 256;  // smaller objects are zeroed word by word, because most of their words are written anyway
constexpr uint64_t kObjectBytesMax = block_bytes(kBlockClasses - 1) - kBlockHeadBytes;
}  // namespace

Allocator::Allocator(detail::HeapAttempt& attempt) : attempt_(attempt), arena_(HeapHead::arena_at(attempt.slot())) {}

Status Allocator::allocate(uint64_t bytes, uint64_t* offset) {
  const uint64_t capacity = attempt_.heap().options().capacity_bytes;
  if (bytes > std::min(capacity, kObjectBytesMax)) {
    Status status(Code::kMemoryLimit, "an object of " + std::to_string(bytes) + " bytes is larger than " +
                                          (bytes > capacity ? "HeapOptions::capacity_bytes" : "the largest block, 8 TiB"));
    attempt_.doom(status);
    return status;
  }
  const uint32_t block_class = block_class_of(bytes + kBlockHeadBytes);
  const bool small = block_class < kSmallClasses;
  uint64_t block = small ? attempt_.load_at(list_at(block_class, 0)) : 0;
  uint64_t count = small ? attempt_.load_at(list_at(block_class, 1)) : 0;
  if (block == 0 && small && (block = attempt_.load_at(list_at(block_class, 2))) != 0) {
    attempt_.store_at(list_at(block_class, 2), 0);
    count = Arena::kBatchBlocks;
  }
  if (block == 0 && (block = attempt_.load_at(batches_at(block_class))) != 0) {
    if (!is_free_block(block, block_class)) return damaged("a list of free batches", batches_at(block_class));
    attempt_.store_at(batches_at(block_class), attempt_.load_at(block + kNextBatchAt));
    count = Arena::kBatchBlocks;
  }
  const bool reused = block != 0;
  if (!reused) {
    if (Status status = cut(block_class, &block); !status.ok()) {
      attempt_.doom(status);
      return status;
    }
  } else if (!is_free_block(block, block_class)) {
    return damaged("a free list", small ? list_at(block_class, 0) : batches_at(block_class));
  } else if (small) {
    attempt_.store_at(list_at(block_class, 0), attempt_.load_at(block + kNextAt));
    attempt_.store_at(list_at(block_class, 1), count - 1);
  }
  attempt_.store_at(block, block_word(block_class, kBlockUsed));
  *offset = block + kBlockHeadBytes;
  // Memory that was never used is already zero.
  if (reused && bytes > kZeroedByWords) {
    attempt_.zero(*offset, bytes);
  } else if (reused) {
    for (uint64_t at = *offset; at < *offset + bytes; at += kWordBytes) attempt_.store_at(at, 0);
  }
  return {};
}

// Cuts a new block from the arena's chunk. If the space left in the chunk is too small, turns that
// space into free blocks and begins a new chunk.
Status Allocator::cut(uint32_t block_class, uint64_t* block) {
  const uint64_t bytes = block_bytes(block_class);
  if (block_class >= kSmallClasses) {
    uint64_t chunk = 0;
    if (Status status = new_chunk(kChunkHeadBytes + bytes, &chunk); !status.ok()) return status;
    attempt_.store_at(chunk + 8, chunk + kChunkHeadBytes + bytes);
    *block = chunk + kChunkHeadBytes;
    return {};
  }
  uint64_t chunk = attempt_.load_at(arena_ + Arena::kChunkAt);
  if (chunk != 0) {
    const bool is_there = chunk % kCacheLineBytes == 0 && is_in_heap(chunk, kChunkHeadBytes);
    const uint64_t size = is_there ? attempt_.load_at(chunk) : 0;
    if (!is_there || !is_in_heap(chunk, size)) return damaged("the chunk of an arena", arena_ + Arena::kChunkAt);
    const uint64_t end = chunk + size;
    uint64_t cut = attempt_.load_at(chunk + 8);
    if (cut < chunk + kChunkHeadBytes || cut > end || cut % kWordBytes != 0) return damaged("the used length of a chunk", chunk + 8);
    if (end - cut < bytes) {
      while (end - cut >= block_bytes(1)) {
        uint32_t fits = block_class_of(end - cut);
        while (block_bytes(fits) > end - cut) --fits;
        attempt_.store_at(cut, block_word(fits, kBlockFree));
        if (Status status = give_back(cut, fits); !status.ok()) return status;
        cut += block_bytes(fits);
      }
      attempt_.store_at(chunk + 8, cut);
      chunk = 0;
    }
  }
  if (chunk == 0) {
    if (Status status = new_chunk(kChunkBytes, &chunk); !status.ok()) return status;
    attempt_.store_at(chunk + 8, chunk + kChunkHeadBytes);
    attempt_.store_at(arena_ + Arena::kChunkAt, chunk);
  }
  *block = attempt_.load_at(chunk + 8);
  attempt_.store_at(chunk + 8, *block + bytes);
  return {};
}

Status Allocator::new_chunk(uint64_t bytes, uint64_t* chunk) {
  bytes = (bytes + 63) / 64 * 64;
  *chunk = attempt_.load_at(HeapHead::kNextChunkAt);
  if (*chunk + bytes > attempt_.heap().heap_bytes()) attempt_.needs_software();
  if (Status status = attempt_.heap().grow_to(*chunk + bytes); !status.ok()) return status;
  attempt_.store_at(HeapHead::kNextChunkAt, *chunk + bytes);
  attempt_.store_at(*chunk, bytes);
  return {};
}

bool Allocator::is_in_heap(uint64_t offset, uint64_t bytes) const {
  const uint64_t first = HeapHead::bytes(attempt_.heap().geometry().threads), end = attempt_.heap().heap_bytes();
  return offset >= first && offset <= end && bytes <= end - offset;
}
bool Allocator::is_free_block(uint64_t block, uint32_t block_class) const {
  return block % kWordBytes == 0 && is_in_heap(block, block_bytes(block_class)) &&
         attempt_.load_at(block) == block_word(block_class, kBlockFree);
}
Status Allocator::damaged(const char* what, uint64_t offset) const {
  attempt_.needs_software();  // a region cannot allocate memory for the message
  Status status(Code::kCorrupt, attempt_.heap().where(offset) + " is damaged: " + what);
  attempt_.doom(status);
  return status;
}

// Adds the block to the arena's free list. If that list is full, it first becomes the arena's full
// list, and the previous full list is moved to the heap's head.
Status Allocator::give_back(uint64_t block, uint32_t block_class) {
  if (block_class >= kSmallClasses) {
    attempt_.store_at(block + kNextBatchAt, attempt_.load_at(batches_at(block_class)));
    attempt_.store_at(batches_at(block_class), block);
    return {};
  }
  uint64_t first = attempt_.load_at(list_at(block_class, 0));
  uint64_t count = attempt_.load_at(list_at(block_class, 1));
  if (count == Arena::kBatchBlocks) {
    if (const uint64_t full = attempt_.load_at(list_at(block_class, 2)); full != 0) {
      if (!is_free_block(full, block_class)) return damaged("a free list", list_at(block_class, 2));
      attempt_.store_at(full + kNextBatchAt, attempt_.load_at(batches_at(block_class)));
      attempt_.store_at(batches_at(block_class), full);
    }
    attempt_.store_at(list_at(block_class, 2), first);
    first = count = 0;
  }
  attempt_.store_at(block + kNextAt, first);
  attempt_.store_at(list_at(block_class, 0), block);
  attempt_.store_at(list_at(block_class, 1), count + 1);
  return {};
}

Status Allocator::free(uint64_t offset) {
  if (offset == 0) return {};
  uint64_t word = 0;
  if (offset % kWordBytes == 0 && is_in_heap(offset - kChunkHeadBytes - kBlockHeadBytes, kChunkHeadBytes + kBlockHeadBytes))
    word = attempt_.load_at(offset - kBlockHeadBytes);
  const auto block_class = static_cast<uint32_t>(word >> 32);
  if ((word & 0xffffffff) != kBlockUsed || block_class == 0 || block_class >= kBlockClasses ||
      !is_in_heap(offset - kBlockHeadBytes, block_bytes(block_class))) {
    Status status = Status::invalid_argument("free: offset " + std::to_string(offset) + " is not the start of an object");
    attempt_.doom(status);
    return status;
  }
  if (Status status = check_no_root(attempt_, offset); !status.ok()) {
    attempt_.doom(status);
    return status;
  }
  // A concurrent transaction must not change the freed object. Under snapshot isolation only writes
  // conflict, so this transaction writes the whole object.
  if (attempt_.heap().options().isolation == HeapIsolation::kSnapshot) attempt_.zero(offset, block_bytes(block_class) - kBlockHeadBytes);
  attempt_.store_at(offset - kBlockHeadBytes, block_word(block_class, kBlockFree));
  return give_back(offset - kBlockHeadBytes, block_class);
}

}  // namespace elider::heap
