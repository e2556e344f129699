#include "bench/common/histogram.h"

#include <algorithm>
#include <cmath>

namespace elider::bench {

void Histogram::merge(const Histogram& other) {
  for (uint32_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

uint64_t Histogram::count() const {
  uint64_t sum = 0;
  for (uint64_t count : counts_) sum += count;
  return sum;
}

double Histogram::mean() const {
  const uint64_t all = count();
  return all == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(all);
}

double Histogram::quantile(double share) const {
  const uint64_t all = count();
  if (all == 0) return 0;
  const double wanted = std::clamp(share, 0.0, 1.0) * static_cast<double>(all);
  const uint64_t rank = std::clamp<uint64_t>(static_cast<uint64_t>(std::ceil(wanted)), 1, all);
  uint64_t seen = 0;
  for (uint32_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (seen < rank) continue;
    const double middle = static_cast<double>(bucket_first(i)) + static_cast<double>(bucket_width(i) - 1) / 2;
    return std::min(middle, static_cast<double>(max_));
  }
  return static_cast<double>(max_);
}

}  // namespace elider::bench
