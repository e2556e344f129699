#include "engine/runtime/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "engine/engine_base.h"

namespace elider::detail {

uint64_t next_database_id() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1);
}

namespace {

struct Kept {
  uint64_t id;
  std::weak_ptr<WorkerPool> pool;
  EngineWorker* worker;
};

constinit thread_local bool workers_given_back = false;  // its storage outlives the destructors of thread_local objects

// Gives all workers back when the thread ends, except for those whose database is closed.
struct ThreadWorkers {
  std::vector<Kept> kept;
  ~ThreadWorkers() {
    last_worker = {};
    workers_given_back = true;
    for (Kept& k : kept)
      if (auto pool = k.pool.lock()) pool->give_back(k.worker);
  }
};
thread_local ThreadWorkers workers_of_thread;

}  // namespace

EngineWorker* find_thread_worker(uint64_t id) {
  if (workers_given_back) return nullptr;
  for (const Kept& kept : workers_of_thread.kept)
    if (kept.id == id) {
      last_worker = {id, kept.worker};
      return kept.worker;
    }
  return nullptr;
}

void give_turn_back(uint64_t id) {
  if (ELIDER_MUTANT(kWaitInTurn)) return;
  if (EngineWorker* const its = thread_worker(id); its != nullptr) its->pool.turns.forget(its->turn);
}

bool keep_thread_worker(uint64_t id, const std::shared_ptr<WorkerPool>& pool, EngineWorker* worker) {
  if (workers_given_back) return false;
  ThreadWorkers& mine = workers_of_thread;
  std::erase_if(mine.kept, [](const Kept& kept) { return kept.pool.expired(); });
  mine.kept.push_back({id, pool, worker});
  last_worker = {id, worker};
  return true;
}

uint32_t WorkerPool::threads_at_once(const Options& options) {
  const uint32_t processors = std::max(std::thread::hardware_concurrency(), 1u);
  // The default is larger than the number of processors. Otherwise a processor would be idle
  // whenever a turn passes from one thread to another.
  return options.threads_at_once != 0 ? options.threads_at_once : processors + (processors + 1) / 2;
}

void WorkerPool::count(EngineWorker& worker, int more) {
  in_use_ += more;
  if (worker.holds) holding_ += more;
  turns.set_threads(in_use_ - holding_);
}

EngineWorker* WorkerPool::take(Use use) {
  std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    EngineWorker* worker = free_.back();
    free_.pop_back();
    worker->holds = use == Use::kHolds;
    count(*worker, 1);
    return worker;
  }
  if (all_.size() >= store_.options.workers_max) return nullptr;  // the store has more workers for its own use (Store::kOwnWorkers)
  if (free_.capacity() == all_.size()) free_.reserve(2 * all_.size() + 1);  // so that give_back cannot fail
  Worker* worker = store_.workers.acquire();
  if (worker == nullptr) return nullptr;
  try {
    all_.push_back(make_(*this, *worker));
  } catch (...) {
    store_.workers.release(worker);
    throw;
  }
  all_.back()->holds = use == Use::kHolds;
  count(*all_.back(), 1);
  return all_.back().get();
}

void WorkerPool::give_back(EngineWorker* worker) {
  if (store_.process.in_child()) return;
  turns.forget(worker->turn);
  std::lock_guard lock(mutex_);
  free_.push_back(worker);
  free_.back()->kept = false;
  count(*worker, -1);
}

}  // namespace elider::detail
