// Memory: where a database's rows, versions, blocks and index nodes come from; one a database.
// Allocator: one worker's share of it, which allocates and frees without a locked instruction.
//
// Memory takes chunks of 2 MiB, aligned to 2 MiB and on huge pages where the system has them,
// because a random access costs about twice as much on 4 KiB pages. It enforces the database's
// limit, and keeps a depot of free objects, so that a worker that only frees feeds one that only
// allocates. An object is of a size class (base/size_class.h); each class of a worker cuts objects
// from runs, one after the other, so that what is allocated together lies together. Chunks go back
// to the system when Memory is destroyed.
// Not a general-purpose allocator: free() is told the size, and nothing is ever zeroed.
//
// Where the limit is below 64 MiB, chunks are of 64 KiB, so that several workers fit under it.
// Thread safety: Memory by all; an Allocator by one thread at a time; an object may
// be freed by another Allocator of the same Memory than the one it came from. Under
// ASan, free memory is poisoned.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/cache_line.h"
#include "base/check.h"
#include "base/sanitizer.h"
#include "base/size_class.h"

namespace elider {

// What memory is used for; statistics tell them apart.
enum class MemoryPart : uint8_t { kRows, kVersions, kBlocks, kIndexes };
inline constexpr unsigned kMemoryParts = 4;

class Allocator;

namespace detail {

// A free object holds its place in a list.
struct FreeObject {
  FreeObject* next;
};

// A list of free objects of one class that moves between worker and depot as one.
struct FreeBatch {
  FreeObject* first = nullptr;
  uint32_t count = 0;
};

}  // namespace detail

// While one lives, its thread may take memory above the limit: for work that can no longer be
// refused. It does so only where nothing is left below the limit. An allocation still fails where
// the system itself cannot give any.
class BeyondLimit {
 public:
  BeyondLimit() { ++depth_; }
  ~BeyondLimit() { --depth_; }
  BeyondLimit(const BeyondLimit&) = delete;
  BeyondLimit& operator=(const BeyondLimit&) = delete;
  static bool now() { return depth_ != 0; }

 private:
  inline static constinit thread_local unsigned depth_ = 0;
};

class Memory {
 public:
  // limit_bytes 0: none. own_allocators: false: all Allocators hand each call on to one behind a
  // lock, for studies. Takes nothing from the system yet.
  explicit Memory(uint64_t limit_bytes = 0, bool huge_pages = true, bool own_allocators = true);
  // No Allocator of it may be left, and no object be used any more.
  ~Memory();
  // Gives the chunks back to the system. For a forked child, which uses nothing of it afterwards
  // and does not destroy it. Does nothing if the parent held the lock when it forked.
  void abandon();

  // Takes this much from the system and touches it, before anything is allocated:
  // allocations then meet no page fault until it is used up. It counts as reserved when it
  // is. False: the system refuses.
  [[nodiscard]] bool prefault(uint64_t bytes);

  uint64_t limit_bytes() const { return limit_bytes_; }
  size_t chunk_bytes() const { return chunk_bytes_; }
  // What an object of this size takes: its class, or whole pages.
  size_t bytes_taken(size_t bytes) const {
    return bytes > largest_bytes_ ? round_large(bytes) : class_bytes(size_class_of(bytes));
  }
  // Bytes of objects in use, rounded up to their classes. Exact while no worker allocates or frees.
  uint64_t used_bytes(MemoryPart part) const;
  uint64_t used_bytes() const;
  // More than the limit is in use, because some was taken under a BeyondLimit. Until less is in
  // use, allocations without a BeyondLimit fail, except from what their Allocator has at hand.
  bool is_beyond_limit() const { return limit_bytes_ != 0 && reserved_bytes() > limit_bytes_ && used_bytes() > limit_bytes_; }
  // Bytes taken from the system; used ones, free ones and the rest of chunks.
  uint64_t reserved_bytes() const { return reserved_bytes_.load(std::memory_order_relaxed); }
  uint64_t free_bytes() const;

  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

 private:
  friend class Allocator;

  enum class Limit : uint8_t { kHolds, kMayBePassed };
  struct Mapping {
    std::byte* begin;
    size_t bytes;
  };
  struct alignas(kCacheLineBytes) Depot {
    std::mutex mutex;  // a leaf lock: nothing is locked under it
    std::vector<detail::FreeBatch> batches;
  };

  // Memory that no object lies in, at least `bytes_min` of it: what another allocator left of its
  // chunk, or a fresh chunk. Null at the limit, unless it may be passed.
  Mapping take_chunk(size_t bytes_min, Limit limit);
  void give_rest(Mapping rest);
  // An object above the largest class, or null. `bytes` is rounded up to pages by both.
  void* take_large(size_t bytes);
  void give_large(void* object, size_t bytes);
  size_t round_large(size_t bytes) const;
  // Counts these bytes as taken, unless the limit forbids it.
  bool reserve(size_t bytes, Limit limit);
  std::byte* map_region(size_t bytes, size_t alignment);
  bool start_region();  // the caller holds mutex_
  void unmap_regions();  // likewise, or it is alone

  void put_batch(unsigned size_class, detail::FreeBatch batch);
  detail::FreeBatch take_batch(unsigned size_class);

  void attach(Allocator* allocator);
  void detach(Allocator* allocator);

