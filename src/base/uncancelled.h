// Uncancelled: while an Uncancelled exists, pthread_cancel() of its thread is deferred. Use it for
// work that must not stop halfway because other threads wait for its completion. Thread safety:
// belongs to one thread.
#pragma once

#include <pthread.h>

#include <utility>

namespace elider {

class Uncancelled {
 public:
  Uncancelled() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { ::pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

  // Runs f() with cancellation allowed, if it was allowed before. f() may then unwind the thread,
  // so the caller must clean up in destructors.
  template <class F>
  decltype(auto) but_for(F&& f) {
    ::pthread_setcancelstate(before_, nullptr);
    const Again again;
    return std::forward<F>(f)();
  }

 private:
  struct Again {
    ~Again() {
      int ignored;
      ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
    }
  };
  int before_ = 0;
};

}  // namespace elider
