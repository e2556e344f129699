// Histogram: how often each latency was seen, to about 2%, whatever its magnitude.
//
// Values below 64 have a bucket each; above, every power of two is split into 32 buckets of equal
// width (the scheme of HdrHistogram), so a bucket is at most 1/32 of its value wide and its middle
// at most 1.6% off. Recording is a shift and an increment of one counter: common latencies share a
// few cache lines. Values are of any unit; benchmarks record ticks and scale them when they report.
// Thread safety: none; each thread has its own, merged when the threads have ended.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace elider::bench {

class Histogram {
 public:
  static constexpr unsigned kSplitBits = 5;
  static constexpr uint64_t kExactBelow = uint64_t{2} << kSplitBits;  // values with a bucket of their own
  static constexpr uint32_t kBuckets = static_cast<uint32_t>((64 - kSplitBits + 1) << kSplitBits);

  Histogram() : counts_(kBuckets) {}

  void record(uint64_t value) {
    ++counts_[bucket_of(value)];
    sum_ += value;
    if (value > max_) [[unlikely]] max_ = value;
  }

  void merge(const Histogram& other);

  uint64_t count() const;
  uint64_t max() const { return max_; }
  double mean() const;
  // The value below or at which this share (0 to 1) of the records lies: the middle of its bucket,
  // and never more than max(). 0 where nothing was recorded.
  double quantile(double share) const;

  static constexpr uint32_t bucket_of(uint64_t value) {
    if (value < kExactBelow) return static_cast<uint32_t>(value);
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kSplitBits;
    return static_cast<uint32_t>((static_cast<uint64_t>(shift) << kSplitBits) + (value >> shift));
  }
  static constexpr uint64_t bucket_first(uint32_t bucket) {
    if (bucket < kExactBelow) return bucket;
    const unsigned shift = (bucket >> kSplitBits) - 1;
    return (uint64_t{bucket} - (uint64_t{shift} << kSplitBits)) << shift;
  }
  static constexpr uint64_t bucket_width(uint32_t bucket) {
    return bucket < kExactBelow ? 1 : uint64_t{1} << ((bucket >> kSplitBits) - 1);
  }

 private:
  std::vector<uint64_t> counts_;
  uint64_t sum_ = 0;
  uint64_t max_ = 0;
};

static_assert(Histogram::bucket_of(~uint64_t{0}) == Histogram::kBuckets - 1);
static_assert(Histogram::bucket_of(Histogram::kExactBelow) == Histogram::kExactBelow);

}  // namespace elider::bench
