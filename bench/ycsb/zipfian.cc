#include "bench/ycsb/zipfian.h"

#include <algorithm>

namespace elider::bench {

namespace {

// The number of terms that are summed individually. The error of the formula falls with the fourth
// power of this number.
constexpr uint64_t kHeadTerms = 1000;
// The largest alpha for which power() multiplies instead of calling pow(). With more
// multiplications, rounding errors would accumulate.
constexpr double kWholeAlphaMax = 1000;

double head(uint64_t terms, double theta) {
  double sum = 0;
  for (uint64_t k = terms; k >= 1; --k) sum += std::pow(static_cast<double>(k), -theta);  // small terms first, for precision
  return sum;
}

// The Euler-Maclaurin approximation of the sum up to n, except for a constant term.
double tail(double n, double theta) {
  return std::pow(n, 1 - theta) / (1 - theta) + std::pow(n, -theta) / 2 - theta * std::pow(n, -theta - 1) / 12;
}

}  // namespace

double zeta(uint64_t n, double theta) {
  const uint64_t terms = std::min(n, kHeadTerms);
  const double sum = head(terms, theta);
  return n <= kHeadTerms ? sum : sum + tail(static_cast<double>(n), theta) - tail(static_cast<double>(terms), theta);
}

Zipfian::Zipfian(uint64_t n, double theta) : theta_(theta), alpha_(1 / (1 - theta)), two_ranks_(1 + std::pow(0.5, theta)) {
  const double whole = std::round(alpha_);
  whole_alpha_ = whole <= kWholeAlphaMax && std::abs(alpha_ - whole) < 1e-9 * whole ? static_cast<uint32_t>(whole) : 0;
  resize(n);
}

void Zipfian::resize(uint64_t n) {
  if (n == n_) return;
  // The sum of the first terms is the same for every large n, so it is computed only once.
  if (n > kHeadTerms && n_ > kHeadTerms) zeta_n_ += tail(static_cast<double>(n), theta_) - tail(static_cast<double>(n_), theta_);
  else zeta_n_ = zeta(n, theta_);
  n_ = n;
  eta_ = n <= 2 ? 1 : (1 - std::pow(2 / static_cast<double>(n), 1 - theta_)) / (1 - two_ranks_ / zeta_n_);
}

}  // namespace elider::bench
