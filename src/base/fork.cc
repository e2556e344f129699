#include "base/fork.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <new>
#include <string>

#include "base/system_call.h"

namespace elider {

namespace {

// The fork handlers run in the thread that calls fork(). That thread holds the mutex during the
// fork, so that the child finds a consistent list.
constinit std::mutex closed_mutex;
constinit ClosedInChild* closed = nullptr;
constinit int null_descriptor = -1;  // guarded by closed_mutex; opened by the first ClosedInChild

struct Kept {
  const void* object;
  const Kept* next;
};
std::atomic<const Kept*> kept{nullptr};

}  // namespace

struct ForkHandlers {
  static void prepare() { closed_mutex.lock(); }
  static void in_parent() { closed_mutex.unlock(); }
  static void in_child() {
    detail::process_generation.fetch_add(1, std::memory_order_relaxed);
    for (const ClosedInChild* each = closed; each != nullptr; each = each->next_)
      static_cast<void>(::dup3(null_descriptor, each->descriptor_, O_CLOEXEC));
    closed_mutex.unlock();
  }
};

ClosedInChild::ClosedInChild(int descriptor) : descriptor_(descriptor) {
  const std::lock_guard lock(closed_mutex);
  if (null_descriptor < 0) null_descriptor = uninterrupted([] { return ::open("/dev/null", O_RDWR | O_CLOEXEC); });
  next_ = closed;
  before_ = &closed;
  if (next_ != nullptr) next_->before_ = &next_;
  closed = this;
}

ClosedInChild::~ClosedInChild() {
  const std::lock_guard lock(closed_mutex);
  *before_ = next_;
  if (next_ != nullptr) next_->before_ = before_;
}

// If the handlers cannot be registered because memory is exhausted, forks are not detected.
ForkGuard::ForkGuard() : generation_(process_generation()) {
  [[maybe_unused]] static const int registered = ::pthread_atfork(ForkHandlers::prepare, ForkHandlers::in_parent, ForkHandlers::in_child);
}

Status opened_before_fork(std::string_view what) {
  const std::string name(what);
  return Status::invalid_argument("the " + name + " was opened before fork(), and cannot be used in the child process; open the " + name +
                                  " after fork()");
}

void keep_until_exit(const void* object) {
  const Kept* const node = new (std::nothrow) Kept{object, kept.load()};
  if (node != nullptr) kept.store(node);
}

}  // namespace elider
