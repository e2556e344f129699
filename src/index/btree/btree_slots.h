// KeySlots: the sorted keys of one node, and the branch-free searches among them.
//
// Numbers are stored with their top bit flipped, so that their unsigned order becomes the signed
// order that vector instructions compare. Secondary keys are stored as an array of values and an
// array of primary keys, so that several are compared at once. The slots after the last key hold
// the largest key. A search therefore reads all slots and takes the same time for any number of
// keys.
//
// A Wide search compares four numbers per instruction with AVX2; other searches compare two with
// SSE4.2. Regions must not use Wide searches: compilers emit VZEROUPPER after wide vectors, which
// aborts a hardware transaction.
//
// A search may read slots that a writer is changing. Its result is always within [0, count], but is
// meaningless until the node's guard has been validated. Thread safety: as in base/racy.h. Only the
// thread that holds the node's lock may write.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/racy.h"
#include "base/sanitizer.h"
#include "index/btree/btree_key.h"

#if defined(__SSE4_2__) && !ELIDER_TSAN
#include <immintrin.h>
#define ELIDER_BTREE_VECTORS 1
#else
#define ELIDER_BTREE_VECTORS 0
#endif

namespace elider::index {

namespace detail {

constexpr int64_t flip(uint64_t number) { return static_cast<int64_t>(number ^ (uint64_t{1} << 63)); }
constexpr uint64_t flip_back(int64_t number) { return static_cast<uint64_t>(number) ^ (uint64_t{1} << 63); }

#if ELIDER_BTREE_VECTORS
// A comparison sets each lane to -1 or 0.
struct TwoNumbers {
  using Type = __m128i;
  static constexpr unsigned kLanes = 2;
  static Type all(uint64_t key) { return _mm_set1_epi64x(flip(key)); }
  // Loads the first kCount numbers. The other lanes are zero, and their memory is not accessed.
  template <unsigned kCount>
  static Type load(const int64_t* slots) {
    const auto* from = reinterpret_cast<const Type*>(slots);
    return kCount == 2 ? _mm_loadu_si128(from) : _mm_loadl_epi64(from);
  }
  template <unsigned kCount>
  static Type first(Type numbers) {
    return kCount == 2 ? numbers : _mm_move_epi64(numbers);
  }
  static Type above(Type a, Type b) { return _mm_cmpgt_epi64(a, b); }
  static Type equal(Type a, Type b) { return _mm_cmpeq_epi64(a, b); }
  static Type both(Type a, Type b) { return _mm_and_si128(a, b); }
  static Type either(Type a, Type b) { return _mm_or_si128(a, b); }
  static Type sum(Type a, Type b) { return _mm_add_epi64(a, b); }
  static int64_t total(Type sum) { return _mm_cvtsi128_si64(_mm_add_epi64(sum, _mm_unpackhi_epi64(sum, sum))); }
  static uint32_t bits(Type test) { return static_cast<uint32_t>(_mm_movemask_pd(_mm_castsi128_pd(test))); }
};
#if defined(__AVX2__)
struct FourNumbers {
  using Type = __m256i;
  static constexpr unsigned kLanes = 4;
  static Type all(uint64_t key) { return _mm256_set1_epi64x(flip(key)); }
  template <unsigned kCount>
  static Type lanes() {
    return _mm256_set_epi64x(kCount > 3 ? -1 : 0, kCount > 2 ? -1 : 0, kCount > 1 ? -1 : 0, -1);
  }
  template <unsigned kCount>
  static Type load(const int64_t* slots) {
    return kCount == 4 ? _mm256_loadu_si256(reinterpret_cast<const Type*>(slots))
                       : _mm256_maskload_epi64(reinterpret_cast<const long long*>(slots), lanes<kCount>());
  }
  template <unsigned kCount>
  static Type first(Type numbers) {
    return kCount == 4 ? numbers : _mm256_and_si256(numbers, lanes<kCount>());
  }
  static Type above(Type a, Type b) { return _mm256_cmpgt_epi64(a, b); }
  static Type equal(Type a, Type b) { return _mm256_cmpeq_epi64(a, b); }
  static Type both(Type a, Type b) { return _mm256_and_si256(a, b); }
  static Type either(Type a, Type b) { return _mm256_or_si256(a, b); }
  static Type sum(Type a, Type b) { return _mm256_add_epi64(a, b); }
  static int64_t total(Type sum) {
    return TwoNumbers::total(_mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1)));
  }
  static uint32_t bits(Type test) { return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(test))); }
};
template <bool Wide>
using Numbers = std::conditional_t<Wide, FourNumbers, TwoNumbers>;
#else
template <bool Wide>
using Numbers = TwoNumbers;
#endif

