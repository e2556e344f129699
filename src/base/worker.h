// Worker: the state that one thread or one open transaction owns in a database. It contains the
// epoch announcement, the allocator, and the list of retired objects. Workers: the set of all
// workers in a database.
//
// Reclamation is quiescent-state based (DBX, section 5.5). An object is unlinked, then retired, and
// reclaimed after a grace period, which ends when every worker that was inside enter()..leave() at
// the time of the retirement has left. The implementation uses epochs. enter() announces the global
// epoch, which advances only when every worker inside has announced the current one. An object that
// was retired in epoch e is reclaimed in epoch e + 3 or later.
//
// Why three epochs: while a worker that announced epoch a is inside, the epoch is at most a + 1. If
// a worker reads the epoch as e after it has unlinked an object, the unlink took effect while the
// epoch was e or e + 1. Any reader that still found the object has announced at most e + 1, and
// thus keeps the epoch at e + 2 or below until it leaves. For this reason retire() does not need a
// fence. The fence in enter(), between the announcement and reads of shared data, is the light half
// of base/asymmetric_fence.h. The heavy half is in Workers::try_advance().
//
// Thread safety: one thread at a time may use a Worker; all threads may use Workers. When a worker
// is released, its retired objects pass to the other workers. collect(), and a worker that is short
// of memory, may claim and empty the list of a worker that is not inside. If the claimed worker's
// thread calls enter() meanwhile, enter() waits until the claim ends.
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
#include "elider/function_ref.h"

namespace elider {

class Workers;

class alignas(kCacheLinePairBytes) Worker {
 public:
  // Marks the worker as inside, until leave(). Objects that the worker finds in between are not
  // reclaimed before leave(). Not reentrant.
  [[gnu::always_inline]] inline void enter() {
    inside_ = true;
    // release: a thread that sees the time of this call sees everything before the previous leave()
    // (Workers::await_inside).
    entered_ticks_.store(ticks(), std::memory_order_release);
    announce();
    // acquire: pairs with the claimer's release, after which retired_ belongs to this thread again.
    if (claimed_.load(std::memory_order_acquire)) [[unlikely]]
      wait_until_unclaimed();
  }

  // Marks the worker as outside. The caller must not keep references to shared objects. From time
  // to time, leave() also advances the epoch and reclaims objects.
  [[gnu::always_inline]] inline void leave() {
    if (--countdown_ <= 0) [[unlikely]]
      maintain();
    inside_ = false;
    // release: orders reads inside before this store; pairs with the load in
    // Workers::try_advance().
    announced_.store(kOutside, std::memory_order_release);
  }
  bool inside() const { return inside_; }
  // Returns true if the next leave() will check the epoch and reclaim objects.
  bool is_due() const { return countdown_ <= 1; }
  // The global epoch.
  uint64_t global_epoch() const;

  // Calls reclaim(worker, object, argument) after a grace period. `object` must be unlinked, and
  // this worker must be inside. `bytes` is the amount of memory that will be freed with the object.
  // Returns false if the list cannot grow because memory is exhausted. Most callers cannot undo
  // their commit at that point, and leave the object unreclaimed. Callers that do not need the
  // grace period free the object immediately.
  bool retire(Reclaim reclaim, void* object, uint64_t argument, size_t bytes = 0);
  // Like retire(), but the object is still in an index, where all readers must skip it. The worker
  // therefore reclaims the object sooner.
  bool retire_linked(Reclaim reclaim, void* object, uint64_t argument);

  // Like Allocator::allocate() (base/memory.h), but after a failure the next leave() hastens
  // reclamation, because a caller that lacks memory may call leave() too rarely for the countdown.
  void* allocate(size_t bytes, MemoryPart part) {
    void* const object = memory_.allocate(bytes, part);
    if (object == nullptr) [[unlikely]] is_short_of_memory();
    return object;
  }
  // Reports that an allocation failed, so that the worker reclaims retired objects soon.
  void is_short_of_memory() {
    short_of_memory_ = true;
    countdown_ = 0;
  }
  // See Memory::is_beyond_limit().
  bool is_beyond_limit() const { return memory_.is_beyond_limit(); }
  size_t bytes_taken(size_t bytes) const { return memory_.bytes_taken(bytes); }
  // Like allocate(), but a failure does not hasten reclamation. Use it if the caller can do without
  // the memory and will retry.
  void* allocate_optional(size_t bytes, MemoryPart part) { return memory_.allocate(bytes, part); }
  void free(void* object, size_t bytes, MemoryPart part) { memory_.free(object, bytes, part); }
  // Frees the memory after a grace period.
  void retire_memory(void* object, size_t bytes, MemoryPart part);

