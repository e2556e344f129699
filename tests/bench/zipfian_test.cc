#include "bench/ycsb/zipfian.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "bench/common/random.h"
#include "bench/ycsb/key_chooser.h"

namespace elider::bench {
namespace {

double summed(uint64_t n, double theta) {
  double sum = 0;
  for (uint64_t k = n; k >= 1; --k) sum += std::pow(static_cast<double>(k), -theta);
  return sum;
}

TEST(Zipfian, zeta_equals_the_sum_term_by_term) {
  for (double theta : {0.2, 0.5, 0.9, 0.99, 0.999})
    for (uint64_t n : {1u, 2u, 999u, 1000u, 1001u, 5000u, 200'000u})
      EXPECT_NEAR(zeta(n, theta), summed(n, theta), 1e-9 * summed(n, theta)) << "n " << n << ", theta " << theta;
}

TEST(Zipfian, ranks_come_up_as_often_as_their_weight_says) {
  constexpr uint64_t kRanks = 1000;
  constexpr int kDraws = 2'000'000;
  const Zipfian zipfian(kRanks, 0.99);
  Random random(3);
  std::vector<double> seen(kRanks);
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t rank = zipfian.rank(random.uniform());
    ASSERT_LT(rank, kRanks);
    seen[rank] += 1.0 / kDraws;
  }
  const double sum = summed(kRanks, 0.99);
  EXPECT_NEAR(seen[0], 1 / sum, 0.01 / sum);
  EXPECT_NEAR(seen[1], std::pow(2, -0.99) / sum, 0.01 / sum);
  // The method fits the rest by a curve: tens of ranks together are within some percent.
  for (uint64_t first = 2; first < kRanks; first *= 3) {
    double expected = 0;
    double actual = 0;
    for (uint64_t rank = first; rank < std::min(kRanks, first * 3); ++rank) {
      expected += std::pow(static_cast<double>(rank + 1), -0.99) / sum;
      actual += seen[rank];
    }
    EXPECT_NEAR(actual, expected, 0.12 * expected) << "from rank " << first;
  }
}

TEST(Zipfian, the_last_draw_stays_below_n_for_every_size) {
  for (uint64_t n : {1u, 2u, 3u, 10u, 1001u, 1'000'000u})
    for (double theta : {0.1, 0.5, 0.99}) {
      const Zipfian zipfian(n, theta);
      for (double u : {0.0, 0.3, 0.5, 0.9, 0.999999, 1 - 0x1p-53}) EXPECT_LT(zipfian.rank(u), n) << n << " " << theta << " " << u;
    }
}

TEST(Zipfian, a_whole_exponent_gives_the_ranks_that_its_neighbour_gives) {
  // 1 / (1 - theta) is 100 for the one, so it multiplies; for the other it is not whole.
  const Zipfian whole(1'000'000, 0.99);
  const Zipfian near(1'000'000, 0.99 + 1e-8);
  Random random(23);
  for (int i = 0; i < 100'000; ++i) {
    const double u = random.uniform();
    const double rank = static_cast<double>(whole.rank(u));
    ASSERT_NEAR(static_cast<double>(near.rank(u)), rank, 1 + 1e-3 * rank) << u;
  }
}

TEST(Zipfian, resize_gives_what_a_new_one_would) {
  Zipfian grown(1500, 0.99);
  for (uint64_t n = 1500; n <= 90'000; n += 500) grown.resize(n);
  const Zipfian fresh(grown.size(), 0.99);
  Random random(5);
  for (int i = 0; i < 1000; ++i) {
    const double u = random.uniform();
    EXPECT_NEAR(static_cast<double>(grown.rank(u)), static_cast<double>(fresh.rank(u)), 1);
  }
}

YcsbOptions options_for(Distribution distribution, uint64_t records) {
  YcsbOptions options;
  options.records = records;
  options.distribution = distribution;
  return options;
}

TEST(KeyChooser, uniform_draws_every_record_about_equally_often) {
  const YcsbOptions options = options_for(Distribution::kUniform, 10);
  const KeySpace space(options.records, 1, false);
  KeyChooser chooser(options, space);
  Random random(11);
  std::vector<int> seen(10);
  for (int i = 0; i < 100'000; ++i) ++seen.at(chooser.draw(random));
  for (int count : seen) EXPECT_NEAR(count, 10'000, 500);
}

TEST(KeyChooser, zipfian_scatters_its_common_keys_and_clustered_does_not) {
  YcsbOptions options = options_for(Distribution::kZipfian, 100'000);
  const KeySpace space(options.records, 1, false);
  const auto share_of_first_thousand = [&] {
    KeyChooser chooser(options, space);
    Random random(13);
    int first = 0;
    for (int i = 0; i < 100'000; ++i) first += chooser.draw(random) < 1000;
    return first / 100'000.0;
  };
  EXPECT_LT(share_of_first_thousand(), 0.2);
  options.clustered = true;
  EXPECT_GT(share_of_first_thousand(), 0.5);
}

TEST(KeyChooser, latest_favours_the_newest_and_never_leaves_what_exists) {
  const YcsbOptions options = options_for(Distribution::kLatest, 10'000);
  KeySpace space(options.records, 2, false);
  KeyChooser chooser(options, space);
  Random random(17);
  // Thread 1 is ahead: what it inserted beyond thread 0 is not counted yet.
  for (int i = 0; i < 500; ++i) space.record_inserted(0);
  for (int i = 0; i < 900; ++i) space.record_inserted(1);
  EXPECT_EQ(space.existing(), 11'000u);
  int newest = 0;
  for (int i = 0; i < 100'000; ++i) {
    const Key key = chooser.draw(random);
    ASSERT_LT(key, 11'000u);
    newest += key >= 10'900;
  }
  EXPECT_GT(newest, 40'000);
}

TEST(KeySpace, threads_insert_records_of_their_own) {
  KeySpace space(100, 3, false);
  EXPECT_EQ(space.next_record(0), 100u);
  EXPECT_EQ(space.next_record(2), 102u);
  space.record_inserted(2);
  EXPECT_EQ(space.next_record(2), 105u);
  EXPECT_EQ(space.existing(), 100u);
}

}  // namespace
}  // namespace elider::bench
