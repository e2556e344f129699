#include "engine/session.h"

namespace elider::detail {

namespace {

struct Kept {
  uint64_t id;
  std::weak_ptr<SessionPoolBase> pool;
  Session* session;
};

// Gives all back when the thread ends, but those whose database is closed.
struct ThreadSessions {
  std::vector<Kept> kept;
  ~ThreadSessions() {
    last_session = {};
    for (Kept& k : kept)
      if (auto pool = k.pool.lock()) pool->give_back(k.session);
  }
};
thread_local ThreadSessions sessions_of_thread;

}  // namespace

Session* find_thread_session(uint64_t id) {
  for (const Kept& kept : sessions_of_thread.kept)
    if (kept.id == id) {
      last_session = {id, kept.session};
      return kept.session;
    }
  return nullptr;
}

void keep_thread_session(uint64_t id, const std::shared_ptr<SessionPoolBase>& pool, Session* session) {
  ThreadSessions& mine = sessions_of_thread;
  std::erase_if(mine.kept, [](const Kept& kept) { return kept.pool.expired(); });
  mine.kept.push_back({id, pool, session});
  last_session = {id, session};
}

}  // namespace elider::detail
