// TestRandom: the randomness of a random test. It prints its seed, and ELIDER_SEED=<number> replays
// it. scaled(): how long a test runs, multiplied by ELIDER_TEST_SCALE (default 1).
//
// Not for measuring: std::mt19937_64 is slow enough to show there.
// Thread safety: one thread uses a TestRandom; give each thread its own through split().
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace elider::test {

inline uint64_t scaled(uint64_t count) {
  const char* scale = std::getenv("ELIDER_TEST_SCALE");
  if (scale == nullptr) return count;
  const double product = static_cast<double>(count) * std::strtod(scale, nullptr);
  return product < 1 ? 1 : static_cast<uint64_t>(product);
}

class TestRandom {
 public:
  // Seeded by ELIDER_SEED, or by chance; says which.
  TestRandom() : TestRandom(choose_seed()) { std::cerr << "[   SEED   ] ELIDER_SEED=" << seed_ << " replays this\n"; }
  explicit TestRandom(uint64_t seed) : seed_(seed), engine_(seed) {}

  uint64_t seed() const { return seed_; }
  uint64_t next() { return engine_(); }
  // 0 to bound - 1. The bias of the remainder is far below what a test could notice.
  uint64_t below(uint64_t bound) { return engine_() % bound; }
  uint64_t between(uint64_t first, uint64_t last) { return first + below(last - first + 1); }
  bool percent(uint64_t chance) { return below(100) < chance; }
  // Another stream, the same for the same seed and number.
  TestRandom split(uint64_t number) const { return TestRandom(seed_ * 0x9e3779b97f4a7c15u + number + 1); }

 private:
  static uint64_t choose_seed() {
    if (const char* given = std::getenv("ELIDER_SEED")) return std::strtoull(given, nullptr, 10);
    return std::random_device{}() % 1'000'000'000;  // short enough to retype
  }

  uint64_t seed_;
  std::mt19937_64 engine_;
};

}  // namespace elider::test
