#include "base/bits.h"

#include <gtest/gtest.h>

#include <vector>

namespace elider {
namespace {

std::vector<uint32_t> positions_of(uint64_t mask) {
  std::vector<uint32_t> positions;
  for (const uint32_t position : Bits(mask)) positions.push_back(position);
  return positions;
}

TEST(Bits, AreVisitedFromTheLowestOn) {
  EXPECT_TRUE(positions_of(0).empty());
  EXPECT_EQ(positions_of(0b10110), (std::vector<uint32_t>{1, 2, 4}));
  EXPECT_EQ(positions_of(uint64_t{1} << 63 | 1), (std::vector<uint32_t>{0, 63}));
  EXPECT_EQ(positions_of(~uint64_t{0}).size(), 64u);
}

}  // namespace
}  // namespace elider