  const uint64_t limit_bytes_;
  const bool huge_pages_;
  const size_t chunk_bytes_;
  const size_t largest_bytes_;  // above it an object has a mapping of its own
  std::atomic<uint64_t> reserved_bytes_{0};

  mutable std::mutex mutex_;  // a leaf lock; guards what follows
  std::vector<Mapping> regions_;
  std::vector<Mapping> rests_;
  std::byte* region_next_ = nullptr;  // chunks are cut from here
  std::byte* region_end_ = nullptr;
  std::vector<Allocator*> allocators_;
  std::array<int64_t, kMemoryParts> detached_bytes_{};  // counters of allocators that are gone

  std::array<Depot, kSizeClasses> depots_;

  std::mutex shared_mutex_;             // before the depots' and mutex_
  std::unique_ptr<Allocator> shared_;  // of all; null: each Allocator works by itself
};

class Allocator {
 public:
  explicit Allocator(Memory& memory);
  ~Allocator();  // what it has free goes back to Memory

  // At least `bytes` bytes (1 or more), aligned to 16, and to 64 if the class is a multiple of 64;
  // their content is arbitrary. Null: the limit is reached or the system has no memory.
  void* allocate(size_t bytes, MemoryPart part) {
    if (is_large(bytes)) [[unlikely]]
      return allocate_large(bytes, part);
    const unsigned size_class = size_class_of(bytes);
    const size_t size = class_bytes(size_class);
    Cache& cache = caches_[size_class];
    if (cache.active.first != nullptr) {
      detail::FreeObject* object = cache.active.first;
      unpoison_memory(object, bytes < sizeof(detail::FreeObject) ? sizeof(detail::FreeObject) : bytes);
      cache.active.first = object->next;
      --cache.active.count;
      count(part, static_cast<int64_t>(size));
      return object;
    }
    if (static_cast<size_t>(cache.run_end - cache.run_next) >= size) [[likely]] {
      std::byte* object = cache.run_next;
      cache.run_next += size;
      unpoison_memory(object, bytes);
      count(part, static_cast<int64_t>(size));
      return object;
    }
    return allocate_slowly(bytes, part);
  }

  bool is_beyond_limit() const { return memory_.is_beyond_limit(); }
  size_t bytes_taken(size_t bytes) const { return memory_.bytes_taken(bytes); }

  // `object` came from an Allocator of the same Memory by allocate(bytes, part).
  void free(void* object, size_t bytes, MemoryPart part) {
    if (is_large(bytes)) [[unlikely]]
      return free_large(object, bytes, part);
    const unsigned size_class = size_class_of(bytes);
    const size_t size = class_bytes(size_class);
    Cache& cache = caches_[size_class];
    auto* free_object = static_cast<detail::FreeObject*>(object);
    check_not_free(object);
    unpoison_memory(object, sizeof(detail::FreeObject));
    free_object->next = cache.active.first;
    poison_memory(object, size);
    cache.active.first = free_object;
    count(part, -static_cast<int64_t>(size));
    if (++cache.active.count >= batch_objects_[size_class]) [[unlikely]]
      hand_over(size_class);
  }

  // Gives its free objects to the depot: its worker will be idle. Runs and chunk are kept.
  void flush();

  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

 private:
  friend class Memory;

  // Two batches, so that a worker that allocates and frees about a batch's bound does not visit the
  // depot each time; then the run that new objects are cut from.
  struct alignas(kCacheLineBytes) Cache {
    detail::FreeBatch active;
    detail::FreeBatch spare;  // empty or full
    std::byte* run_next = nullptr;
    std::byte* run_end = nullptr;
  };

  // The first test lets the compiler see that a class exists, where it knows the size.
  bool is_large(size_t bytes) const { return bytes > kLargestClassBytes || bytes > largest_bytes_; }

  // One writer: a plain addition. Statistics read it from other threads, and a sum over workers is
  // right although one worker's may be negative.
  void count(MemoryPart part, int64_t bytes) {
    std::atomic<int64_t>& used = used_bytes_[static_cast<unsigned>(part)];
    used.store(used.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }

  // Under ASan a free object is poisoned, so that freeing twice shows.
  static void check_not_free([[maybe_unused]] const void* object) {
#if ELIDER_ASAN
    ELIDER_CHECK(__asan_address_is_poisoned(object) == 0, "an object is freed once");
#endif
  }

  void* allocate_slowly(size_t bytes, MemoryPart part);
  void* allocate_large(size_t bytes, MemoryPart part);
  void free_large(void* object, size_t bytes, MemoryPart part);
  // Makes free memory the first object of the batch.
  static void push(detail::FreeBatch& batch, std::byte* memory, size_t bytes);
  void hand_over(unsigned size_class);
  void give_to_shared(unsigned size_class);
  bool refill(unsigned size_class);
  bool start_run(unsigned size_class, Memory::Limit limit);
  bool split_larger(unsigned size_class);
  void recycle(std::byte* begin, size_t bytes);

  Memory& memory_;
  const size_t largest_bytes_;  // as Memory's
  std::byte* chunk_next_ = nullptr;
  std::byte* chunk_end_ = nullptr;
  std::array<std::atomic<int64_t>, kMemoryParts> used_bytes_{};
  std::array<Cache, kSizeClasses> caches_{};
  std::array<uint32_t, kSizeClasses> batch_objects_{};
};

}  // namespace elider
