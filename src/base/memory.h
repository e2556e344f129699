// Memory: allocates a database's rows, versions, blocks and index nodes. Each database has one.
// Allocator: one worker's part of a Memory. It allocates and frees without locked instructions.
//
// Memory takes chunks of 2 MiB, aligned to 2 MiB, from the system. The chunks use huge pages if the
// system provides such pages, because a random access takes about twice as long on 4 KiB pages.
// Memory enforces the database's memory limit. Through its depot, free objects move from workers
// that mostly free to workers that mostly allocate. Every object belongs to a size class
// (base/size_class.h). A worker cuts the objects of a class from contiguous runs, so that objects
// that are allocated together are adjacent. Chunks are returned to the system when the Memory is
// destroyed. Memory is not a general-purpose allocator: free() needs the size, and memory is not
// set to zero.
//
// If the limit is below 64 MiB, the chunk size is 64 KiB, so that each of several workers can have
// a chunk. Thread safety: all threads may use Memory; one thread at a time may use an Allocator. An
// object may be freed with a different Allocator of the same Memory. Under ASan, free memory is
// poisoned.
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

// The uses of memory that statistics report separately.
enum class MemoryPart : uint8_t { kRows, kVersions, kBlocks, kIndexes };
inline constexpr unsigned kMemoryParts = 4;

class Allocator;

namespace detail {

// A free object is an element of a linked list.
struct FreeObject {
  FreeObject* next;
};

// A list of free objects of one class. It moves between a worker and the depot as a unit.
struct FreeBatch {
  FreeObject* first = nullptr;
  uint32_t count = 0;
};

}  // namespace detail

// While a BeyondLimit exists, the thread that created it may exceed the memory limit. Use it for
// work that must not fail because of the limit, such as the effects of a commit. Memory above the
// limit is used only if no memory is free below the limit. An allocation still fails if the system
// is out of memory.
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
  // If limit_bytes is 0, memory is unlimited. own_allocators is false only in studies; all
  // Allocators then use one shared allocator, under a lock. The constructor does not take memory
  // from the system.
  explicit Memory(uint64_t limit_bytes = 0, bool huge_pages = true, bool own_allocators = true);
  // Destroy all Allocators first. Objects that are still allocated become invalid.
  ~Memory();
  // Returns the chunks to the system. Called in a forked child, which must not use this Memory
  // afterwards and does not destroy it. Does nothing if a thread of the parent held the lock during
  // the fork.
  void abandon();

  // Takes `bytes` bytes from the system and touches all pages, so that allocations do not cause
  // page faults until this memory is used up. Must be called before the first allocation.
  // reserved_bytes() does not include this memory until allocations use it. Returns false if the
  // system cannot provide the memory.
  [[nodiscard]] bool prefault(uint64_t bytes);

  uint64_t limit_bytes() const { return limit_bytes_; }
  size_t chunk_bytes() const { return chunk_bytes_; }
  // Returns the number of bytes that an object of `bytes` bytes occupies: the size of its class, or
  // whole pages.
  size_t bytes_taken(size_t bytes) const {
    return bytes > largest_bytes_ ? round_large(bytes) : class_bytes(size_class_of(bytes));
  }
  // Returns the number of bytes in use. Each object contributes the size of its class. The result
  // is exact only while no worker allocates or frees.
  uint64_t used_bytes(MemoryPart part) const;
  uint64_t used_bytes() const;
  // Returns true if usage exceeds the limit because of a BeyondLimit. Until usage is below the
  // limit again, an allocation without a BeyondLimit succeeds only if its Allocator has a cached
  // object.
  bool is_beyond_limit() const { return limit_bytes_ != 0 && reserved_bytes() > limit_bytes_ && used_bytes() > limit_bytes_; }
  // Returns the number of bytes taken from the system, including free objects and unused parts of
  // chunks.
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
    std::mutex mutex;  // a leaf lock: no other lock is taken while it is held
    std::vector<detail::FreeBatch> batches;
  };

  // Returns at least `bytes_min` bytes of unused memory: the rest of a chunk from a destroyed
  // Allocator, or a new chunk. Returns null if the memory limit is reached and `limit` is kHolds.
  Mapping take_chunk(size_t bytes_min, Limit limit);
  void give_rest(Mapping rest);
  // take_large() allocates an object above the largest class, or returns null. give_large() frees
  // it. Both round `bytes` up to whole pages.
  void* take_large(size_t bytes);
  void give_large(void* object, size_t bytes);
  size_t round_large(size_t bytes) const;
  // Adds `bytes` to the reserved bytes. Returns false if that would exceed the memory limit and
  // `limit` is kHolds.
  bool reserve(size_t bytes, Limit limit);
  std::byte* map_region(size_t bytes, size_t alignment);
  bool start_region();  // the caller holds mutex_
  void unmap_regions();  // the caller holds mutex_, or is the only user

  void put_batch(unsigned size_class, detail::FreeBatch batch);
  detail::FreeBatch take_batch(unsigned size_class);

  void attach(Allocator* allocator);
  void detach(Allocator* allocator);

  const uint64_t limit_bytes_;
  const bool huge_pages_;
  const size_t chunk_bytes_;
  const size_t largest_bytes_;  // larger objects have their own mapping
  std::atomic<uint64_t> reserved_bytes_{0};

  mutable std::mutex mutex_;  // a leaf lock; guards the following
  std::vector<Mapping> regions_;
  std::vector<Mapping> rests_;
  std::byte* region_next_ = nullptr;  // the next chunk is cut from here
  std::byte* region_end_ = nullptr;
  std::vector<Allocator*> allocators_;
  std::array<int64_t, kMemoryParts> detached_bytes_{};  // counters of destroyed allocators

  std::array<Depot, kSizeClasses> depots_;

  std::mutex shared_mutex_;             // acquired before the depots' mutexes and mutex_
  std::unique_ptr<Allocator> shared_;  // used by all Allocators; null if each uses its own lists
};

