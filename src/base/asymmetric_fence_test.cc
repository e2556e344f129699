#include "base/asymmetric_fence.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "base/cache_line.h"
#include "base/spin.h"

namespace elider {
namespace {

// Dekker's pattern, many times: each side stores its own word, passes its fence, and reads the
// other side's word. The pair of fences forbids that both read 0.
TEST(AsymmetricFence, NeverDoBothSidesMissTheOther) {
  prepare_asymmetric_fence();
  constexpr uint64_t kRounds = kThreadSanitizer ? 5000 : 20000;
  CacheLine<std::atomic<uint64_t>> light_word, heavy_word;
  std::array<CacheLine<std::atomic<uint64_t>>, 2> arrived;
  uint64_t light_saw = 0, heavy_saw = 0;
  uint64_t missed = 0;
  auto meet = [&](int me, uint64_t round) {
    arrived[me]->store(round, std::memory_order_release);
    Spin spin;
    while (arrived[1 - me]->load(std::memory_order_acquire) < round) spin.wait();
  };
  std::thread light([&] {
    for (uint64_t round = 1; round <= kRounds; ++round) {
      meet(0, 2 * round - 1);
      light_word->store(round, std::memory_order_relaxed);
      light_fence();
      light_saw = heavy_word->load(std::memory_order_relaxed);
      meet(0, 2 * round);
    }
  });
  for (uint64_t round = 1; round <= kRounds; ++round) {
    meet(1, 2 * round - 1);
    heavy_word->store(round, std::memory_order_relaxed);
    heavy_fence();
    heavy_saw = light_word->load(std::memory_order_relaxed);
    meet(1, 2 * round);
    // Both threads wait for the next round, or the light thread has ended, so light_saw does not
    // change.
    missed += light_saw != round && heavy_saw != round;
  }
  light.join();
  EXPECT_EQ(missed, 0u);
}

}  // namespace
}  // namespace elider
