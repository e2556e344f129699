// Worker: what one thread, or one open transaction, owns in a database: its epoch announcement, its
// allocator and the list of what it has retired. Workers: all of a database.
//
// Reclamation is quiescent-state based (DBX, section 5.5): an object is unlinked, then retired, and
// reclaimed after a grace period: when every worker that was inside enter()..leave() at that time
// has left. It is an epoch scheme: enter() announces the global epoch; the epoch advances when
// every worker inside has announced it; what was retired in epoch e is reclaimed in e + 3 or later.
//
// Why three. A worker inside that announced a keeps the epoch at a + 1 or below. So an unlink whose
// worker then read the epoch as e took effect while the epoch was e or e + 1, and a reader that
// still found the object had announced e + 1 or less and keeps the epoch at e + 2 or below. No
// fence in retire() is needed for this; the one in enter() (announce, then read what is shared) is
// the light half of base/asymmetric_fence.h, and its heavy half stands in Workers::try_advance().
//
// Thread safety: a Worker is used by one thread at a time; Workers by all. A worker that is given
// back leaves its retired objects to the others. collect(), and a worker that is short of memory,
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
  // From here to leave() nothing that is reachable now, or becomes so, is reclaimed. Not reentrant.
  [[gnu::always_inline]] inline void enter() {
    inside_ = true;
    // relaxed: it is no more than a guess of ticks for statistics.
    entered_ticks_.store(ticks(), std::memory_order_relaxed);
    announce();
    // acquire: pairs with the claimer's release, after which the list is this thread's again.
    if (claimed_.load(std::memory_order_acquire)) [[unlikely]]
      wait_until_unclaimed();
  }

  // All references are dropped. Now and then reclaims and advances the epoch.
  [[gnu::always_inline]] inline void leave() {
    if (--countdown_ <= 0) [[unlikely]]
      maintain();
    inside_ = false;
    // release: what was read inside was read before; pairs with the load in Workers::try_advance.
    announced_.store(kOutside, std::memory_order_release);
  }
  bool inside() const { return inside_; }
  // Whether the next leave() looks after the epoch and reclaims.
  bool is_due() const { return countdown_ <= 1; }
  // The epoch of all workers.
  uint64_t global_epoch() const;

  // `object` is unlinked: call reclaim(worker, object, argument) after a grace period. Only inside.
  // False: the process has no memory for a longer list. It is called where a commit cannot be
  // undone any more, so most callers can only leave the object unreclaimed; who can do without the
  // call frees it. `bytes`: of memory that waits with it.
  bool retire(Reclaim reclaim, void* object, uint64_t argument, size_t bytes = 0);
  // The same of what is still in an index, where all who pass it step over it:
  // it waits for fewer others.
  bool retire_linked(Reclaim reclaim, void* object, uint64_t argument);

  // As Allocator's (base/memory.h). Null: the memory limit is reached. leave() then sees to it
  // that what waits for its grace period is reclaimed soon: who fails for want of memory may come
  // by too seldom for a countdown.
  void* allocate(size_t bytes, MemoryPart part) {
    void* const object = memory_.allocate(bytes, part);
    if (object == nullptr) [[unlikely]] is_short_of_memory();
    return object;
  }
  // Somebody found no memory: what waits for its grace period is reclaimed soon.
  void is_short_of_memory() {
    short_of_memory_ = true;
    countdown_ = 0;
  }
  // As Memory's.
  bool is_beyond_limit() const { return memory_.is_beyond_limit(); }
  size_t bytes_taken(size_t bytes) const { return memory_.bytes_taken(bytes); }
  // The same for who can do without, and will ask again and again: nothing is hurried for it.
  void* allocate_optional(size_t bytes, MemoryPart part) { return memory_.allocate(bytes, part); }
  void free(void* object, size_t bytes, MemoryPart part) { memory_.free(object, bytes, part); }
  // retire() with a free() of these bytes.
  void retire_memory(void* object, size_t bytes, MemoryPart part);

  uint32_t id() const { return id_; }  // 0 to workers_max - 1; unique among those in use
  Random& random() { return random_; }
  Workers& workers() { return workers_; }

  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

 private:
  friend class Workers;
  static constexpr uint64_t kOutside = 0;
  // The epoch is looked after when a worker has left this often, or retired so much that the
  // weights make up for it: 1024 objects, 256 that are linked, or 512 KiB; where the memory limit
  // is small, 256 objects or 64 KiB. An advance interrupts every processor that another worker runs
  // on: some 20 us in a virtual machine.
  static constexpr int64_t kCountdown = 4096;
  static constexpr int64_t kObjectWeight = kCountdown / 1024;
  static constexpr int64_t kLinkedWeight = kCountdown / 256;
  static constexpr unsigned kBytesShift = 7;       // 128 bytes weigh 1
  static constexpr unsigned kBytesShiftSmall = 4;  // 16 bytes
  // Where somebody is in the way of an advance, the next look is after this part of a countdown.
  static constexpr int64_t kSoonerShare = 8;
  static constexpr size_t kReclaimsPerLeave = 128;
  // Once it has been short of memory: so many leave()s are maintained one by one (a row takes three
  // grace periods, each three epochs) and reclaim more (a row is three tasks, each behind all
  // others), but not more often than this: the memory may be in use.
  static constexpr uint32_t kHurry = 64;
  static constexpr size_t kReclaimsInHurry = 4096;
  static constexpr uint64_t kHurryPauseNs = 10'000'000;

  Worker(Workers& workers, Memory& memory, uint32_t id, uint64_t seed);
  [[gnu::always_inline]] inline void announce();
  void wait_until_unclaimed();
  void maintain();
  void look_after_epoch();
  void begin_to_hurry();

  // Written by the owner, read by whoever advances the epoch; who holds
  // Workers::collect_mutex_ writes claimed_.
  std::atomic<uint64_t> announced_{kOutside};
  std::atomic<uint64_t> entered_ticks_{0};
  std::atomic<bool> claimed_{false};

  // The owner's alone, but for retired_, which a claimer may empty.
  bool inside_ = false;
  const int64_t object_weight_;
  const unsigned bytes_shift_;
  int64_t countdown_ = kCountdown;
  uint64_t retired_since_ = 0;    // objects, since the last maintain()
  bool behind_ = false;           // the last maintain() may have left something whose grace period is over
  bool short_of_memory_ = false;  // since the last maintain()
  uint32_t hurry_ = 0;            // leave()s to come that are maintained one by one
  uint64_t hurried_ns_ = 0;       // when that began the last time
  uint64_t epoch_looked_after_ = 0;
  Workers& workers_;
  RetiredList retired_;
  const uint32_t id_;
  Random random_;
  alignas(kCacheLinePairBytes) Allocator memory_;
};

