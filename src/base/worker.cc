#include "base/worker.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "base/spin.h"
#include "base/test_points.h"

namespace elider {

namespace {

// The argument of free_retired(): the size in the lower bits, the MemoryPart in the upper bits.
constexpr unsigned kPartShift = 56;

void free_retired(Worker& worker, void* object, uint64_t argument) {
  const uint64_t bytes = argument & ((uint64_t{1} << kPartShift) - 1);
  worker.free(object, bytes, static_cast<MemoryPart>(argument >> kPartShift));
}

}  // namespace

Worker::Worker(Workers& workers, Memory& memory, uint32_t id, uint64_t seed)
    : object_weight_(memory.chunk_bytes() < kLargestClassBytes ? kLinkedWeight : kObjectWeight),
      bytes_shift_(memory.chunk_bytes() < kLargestClassBytes ? kBytesShiftSmall : kBytesShift),
      workers_(workers),
      id_(id),
      random_(seed),
      memory_(memory) {}

void Worker::wait_until_unclaimed() {
  do {
    announced_.store(kOutside, std::memory_order_release);
    Spin spin;
    while (claimed_.load(std::memory_order_acquire)) spin.wait();
    announce();
  } while (claimed_.load(std::memory_order_acquire));
}

void Worker::retire_memory(void* object, size_t bytes, MemoryPart part) {
  retire(&free_retired, object, bytes | static_cast<uint64_t>(part) << kPartShift, bytes);
}

// Called by leave() when the countdown reaches 0. Tries to advance the epoch, and reclaims a
// limited number of objects. If more objects could be reclaimed, each of the next leave() calls
// runs maintain() again, and reclaims more objects than were retired meanwhile. If a worker is
// short of memory, it takes over the retired objects of idle workers. Each of its next leave()
// calls then runs maintain() with a higher limit.
void Worker::maintain() {
  if (!workers_.reclaims_) [[unlikely]] {
    countdown_ = kCountdown;
    return;
  }
  if (short_of_memory_) [[unlikely]] begin_to_hurry();
  const bool hurry = hurry_ > 0;
  const bool behind = std::exchange(behind_, false);
  const uint64_t retired = std::exchange(retired_since_, 0);
  countdown_ = hurry ? 1 : kCountdown;
  if (hurry) --hurry_;
  if (retired_.empty() && workers_.orphans_.empty()) return;
  // The worker no longer holds references to shared objects, and its old announcement would delay
  // the epoch.
  announce();
  if (hurry || !behind) look_after_epoch();
  const size_t objects_max = hurry ? kReclaimsInHurry : kReclaimsPerLeave + (behind ? 2 * retired : 0);
  size_t reclaimed = workers_.reclaim_own(*this, objects_max);
  if (!workers_.orphans_.empty()) reclaimed += workers_.reclaim_orphans(*this, hurry ? objects_max - reclaimed : objects_max);
  behind_ = reclaimed >= objects_max;
  if (behind_) countdown_ = 1;
}

// If another worker has advanced the epoch since the last check, this worker does not try to
// advance it.
void Worker::look_after_epoch() {
  if (workers_.epoch() == epoch_looked_after_ && !workers_.try_advance()) countdown_ = std::min(countdown_, kCountdown / kSoonerShare);
  epoch_looked_after_ = workers_.epoch();
}

void Worker::begin_to_hurry() {
  short_of_memory_ = false;
  const uint64_t now = now_ns();
  if (now - hurried_ns_ < kHurryPauseNs) return;
  hurried_ns_ = now;
  hurry_ = kHurry;
  workers_.try_orphan_idle(*this);
}

Workers::Workers(Memory& memory, uint32_t workers_max, uint64_t seed)
    : memory_(memory), workers_max_(workers_max), seed_(seed), slots_(new std::atomic<Worker*>[workers_max] {}) {
  ELIDER_CHECK(workers_max >= 1, "a database has at least one worker");
  prepare_asymmetric_fence();
  epoch_->store(kFirstEpoch, std::memory_order_release);
  free_ids_.resize(workers_max);
  for (uint32_t id = 0; id < workers_max; ++id) free_ids_[id] = id;  // already a heap, because sorted
}

Workers::~Workers() {
  if (ids_used_max() == 0) return;  // nothing has been retired
  Worker* const worker = at(0);  // not a new worker, because that might require memory that is not available
  for (uint32_t id = 0; id < ids_used_max(); ++id) {
    ELIDER_CHECK(!at(id)->inside(), "no transaction is running when its database closes");
    orphan(*at(id));
  }
  worker->inside_ = true;
  // This store ends every grace period. If a callback retires further objects, they are appended to
  // the list that this loop empties.
  epoch_->store(~uint64_t{0} >> 1, std::memory_order_release);
  while (!orphans_.empty()) {
    epoch_->fetch_add(kGraceEpochs, std::memory_order_acq_rel);
    reclaim_orphans(*worker, ~size_t{0});
    orphan(*worker);
  }
  for (uint32_t id = 0; id < ids_used_max(); ++id) delete at(id);
}

Worker* Workers::acquire() {
  std::lock_guard lock(mutex_);
  if (free_ids_.empty()) return nullptr;
  const uint32_t id = free_ids_.front();  // the lowest
  Worker* worker = at(id);
  if (worker == nullptr) {
    uint64_t state = seed_ + id;
    worker = new Worker(*this, memory_, id, splitmix64(state));  // if this throws, the id is still free
    slots_[id].store(worker, std::memory_order_release);
  }
  std::pop_heap(free_ids_.begin(), free_ids_.end(), std::greater<>());
  free_ids_.pop_back();
  if (id >= ids_used_max()) ids_used_max_.store(id + 1, std::memory_order_release);
  in_use_.fetch_add(1, std::memory_order_relaxed);
  return worker;
}

void Workers::release(Worker* worker) {
  ELIDER_CHECK(!worker->inside(), "a worker is released only after leave()");
  if (!worker->retired_.empty()) {
    worker->enter();  // prevents other threads from claiming this worker's list
    orphan(*worker);
    worker->inside_ = false;
    worker->announced_.store(Worker::kOutside, std::memory_order_release);
  }
  worker->memory_.flush();
  std::lock_guard lock(mutex_);
  free_ids_.push_back(worker->id());
  std::push_heap(free_ids_.begin(), free_ids_.end(), std::greater<>());
  in_use_.fetch_sub(1, std::memory_order_relaxed);
}

bool Workers::all_announced(uint64_t epoch) const {
  const uint32_t count = ids_used_max();
  for (uint32_t id = 0; id < count; ++id) {
    // acquire: pairs with the release stores of enter() and leave(), so all accesses that the
    // worker made inside are complete.
    const uint64_t announced = at(id)->announced_.load(std::memory_order_acquire);
    if (announced != Worker::kOutside && announced != epoch) return false;
  }
  return true;
}

bool Workers::try_advance() {
  if (advancing_->exchange(true, std::memory_order_acquire)) return false;
  const uint64_t epoch = epoch_->load(std::memory_order_acquire);
  // The check before the fence is cheap, and usually finds the worker that prevents the advance.
  // The fence pairs with light_fence() in Worker::announce(): if the check after the fence misses a
  // worker's announcement, that worker reads shared data only after the fence.
  bool advanced = false;
  if (all_announced(epoch)) {
    heavy_fence();
    ELIDER_TEST_POINT("worker.advance.after_fence");
    if (all_announced(epoch)) {
      epoch_->store(epoch + 1, std::memory_order_release);
      advanced = true;
    }
  }
  advancing_->store(false, std::memory_order_release);
  return advanced;
}

size_t Workers::reclaim_own(Worker& worker, size_t objects_max) {
  RetiredList& list = worker.retired_;
  const uint64_t now = epoch();
  size_t count = 0;
  while (count < objects_max && !list.empty() && list.front().epoch + kGraceEpochs <= now) {
    const Retired retired = list.front();  // a copy: the callback may retire more
    list.pop();
    retired.reclaim(worker, retired.object, retired.argument);
    ++count;
  }
  return count;
}

// Callbacks take latches and retire objects, so they run without the lock. For this reason the
// objects are taken from the queue in small batches.
size_t Workers::reclaim_orphans(Worker& worker, size_t objects_max) {
  const uint64_t now = epoch();
  size_t count = 0;
  while (count < objects_max) {
    std::array<Retired, 32> due;
    size_t due_count = 0;
    {
      std::lock_guard lock(orphans_mutex_);
      const size_t wanted = std::min(due.size(), objects_max - count);
      while (due_count < wanted && !orphans_.empty() && orphans_.front().epoch + kGraceEpochs <= now) {
        due[due_count++] = orphans_.front();
        orphans_.pop();
      }
    }
    for (size_t i = 0; i < due_count; ++i) due[i].reclaim(worker, due[i].object, due[i].argument);
    if (due_count == 0) break;
    count += due_count;
  }
  return count;
}

void Workers::orphan(Worker& worker) {
  if (worker.retired_.empty()) return;
  std::lock_guard lock(orphans_mutex_);
  if (orphans_.empty()) {
    orphans_.swap(worker.retired_);
    return;
  }
  // If the queue cannot grow, the remaining objects stay in the worker's list until the worker is
  // used again or collect() runs.
  for (; !worker.retired_.empty(); worker.retired_.pop())
    if (!orphans_.push(worker.retired_.front())) return;
}

void Workers::orphan_idle(const Worker& except) {
  const uint32_t count = ids_used_max();
  bool any = false;
  for (uint32_t id = 0; id < count; ++id) {
    Worker* const worker = at(id);
    // relaxed: only a hint, because the check is repeated after the fence. In a busy database most
    // workers are inside, and this first check skips them.
    if (worker == &except || worker->retired_.empty() || worker->announced_.load(std::memory_order_relaxed) != Worker::kOutside) continue;
    worker->claimed_.store(true, std::memory_order_release);
    any = true;
  }
  if (!any) return;
  // Pairs with light_fence() in Worker::announce(). Either this thread sees the announcement, or
  // the other thread sees the claim.
  heavy_fence();
  for (uint32_t id = 0; id < count; ++id) {
    Worker* const worker = at(id);
    if (!worker->claimed_.load(std::memory_order_relaxed)) continue;  // relaxed: only the holder of collect_mutex_ writes it
    if (worker->announced_.load(std::memory_order_acquire) == Worker::kOutside) orphan(*worker);
    worker->claimed_.store(false, std::memory_order_release);
  }
}

void Workers::try_orphan_idle(const Worker& except) {
  std::unique_lock one_at_a_time(collect_mutex_, std::try_to_lock);
  if (one_at_a_time) orphan_idle(except);
}

void Workers::collect() {
  // An object may be retired three times: to be unlinked, to be freed, and with the node that
  // contained it. kRoundsMax rounds therefore empty the lists if no other worker runs, and bound
  // the work otherwise.
  constexpr int kRoundsMax = 64;
  constexpr int kRoundsStalledMax = 12;  // in the first six, the thread only pauses
  std::lock_guard one_at_a_time(collect_mutex_);
  if (!reclaims_) return;
  Worker* const worker = acquire();
  if (worker == nullptr) return;
  int stalled = 0;
  Spin spin;
  for (int round = 0; round < kRoundsMax && stalled < kRoundsStalledMax; ++round) {
    worker->enter();
    orphan_idle(*worker);
    const bool advanced = try_advance();
    worker->announce();
    const size_t reclaimed = reclaim_own(*worker, ~size_t{0}) + reclaim_orphans(*worker, ~size_t{0});
    worker->short_of_memory_ = false;  // otherwise leave() would try to lock collect_mutex_, which this thread holds
    worker->countdown_ = Worker::kCountdown;
    worker->leave();
    if (retired_objects() == 0) break;
    stalled = advanced || reclaimed != 0 ? 0 : stalled + 1;
    if (stalled == 0) spin.reset();
    else if (stalled < kRoundsStalledMax) spin.wait();  // others are within a transaction, usually for microseconds
  }
  release(worker);
}

bool Workers::await_inside(uint64_t deadline_ns, FunctionRef<bool(uint32_t id)> is_excepted) const {
  // Pairs with light_fence() in Worker::announce(). Either this thread sees the announcement, or
  // the worker sees what this thread has stored.
  heavy_fence();
  struct Inside {
    const Worker* worker;
    uint64_t entered_ticks;
  };
  std::vector<Inside> inside;
  for (uint32_t id = 0; id < ids_used_max(); ++id)
    if (const Worker* const worker = at(id); worker->announced_.load(std::memory_order_acquire) != Worker::kOutside)
      inside.push_back({worker, worker->entered_ticks_.load(std::memory_order_relaxed)});
  for (Spin spin; !inside.empty(); spin.wait()) {
    std::erase_if(inside, [&](const Inside& each) {
      // acquire: pairs with leave(), so everything that the worker did inside is complete. A worker
      // that has entered again has other ticks.
      return each.worker->announced_.load(std::memory_order_acquire) == Worker::kOutside ||
             each.worker->entered_ticks_.load(std::memory_order_acquire) != each.entered_ticks || is_excepted(each.worker->id());
    });
    if (!inside.empty() && now_ns() > deadline_ns) return false;
  }
  return true;
}

uint64_t Workers::retired_objects() const {
  uint64_t sum = orphans_.size();
  const uint32_t count = ids_used_max();
  for (uint32_t id = 0; id < count; ++id) sum += at(id)->retired_.size();
  return sum;
}

uint64_t Workers::oldest_entered_ns() const {
  uint64_t oldest = ~uint64_t{0};
  const uint32_t count = ids_used_max();
  for (uint32_t id = 0; id < count; ++id) {
    const Worker& worker = *at(id);
    if (worker.announced_.load(std::memory_order_acquire) == Worker::kOutside) continue;
    oldest = std::min(oldest, worker.entered_ticks_.load(std::memory_order_relaxed));
  }
  return oldest == ~uint64_t{0} ? 0 : clock_.ns_of(oldest);
}

}  // namespace elider
