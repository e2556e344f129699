// Histogram counts latencies of any magnitude, with a relative error of at most 1.6%.
//
// Each value below 64 has its own bucket. From 64 upwards, each power of two is split into 32
// buckets of equal width, as in HdrHistogram. A bucket's width is therefore at most 1/32 of its
// smallest value, and its midpoint differs from any of its values by at most 1.6%. Recording a
// value takes a shift and a few additions, and the counters of common latencies share a few cache
// lines. Values may have any unit; benchmarks record ticks and convert them in the report.
// Thread safety: none. Each thread has its own histogram, and they are merged after the threads
// have ended.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace elider::bench {

class Histogram {
 public:
  static constexpr unsigned kSplitBits = 5;
  static constexpr uint64_t kExactBelow = uint64_t{2} << kSplitBits;  // each smaller value has its own bucket
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
  // Returns the value at or below which the fraction `share` (0 to 1) of the recorded values lies.
  // The result is the midpoint of that value's bucket, but at most max(), and 0 if no value was
  // recorded.
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
