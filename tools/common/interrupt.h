// InterruptWatch: while it exists, the first SIGINT (Ctrl-C) is recorded, so that a run can end
// early and report its results. The second SIGINT ends the process or, with Second::kIsNotedToo, is
// also only recorded. Use kIsNotedToo in a process whose child handles the signal. Thread safety:
// only one thread at a time may create a watch; all threads may call interrupted().
#pragma once

#include <csignal>

namespace elider::tools {

class InterruptWatch {
 public:
  enum class Second { kEndsTheProcess, kIsNotedToo };
  // Does nothing if `wanted` is false, or if the process ignores SIGINT.
  explicit InterruptWatch(bool wanted, Second second = Second::kEndsTheProcess);
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

 private:
  bool watches_ = false;
  struct sigaction before_;
};

// Returns true if any watch of this process has recorded a SIGINT.
bool interrupted();

}  // namespace elider::tools
