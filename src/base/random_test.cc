#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/spin.h"

namespace elider {
namespace {

TEST(Random, SameSeedSameNumbers) {
  Random a(7), b(7), c(8);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const uint64_t number = a.next();
    EXPECT_EQ(number, b.next());
    differs |= number != c.next();
  }
  EXPECT_TRUE(differs);
}

TEST(Random, SplitmixGivesThePublishedNumbers) {
  uint64_t state = 1234567;
  EXPECT_EQ(splitmix64(state), 6457827717110365317u);
  EXPECT_EQ(splitmix64(state), 3203168211198807973u);
}

TEST(Random, BelowIsUniform) {
  Random random(3);
  constexpr int kBuckets = 10, kDraws = 100000;
  std::vector<int> counts(kBuckets);
  for (int i = 0; i < kDraws; ++i) ++counts[random.below(kBuckets)];
  double chi_square = 0;
  for (int count : counts) chi_square += std::pow(count - kDraws / kBuckets, 2) / (kDraws / kBuckets);
  EXPECT_LT(chi_square, 40);  // nine degrees of freedom: the value is larger once in 100,000 runs
}

TEST(Random, BoundsAreReachedAndKept) {
  Random random(4);
  uint64_t lowest = 100, highest = 0;
  for (int i = 0; i < 10000; ++i) {
    const uint64_t number = random.between(5, 9);
    lowest = std::min(lowest, number);
    highest = std::max(highest, number);
    const double fraction = random.uniform();
    ASSERT_GE(fraction, 0.0);
    ASSERT_LT(fraction, 1.0);
  }
  EXPECT_EQ(lowest, 5u);
  EXPECT_EQ(highest, 9u);
  EXPECT_EQ(random.below(1), 0u);
  static_cast<void>(random.between(0, ~uint64_t{0}));
}

TEST(TickClock, FollowsTheSteadyClock) {
  // Uses the smallest of several errors, because a thread may lose its processor between two
  // readings.
  int64_t error = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 5 && error >= 2'000'000; ++i) {
    const TickClock clock;
    const uint64_t stamp = ticks();
    const uint64_t at_stamp = now_ns();
    while (now_ns() < at_stamp + 20'000'000) pause();
    error = std::min(error, std::abs(static_cast<int64_t>(clock.ns_of(stamp)) - static_cast<int64_t>(at_stamp)));
  }
  EXPECT_LT(error, 2'000'000);
  const TickClock clock;
  const uint64_t of_the_future = clock.ns_of(ticks() + 1000000000);
  EXPECT_LE(of_the_future, now_ns());
}

TEST(CheckDeathTest, AFailedCheckStopsTheProcessWithItsWords) {
  const int two = 2;
  ELIDER_CHECK(two == 2, "numbers are numbers");
  EXPECT_DEATH(ELIDER_CHECK(two == 3, "two is three"), "elider: two is three \\(two == 3\\) at .*random_test.cc");
}

}  // namespace
}  // namespace elider
