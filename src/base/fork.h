// ForkGuard: tells an object that fork() has copied it into a child process. The child has only the
// thread that forked, and shares open files and locks with the parent. So the child must not use a
// database or heap that its parent has opened.
//
// Handlers of pthread_atfork count in the child. vfork() and posix_spawn() do not run handlers,
// which is fine because what they start does not run this code. _Fork() and raw clone() stay
// undetected. Thread safety: all functions may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "elider/status.h"

namespace elider {

namespace detail {
// Only the handler changes it, while the child has one thread. Never 0.
inline constinit std::atomic<uint32_t> process_generation{1};
}  // namespace detail

// 1 + the number of forks between the first ancestor that watches them and this process.
// relaxed: it changes only while the process has one thread.
inline uint32_t process_generation() { return detail::process_generation.load(std::memory_order_relaxed); }

class ForkGuard {
 public:
  ForkGuard();  // watches forks from then on
  uint32_t generation() const { return generation_; }
  // Returns true in a forked child, for a copy of the parent's object.
  bool in_child() const { return generation_ != process_generation(); }

 private:
  uint32_t generation_;
};

// Keeps a forked child from holding a descriptor's lock: in each child, the descriptor refers to
// /dev/null instead. The object must be destroyed before the descriptor is closed.
class ClosedInChild {
 public:
  explicit ClosedInChild(int descriptor);
  ~ClosedInChild();
  ClosedInChild(const ClosedInChild&) = delete;
  ClosedInChild& operator=(const ClosedInChild&) = delete;

 private:
  friend struct ForkHandlers;
  const int descriptor_;
  ClosedInChild* next_ = nullptr;
  ClosedInChild** before_ = nullptr;
};

// What a child gets for each call on what its parent has opened. what: "database" or "heap".
Status opened_before_fork(std::string_view what);

// Keeps an object reachable that the child cannot destroy, so that leak checkers do not report it.
void keep_until_exit(const void* object);

}  // namespace elider
