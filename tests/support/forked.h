// Forked children of a test: one that runs a body, and one that lives until the test ends it.
//
// Thread safety: a test is one thread, or its other threads do not care about a fork.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>

#include "base/sanitizer.h"

namespace elider::test {

// Sanitizers of threads and the emulator's scheduler do not survive a fork of several threads.
#if defined(ELIDER_EMULATOR)
inline constexpr bool kMayFork = false;
#else
inline constexpr bool kMayFork = !kThreadSanitizer;
#endif

inline constexpr unsigned kChildSeconds = 60;  // then it is killed

// Forks. The child ends with what body() returns. Gives what waitpid() says of it, 0 if that is 0.
inline int run_in_child(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kChildSeconds);
    ::_exit(body());
  }
  int how = 0;
  return child > 0 && ::waitpid(child, &how, 0) == child ? how : -1;
}

// A child that does nothing and lives as long as this.
class LivingChild {
 public:
  LivingChild() {
    EXPECT_EQ(::pipe(ends_), 0);
    std::fflush(nullptr);
    child_ = ::fork();
    EXPECT_GE(child_, 0);
    if (child_ == 0) {
      ::alarm(kChildSeconds);
      char byte;
      ::close(ends_[1]);
      ::_exit(::read(ends_[0], &byte, 1) == 0 ? 0 : 1);
    }
  }
  ~LivingChild() {
    ::close(ends_[1]);
    int how = 0;
    EXPECT_EQ(::waitpid(child_, &how, 0), child_);
    EXPECT_EQ(how, 0) << "it ended before";
    ::close(ends_[0]);
  }
  LivingChild(const LivingChild&) = delete;
  LivingChild& operator=(const LivingChild&) = delete;

 private:
  int ends_[2] = {-1, -1};
  pid_t child_ = -1;
};

}  // namespace elider::test