// The number of slots in the vector that begins at slot kAt.
template <class V, unsigned N, unsigned kAt>
inline constexpr unsigned kLanesAt = std::min(V::kLanes, N - kAt);

// Returns a vector whose lanes add up to minus the number of slots for which test<at>() is true.
template <class V, unsigned N, unsigned kAt = 0, class Test>
inline typename V::Type sum_of(const Test& test) {
  typename V::Type here = V::template first<kLanesAt<V, N, kAt>>(test.template operator()<kAt>());
  if constexpr (kAt + V::kLanes < N) here = V::sum(here, sum_of<V, N, kAt + V::kLanes>(test));
  return here;
}
template <class V, unsigned N, class Test>
inline unsigned count_of(const Test& test) {
  return static_cast<unsigned>(-V::total(sum_of<V, N>(test)));
}
// Returns one bit per slot, set if the test is true.
template <class V, unsigned N, unsigned kAt = 0, class Test>
inline uint32_t bits_of(const Test& test) {
  uint32_t bits = V::bits(test.template operator()<kAt>()) << kAt;
  if constexpr (kAt + V::kLanes < N) bits |= bits_of<V, N, kAt + V::kLanes>(test);
  return bits;
}
#endif

}  // namespace detail

template <class Key, unsigned N>
class KeySlots;

template <unsigned N>
class KeySlots<uint64_t, N> {
 public:
  uint64_t get(unsigned i) const { return detail::flip_back(racy_load(slots_[i])); }
  void set(unsigned i, uint64_t key) { racy_store(slots_[i], detail::flip(key)); }
  // Clears slot i, which must be after the last key.
  void blank(unsigned i) { racy_store(slots_[i], std::numeric_limits<int64_t>::max()); }
  void move(unsigned to, unsigned from) { racy_store(slots_[to], racy_load(slots_[from])); }
  const void* address(unsigned i) const { return &slots_[i]; }

#if ELIDER_BTREE_VECTORS
  // Returns the number of keys < key. This is the position at which the key is or would be
  // inserted.
  template <bool Wide>
  unsigned count_below(uint64_t key, unsigned) const {
    using V = detail::Numbers<Wide>;
    const auto wanted = V::all(key);
    return detail::count_of<V, N>([&]<unsigned kAt>() { return V::above(wanted, load<V, kAt>()); });
  }
  // Returns the number of keys <= key. The std::min is needed because blank slots equal the largest
  // key.
  template <bool Wide>
  unsigned count_not_above(uint64_t key, unsigned count) const {
    using V = detail::Numbers<Wide>;
    const auto wanted = V::all(key);
    const unsigned above = detail::count_of<V, N>([&]<unsigned kAt>() { return V::above(load<V, kAt>(), wanted); });
    return std::min(N - above, count);
  }
  // Both functions count among kCount slots from `first` on. Blank slots count as the largest key.
  template <bool Wide, unsigned kCount>
  unsigned count_below_from(unsigned first, uint64_t key) const {
    using V = detail::Numbers<Wide>;
    const auto wanted = V::all(key);
    return detail::count_of<V, kCount>([&]<unsigned kAt>() { return V::above(wanted, V::template load<V::kLanes>(slots_ + first + kAt)); });
  }
  template <bool Wide, unsigned kCount>
  unsigned count_not_above_from(unsigned first, uint64_t key) const {
    using V = detail::Numbers<Wide>;
    const auto wanted = V::all(key);
    return kCount -
           detail::count_of<V, kCount>([&]<unsigned kAt>() { return V::above(V::template load<V::kLanes>(slots_ + first + kAt), wanted); });
  }
  // Returns the position of the key, or `count` if it is absent. Used only if there are at most 31
  // slots.
  template <bool Wide>
  unsigned position_of(uint64_t key, unsigned count) const {
    static_assert(N <= 31);
    using V = detail::Numbers<Wide>;
    const auto wanted = V::all(key);
    const uint32_t bits = detail::bits_of<V, N>([&]<unsigned kAt>() { return V::equal(load<V, kAt>(), wanted); });
    return static_cast<unsigned>(std::countr_zero(bits | uint32_t{1} << count));
  }
#else
  template <bool>
  unsigned count_below(uint64_t key, unsigned count) const {
    unsigned below = 0;
    for (unsigned i = 0; i < count; ++i) below += racy_load(slots_[i]) < detail::flip(key) ? 1 : 0;
    return below;
  }
  template <bool>
  unsigned count_not_above(uint64_t key, unsigned count) const {
    unsigned below = 0;
    for (unsigned i = 0; i < count; ++i) below += racy_load(slots_[i]) <= detail::flip(key) ? 1 : 0;
    return below;
  }
  template <bool, unsigned kCount>
  unsigned count_below_from(unsigned first, uint64_t key) const {
    unsigned below = 0;
    for (unsigned i = 0; i < kCount; ++i) below += racy_load(slots_[first + i]) < detail::flip(key) ? 1 : 0;
    return below;
  }
  template <bool, unsigned kCount>
  unsigned count_not_above_from(unsigned first, uint64_t key) const {
    unsigned below = 0;
    for (unsigned i = 0; i < kCount; ++i) below += racy_load(slots_[first + i]) <= detail::flip(key) ? 1 : 0;
    return below;
  }
  template <bool>
  unsigned position_of(uint64_t key, unsigned count) const {
    unsigned position = count;
    for (unsigned i = count; i-- > 0;) position = racy_load(slots_[i]) == detail::flip(key) ? i : position;
    return position;
  }
#endif

