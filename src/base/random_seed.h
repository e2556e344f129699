// random_seed(): a random number from the operating system, which other programs cannot guess.
//
// Thread safety: all threads may call the function.
#pragma once

#include <cstdint>

namespace elider {

uint64_t random_seed();

}  // namespace elider
