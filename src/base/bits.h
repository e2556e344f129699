// Small arithmetic on powers of two. Pure functions.
#pragma once

#include <bit>
#include <cstdint>

namespace elider {

// `alignment` is a power of two.
constexpr uint64_t align_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }
constexpr uint64_t align_down(uint64_t value, uint64_t alignment) { return value & ~(alignment - 1); }
// value >= 1.
constexpr unsigned log2_floor(uint64_t value) { return 63u - static_cast<unsigned>(std::countl_zero(value)); }

}  // namespace elider
