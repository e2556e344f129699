// Random: a stream of pseudorandom numbers for benchmark inputs (xoshiro256++, seeded by
// splitmix64). It is fast and good enough for any input distribution, but not cryptographically
// secure. The same seed gives the same numbers on every machine.
// Thread safety: none; each thread has its own stream, seeded by (seed, thread).
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace elider::bench {

// A bijection on 64-bit numbers whose results look random (splitmix64's output function).
constexpr uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit Random(uint64_t seed, uint64_t stream = 0) {
    uint64_t state = mix64(seed + 0x9e3779b97f4a7c15 * (stream + 1));
    for (uint64_t& word : state_) word = mix64(state += 0x9e3779b97f4a7c15);
  }

  uint64_t next() {
    const uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  // Returns a uniform random number from 0 to bound - 1, with a bias below bound / 2^64. `bound`
  // must be above 0.
  uint64_t below(uint64_t bound) { return scale(next(), bound); }
  // Returns a uniform random number from `first` to `last`, both included.
  uint64_t between(uint64_t first, uint64_t last) { return first + below(last - first + 1); }
  // Returns a uniform random number in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // Divides the range of 64-bit numbers into `bound` equal parts and returns the index of the part
  // that contains `x`.
  static uint64_t scale(uint64_t x, uint64_t bound) { return static_cast<uint64_t>(static_cast<unsigned __int128>(x) * bound >> 64); }

 private:
  std::array<uint64_t, 4> state_;
};

}  // namespace elider::bench
