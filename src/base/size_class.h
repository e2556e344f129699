// Size classes: the object sizes that the allocator provides, and the class of a requested size.
//
// Sizes are multiples of 16 bytes up to 256, and multiples of 64 up to 1024. Above 1024, up to 256
// KiB, each doubling has eight sizes, so a step is at most an eighth of the size. The allocator
// aligns objects to 64 bytes if their size is a multiple of 64, as all sizes above 256 are. An
// object of 64 n bytes therefore occupies exactly n cache lines. All functions are pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bits.h"

namespace elider {

inline constexpr size_t kSmallestClassBytes = 16;
inline constexpr size_t kLargestClassBytes = size_t{256} << 10;

namespace detail {
inline constexpr unsigned kFineClasses = 16;    // 16, 32, .. 256
inline constexpr unsigned kMediumClasses = 12;  // 320, 384, .. 1024
inline constexpr unsigned kDoublings = 8;       // 1 KiB to 256 KiB
}  // namespace detail
inline constexpr unsigned kSizeClasses = detail::kFineClasses + detail::kMediumClasses + 8 * detail::kDoublings;

// 1 <= bytes <= kLargestClassBytes.
constexpr unsigned size_class_of(size_t bytes) {
  if (bytes <= 256) return static_cast<unsigned>((bytes - 1) / 16);
  if (bytes <= 1024) return detail::kFineClasses + static_cast<unsigned>((bytes - 257) / 64);
  const size_t last = bytes - 1;
  const unsigned shift = log2_floor(last) - 3;
  return detail::kFineClasses + detail::kMediumClasses + (shift - 7) * 8 + static_cast<unsigned>((last >> shift) & 7);
}

namespace detail {
constexpr std::array<uint32_t, kSizeClasses> make_class_bytes() {
  std::array<uint32_t, kSizeClasses> bytes{};
  for (unsigned i = 0; i < kFineClasses; ++i) bytes[i] = 16 * (i + 1);
  for (unsigned i = 0; i < kMediumClasses; ++i) bytes[kFineClasses + i] = 256 + 64 * (i + 1);
  for (unsigned i = 0; i < 8 * kDoublings; ++i)
    bytes[kFineClasses + kMediumClasses + i] = (1024u << (i / 8)) + (128u << (i / 8)) * (i % 8 + 1);
  return bytes;
}
inline constexpr std::array<uint32_t, kSizeClasses> kClassBytes = make_class_bytes();
}  // namespace detail

constexpr size_t class_bytes(unsigned size_class) { return detail::kClassBytes[size_class]; }

static_assert(class_bytes(kSizeClasses - 1) == kLargestClassBytes);
static_assert(size_class_of(kLargestClassBytes) == kSizeClasses - 1);

}  // namespace elider
