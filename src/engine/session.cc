#include "engine/session.h"

#include <atomic>

#include "engine/engine_base.h"

namespace elider::detail {

uint64_t next_database_id() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1);
}

namespace {

struct Kept {
  uint64_t id;
  std::weak_ptr<SessionPool> pool;
  Session* session;
};

constinit thread_local bool sessions_given_back = false;  // whose storage outlives the destructors of thread_locals

// Gives all back when the thread ends, but those whose database is closed.
struct ThreadSessions {
  std::vector<Kept> kept;
  ~ThreadSessions() {
    last_session = {};
    sessions_given_back = true;
    for (Kept& k : kept)
      if (auto pool = k.pool.lock()) pool->give_back(k.session);
  }
};
thread_local ThreadSessions sessions_of_thread;

}  // namespace

Session* find_thread_session(uint64_t id) {
  if (sessions_given_back) return nullptr;
  for (const Kept& kept : sessions_of_thread.kept)
    if (kept.id == id) {
      last_session = {id, kept.session};
      return kept.session;
    }
  return nullptr;
}

bool keep_thread_session(uint64_t id, const std::shared_ptr<SessionPool>& pool, Session* session) {
  if (sessions_given_back) return false;
  ThreadSessions& mine = sessions_of_thread;
  std::erase_if(mine.kept, [](const Kept& kept) { return kept.pool.expired(); });
  mine.kept.push_back({id, pool, session});
  last_session = {id, session};
  return true;
}

Session* SessionPool::take() {
  std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    Session* session = free_.back();
    free_.pop_back();
    ++in_use_;
    return session;
  }
  if (all_.size() >= store_.options.workers_max) return nullptr;  // collect_garbage() has one more
  if (free_.capacity() == all_.size()) free_.reserve(2 * all_.size() + 1);  // so that give_back cannot fail
  Worker* worker = store_.workers.acquire();
  if (worker == nullptr) return nullptr;
  try {
    all_.push_back(make_(*this, *worker));
  } catch (...) {
    store_.workers.release(worker);
    throw;
  }
  ++in_use_;
  return all_.back().get();
}

void SessionPool::give_back(Session* session) {
  std::lock_guard lock(mutex_);
  free_.push_back(session);
  free_.back()->kept = false;
  --in_use_;
}

}  // namespace elider::detail
