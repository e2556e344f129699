#include "engine/session.h"

namespace elider::detail {

namespace {

struct Kept {
  uint64_t id;
  std::weak_ptr<SessionPoolBase> pool;
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

bool keep_thread_session(uint64_t id, const std::shared_ptr<SessionPoolBase>& pool, Session* session) {
  if (sessions_given_back) return false;
  ThreadSessions& mine = sessions_of_thread;
  std::erase_if(mine.kept, [](const Kept& kept) { return kept.pool.expired(); });
  mine.kept.push_back({id, pool, session});
  last_session = {id, session};
  return true;
}

}  // namespace elider::detail