class Allocator {
 public:
  explicit Allocator(Memory& memory);
  ~Allocator();  // returns the free objects to Memory

  // Allocates `bytes` bytes, at least 1, with arbitrary content. The object is aligned to 16 bytes,
  // or to 64 bytes if the size of its class is a multiple of 64. Returns null if the limit is
  // reached or the system is out of memory.
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

  // Frees an object that any Allocator of the same Memory returned from allocate(bytes, part).
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

  // Moves the free objects to the depot, because the worker becomes idle. Keeps the runs and the
  // chunk.
  void flush();

  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

 private:
  friend class Memory;

  // The free objects of a class, in two batches, and the run from which new objects are cut. If
  // there were only one batch, a worker that alternates between allocating and freeing might have
  // to use the depot every time.
  struct alignas(kCacheLineBytes) Cache {
    detail::FreeBatch active;
    detail::FreeBatch spare;  // empty or full
    std::byte* run_next = nullptr;
    std::byte* run_end = nullptr;
  };

  // The first comparison lets the compiler decide the result if `bytes` is a large constant.
  bool is_large(size_t bytes) const { return bytes > kLargestClassBytes || bytes > largest_bytes_; }

  // Only one thread at a time writes a counter, so the addition need not be atomic. Statistics read
  // the counters from other threads. A counter may be negative, because a worker may free objects
  // that another worker allocated, but the sum over all workers is correct.
  void count(MemoryPart part, int64_t bytes) {
    std::atomic<int64_t>& used = used_bytes_[static_cast<unsigned>(part)];
    used.store(used.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }

  // In ASan builds a free object is poisoned, so a double free is detected.
  static void check_not_free([[maybe_unused]] const void* object) {
#if ELIDER_ASAN
    ELIDER_CHECK(__asan_address_is_poisoned(object) == 0, "an object is freed once");
#endif
  }

  void* allocate_slowly(size_t bytes, MemoryPart part);
  void* allocate_large(size_t bytes, MemoryPart part);
  void free_large(void* object, size_t bytes, MemoryPart part);
  // Adds free memory to the batch, as its first object.
  static void push(detail::FreeBatch& batch, std::byte* memory, size_t bytes);
  void hand_over(unsigned size_class);
  void give_to_shared(unsigned size_class);
  bool refill(unsigned size_class);
  bool start_run(unsigned size_class, Memory::Limit limit);
  bool split_larger(unsigned size_class);
  void recycle(std::byte* begin, size_t bytes);

  Memory& memory_;
  const size_t largest_bytes_;  // see Memory
  std::byte* chunk_next_ = nullptr;
  std::byte* chunk_end_ = nullptr;
  std::array<std::atomic<int64_t>, kMemoryParts> used_bytes_{};
  std::array<Cache, kSizeClasses> caches_{};
  std::array<uint32_t, kSizeClasses> batch_objects_{};
};

}  // namespace elider
