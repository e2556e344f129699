// ForkGuard: reports whether fork() has copied an object into a child process. The child has only
// the thread that forked, and shares open files and locks with the parent. So the child must not
// use a database or heap that its parent has opened.
//
// A handler of pthread_atfork counts forks in the child. vfork() and posix_spawn() do not run
// handlers, which is harmless, because a program that they start does not use the parent's objects.
// _Fork() and raw clone() are not detected. Thread safety: all functions may be called from any
// thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "elider/status.h"

namespace elider {

namespace detail {
// Only the fork handler changes this, while the child has one thread. Never 0.
inline constinit std::atomic<uint32_t> process_generation{1};
}  // namespace detail

// Returns 1 plus the number of forks between this process and the first ancestor that detects
// forks. relaxed: the value changes only while the process has one thread.
inline uint32_t process_generation() { return detail::process_generation.load(std::memory_order_relaxed); }

class ForkGuard {
 public:
  ForkGuard();  // forks are detected from now on
  uint32_t generation() const { return generation_; }
  // Returns true in a forked child, where this is a copy of the parent's object.
  bool in_child() const { return generation_ != process_generation(); }

 private:
  uint32_t generation_;
};

// Keeps a forked child from holding a descriptor's lock. In each child, the descriptor refers to
// /dev/null instead. Destroy this object before closing the descriptor.
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

// Returns the status of a call in a child on a database or heap that its parent has opened. `what`
// is "database" or "heap".
Status opened_before_fork(std::string_view what);

// Keeps an object reachable until the process ends, because the child cannot destroy it. Otherwise
// leak checkers would report it.
void keep_until_exit(const void* object);

}  // namespace elider
