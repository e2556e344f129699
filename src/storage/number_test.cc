#include "storage/number.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>

namespace elider::storage {
namespace {

constexpr ColumnType kNumbers[] = {ColumnType::kInt8,  ColumnType::kInt16,  ColumnType::kInt32,  ColumnType::kInt64,  //
                                   ColumnType::kUInt8, ColumnType::kUInt16, ColumnType::kUInt32, ColumnType::kUInt64,
                                   ColumnType::kFloat, ColumnType::kDouble};

TEST(Number, IntegersWrapAroundAndFractionsAdd) {
  for (const ColumnType type : kNumbers) {
    with_number_type(type, [&](auto zero) {
      using T = decltype(zero);
      T sum{};
      if constexpr (std::is_integral_v<T>) {
        const T most = std::numeric_limits<T>::max(), one = 1;
        add_numbers(type, &sum, &most, &one);
        EXPECT_EQ(sum, std::numeric_limits<T>::min()) << static_cast<int>(type);
        const T least = std::numeric_limits<T>::min(), minus_one = static_cast<T>(-1);
        add_numbers(type, &sum, &least, &minus_one);
        EXPECT_EQ(sum, most) << static_cast<int>(type);
      } else {
        const T half = T{1} / 2, minus_quarter = T{-1} / 4;
        add_numbers(type, &sum, &half, &minus_quarter);
        EXPECT_EQ(sum, T{1} / 4) << static_cast<int>(type);
      }
    });
  }
}

TEST(Number, ASumMayReplaceItsTermsAtAnyAlignment) {
  for (const ColumnType type : kNumbers) {
    with_number_type(type, [&](auto zero) {
      using T = decltype(zero);
      const T five = 5;
      std::array<char, 1 + sizeof(T) + 1> odd;  // the number, with a byte on either side
      odd.fill('|');
      std::memcpy(&odd[1], &five, sizeof(T));
      add_numbers(type, &odd[1], &odd[1], &five);
      T sum;
      std::memcpy(&sum, &odd[1], sizeof(T));
      EXPECT_EQ(sum, T{10}) << static_cast<int>(type);
      add_to_payload(type, &odd[1], &five);
      std::memcpy(&sum, &odd[1], sizeof(T));
      EXPECT_EQ(sum, T{15}) << static_cast<int>(type);
      EXPECT_TRUE(odd.front() == '|' && odd.back() == '|') << static_cast<int>(type);
    });
  }
}

TEST(Number, BytesAreNoNumber) {
  EXPECT_FALSE(is_number(ColumnType::kBytes));
  EXPECT_EQ(number_bytes(ColumnType::kBytes), 0u);
  const uint64_t delta = 5;
  uint64_t to = 7;
  add_numbers(ColumnType::kBytes, &to, &delta, &delta);
  EXPECT_EQ(to, 7u);
  constexpr uint32_t kBytes[] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8};
  for (size_t i = 0; i < std::size(kNumbers); ++i) {
    EXPECT_TRUE(is_number(kNumbers[i]));
    EXPECT_EQ(number_bytes(kNumbers[i]), kBytes[i]);
  }
}

}  // namespace
}  // namespace elider::storage
