#include "base/spin.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <ctime>
#include <thread>

#include "base/clock.h"

namespace elider {
namespace {

uint64_t processor_ns() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

TEST(SpinTest, GivesUpTheProcessorOnlyWhenPausesHaveNotHelped) {
  Spin spin;
  while (!spin.has_paused()) spin.wait();
  EXPECT_EQ(spin.yields(), 0u);
  spin.wait();
  EXPECT_EQ(spin.yields(), 1u);
  spin.reset();
  EXPECT_EQ(spin.yields(), 0u);
  spin.wait();
  EXPECT_EQ(spin.yields(), 0u);
}

// A thread that only yields uses all of its processor if no other thread wants it.
TEST(SpinTest, ALongWaitSleeps) {
  constexpr uint64_t kWaitNs = 200'000'000;
  Spin spin;
  const uint64_t until = now_ns() + kWaitNs, used_before = processor_ns();
  while (now_ns() < until || spin.sleeps() == 0) spin.wait();  // the thread may lose its processor for the whole time
  EXPECT_LT(processor_ns() - used_before, kWaitNs / 2);
  EXPECT_GT(spin.sleeps(), 0u);
}

// Otherwise a cancelled thread might end while it holds a lock.
TEST(SpinTest, AThreadThatWaitsIsNotCancelled) {
  static std::atomic<bool> may_go;
  static std::atomic<int> rounds;
  may_go = false, rounds = 0;
  pthread_t thread;
  const auto body = [](void*) -> void* {
    Spin spin;
    while (!may_go) {
      spin.wait();
      if (spin.yields() != 0) sleep_shortly();
      ++rounds;
    }
    int ignored;
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
    return &may_go;
  };
  ASSERT_EQ(::pthread_create(&thread, nullptr, body, nullptr), 0);
  while (rounds == 0) sleep_shortly();
  ::pthread_cancel(thread);
  for (const int before = rounds; rounds < before + 20;) sleep_shortly();
  may_go = true;
  void* result = nullptr;
  ASSERT_EQ(::pthread_join(thread, &result), 0);
  EXPECT_EQ(result, &may_go);
}

}  // namespace
}  // namespace elider
