#include "base/spin.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "base/clock.h"

namespace elider {
namespace {
constexpr uint64_t kYieldingNs = 400'000;
}  // namespace

// Makes the system call directly, because the C library's sleeping functions are cancellation
// points.
void sleep_shortly() {
  static constexpr timespec kTime = {.tv_sec = 0, .tv_nsec = 50'000};  // the kernel adds its timer slack
  if (::syscall(SYS_nanosleep, &kTime, nullptr) != 0 && errno != EINTR) ::sched_yield();
}

void Spin::wait() {
  if (round_ < kRoundsOfPauses) {
    for (uint32_t i = 0; i < (1u << round_); ++i) pause();
    ++round_;
    return;
  }
  const uint64_t now = now_ns();
  if (yields_++ == 0) yields_until_ns_ = now + kYieldingNs;
  if (now < yields_until_ns_) {
    ::sched_yield();
    return;
  }
  ++sleeps_;
  sleep_shortly();
}

}  // namespace elider
