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
  uint64_t last_id = 0;
  Session* last = nullptr;
  std::vector<Kept> kept;
  ~ThreadSessions() {
    for (Kept& k : kept)
      if (auto pool = k.pool.lock()) pool->give_back(k.session);
  }
};
thread_local ThreadSessions sessions_of_thread;

}  // namespace

Session* thread_session(uint64_t id) {
  ThreadSessions& mine = sessions_of_thread;
  if (mine.last_id == id) [[likely]] return mine.last;
  for (const Kept& kept : mine.kept)
    if (kept.id == id) {
      mine.last_id = id;
      mine.last = kept.session;
      return kept.session;
    }
  return nullptr;
}

void keep_thread_session(uint64_t id, const std::shared_ptr<SessionPoolBase>& pool, Session* session) {
  ThreadSessions& mine = sessions_of_thread;
  std::erase_if(mine.kept, [](const Kept& kept) { return kept.pool.expired(); });
  mine.kept.push_back({id, pool, session});
  mine.last_id = id;
  mine.last = session;
}

}  // namespace elider::detail
