// ForkGuard: detects that fork() has copied an object into a child process. The child has only the
// thread that called fork(), and shares open files and file locks with its parent. It must
// therefore not use a database or heap that its parent opened.
//
// A pthread_atfork() handler counts the forks in the child. vfork() and posix_spawn() do not run
// the handler, which is harmless because the program that they start does not use the parent's
// objects. _Fork() and raw clone() are not detected. Thread safety: all functions may be called
// from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "elider/status.h"

namespace elider {

namespace detail {
// Changed only by the fork handler, while the child has one thread. Never 0.
inline constinit std::atomic<uint32_t> process_generation{1};
}  // namespace detail

// Returns 1 plus the number of forks between this process and its first ancestor that registered
// the fork handler. relaxed: the value changes only while the process has one thread.
inline uint32_t process_generation() { return detail::process_generation.load(std::memory_order_relaxed); }

class ForkGuard {
 public:
  ForkGuard();  // detects every fork() after this point
  uint32_t generation() const { return generation_; }
  // Returns true in a child process that was forked after this object was constructed.
  bool in_child() const { return generation_ != process_generation(); }

 private:
  uint32_t generation_;
};

// Prevents forked children from keeping the file lock that a descriptor holds: in each child, the
// fork handler makes the descriptor refer to /dev/null. Destroy this object before closing the
// descriptor.
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

// Returns the error for a call in a child process on a database or heap that its parent opened.
// `what` is "database" or "heap".
Status opened_before_fork(std::string_view what);

// Keeps an object reachable until the process ends. A child process cannot destroy its parent's
// objects, and leak checkers would otherwise report them.
void keep_until_exit(const void* object);

}  // namespace elider
