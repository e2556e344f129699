// Worker: the part of a database that one thread or one open transaction owns: its epoch
// announcement, its allocator, and the list of what it has retired. Workers: all workers of a
// database.
//
// Reclamation is quiescent-state based (DBX, section 5.5). An object is unlinked, then retired, and
// reclaimed after a grace period: when every worker that was inside enter()..leave() at that time
// has left. It is an epoch scheme: enter() announces the global epoch; the epoch advances when
// every worker inside has announced it; objects that were retired in epoch e are reclaimed in e + 3
// or later.
//
// Three epochs are needed for this reason. A worker inside that announced a keeps the epoch at a +
// 1 or below. So if a worker read the epoch as e after its unlink, the unlink took effect while the
// epoch was e or e + 1. A reader that still found the object had announced e + 1 or less, and keeps
// the epoch at e + 2 or below. This does not require a fence in retire(). The fence in enter()
// (announce, then read shared data) is the light half of base/asymmetric_fence.h;
// Workers::try_advance() has the heavy half.
//
// Thread safety: one thread at a time may use a Worker; all threads may use Workers. A released
// worker leaves its retired objects to the others. collect(), and a worker that is short of memory,
// may empty the list of a worker that is not inside, whose thread then waits in enter().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/asymmetric_fence.h"
#include "base/cache_line.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/retired_list.h"

namespace elider {

class Workers;

class alignas(kCacheLinePairBytes) Worker {
 public:
  // Until leave(), objects that are reachable now, or become so, are not reclaimed. Not reentrant.
  [[gnu::always_inline]] inline void enter() {
    inside_ = true;
    // relaxed: only an estimated time for statistics.
    entered_ticks_.store(ticks(), std::memory_order_relaxed);
    announce();
    // acquire: pairs with the claimer's release, after which the list belongs to this thread again.
    if (claimed_.load(std::memory_order_acquire)) [[unlikely]]
      wait_until_unclaimed();
  }

  // The caller must have dropped all references. From time to time, it reclaims and advances the
  // epoch.
  [[gnu::always_inline]] inline void leave() {
    if (--countdown_ <= 0) [[unlikely]]
      maintain();
    inside_ = false;
    // release: reads inside come before it; pairs with the load in Workers::try_advance.
    announced_.store(kOutside, std::memory_order_release);
  }
  bool inside() const { return inside_; }
  // Returns true if the next leave() checks the epoch and reclaims.
  bool is_due() const { return countdown_ <= 1; }
  // The global epoch.
  uint64_t global_epoch() const;

  // Calls reclaim(worker, object, argument) after a grace period. `object` must be unlinked, and
  // the worker must be inside. `bytes` is the memory that waits with it. Returns false if memory
  // for a longer list cannot be allocated. Most callers cannot undo their commit then, and leave
  // the object unreclaimed; callers that do not need the grace period free it.
  bool retire(Reclaim reclaim, void* object, uint64_t argument, size_t bytes = 0);
  // Like retire(), for an object that is still in an index, where all readers skip it. It has a
  // lower limit of waiting objects.
  bool retire_linked(Reclaim reclaim, void* object, uint64_t argument);

  // Like Allocator::allocate() (base/memory.h). Returns null if the memory limit is reached.
  // leave() then hastens reclamation, because a caller that fails for lack of memory may call
  // leave() too rarely for the countdown.
  void* allocate(size_t bytes, MemoryPart part) {
    void* const object = memory_.allocate(bytes, part);
    if (object == nullptr) [[unlikely]] is_short_of_memory();
    return object;
  }
  // Reports that memory was exhausted, so that waiting objects are reclaimed soon.
  void is_short_of_memory() {
    short_of_memory_ = true;
    countdown_ = 0;
  }
  // See Memory.
  bool is_beyond_limit() const { return memory_.is_beyond_limit(); }
  size_t bytes_taken(size_t bytes) const { return memory_.bytes_taken(bytes); }
  // Like allocate(), for callers that can do without the memory and will retry. It does not hasten
  // reclamation.
  void* allocate_optional(size_t bytes, MemoryPart part) { return memory_.allocate(bytes, part); }
  void free(void* object, size_t bytes, MemoryPart part) { memory_.free(object, bytes, part); }
  // Retires these bytes, to be freed.
  void retire_memory(void* object, size_t bytes, MemoryPart part);

