// ForkGuard: tells an object that fork() has copied it into a child. Only the thread that forked
// lives on there, and open files and locks are shared with the parent. So the child must leave
// alone what its parent has opened, a database or a heap.
//
// Handlers of pthread_atfork count in the child. vfork() and posix_spawn() run no handlers, and
// do not need to: what they start does not run this code. _Fork() and raw clone() go unnoticed.
// Thread safety: all.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "elider/status.h"

namespace elider {

namespace detail {
// Changed by the handler alone, which runs while the child has one thread. Never 0.
inline constinit std::atomic<uint32_t> process_generation{1};
}  // namespace detail

// How many forks lie between this process and its first ancestor that watches them, and 1.
// relaxed: it changes only while the process has one thread.
inline uint32_t process_generation() { return detail::process_generation.load(std::memory_order_relaxed); }

class ForkGuard {
 public:
  ForkGuard();  // watches forks from now on
  uint32_t generation() const { return generation_; }
  // Whether this is a copy in a forked child of the process that made it.
  bool in_child() const { return generation_ != process_generation(); }

 private:
  uint32_t generation_;
};

// A descriptor whose lock a forked child must not keep: in each child the number leads to /dev/null
// instead. Registered as long as this lives, which must end before the descriptor is closed.
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

// Keeps an object that the child cannot destroy reachable, so that no leak checker reports it.
void keep_until_exit(const void* object);

}  // namespace elider
