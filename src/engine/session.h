// Sessions: the transaction contexts of one database, each lent to one user at a time.
//
// A thread keeps the session it first took until it ends, so that db.run() costs no lock; further
// transactions open at once in the thread, and ActiveTransactions, take others. Sessions are made as
// needed, never destroyed before the database, and used again.
//
// Thread safety: a session belongs to whom it is lent to; the pool to all.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "recovery/data_folder.h"
#include "engine/engine.h"
#include "txn/occ/occ_transaction.h"
#include "txn/snapshot_transaction.h"

namespace elider::detail {

// What a thread's end needs of a pool, whatever its policy.
class SessionPoolBase {
 public:
  virtual ~SessionPoolBase() = default;
  virtual void give_back(Session* session) = 0;
};

// Of the database that this thread used last.
struct LastSession {
  uint64_t id = 0;
  Session* session = nullptr;
};
inline constinit thread_local LastSession last_session;

Session* find_thread_session(uint64_t id);
// The session that this thread keeps of database `id`; null if none.
inline Session* thread_session(uint64_t id) {
  if (last_session.id == id) [[likely]] return last_session.session;
  return find_thread_session(id);
}
// False: the thread is ending, and keeps nothing any more: what runs then, in destructors, borrows.
bool keep_thread_session(uint64_t id, const std::shared_ptr<SessionPoolBase>& pool, Session* session);

template <class Sync>
class SessionPool;

template <class Sync>
class SessionOf final : public Session {
 public:
  SessionOf(SessionPool<Sync>& its_pool, txn::Store& its_store, Worker& its_worker)
      : pool(its_pool), store(its_store), worker(its_worker), occ(store, its_worker, counters), snapshot(store, its_worker, counters) {}

  Status commit_active(Durability durability, uint64_t* commit_number) override {
    if (store.asks_too_much(durability)) {
      Status why = store.refusal();
      rollback_active();
      return why;
    }
    Status status = read_only ? snapshot.commit() : occ.commit();
    const uint64_t number = read_only ? snapshot.commit_number() : occ.commit_number();
    txn::Store& its_store = store;  // the session is another's once it is given back
    SessionPool<Sync>& its_pool = pool;
    finish_active();
    its_pool.take_due_checkpoint();
    return status.ok() ? its_store.acknowledge(durability, number, commit_number) : status;
  }
  void rollback_active() override {
    if (read_only) snapshot.rollback(Cause::kUser);
    else occ.rollback(Cause::kUser);
    finish_active();
  }

  SessionPool<Sync>& pool;
  txn::Store& store;
  Worker& worker;
  txn::Counters counters;
  txn::OccTransaction<Sync> occ;
  txn::SnapshotTransaction<Sync> snapshot;
  bool busy = false;       // a transaction of it is running
  bool kept = false;       // by a thread, for its transactions
  bool read_only = false;  // of an active one: which

 private:
  void finish_active() {
    worker.leave();
    busy = false;
    pool.finished();
    pool.give_back(this);
  }
};

template <class Sync>
class SessionPool final : public SessionPoolBase {
 public:
  // What may_begin() allowed ends with this, by an exception too, unless it is kept: then somebody calls finished().
  class Begun {
   public:
    explicit Begun(SessionPool& pool) : pool_(&pool) {}
    ~Begun() { if (pool_ != nullptr) pool_->finished(); }
    Begun(const Begun&) = delete;
    Begun& operator=(const Begun&) = delete;
    void keep() { pool_ = nullptr; }

   private:
    SessionPool* pool_;
  };
  // One transaction's use of a session, which goes back to the pool unless the thread keeps it. Null: there is none.
  class Lent {
   public:
    Lent(SessionPool& pool, SessionOf<Sync>* session) : pool_(pool), session_(session) {
      if (session_ != nullptr) [[likely]] session_->busy = true;
    }
    ~Lent() {
      if (session_ == nullptr) [[unlikely]] return;
      session_->busy = false;
      if (!session_->kept) [[unlikely]] pool_.give_back(session_);
    }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    bool operator==(std::nullptr_t) const { return session_ == nullptr; }
    SessionOf<Sync>& operator*() const { return *session_; }
    SessionOf<Sync>* operator->() const { return session_; }

   private:
    SessionPool& pool_;
    SessionOf<Sync>* session_;
  };

  // `data` may not be made yet.
  SessionPool(txn::Store& store, recovery::DataFolder& data) : store_(store), data_(data) {}

  // Null if workers_max are in use.
  SessionOf<Sync>* take() {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      SessionOf<Sync>* session = free_.back();
      free_.pop_back();
      ++in_use_;
      return session;
    }
    if (all_.size() >= store_.options.workers_max) return nullptr;  // collect_garbage() has one more
    if (free_.capacity() == all_.size()) free_.reserve(2 * all_.size() + 1);  // so that give_back cannot fail
    Worker* worker = store_.workers.acquire();
    if (worker == nullptr) return nullptr;
    try {
      all_.push_back(std::make_unique<SessionOf<Sync>>(*this, store_, *worker));
    } catch (...) {
      store_.workers.release(worker);
      throw;
    }
    ++in_use_;
    return all_.back().get();
  }
  void give_back(Session* session) override {
    std::lock_guard lock(mutex_);
    free_.push_back(static_cast<SessionOf<Sync>*>(session));
    free_.back()->kept = false;
    --in_use_;
  }

  template <class F>
  void for_each_counters(F&& f) const {
    std::lock_guard lock(mutex_);
    for (const auto& session : all_) f(session->counters);
  }
  uint32_t in_use() const {
    std::lock_guard lock(mutex_);
    return in_use_;
  }

  // Under SingleThreaded: whether this thread may begin a transaction: no other one has one open. It
  // finds a mistake, and is not a lock.
  bool may_begin() {
    if constexpr (!Sync::kConcurrent) {
      const uint64_t self = reinterpret_cast<uint64_t>(&thread_mark_);
      if (open_.load(std::memory_order_relaxed) != 0 && owner_.load(std::memory_order_relaxed) != self) return false;
      owner_.store(self, std::memory_order_relaxed);
      open_.store(open_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    return true;
  }
  void finished() {
    if constexpr (!Sync::kConcurrent) open_.store(open_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }
  // Under SingleThreaded a checkpoint that is due is taken by who has ended a transaction: no thread of the database's own
  // may look at the rows.
  void take_due_checkpoint() {
    if constexpr (!Sync::kConcurrent) {
      if (!data_.checkpoint_due() || !may_begin()) [[likely]] return;
      const Begun begun(*this);
      static_cast<void>(data_.checkpoint());  // what failed is in the statistics
    }
  }

 private:
  inline static thread_local char thread_mark_ = 0;
  txn::Store& store_;
  recovery::DataFolder& data_;  // used while the database is there
  mutable std::mutex mutex_;  // guards all_, free_, in_use_
  std::vector<std::unique_ptr<SessionOf<Sync>>> all_;
  std::vector<SessionOf<Sync>*> free_;
  uint32_t in_use_ = 0;
  std::atomic<uint32_t> open_{0};
  std::atomic<uint64_t> owner_{0};
};

}  // namespace elider::detail