  uint32_t id() const { return id_; }  // 0 to workers_max - 1; unique among the workers in use
  Random& random() { return random_; }
  Workers& workers() { return workers_; }

  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

 private:
  friend class Workers;
  static constexpr uint64_t kOutside = 0;
  // A worker checks the epoch after this many calls to leave(), or earlier if it has retired 1024
  // objects, 256 linked objects, or 512 KiB. With a memory limit below 64 MiB the thresholds are
  // 256 objects or 64 KiB. Advancing the epoch interrupts every processor that runs another worker,
  // for about 20 us in a virtual machine.
  static constexpr int64_t kCountdown = 4096;
  static constexpr int64_t kObjectWeight = kCountdown / 1024;
  static constexpr int64_t kLinkedWeight = kCountdown / 256;
  static constexpr unsigned kBytesShift = 7;       // 128 bytes have weight 1
  static constexpr unsigned kBytesShiftSmall = 4;  // 16 bytes
  // If another worker prevents an advance, the next check comes after an eighth of a countdown.
  static constexpr int64_t kSoonerShare = 8;
  static constexpr size_t kReclaimsPerLeave = 128;
  // After a shortage of memory, each of this many leave() calls runs maintain(), because freeing a
  // row takes three grace periods of three epochs each. Each of these calls reclaims more objects
  // than usual, because a row is retired three times, each time at the end of the list. A worker
  // begins such a hurried phase at most once per kHurryPauseNs, because hurrying does not help if
  // the memory is really in use.
  static constexpr uint32_t kHurry = 64;
  static constexpr size_t kReclaimsInHurry = 4096;
  static constexpr uint64_t kHurryPauseNs = 10'000'000;

  Worker(Workers& workers, Memory& memory, uint32_t id, uint64_t seed);
  [[gnu::always_inline]] inline void announce();
  void wait_until_unclaimed();
  void maintain();
  void look_after_epoch();
  void begin_to_hurry();

  // Written by the owner, except for claimed_, which the holder of Workers::collect_mutex_ writes.
  // Read by workers that advance the epoch.
  std::atomic<uint64_t> announced_{kOutside};
  std::atomic<uint64_t> entered_ticks_{0};
  std::atomic<bool> claimed_{false};

  // Used only by the owner, except that a thread that has claimed the worker may empty retired_.
  bool inside_ = false;
  const int64_t object_weight_;
  const unsigned bytes_shift_;
  int64_t countdown_ = kCountdown;
  uint64_t retired_since_ = 0;    // objects retired since the last maintain()
  bool behind_ = false;           // the last maintain() may have left objects whose grace period is over
  bool short_of_memory_ = false;  // since the last maintain()
  uint32_t hurry_ = 0;            // each of the next hurry_ leave() calls runs maintain()
  uint64_t hurried_ns_ = 0;       // when the last period of hurrying began
  uint64_t epoch_looked_after_ = 0;
  Workers& workers_;
  RetiredList retired_;
  const uint32_t id_;
  Random random_;
  alignas(kCacheLinePairBytes) Allocator memory_;
};

// Calls enter() on construction and leave() on destruction.
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
  // `memory` must outlive the Workers. A worker that has never been acquired costs 8 bytes.
  Workers(Memory& memory, uint32_t workers_max, uint64_t seed);
  // Used by studies. From now on, objects are reclaimed only when all workers are destroyed. All
  // workers must be outside.
  void stop_reclaiming() { reclaims_ = false; }
  // Reclaims everything, in each worker's order of retirement. All workers must be outside.
  ~Workers();

  // Returns the unused worker with the lowest id, or null if all workers_max workers are in use.
  Worker* acquire();
  // The worker must be outside. Its retired objects move to the list that all workers share, and
  // its free memory moves to the depot.
  void release(Worker* worker);

  // Advances the epoch and reclaims as many objects as possible, from the shared list and from the
  // lists of all workers that are outside. The calling thread must not be inside a worker. The
  // function uses an unused worker. If all workers are in use, it does nothing, and the workers
  // continue to reclaim by themselves.
  void collect();

  // Waits until every worker that is inside now has left, except for workers for which
  // is_excepted(id) is or becomes true. Returns false if `deadline_ns` (base/clock.h) comes first.
  // What the caller stored before the call is visible to each worker that enters afterwards.
  bool await_inside(uint64_t deadline_ns, FunctionRef<bool(uint32_t id)> is_excepted) const;

