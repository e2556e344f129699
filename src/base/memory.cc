#include "base/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <new>
#include <string>

#include "base/check.h"

namespace elider {

namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;
constexpr size_t kPageBytes = size_t{4} << 10;
constexpr size_t kSmallChunkBytes = size_t{64} << 10;
constexpr uint64_t kSmallLimitBytes = uint64_t{64} << 20;
// Address space is reserved in regions of this size. Pages are touched only when their chunks are
// used.
constexpr size_t kRegionBytes = size_t{64} << 20;
constexpr size_t kRunAlignment = 256;

// Returns the number of bytes that the system can provide without swapping (MemAvailable), or the
// largest number if the system does not report it.
uint64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  uint64_t kilobytes = 0;
  for (std::string name, unit; file >> name >> kilobytes && std::getline(file, unit);)
    if (name == "MemAvailable:") return kilobytes << 10;
  return ~uint64_t{0};
}

}  // namespace

Memory::Memory(uint64_t limit_bytes, bool huge_pages, bool own_allocators)
    : limit_bytes_(limit_bytes),
      huge_pages_(huge_pages),
      chunk_bytes_(limit_bytes != 0 && limit_bytes < kSmallLimitBytes ? kSmallChunkBytes : kHugePageBytes),
      largest_bytes_(std::min(kLargestClassBytes, chunk_bytes_ / 8)) {
  if (!own_allocators) shared_ = std::make_unique<Allocator>(*this);
}

Memory::~Memory() {
  shared_.reset();
  ELIDER_CHECK(allocators_.empty(), "all Allocators are destroyed before their Memory");
  unmap_regions();
}

void Memory::abandon() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) unmap_regions();
}

void Memory::unmap_regions() {
  for (const Mapping& region : regions_) {
    // Code outside this library may map the same addresses later, and must not find them poisoned.
    unpoison_memory(region.begin, region.bytes);
    ::munmap(region.begin, region.bytes);
  }
  regions_.clear();
}

uint64_t Memory::used_bytes(MemoryPart part) const {
  const auto index = static_cast<unsigned>(part);
  std::lock_guard lock(mutex_);
  int64_t sum = detached_bytes_[index];
  for (const Allocator* allocator : allocators_) sum += allocator->used_bytes_[index].load(std::memory_order_relaxed);
  // While other threads run, the sum may be negative, because it may include the freeing of an
  // object but not its allocation.
  return sum > 0 ? static_cast<uint64_t>(sum) : 0;
}

uint64_t Memory::used_bytes() const {
  uint64_t sum = 0;
  for (unsigned part = 0; part < kMemoryParts; ++part) sum += used_bytes(static_cast<MemoryPart>(part));
  return sum;
}

uint64_t Memory::free_bytes() const {
  const uint64_t used = used_bytes();
  const uint64_t reserved = reserved_bytes();
  return used < reserved ? reserved - used : 0;
}

