#include "tools/common/interrupt.h"

#include <atomic>

namespace elider::tools {

namespace {
std::atomic<bool> came{false};
static_assert(std::atomic<bool>::is_always_lock_free, "the signal handler writes this flag");
void note(int) { came.store(true, std::memory_order_relaxed); }  // relaxed: the flag does not order other accesses
}  // namespace

InterruptWatch::InterruptWatch(bool wanted, Second second) : before_{} {
  if (!wanted || ::sigaction(SIGINT, nullptr, &before_) != 0 || before_.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(second == Second::kEndsTheProcess ? SA_RESETHAND | SA_RESTART : SA_RESTART);
  ::sigemptyset(&action.sa_mask);
  watches_ = ::sigaction(SIGINT, &action, nullptr) == 0;
}

InterruptWatch::~InterruptWatch() {
  if (watches_) ::sigaction(SIGINT, &before_, nullptr);
}

bool interrupted() { return came.load(std::memory_order_relaxed); }

}  // namespace elider::tools
