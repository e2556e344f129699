// Uncancelled: while it lives, pthread_cancel() of this thread waits: for what must end once it has
// begun, because other threads wait for it. Thread safety: its thread's.
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

  // But for f, which the caller has cleaned up behind if it unwinds.
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
