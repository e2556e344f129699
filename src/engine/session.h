// Sessions: each is a worker of one database with its counters and, under the engine's protocol, its transactions (SessionOf,
// engine_of.h), and is lent to one user at a time.
//
// A thread keeps the session it first took until it ends, so that db.run() costs no lock; further
// transactions open at once in the thread, and ActiveTransactions, take others. Sessions are made as
// needed, never destroyed before the database, and used again.
//
// Thread safety: a session belongs to whom it is lent to; the pool to all.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/worker.h"
#include "elider/snapshot_number.h"
#include "engine/engine.h"
#include "txn/counters.h"
#include "txn/store.h"

namespace elider::detail {

class SessionPool;

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
bool keep_thread_session(uint64_t id, const std::shared_ptr<SessionPool>& pool, Session* session);

class Session {
 public:
  Session(SessionPool& its_pool, Worker& its_worker) : pool(its_pool), worker(its_worker) {}
  virtual ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // For ActiveTransaction. Ends the transaction and gives the session back.
  virtual Status commit_active(Durability durability, SnapshotNumber* commit_number) = 0;
  virtual void rollback_active() = 0;

  SessionPool& pool;
  Worker& worker;
  txn::Counters counters;
  bool busy = false;       // a transaction of it is running
  bool kept = false;       // by a thread, for its transactions
  bool read_only = false;  // of an active one: which
};

class SessionPool {
 public:
  // make(pool, worker): a session, which has that worker.
  using Make = std::function<std::unique_ptr<Session>(SessionPool& pool, Worker& worker)>;

  // One transaction's use of a session, which goes back to the pool unless the thread keeps it. Null: there is none.
  class Lent {
   public:
    Lent(SessionPool& pool, Session* session) : pool_(pool), session_(session) {
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
    Session& operator*() const { return *session_; }
    Session* operator->() const { return session_; }

   private:
    SessionPool& pool_;
    Session* session_;
  };

  SessionPool(txn::Store& store, Make make) : store_(store), make_(std::move(make)) {}

  // Null if workers_max are in use.
  Session* take();
  void give_back(Session* session);

  template <class F>
  void for_each_counters(F&& f) const {
    std::lock_guard lock(mutex_);
    for (const auto& session : all_) f(session->counters);
  }
  uint32_t in_use() const {
    std::lock_guard lock(mutex_);
    return in_use_;
  }

 private:
  txn::Store& store_;
  const Make make_;
  mutable std::mutex mutex_;  // guards all_, free_, in_use_
  std::vector<std::unique_ptr<Session>> all_;
  std::vector<Session*> free_;
  uint32_t in_use_ = 0;
};

}  // namespace elider::detail
