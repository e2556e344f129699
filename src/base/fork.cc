#include "base/fork.h"

#include <pthread.h>

#include <new>
#include <string>

namespace elider {

namespace {

void count_fork() { detail::process_generation.fetch_add(1, std::memory_order_relaxed); }

struct Kept {
  const void* object;
  const Kept* next;
};
std::atomic<const Kept*> kept{nullptr};

}  // namespace

// If the handler cannot be registered for want of memory, forks stay unnoticed, as they would be
// without it.
ForkGuard::ForkGuard() : generation_(process_generation()) {
  [[maybe_unused]] static const int registered = ::pthread_atfork(nullptr, nullptr, count_fork);
}

Status opened_before_fork(std::string_view what) {
  const std::string name(what);
  return Status::invalid_argument("this process is a fork() of the one that opened the " + name + ", and cannot use it: open the " + name +
                                  " after fork()");
}

void keep_until_exit(const void* object) {
  const Kept* const node = new (std::nothrow) Kept{object, kept.load()};
  if (node != nullptr) kept.store(node);
}

}  // namespace elider
