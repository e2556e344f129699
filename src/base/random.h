// Random: a small, fast generator (xoshiro256**, seeded by splitmix64). A seed gives the same
// numbers on all machines.
//
// Do not use it for secrets. Thread safety: one thread at a time; give each thread its own seed.
#pragma once

#include <bit>
#include <cstdint>

namespace elider {

// Performs one step of splitmix64: advances `state` and returns a well-mixed number.
inline uint64_t splitmix64(uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

class Random {
 public:
  using result_type = uint64_t;  // required by std::shuffle and the distributions

  explicit Random(uint64_t seed = 0) {
    for (uint64_t& word : state_) word = splitmix64(seed);
  }

  uint64_t next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Returns a number from 0 to n - 1, where n >= 1. The multiply-and-shift method has a bias below
  // n / 2^64.
  uint64_t below(uint64_t n) { return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64); }

  // Returns a number from first to last, inclusive.
  uint64_t between(uint64_t first, uint64_t last) {
    const uint64_t span = last - first;
    return span == ~uint64_t{0} ? next() : first + below(span + 1);
  }

  // Returns x with 0 <= x < 1, from 53 random bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  // Returns true with probability 1/n, n >= 1.
  bool one_in(uint64_t n) { return below(n) == 0; }

  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }
  uint64_t operator()() { return next(); }

 private:
  uint64_t state_[4];
};

}  // namespace elider
