// InterruptWatch: while it lives the first SIGINT (Ctrl-C) is noted and not obeyed, so that a
// run ends early and reports what it has; the second one ends the process, as ever, unless
// another process sees to that.
// Thread safety: made by one thread at a time; interrupted() by all.
#pragma once

#include <csignal>

namespace elider::tools {

class InterruptWatch {
 public:
  enum class Second { kEndsTheProcess, kIsNotedToo };
  // Does nothing where `wanted` is false, or where the process ignores SIGINT.
  explicit InterruptWatch(bool wanted, Second second = Second::kEndsTheProcess);
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

 private:
  bool watches_ = false;
  struct sigaction before_;
};

// Whether one has come to any watch of this process.
bool interrupted();

}  // namespace elider::tools