  uint32_t id() const { return id_; }  // 0 to workers_max - 1; unique among those in use
  Random& random() { return random_; }
  Workers& workers() { return workers_; }

  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

 private:
  friend class Workers;
  static constexpr uint64_t kOutside = 0;
  // A worker checks the epoch after this many calls of leave(), or earlier if it has retired much:
  // after
  // 1024 objects, 256 that are linked, or 512 KiB; with a small memory limit, 256 objects or 64
  // KiB. An advance interrupts every processor that runs another worker, for about 20 us in a
  // virtual machine.
  static constexpr int64_t kCountdown = 4096;
  static constexpr int64_t kObjectWeight = kCountdown / 1024;
  static constexpr int64_t kLinkedWeight = kCountdown / 256;
  static constexpr unsigned kBytesShift = 7;       // 128 bytes have weight 1
  static constexpr unsigned kBytesShiftSmall = 4;  // 16 bytes
  // If another worker prevents an advance, the next check comes after this part of a countdown.
  static constexpr int64_t kSoonerShare = 8;
  static constexpr size_t kReclaimsPerLeave = 128;
  // After a shortage of memory, this many leave()s call maintain() each (a row takes three grace
  // periods of three epochs each) and reclaim more (a row is three tasks, each after all others).
  // This does not happen more often than the given interval, because the memory may really be in
  // use.
  static constexpr uint32_t kHurry = 64;
  static constexpr size_t kReclaimsInHurry = 4096;
  static constexpr uint64_t kHurryPauseNs = 10'000'000;

  Worker(Workers& workers, Memory& memory, uint32_t id, uint64_t seed);
  [[gnu::always_inline]] inline void announce();
  void wait_until_unclaimed();
  void maintain();
  void look_after_epoch();
  void begin_to_hurry();

  // The owner writes it, and a worker that advances the epoch reads it. The holder of
  // Workers::collect_mutex_ writes claimed_.
  std::atomic<uint64_t> announced_{kOutside};
  std::atomic<uint64_t> entered_ticks_{0};
  std::atomic<bool> claimed_{false};