 private:
#if ELIDER_BTREE_VECTORS
  template <class V, unsigned kAt>
  typename V::Type load() const {
    return V::template load<detail::kLanesAt<V, N, kAt>>(slots_ + kAt);
  }
#endif
  int64_t slots_[N];
};

template <unsigned N>
class KeySlots<SecondaryKey, N> {
 public:
  // The halves may belong to two different keys; validation detects that.
  SecondaryKey get(unsigned i) const { return {detail::flip_back(racy_load(values_[i])), detail::flip_back(racy_load(primaries_[i]))}; }
  void set(unsigned i, SecondaryKey key) {
    racy_store(values_[i], detail::flip(key.value));
    racy_store(primaries_[i], detail::flip(key.primary));
  }
  void blank(unsigned i) { set(i, KeyTraits<SecondaryKey>::kMax); }
  void move(unsigned to, unsigned from) {
    racy_store(values_[to], racy_load(values_[from]));
    racy_store(primaries_[to], racy_load(primaries_[from]));
  }

#if ELIDER_BTREE_VECTORS
  template <bool Wide>
  unsigned count_below(SecondaryKey key, unsigned) const {
    using V = detail::Numbers<Wide>;
    const auto value = V::all(key.value), primary = V::all(key.primary);
    return detail::count_of<V, N>([&]<unsigned kAt>() {
      const auto values = load<V, kAt>(values_), primaries = load<V, kAt>(primaries_);
      return V::either(V::above(value, values), V::both(V::equal(value, values), V::above(primary, primaries)));
    });
  }
  template <bool Wide>
  unsigned count_not_above(SecondaryKey key, unsigned count) const {
    using V = detail::Numbers<Wide>;
    const auto value = V::all(key.value), primary = V::all(key.primary);
    const unsigned above = detail::count_of<V, N>([&]<unsigned kAt>() {
      const auto values = load<V, kAt>(values_), primaries = load<V, kAt>(primaries_);
      return V::either(V::above(values, value), V::both(V::equal(value, values), V::above(primaries, primary)));
    });
    return std::min(N - above, count);
  }
  template <bool Wide>
  unsigned position_of(SecondaryKey key, unsigned count) const {
    static_assert(N <= 31);
    using V = detail::Numbers<Wide>;
    const auto value = V::all(key.value), primary = V::all(key.primary);
    const uint32_t bits = detail::bits_of<V, N>([&]<unsigned kAt>() {
      return V::both(V::equal(load<V, kAt>(values_), value), V::equal(load<V, kAt>(primaries_), primary));
    });
    return static_cast<unsigned>(std::countr_zero(bits | uint32_t{1} << count));
  }
#else
  template <bool>
  unsigned count_below(SecondaryKey key, unsigned count) const {
    unsigned below = 0;
    for (unsigned i = 0; i < count; ++i) below += KeyTraits<SecondaryKey>::less(get(i), key) ? 1 : 0;
    return below;
  }
  template <bool>
  unsigned count_not_above(SecondaryKey key, unsigned count) const {
    unsigned above = 0;
    for (unsigned i = 0; i < count; ++i) above += KeyTraits<SecondaryKey>::less(key, get(i)) ? 1 : 0;
    return count - above;
  }
  template <bool>
  unsigned position_of(SecondaryKey key, unsigned count) const {
    unsigned position = count;
    for (unsigned i = count; i-- > 0;) position = get(i) == key ? i : position;
    return position;
  }
#endif

 private:
#if ELIDER_BTREE_VECTORS
  template <class V, unsigned kAt>
  static typename V::Type load(const int64_t* slots) {
    return V::template load<detail::kLanesAt<V, N, kAt>>(slots + kAt);
  }
#endif
  int64_t values_[N];
  int64_t primaries_[N];
};

}  // namespace elider::index
