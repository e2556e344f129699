// put() and get() store and load little-endian numbers in files' bytes, at any alignment.
// Thread safety: pure functions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace elider {

static_assert(std::endian::native == std::endian::little, "files are little-endian, as this processor must be");

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
