// Zipfian draws ranks 0 to n - 1, where the probability of rank r is proportional to 1 / (r +
// 1)^theta.
//
// It uses the method of Gray et al., "Quickly generating billion-record synthetic databases"
// (SIGMOD 1994), as YCSB does. The method is exact for the two most common ranks and a close
// approximation for the others. A draw computes at most one power. The normalizing sum is computed
// with the Euler-Maclaurin formula, so changing n is cheap.
// Thread safety: all threads may call const members; resize() needs exclusive access.
#pragma once

#include <cmath>
#include <cstdint>

namespace elider::bench {

// Returns the sum of k^-theta for k = 1 to n, with about 12 correct digits. theta must be above 0
// and below 1.
double zeta(uint64_t n, double theta);

class Zipfian {
 public:
  // n must be at least 1; theta must be above 0 and below 1 (0.99 in YCSB).
  Zipfian(uint64_t n, double theta);

  // Sets n: from now on, draws return ranks 0 to n - 1.
  void resize(uint64_t n);
  uint64_t size() const { return n_; }

  // Returns the rank for a uniform random number 0 <= u < 1.
  uint64_t rank(double u) const {
    const double scaled = u * zeta_n_;
    if (scaled < 1) return 0;
    if (scaled < two_ranks_) return n_ > 1 ? 1 : 0;
    const uint64_t result = static_cast<uint64_t>(static_cast<double>(n_) * power(eta_ * u - eta_ + 1));
    return result < n_ ? result : n_ - 1;
  }

 private:
  // Returns x^alpha. If alpha is an integer, as with YCSB's theta of 0.99, the power is computed by
  // multiplications, because pow() would cost more than the rest of a draw.
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
  uint32_t whole_alpha_;  // alpha if it is an integer, otherwise 0
  double two_ranks_;      // the sum of the first two terms
  uint64_t n_ = 0;
  double zeta_n_ = 0;
  double eta_ = 0;
};

}  // namespace elider::bench