bool Memory::reserve(size_t bytes, Limit limit) {
  const uint64_t before = reserved_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (limit_bytes_ == 0 || before + bytes <= limit_bytes_ || limit == Limit::kMayBePassed) return true;
  reserved_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

// mmap() aligns only to pages, so this maps more than is needed and unmaps both ends.
std::byte* Memory::map_region(size_t bytes, size_t alignment) {
  const size_t mapped = bytes + (alignment > kPageBytes ? alignment : 0);
  void* address = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  auto* const raw = static_cast<std::byte*>(address);
  const auto number = reinterpret_cast<uintptr_t>(raw);
  const size_t before = align_up(number, alignment) - number;
  const size_t after = mapped - bytes - before;
  if (before != 0) ::munmap(raw, before);
  if (after != 0) ::munmap(raw + before + bytes, after);
  if (huge_pages_ && bytes >= kHugePageBytes) {
    // A system without huge pages rejects this call, which is harmless.
    static_cast<void>(::madvise(raw + before, bytes, MADV_HUGEPAGE));
  }
  return raw + before;
}

bool Memory::prefault(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  ELIDER_CHECK(regions_.empty(), "prefault() is called before the first allocation");
  if (bytes == 0) return true;
  // Linux may grant more memory than the machine has, and later kill a process that touches too
  // much of that memory.
  if (bytes > available_bytes()) return false;
  const size_t rounded = align_up(bytes, kHugePageBytes);
  std::byte* region = map_region(rounded, kHugePageBytes);
  if (region == nullptr) return false;
  regions_.push_back({region, rounded});
  region_next_ = region;
  region_end_ = region + rounded;
  // Kernels before 5.14 do not support MADV_POPULATE_WRITE, so this code writes to each page
  // instead.
  if (::madvise(region, rounded, MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) return false;
  for (size_t at = 0; at < rounded; at += kPageBytes) const_cast<volatile std::byte&>(region[at]) = std::byte{0};
  return true;
}

Memory::Mapping Memory::take_chunk(size_t bytes_min, Limit limit) {
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < rests_.size(); ++i) {
    const Mapping rest = rests_[i];
    if (rest.bytes < bytes_min) continue;
    rests_[i] = rests_.back();
    rests_.pop_back();
    return rest;
  }
  if (!reserve(chunk_bytes_, limit)) return {nullptr, 0};
  if (static_cast<size_t>(region_end_ - region_next_) < chunk_bytes_ && !start_region()) {
    reserved_bytes_.fetch_sub(chunk_bytes_, std::memory_order_relaxed);
    return {nullptr, 0};
  }
  std::byte* const chunk = region_next_;
  region_next_ += chunk_bytes_;
  poison_memory(chunk, chunk_bytes_);
  return {chunk, chunk_bytes_};
}

bool Memory::start_region() {
  try {
    regions_.reserve(regions_.size() + 1);  // before the mapping, because an unlisted region would leak
  } catch (const std::bad_alloc&) {
    return false;
  }
  std::byte* const region = map_region(kRegionBytes, kHugePageBytes);
  if (region == nullptr) return false;
  regions_.push_back({region, kRegionBytes});
  region_next_ = region;
  region_end_ = region + kRegionBytes;
  return true;
}

void Memory::give_rest(Mapping rest) {
  if (rest.bytes == 0) return;
  std::lock_guard lock(mutex_);
  try {
    rests_.push_back(rest);
  } catch (const std::bad_alloc&) {
    // As in put_batch(), the memory is not reused until the database closes.
  }
}

size_t Memory::round_large(size_t bytes) const {
  return align_up(bytes, huge_pages_ && bytes >= kHugePageBytes ? kHugePageBytes : kPageBytes);
}

void* Memory::take_large(size_t bytes) {
  const size_t rounded = round_large(bytes);
  if (!reserve(rounded, BeyondLimit::now() ? Limit::kMayBePassed : Limit::kHolds)) return nullptr;
  std::byte* object = map_region(rounded, rounded >= kHugePageBytes ? kHugePageBytes : kPageBytes);
  if (object == nullptr) reserved_bytes_.fetch_sub(rounded, std::memory_order_relaxed);
  return object;
}

void Memory::give_large(void* object, size_t bytes) {
  const size_t rounded = round_large(bytes);
  ELIDER_CHECK(::munmap(object, rounded) == 0, "a large object has its own mapping");
  reserved_bytes_.fetch_sub(rounded, std::memory_order_relaxed);
}

void Memory::put_batch(unsigned size_class, detail::FreeBatch batch) {
  if (batch.count == 0) return;
  Depot& depot = depots_[size_class];
  std::lock_guard lock(depot.mutex);
  try {
    depot.batches.push_back(batch);
  } catch (const std::bad_alloc&) {
    // Memory for the list cannot be allocated, so the objects of the batch are not reused until the
    // database closes.
  }
}

detail::FreeBatch Memory::take_batch(unsigned size_class) {
  Depot& depot = depots_[size_class];
  std::lock_guard lock(depot.mutex);
  if (depot.batches.empty()) return {};
  const detail::FreeBatch batch = depot.batches.back();
  depot.batches.pop_back();
  return batch;
}

void Memory::attach(Allocator* allocator) {
  std::lock_guard lock(mutex_);
  allocators_.push_back(allocator);
}

void Memory::detach(Allocator* allocator) {
  std::lock_guard lock(mutex_);
  for (unsigned part = 0; part < kMemoryParts; ++part)
    detached_bytes_[part] += allocator->used_bytes_[part].load(std::memory_order_relaxed);
  std::erase(allocators_, allocator);
}

Allocator::Allocator(Memory& memory) : memory_(memory), largest_bytes_(memory.largest_bytes_) {
  // A worker caches at most two batches per class. Together they hold about a sixteenth of a chunk.
  // Other workers can use its further free objects.
  for (unsigned i = 0; i < kSizeClasses; ++i)
    batch_objects_[i] =
        memory.shared_ != nullptr ? 1 : static_cast<uint32_t>(std::clamp<size_t>(memory.chunk_bytes() / 32 / class_bytes(i), 1, 1024));
  memory_.attach(this);
}

Allocator::~Allocator() {
  flush();
  for (unsigned i = 0; i < kSizeClasses; ++i) {
    const Cache& cache = caches_[i];
    detail::FreeBatch batch;
    for (std::byte* next = cache.run_next; next != cache.run_end; next += class_bytes(i)) push(batch, next, class_bytes(i));
    memory_.put_batch(i, batch);
  }
  memory_.give_rest({chunk_next_, static_cast<size_t>(chunk_end_ - chunk_next_)});
  memory_.detach(this);
}

void Allocator::flush() {
  for (unsigned i = 0; i < kSizeClasses; ++i) {
    Cache& cache = caches_[i];
    memory_.put_batch(i, cache.active);
    memory_.put_batch(i, cache.spare);
    cache.active = cache.spare = {};
  }
}

void Allocator::push(detail::FreeBatch& batch, std::byte* memory, size_t bytes) {
  unpoison_memory(memory, sizeof(detail::FreeObject));
  batch.first = new (memory) detail::FreeObject{batch.first};
  poison_memory(memory, bytes);
  ++batch.count;
}

// Moves the one object of the active batch to the shared allocator. The calling worker has already
// updated its byte counter.
void Allocator::give_to_shared(unsigned size_class) {
  detail::FreeObject* const object = caches_[size_class].active.first;
  unpoison_memory(object, sizeof(detail::FreeObject));
  const std::lock_guard lock(memory_.shared_mutex_);
  Allocator& shared = *memory_.shared_;
  detail::FreeBatch& active = shared.caches_[size_class].active;
  object->next = active.first;
  poison_memory(object, class_bytes(size_class));
  active.first = object;
  caches_[size_class].active = {};
  if (++active.count >= shared.batch_objects_[size_class]) shared.hand_over(size_class);
}

// Called when the active batch is full. Makes it the spare batch, and moves the former spare batch
// to the depot.
void Allocator::hand_over(unsigned size_class) {
  if (memory_.shared_ != nullptr && memory_.shared_.get() != this) return give_to_shared(size_class);
  Cache& cache = caches_[size_class];
  memory_.put_batch(size_class, cache.spare);
  cache.spare = cache.active;
  cache.active = {};
}

void* Allocator::allocate_slowly(size_t bytes, MemoryPart part) {
  if (memory_.shared_ != nullptr && memory_.shared_.get() != this) {
    const std::lock_guard lock(memory_.shared_mutex_);
    return memory_.shared_->allocate(bytes, part);
  }
  const bool beyond = BeyondLimit::now();
  if (!beyond && memory_.is_beyond_limit()) return nullptr;
  const unsigned size_class = size_class_of(bytes);
  const bool found = refill(size_class) || start_run(size_class, Memory::Limit::kHolds) || split_larger(size_class) ||
                     (beyond && start_run(size_class, Memory::Limit::kMayBePassed));
  return found ? allocate(bytes, part) : nullptr;
}

bool Allocator::refill(unsigned size_class) {
  Cache& cache = caches_[size_class];
  if (cache.spare.first != nullptr) {
    cache.active = cache.spare;
    cache.spare = {};
    return true;
  }
  cache.active = memory_.take_batch(size_class);
  return cache.active.first != nullptr;
}

// Takes a run from the chunk: memory for several objects of a class, so that consecutive
// allocations are adjacent. A run has at most 1/128 of a chunk, or one object if that is larger.
bool Allocator::start_run(unsigned size_class, Memory::Limit limit) {
  const size_t size = class_bytes(size_class);
  const size_t wanted = std::max<size_t>(memory_.chunk_bytes() / 128 / size, 1) * size;
  for (;;) {
    const size_t skip = align_up(reinterpret_cast<uintptr_t>(chunk_next_), kRunAlignment) - reinterpret_cast<uintptr_t>(chunk_next_);
    const auto room = static_cast<size_t>(chunk_end_ - chunk_next_);
    if (room >= skip + size) {
      Cache& cache = caches_[size_class];
      std::byte* const begin = chunk_next_ + skip;
      const size_t bytes = std::min(wanted, (room - skip) / size * size);
      recycle(chunk_next_, skip);
      cache.run_next = begin;
      cache.run_end = begin + bytes;
      chunk_next_ = cache.run_end;
      return true;
    }
    const Memory::Mapping chunk = memory_.take_chunk(size + kRunAlignment, limit);
    if (chunk.bytes == 0) return false;
    recycle(chunk_next_, room);
    chunk_next_ = chunk.begin;
    chunk_end_ = chunk.begin + chunk.bytes;
  }
}

// Uses a free object of a larger class as a run of this class when the memory limit is reached. The
// parts are never merged back, but the allocation can succeed although only larger objects are
// free.
bool Allocator::split_larger(unsigned size_class) {
  constexpr unsigned kTriesMax = 64;  // if a class is not aligned to cache lines, one in four of its objects is
  const size_t size = class_bytes(size_class);
  const size_t alignment = size % kCacheLineBytes == 0 ? kCacheLineBytes : kSmallestClassBytes;
  for (unsigned larger = size_class + 1; larger < kSizeClasses; ++larger) {
    const size_t bytes = class_bytes(larger);
    if (bytes > largest_bytes_) break;
    Cache& from = caches_[larger];
    if (from.active.first == nullptr && !refill(larger)) continue;
    detail::FreeObject** link = &from.active.first;
    for (unsigned tries = 0; *link != nullptr && tries < kTriesMax; ++tries) {
      auto* const begin = reinterpret_cast<std::byte*>(*link);
      const size_t skip = align_up(reinterpret_cast<uintptr_t>(begin), alignment) - reinterpret_cast<uintptr_t>(begin);
      unpoison_memory(begin, sizeof(detail::FreeObject));
      detail::FreeObject* const next = (*link)->next;
      if (bytes < skip + size) {
        link = &(*link)->next;
        continue;
      }
      *link = next;
      --from.active.count;
      poison_memory(begin, sizeof(detail::FreeObject));
      Cache& to = caches_[size_class];
      to.run_next = begin + skip;
      to.run_end = to.run_next + (bytes - skip) / size * size;
      recycle(begin, skip);
      recycle(to.run_end, (bytes - skip) % size);
      return true;
    }
  }
  return false;
}

// Divides leftover memory into free objects, the largest that fit.
void Allocator::recycle(std::byte* begin, size_t bytes) {
  while (bytes >= kSmallestClassBytes) {
    unsigned size_class = size_class_of(std::min(bytes, largest_bytes_));
    if (class_bytes(size_class) > bytes) --size_class;
    // If a class's size is a multiple of the cache-line size, its objects must be aligned to cache
    // lines.
    const size_t misaligned = reinterpret_cast<uintptr_t>(begin) % kCacheLineBytes;
    if (misaligned != 0) size_class = std::min(size_class, size_class_of(std::min(bytes, kCacheLineBytes - misaligned)));
    if (class_bytes(size_class) > bytes) return;
    const size_t size = class_bytes(size_class);
    detail::FreeBatch batch;
    push(batch, begin, size);
    memory_.put_batch(size_class, batch);
    begin += size;
    bytes -= size;
  }
}

void* Allocator::allocate_large(size_t bytes, MemoryPart part) {
  void* const object = memory_.take_large(bytes);
  if (object != nullptr) count(part, static_cast<int64_t>(memory_.round_large(bytes)));
  return object;
}

void Allocator::free_large(void* object, size_t bytes, MemoryPart part) {
  count(part, -static_cast<int64_t>(memory_.round_large(bytes)));
  memory_.give_large(object, bytes);
}

}  // namespace elider
