#include "bench/common/histogram.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "bench/common/random.h"

namespace elider::bench {
namespace {

TEST(Histogram, without_records_quantiles_are_zero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.quantile(0.5), 0);
  EXPECT_EQ(histogram.mean(), 0);
}

TEST(Histogram, buckets_cover_all_values_without_gap_or_overlap) {
  for (uint32_t bucket = 0; bucket + 1 < Histogram::kBuckets; ++bucket) {
    const uint64_t first = Histogram::bucket_first(bucket);
    const uint64_t last = first + Histogram::bucket_width(bucket) - 1;
    ASSERT_EQ(Histogram::bucket_of(first), bucket);
    ASSERT_EQ(Histogram::bucket_of(last), bucket);
    ASSERT_EQ(Histogram::bucket_first(bucket + 1), last + 1);
  }
  EXPECT_EQ(Histogram::bucket_of(~uint64_t{0}), Histogram::kBuckets - 1);
}

TEST(Histogram, small_values_are_exact) {
  Histogram histogram;
  for (uint64_t value = 1; value <= 50; ++value) histogram.record(value);
  EXPECT_EQ(histogram.quantile(0.5), 25);
  EXPECT_EQ(histogram.quantile(0.02), 1);
  EXPECT_EQ(histogram.quantile(1), 50);
  EXPECT_EQ(histogram.max(), 50u);
  EXPECT_DOUBLE_EQ(histogram.mean(), 25.5);
}

TEST(Histogram, quantiles_are_within_two_percent_of_sorted_values) {
  // Latencies of seven magnitudes, as those of a stalled run are.
  Random random(7);
  Histogram histogram;
  std::vector<double> values;
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t value = static_cast<uint64_t>(std::pow(10, 1 + 7 * random.uniform()));
    histogram.record(value);
    values.push_back(static_cast<double>(value));
  }
  std::sort(values.begin(), values.end());
  for (double share : {0.01, 0.25, 0.5, 0.9, 0.99, 0.999}) {
    const double exact = values[static_cast<size_t>(std::ceil(share * static_cast<double>(values.size()))) - 1];
    EXPECT_NEAR(histogram.quantile(share), exact, 0.02 * exact) << share;
  }
}

TEST(Histogram, merge_gives_what_one_histogram_of_all_would) {
  Random random(9);
  Histogram all;
  Histogram parts[2];
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t value = random.below(1'000'000);
    all.record(value);
    parts[i % 2].record(value);
  }
  parts[0].merge(parts[1]);
  EXPECT_EQ(parts[0].count(), all.count());
  EXPECT_EQ(parts[0].max(), all.max());
  EXPECT_DOUBLE_EQ(parts[0].mean(), all.mean());
  for (double share : {0.1, 0.5, 0.99}) EXPECT_EQ(parts[0].quantile(share), all.quantile(share));
}

}  // namespace
}  // namespace elider::bench
