// Zipfian: draws ranks 0 to n - 1 where rank r comes up in proportion to 1 / (r + 1)^theta.
// The method is that of Gray et al., "Quickly generating billion-record synthetic
// databases" (SIGMOD 1994), which YCSB uses too: exact for the two commonest ranks, a close
// fit for the rest, one power a draw. The normalizing sum is found by the Euler-Maclaurin
// formula, so n may change at no cost.
// Thread safety: const members from all threads; resize() by one alone.
#pragma once

#include <cmath>
#include <cstdint>

namespace elider::bench {

// The sum of k^-theta for k = 1 to n, to about 12 digits. theta: above 0, below 1.
double zeta(uint64_t n, double theta);

class Zipfian {
 public:
  // n >= 1; theta above 0 and below 1 (0.99 in YCSB).
  Zipfian(uint64_t n, double theta);

  // From now on ranks are 0 to n - 1.
  void resize(uint64_t n);
  uint64_t size() const { return n_; }

  // The rank for a uniform 0 <= u < 1.
  uint64_t rank(double u) const {
    const double scaled = u * zeta_n_;
    if (scaled < 1) return 0;
    if (scaled < two_ranks_) return n_ > 1 ? 1 : 0;
    const uint64_t result = static_cast<uint64_t>(static_cast<double>(n_) * power(eta_ * u - eta_ + 1));
    return result < n_ ? result : n_ - 1;
  }

 private:
  // x^alpha. Where alpha is a whole number, as for YCSB's theta of 0.99, by multiplying: pow()
  // would cost more than the rest of a draw.
  double power(double x) const {
    if (whole_alpha_ == 0) return std::pow(x, alpha_);
    double result = 1;
    for (uint32_t rest = whole_alpha_;;) {
      if (rest & 1) result *= x;
      if ((rest >>= 1) == 0) return result;
      x *= x;
    }
  }

  double theta_;
  double alpha_;          // 1 / (1 - theta)
  uint32_t whole_alpha_;  // the same, or 0 if it is not a whole number
  double two_ranks_;      // the sum's first two terms
  uint64_t n_ = 0;
  double zeta_n_ = 0;
  double eta_ = 0;
};

}  // namespace elider::bench