  uint64_t epoch() const { return epoch_->load(std::memory_order_acquire); }
  // Returns the number of objects that wait for the end of their grace period.
  uint64_t retired_objects() const;
  uint32_t in_use() const { return in_use_.load(std::memory_order_relaxed); }
  // All ids that were ever used are below this number, so it bounds scans of arrays that are
  // indexed by id.
  uint32_t ids_used_max() const { return ids_used_max_.load(std::memory_order_acquire); }
  uint32_t workers_max() const { return workers_max_; }
  // Finds the worker that has been inside the longest, and returns the steady clock's time of its
  // enter() call. Returns 0 if all workers are outside. The time is computed from the processor's
  // tick counter, with an error of about 0.1% of the worker's time inside.
  uint64_t oldest_entered_ns() const;

  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

 private:
  friend class Worker;
  static constexpr uint64_t kFirstEpoch = 4;  // so that kOutside is never equal to "three epochs ago"
  static constexpr uint64_t kGraceEpochs = 3;

  Worker* at(uint32_t id) const { return slots_[id].load(std::memory_order_acquire); }
  // Advances the epoch by one step if every worker inside has announced the current epoch.
  // Otherwise, or if another thread is advancing the epoch, returns false.
  bool try_advance();
  bool all_announced(uint64_t epoch) const;
  bool reclaims_ = true;
  // reclaim_own() and reclaim_orphans() reclaim at most `objects_max` objects whose grace period is
  // over, and return the number of reclaimed objects. `worker` must be inside.
  size_t reclaim_own(Worker& worker, size_t objects_max);
  size_t reclaim_orphans(Worker& worker, size_t objects_max);
  // Moves the retired objects of `worker` to orphans_. Another thread must not be using the worker.
  void orphan(Worker& worker);
  // Calls orphan() for each worker that is outside. Claims the worker first, so that its thread
  // waits in enter() meanwhile. The caller holds collect_mutex_.
  void orphan_idle(const Worker& except);
  void try_orphan_idle(const Worker& except);  // does nothing if another thread is doing it

  Memory& memory_;
  const uint32_t workers_max_;
  const uint64_t seed_;
  const TickClock clock_;
  const std::unique_ptr<std::atomic<Worker*>[]> slots_;  // indexed by id; null before first use

  // Read by every enter(), written by every advance.
  CacheLine<std::atomic<uint64_t>> epoch_;
  CacheLine<std::atomic<bool>> advancing_;

  std::atomic<uint32_t> in_use_{0};
  std::atomic<uint32_t> ids_used_max_{0};

  std::mutex collect_mutex_;        // held while claiming workers' lists; acquired before mutex_ and orphans_mutex_
  std::mutex mutex_;                // guards free_ids_ and the creation of workers
  std::vector<uint32_t> free_ids_;  // a heap with the lowest id first
  std::mutex orphans_mutex_;        // guards orphans_, except for its size
  RetiredList orphans_;             // objects of released or idle workers; not ordered by epoch
};

// A WorkerLoan is null, or owns a worker and releases it when the WorkerLoan is destroyed.
struct ReleaseWorker {
  Workers* workers;
  void operator()(Worker* worker) const { workers->release(worker); }
};
using WorkerLoan = std::unique_ptr<Worker, ReleaseWorker>;
inline WorkerLoan lend_worker(Workers& workers) { return {workers.acquire(), {&workers}}; }

inline uint64_t Worker::global_epoch() const { return workers_.epoch(); }

void Worker::announce() {
  // acquire: pairs with the release store that advanced the epoch, so this thread sees the current
  // contents of memory that was reclaimed before the advance.
  const uint64_t epoch = workers_.epoch_->load(std::memory_order_acquire);
  // release: a thread that sees this announcement also sees everything that the worker did before
  // its previous leave().
  announced_.store(epoch, std::memory_order_release);
  light_fence();  // pairs with heavy_fence() in Workers::try_advance and Workers::orphan_idle
}

inline bool Worker::retire(Reclaim reclaim, void* object, uint64_t argument, size_t bytes) {
  ELIDER_DCHECK(inside_, "an object is retired between enter() and leave()");
  countdown_ -= object_weight_ + static_cast<int64_t>(bytes >> bytes_shift_);
  ++retired_since_;
  return retired_.push({reclaim, object, argument, workers_.epoch_->load(std::memory_order_acquire)});
}

inline bool Worker::retire_linked(Reclaim reclaim, void* object, uint64_t argument) {
  countdown_ -= kLinkedWeight - object_weight_;
  return retire(reclaim, object, argument);
}

}  // namespace elider
