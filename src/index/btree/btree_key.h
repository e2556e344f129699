// KeyTraits: what the B+-tree requires of a key type, here of numbers, that is, of uint64_t and
// SecondaryKey. The key type ByteKey has other nodes and its own traits (btree_byte_node.h).
//
// Numbers have a smallest and a largest key, an order, and the next key in either direction.
// Neighbouring keys are required because nodes describe a range by its last key. Every key type
// also has:
//
//   Rows      what a node needs to find the keys of its entries
//   Target    what a descent searches for; a key converts to it
//   Fences    what a descent learns about the range of its node: child_of() chooses the child of an
//             inner node, and narrow() then narrows the range to the range of that child;
//             prefetch() prefetches what the operation reads of a leaf
//   Bounds    fences that also tell the range
//   LookupFences, BatchFences  the fences of a lookup, and of a batched one. If `assumed` is true
//             after a descent, and the leaf does not contain the key, another leaf may cover it
//   Spot      the position of a key in a leaf, and whether the leaf contains the key
//   target()  the target of a scan that begins at a bound
//   in_batch()  the key that a batched lookup was given as a BatchKey
//   kOwnSeparators  whether an inner node points to its separators, and owns them
//
// All functions are pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "index/index.h"

namespace elider::index {

template <class Key>
struct KeyTraits;

// The entries of numbers contain their keys.
struct NoRows {};

struct NumberSpot {
  unsigned position;
  bool found;
  // Returns the same place after the first `at` entries have been moved away.
  NumberSpot after(unsigned at) const { return {position - at, found}; }
};

// The keys from `first` to `last`.
template <class Key>
struct NumberFences;
template <class Key>
struct NumberBatchFences;

template <class Key>
struct NumberTraits {
  using Rows = NoRows;
  using Target = Key;
  using Fences = NumberFences<Key>;
  using Bounds = NumberFences<Key>;
  using LookupFences = NumberFences<Key>;
  using BatchFences = NumberBatchFences<Key>;
  using BatchKey = Key;
  using Spot = NumberSpot;
  static constexpr bool kOwnSeparators = false;
  static const Key& in_batch(const Key& key) { return key; }
  static constexpr Key target(const Bound<Key>& at, Direction direction);
};

template <>
struct KeyTraits<uint64_t> : NumberTraits<uint64_t> {
  static constexpr uint64_t kMin = 0;
  static constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  static constexpr bool less(uint64_t a, uint64_t b) { return a < b; }
};

template <>
struct KeyTraits<SecondaryKey> : NumberTraits<SecondaryKey> {
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

template <class Key>
constexpr Key NumberTraits<Key>::target(const Bound<Key>& at, Direction direction) {
  return direction == Direction::kForward ? at.key : at.end ? KeyTraits<Key>::kMax : key_before(at.key);
}

template <class Key>
struct NumberFences {
  using Traits = KeyTraits<Key>;
  static constexpr bool assumed = false;
  Key first = Traits::kMin;
  Key last = Traits::kMax;

  template <bool Wide, class Inner>
  unsigned child_of(const Inner& inner, const Key& key, unsigned count) const {
    return inner.template child_of<Wide>(key, count);
  }
  // Reads both neighbouring separators, even if one is not needed, so that no branch depends on the
  // position.
  template <class Inner>
  void narrow(const Inner& inner, unsigned position, unsigned count) {
    const Key below = inner.key(position - (position > 0 ? 1 : 0));
    const Key above = key_before(inner.key(std::min(position, Inner::kKeys - 1)));
    first = position > 0 ? below : first;
    last = position < count ? above : last;
  }
  template <class Leaf>
  [[gnu::always_inline]] static void prefetch(const Leaf& leaf) {
    leaf.prefetch_rest();
  }
  // The parts of the range below, and from, a key in it.
  NumberFences before(const Key& key) const { return {first, key_before(key)}; }
  NumberFences from(const Key& key) const { return {key, last}; }
  Range<Key> range() const { return {first, bound_behind(last)}; }
  bool covers(const Key& key) const { return !Traits::less(key, first) && !Traits::less(last, key); }
};

template <class Key>
struct NumberBatchFences {
  static constexpr bool assumed = false;

  template <bool Wide, class Inner>
  unsigned child_of(const Inner& inner, const Key& key, unsigned count) const {
    return inner.template child_of<Wide>(key, count);
  }
  template <class Inner>
  void narrow(const Inner&, unsigned, unsigned) {}
};

}  // namespace elider::index
