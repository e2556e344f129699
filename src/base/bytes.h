// put() and get() store and load the little-endian integers of file formats, at any alignment.
// Thread safety: pure functions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace elider {

static_assert(std::endian::native == std::endian::little, "files are little-endian, so the processor must be little-endian");

template <class T>
void put(std::byte* to, T value) {
  static_assert(std::is_integral_v<T>);
  std::memcpy(to, &value, sizeof value);
}

template <class T>
T get(const std::byte* from) {
  static_assert(std::is_integral_v<T>);
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace elider