  // Only the owner uses these, except for retired_, which a claimer may empty.
  bool inside_ = false;
  const int64_t object_weight_;
  const unsigned bytes_shift_;
  int64_t countdown_ = kCountdown;
  uint64_t retired_since_ = 0;    // objects retired since the last maintain()
  bool behind_ = false;           // the last maintain() may have left objects whose grace period is over
  bool short_of_memory_ = false;  // since the last maintain()
  uint32_t hurry_ = 0;            // number of following leave()s that call maintain() each
  uint64_t hurried_ns_ = 0;       // when that began the last time
  uint64_t epoch_looked_after_ = 0;
  Workers& workers_;
  RetiredList retired_;
  const uint32_t id_;
  Random random_;
  alignas(kCacheLinePairBytes) Allocator memory_;
};

// Keeps the worker inside during its lifetime, also if an exception is thrown.
class Inside {
 public:
  [[gnu::always_inline]] explicit Inside(Worker& worker) : worker_(worker) { worker_.enter(); }
  [[gnu::always_inline]] ~Inside() { worker_.leave(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Worker& worker_;
};

class Workers {
 public:
  // `memory` must outlive it. A worker costs 8 bytes until it is first acquired.
  Workers(Memory& memory, uint32_t workers_max, uint64_t seed);
  // From now on (for studies), nothing is reclaimed until all workers are gone. All workers are
  // outside.
  void stop_reclaiming() { reclaims_ = false; }
  // Reclaims everything at once, in each worker's order of retirement. All workers must be outside.
  ~Workers();

  // Returns the unused worker with the lowest id, or null if workers_max are in use.
  Worker* acquire();
  // It must be outside. Its retired list moves to a common list, its free memory to the depot.
  void release(Worker* worker);

  // Advances the epoch and reclaims as much as possible: the common list, and the lists of all
  // workers that are outside. The calling thread must not be inside a worker. It needs one free
  // worker; without one it does nothing, and workers continue to reclaim by themselves.
  void collect();

  uint64_t epoch() const { return epoch_->load(std::memory_order_acquire); }
  // Number of objects that wait for their grace period.
  uint64_t retired_objects() const;
  uint32_t in_use() const { return in_use_.load(std::memory_order_relaxed); }
  // All ids that were ever used are below this: the range to scan of arrays that are indexed by id.
  uint32_t ids_used_max() const { return ids_used_max_.load(std::memory_order_acquire); }
  uint32_t workers_max() const { return workers_max_; }
  // The steady-clock time at which the worker that has been inside longest entered; 0 if all are
  // outside. It is computed from the processor's tick counter, with an error of about 0.1% of its
  // age.
  uint64_t oldest_entered_ns() const;

  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

 private:
  friend class Worker;
  static constexpr uint64_t kFirstEpoch = 4;  // so that kOutside is never equal to "three epochs ago"
  static constexpr uint64_t kGraceEpochs = 3;

  Worker* at(uint32_t id) const { return slots_[id].load(std::memory_order_acquire); }
  // Advances by one step if every worker inside has announced the current epoch. Returns false if
  // not, or if another thread is advancing it.
  bool try_advance();
  bool all_announced(uint64_t epoch) const;
  // Reclaims at most `objects_max` objects whose grace period is over, and returns their number.
  // The worker must be inside.
  bool reclaims_ = true;
  size_t reclaim_own(Worker& worker, size_t objects_max);
  size_t reclaim_orphans(Worker& worker, size_t objects_max);
  // Moves the list of `worker`, which must not be in use by another thread, to orphans_.
  void orphan(Worker& worker);
  // Calls orphan() for all workers that are outside and whose threads it can keep from entering
  // meanwhile. The caller holds collect_mutex_.
  void orphan_idle(const Worker& except);
  void try_orphan_idle(const Worker& except);  // does nothing if another thread is doing it

  Memory& memory_;
  const uint32_t workers_max_;
  const uint64_t seed_;
  const TickClock clock_;
  const std::unique_ptr<std::atomic<Worker*>[]> slots_;  // by id; null before first use

  // Every enter() reads it, and an advance writes it.
  CacheLine<std::atomic<uint64_t>> epoch_;
  CacheLine<std::atomic<bool>> advancing_;

  std::atomic<uint32_t> in_use_{0};
  std::atomic<uint32_t> ids_used_max_{0};

  std::mutex collect_mutex_;        // one thread at a time claims workers' lists; before mutex_ and orphans_mutex_
  std::mutex mutex_;                // guards free_ids_ and the creation of workers
  std::vector<uint32_t> free_ids_;  // a heap with the lowest id first
  std::mutex orphans_mutex_;        // guards orphans_, except for its size
  RetiredList orphans_;             // of released or idle workers; not in the order of epochs
};

inline uint64_t Worker::global_epoch() const { return workers_.epoch(); }

void Worker::announce() {
  // acquire: pairs with the advance's release, so that this thread does not see the old state of
  // what was reclaimed before.
  const uint64_t epoch = workers_.epoch_->load(std::memory_order_acquire);
  // release: a thread that sees this announcement also sees that the previous stay inside has
  // ended.
  announced_.store(epoch, std::memory_order_release);
  light_fence();  // pairs with heavy_fence() in Workers::try_advance and Workers::orphan_idle
}

inline bool Worker::retire(Reclaim reclaim, void* object, uint64_t argument, size_t bytes) {
  ELIDER_DCHECK(inside_, "an object is retired inside enter() and leave()");
  countdown_ -= object_weight_ + static_cast<int64_t>(bytes >> bytes_shift_);
  ++retired_since_;
  return retired_.push({reclaim, object, argument, workers_.epoch_->load(std::memory_order_acquire)});
}

inline bool Worker::retire_linked(Reclaim reclaim, void* object, uint64_t argument) {
  countdown_ -= kLinkedWeight - object_weight_;
  return retire(reclaim, object, argument);
}

}  // namespace elider
