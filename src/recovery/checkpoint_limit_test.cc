// Tests how much log may be written after a checkpoint.
#include <gtest/gtest.h>

#include "recovery/checkpoint.h"

namespace elider::recovery {
namespace {

TEST(CheckpointLimitTest, ItGrowsWithTheDataAndIsNeverSmall) {
  EXPECT_EQ(automatic_log_limit(0), 64u << 20) << "no checkpoint was ever taken";
  EXPECT_EQ(automatic_log_limit(256u << 20), 64u << 20);
  EXPECT_EQ(automatic_log_limit(uint64_t{10} << 30), uint64_t{10} << 28);
}

}  // namespace
}  // namespace elider::recovery
