#include "bench/common/processors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace elider::bench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Processors, ListsAreOfNumbersAndRanges) {
  EXPECT_THAT(parse_processors("0"), ElementsAre(0u));
  EXPECT_THAT(parse_processors("0,4"), ElementsAre(0u, 4u));
  EXPECT_THAT(parse_processors("2-4,9"), ElementsAre(2u, 3u, 4u, 9u));
  for (const char* wrong : {"", "x", "3-1", "1,", "1;2", "-2", "1-"}) EXPECT_THAT(parse_processors(wrong), IsEmpty()) << wrong;
}

TEST(Processors, ThoseThatShareACoreAreFound) {
  EXPECT_THAT(cores_of({0, 1, 2, 3}, {"0,2", "1,3", "0,2", "1,3"}), ElementsAre(ElementsAre(0u, 2u), ElementsAre(1u, 3u)));
  EXPECT_THAT(cores_of({4, 5}, {"4-5", "4-5"}), ElementsAre(ElementsAre(4u, 5u)));
  EXPECT_THAT(cores_of({1, 3}, {"0-1", "2-3"}), ElementsAre(ElementsAre(1u), ElementsAre(3u))) << "their siblings are not ours to use";
  EXPECT_THAT(cores_of({0, 1}, {"", ""}), ElementsAre(ElementsAre(0u), ElementsAre(1u))) << "the system does not tell";
}

TEST(Processors, BothOrdersHaveAllOfThisProcess) {
  std::vector<uint32_t> apart = processors_core_by_core(), beside = processors_side_by_side();
  ASSERT_FALSE(apart.empty());
  EXPECT_LE(core_count(), apart.size());
  std::sort(apart.begin(), apart.end());
  std::sort(beside.begin(), beside.end());
  EXPECT_EQ(apart, beside);
}

}  // namespace
}  // namespace elider::bench
