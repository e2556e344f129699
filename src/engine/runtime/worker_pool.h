// EngineWorker: a worker of a database (base/worker.h) with its counters. The derived class
// WorkerOf (engine_of.h) adds the transactions of the engine's protocol. A worker is lent to one
// user at a time.
//
// A thread keeps the first worker that it got until the thread ends, so that db.run() does not
// acquire a lock. ActiveTransactions use other workers, and so do transactions nested in another
// transaction on the same thread. The pool creates workers when they are needed, reuses them, and
// destroys them with the database.
//
// Thread safety: a worker belongs to its current user. All threads may use the pool.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/worker.h"
#include "elider/snapshot_number.h"
#include "engine/engine.h"
#include "engine/runtime/turns.h"
#include "txn/counters.h"
#include "txn/store.h"

namespace elider::detail {

class WorkerPool;

// The worker that this thread used last, and the id of its database.
struct LastWorker {
  uint64_t id = 0;  // 0: the thread has not used a worker; no database has the id 0
  EngineWorker* worker = nullptr;
};
inline constinit thread_local LastWorker last_worker;

EngineWorker* find_thread_worker(uint64_t id);
// Returns the worker that this thread keeps for database `id`, or null if it does not keep one.
inline EngineWorker* thread_worker(uint64_t id) {
  if (last_worker.id == id) [[likely]] return last_worker.worker;
  return find_thread_worker(id);
}
// Gives this thread's turn in database `id`, if any, to another thread. A thread calls this before
// it waits for the disk.
void give_turn_back(uint64_t id);
// Returns false if the thread is ending and can no longer keep a worker. If the destructor of a
// thread_local object then runs a transaction, that transaction borrows a worker from the pool.
bool keep_thread_worker(uint64_t id, const std::shared_ptr<WorkerPool>& pool, EngineWorker* worker);

class EngineWorker {
 public:
  EngineWorker(WorkerPool& its_pool, Worker& its_worker) : pool(its_pool), base(its_worker) {}
  virtual ~EngineWorker() = default;
  EngineWorker(const EngineWorker&) = delete;
  EngineWorker& operator=(const EngineWorker&) = delete;
  // Used by ActiveTransaction: ends the transaction and gives the worker back.
  virtual Status commit_active(Durability durability, SnapshotNumber* commit_number) = 0;
  virtual void rollback_active() = 0;

  WorkerPool& pool;
  Worker& base;
  txn::Counters counters;
  Turn turn;               // used by the thread that keeps the worker
  bool busy = false;       // the worker is running a transaction
  bool holds = false;      // the worker holds a snapshot, and does not run a transaction
  bool kept = false;       // a thread keeps the worker for its transactions
  bool read_only = false;  // whether its active transaction is read-only
  std::shared_ptr<const SnapshotHold> hold;  // the snapshot that its active transaction reads; null: the newest
};

class WorkerPool {
 public:
  // make(pool, worker) creates an EngineWorker that uses `worker`.
  using Make = std::function<std::unique_ptr<EngineWorker>(WorkerPool& pool, Worker& worker)>;

  WorkerPool(txn::Store& store, Make make) : turns(threads_at_once(store.options)), store_(store), make_(std::move(make)) {}

  // Lends a worker to the caller. Returns null if workers_max workers are in use. Use::kHolds is
  // for a worker that only holds a snapshot; such a worker is not included in the number of threads
  // that is passed to Turns.
  enum class Use : uint8_t { kRuns, kHolds };
  EngineWorker* take(Use use = Use::kRuns);
  void give_back(EngineWorker* worker);

  template <class F>
  void for_each_counters(F&& f) const {
    std::lock_guard lock(mutex_);
    for (const auto& worker : all_) f(worker->counters);
  }
  uint32_t in_use() const {
    std::lock_guard lock(mutex_);
    return in_use_;
  }

  Turns turns;

 private:
  static uint32_t threads_at_once(const Options& options);
  void count(EngineWorker& worker, int more);

  txn::Store& store_;
  const Make make_;
  mutable std::mutex mutex_;  // guards all_, free_, in_use_, holding_
  std::vector<std::unique_ptr<EngineWorker>> all_;
  std::vector<EngineWorker*> free_;
  uint32_t in_use_ = 0, holding_ = 0;
};

}  // namespace elider::detail
