// Spread: the minimum, the median and the maximum of the results of several repetitions.
// Thread safety: pure functions.
#pragma once

#include <vector>

namespace elider::bench {

struct Spread {
  double min = 0;
  double median = 0;
  double max = 0;
};
// All values are 0 if `values` is empty.
Spread spread_of(std::vector<double> values);

}  // namespace elider::bench
