#include "bench/ycsb/value.h"

#include <vector>

#include <gtest/gtest.h>

namespace elider::bench {
namespace {

TEST(Value, filled_ones_of_every_size_are_whole_and_hold_their_counter) {
  for (uint32_t bytes = kValueBytesMin; bytes <= 130; ++bytes) {
    std::vector<std::byte> value(bytes);
    fill_value(value.data(), bytes, 42, 7);
    EXPECT_EQ(value_counter(value.data()), 7u);
    EXPECT_TRUE(value_is_whole(value.data(), bytes, 42)) << bytes;
    EXPECT_TRUE(value_ends_match(value.data(), bytes, 42)) << bytes;
  }
}

TEST(Value, any_flipped_byte_is_noticed) {
  constexpr uint32_t kBytes = 100;
  std::vector<std::byte> value(kBytes);
  fill_value(value.data(), kBytes, 42, 7);
  for (uint32_t at = 0; at < kBytes; ++at) {
    value[at] ^= std::byte{1};
    EXPECT_FALSE(value_is_whole(value.data(), kBytes, 42)) << at;
    value[at] ^= std::byte{1};
  }
}

TEST(Value, another_keys_or_two_versions_torn_together_are_noticed_by_the_ends) {
  std::vector<std::byte> old_value(100);
  std::vector<std::byte> value(100);
  fill_value(old_value.data(), 100, 42, 7);
  fill_value(value.data(), 100, 42, 8);
  EXPECT_FALSE(value_ends_match(value.data(), 100, 43));
  std::copy(old_value.begin() + 64, old_value.end(), value.begin() + 64);
  EXPECT_FALSE(value_ends_match(value.data(), 100, 42));
}

}  // namespace
}  // namespace elider::bench