// The worker is inside as long as this lives, whatever is thrown.
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
  // `memory` outlives it. Costs 8 bytes a worker until it is first acquired.
  Workers(Memory& memory, uint32_t workers_max, uint64_t seed);
  // From now on nothing is reclaimed before all workers are gone; for studies. No worker is inside.
  void stop_reclaiming() { reclaims_ = false; }
  // Reclaims everything at once, in the order in which each worker retired it. No worker is inside.
  ~Workers();

  // A worker that nobody uses, the one with the lowest id; null when workers_max are in use.
  Worker* acquire();
  // It is not inside. Its retired list moves to a common list, its free memory to the depot.
  void release(Worker* worker);

  // Advances the epoch and reclaims as far as possible: the common list, and the lists of all
  // workers that are not inside. Not inside a worker of the calling thread. Needs one free worker;
  // if there is none it does nothing, and workers go on reclaiming by themselves.
  void collect();

  uint64_t epoch() const { return epoch_->load(std::memory_order_acquire); }
  // Objects that wait for their grace period.
  uint64_t retired_objects() const;
  uint32_t in_use() const { return in_use_.load(std::memory_order_relaxed); }
  // All ids ever used are below this: how far arrays by id need scanning.
  uint32_t ids_used_max() const { return ids_used_max_.load(std::memory_order_acquire); }
  uint32_t workers_max() const { return workers_max_; }
  // When, on the steady clock, the worker that has been inside longest entered; 0: none is inside.
  // Taken from the processor's tick counter: good to about 0.1% of its age.
  uint64_t oldest_entered_ns() const;

  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

 private:
  friend class Worker;
  static constexpr uint64_t kFirstEpoch = 4;  // so that kOutside and "three epochs ago" are never one
  static constexpr uint64_t kGraceEpochs = 3;

  Worker* at(uint32_t id) const { return slots_[id].load(std::memory_order_acquire); }
  // One step, if every worker inside has announced the present epoch. False if
  // not, or if another is at it.
  bool try_advance();
  bool all_announced(uint64_t epoch) const;
  // Reclaims at the most `objects_max` of those whose grace period is over; gives how many it
  // did. The worker is inside.
  bool reclaims_ = true;
  size_t reclaim_own(Worker& worker, size_t objects_max);
  size_t reclaim_orphans(Worker& worker, size_t objects_max);
  // Moves the list of `worker`, which no other thread is using, to orphans_.
  void orphan(Worker& worker);
  // orphan() for all workers that are not inside and whose threads it can keep from entering
  // meanwhile. The caller holds collect_mutex_.
  void orphan_idle(const Worker& except);
  void try_orphan_idle(const Worker& except);  // unless another is at it

  Memory& memory_;
  const uint32_t workers_max_;
  const uint64_t seed_;
  const TickClock clock_;
  const std::unique_ptr<std::atomic<Worker*>[]> slots_;  // by id; null until first used

  // Read by every enter(), written by an advance.
  CacheLine<std::atomic<uint64_t>> epoch_;
  CacheLine<std::atomic<bool>> advancing_;

  std::atomic<uint32_t> in_use_{0};
  std::atomic<uint32_t> ids_used_max_{0};

  std::mutex collect_mutex_;        // one claims workers' lists at a time; before mutex_ and orphans_mutex_
  std::mutex mutex_;                // guards free_ids_ and the making of workers
  std::vector<uint32_t> free_ids_;  // a heap, the lowest first
  std::mutex orphans_mutex_;        // guards orphans_, but for its size
  RetiredList orphans_;             // of workers that were given back or idle; not in the order of epochs
};

inline uint64_t Worker::global_epoch() const { return workers_.epoch(); }

void Worker::announce() {
  // acquire: pairs with the advance's release, so that what was reclaimed
  // before is not seen as it was.
  const uint64_t epoch = workers_.epoch_->load(std::memory_order_acquire);
  // release: whoever sees this announcement sees that the former stay inside is over.
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
