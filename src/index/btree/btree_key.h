// KeyTraits: what the B+-tree requires of a key type: a smallest and a largest key, an order, and
// the next key in either direction. Neighbouring keys are required because nodes describe a range
// by its last key. The key types are uint64_t and SecondaryKey. All functions are pure.
#pragma once

#include <cstdint>
#include <limits>

#include "index/index.h"

namespace elider::index {

template <class Key>
struct KeyTraits;

template <>
struct KeyTraits<uint64_t> {
  static constexpr uint64_t kMin = 0;
  static constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  static constexpr bool less(uint64_t a, uint64_t b) { return a < b; }
};

template <>
struct KeyTraits<SecondaryKey> {
  static constexpr SecondaryKey kMin{0, 0};
  static constexpr SecondaryKey kMax{std::numeric_limits<uint64_t>::max(), std::numeric_limits<uint64_t>::max()};
  // Compares the keys as 128-bit numbers, which takes two instructions and no branch.
  static constexpr bool less(const SecondaryKey& a, const SecondaryKey& b) { return wide(a) < wide(b); }

 private:
  static constexpr unsigned __int128 wide(const SecondaryKey& key) {
    return static_cast<unsigned __int128>(key.value) << 64 | key.primary;
  }
};

// Returns the next larger key. The key must not be the largest.
constexpr uint64_t key_after(uint64_t key) { return key + 1; }
constexpr SecondaryKey key_after(SecondaryKey key) {
  return {key.value + (key.primary == KeyTraits<uint64_t>::kMax ? 1 : 0), key.primary + 1};
}
// Returns the next smaller key. The key must not be the smallest.
constexpr uint64_t key_before(uint64_t key) { return key - 1; }
constexpr SecondaryKey key_before(SecondaryKey key) { return {key.value - (key.primary == 0 ? 1 : 0), key.primary - 1}; }

// Returns the bound of a range that ends with `last`.
template <class Key>
constexpr Bound<Key> bound_behind(const Key& last) {
  return last == KeyTraits<Key>::kMax ? Bound<Key>{{}, true} : Bound<Key>{key_after(last), false};
}

}  // namespace elider::index
