#include "base/random_seed.h"

#include <random>

namespace elider {

uint64_t random_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace elider
