// Arithmetic with powers of two, and iteration over the set bits of a mask. All functions are pure.
#pragma once

#include <bit>
#include <cstdint>

namespace elider {

// Rounds `value` up to a multiple of `alignment`, which must be a power of two.
constexpr uint64_t align_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }
// Returns the binary logarithm of `value`, rounded down. `value` must not be 0.
constexpr unsigned log2_floor(uint64_t value) { return 63u - static_cast<unsigned>(std::countl_zero(value)); }

// Iterates over the positions of a mask's set bits in ascending order:
// for (uint32_t g : Bits(groups)).
class Bits {
 public:
  constexpr explicit Bits(uint64_t mask) : rest_(mask) {}

  class Position {
   public:
    constexpr explicit Position(uint64_t rest) : rest_(rest) {}
    [[gnu::always_inline]] constexpr uint32_t operator*() const {
      return static_cast<uint32_t>(std::countr_zero(rest_));
    }
    [[gnu::always_inline]] constexpr Position& operator++() {
      rest_ &= rest_ - 1;
      return *this;
    }
    [[gnu::always_inline]] constexpr bool operator!=(const Position& other) const { return rest_ != other.rest_; }

   private:
    uint64_t rest_;
  };
  [[gnu::always_inline]] constexpr Position begin() const { return Position(rest_); }
  [[gnu::always_inline]] constexpr Position end() const { return Position(0); }

 private:
  uint64_t rest_;
};

}  // namespace elider
