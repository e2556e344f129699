// KeySlots: the sorted keys of one node, and the branch-free searches among them.
//
// Numbers are kept with their top bit flipped, so that their unsigned order is the signed one, which is
// what SSE4.2 compares; secondary keys are kept as an array of values and one of primary keys, so that
// two of them are compared at once. Slots behind the last key hold the largest key, so a search looks
// at all slots, whatever their number, and takes the same time. Wider vectors bring VZEROUPPER with them,
// which aborts a hardware transaction, and the searches wait for memory, not for comparisons.
//
// Searches read slots that a writer may be changing: what they return is within [0, count] whatever
// they read, and means nothing before the node's guard is validated.
// Thread safety: as base/racy.h; whoever holds the node's lock writes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/racy.h"
#include "base/sanitizer.h"
#include "index/btree/btree_key.h"

#if defined(__SSE4_2__) && !ELIDER_TSAN
#include <immintrin.h>
#define ELIDER_BTREE_SSE 1
#else
#define ELIDER_BTREE_SSE 0
#endif

namespace elider::index {

namespace detail {

constexpr int64_t flip(uint64_t number) { return static_cast<int64_t>(number ^ (uint64_t{1} << 63)); }
constexpr uint64_t flip_back(int64_t number) { return static_cast<uint64_t>(number) ^ (uint64_t{1} << 63); }

#if ELIDER_BTREE_SSE
// Two slots from `at`; one at N reads as zero and is not touched.
template <unsigned N, unsigned kAt>
inline __m128i load_two(const int64_t* slots) {
  const auto* from = reinterpret_cast<const __m128i*>(slots + kAt);
  return kAt + 2 <= N ? _mm_loadu_si128(from) : _mm_loadl_epi64(from);
}
// How many lanes are -1, of all that were added up.
inline unsigned count_lanes(__m128i sum) {
  return static_cast<unsigned>(-_mm_cvtsi128_si64(_mm_add_epi64(sum, _mm_unpackhi_epi64(sum, sum))));
}
// Counts the slots for which the test is true, which gives -1 or 0 a lane.
template <unsigned N, unsigned kAt = 0, class Test>
inline __m128i sum_of(const Test& test) {
  __m128i here = test.template operator()<kAt>();
  if constexpr (kAt + 2 > N) here = _mm_move_epi64(here);  // no lane of a slot that is not there
  if constexpr (kAt + 2 < N) here = _mm_add_epi64(here, sum_of<N, kAt + 2>(test));
  return here;
}
// A bit a slot for which it is true.
template <unsigned N, unsigned kAt = 0, class Test>
inline uint32_t bits_of(const Test& test) {
  uint32_t bits = static_cast<uint32_t>(_mm_movemask_pd(_mm_castsi128_pd(test.template operator()<kAt>()))) << kAt;
  if constexpr (kAt + 2 < N) bits |= bits_of<N, kAt + 2>(test);
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
  // Slot i behind the last key.
  void blank(unsigned i) { racy_store(slots_[i], std::numeric_limits<int64_t>::max()); }
  void move(unsigned to, unsigned from) { racy_store(slots_[to], racy_load(slots_[from])); }

#if ELIDER_BTREE_SSE
  // How many keys are < key: where it stands or would be inserted.
  unsigned count_below(uint64_t key, unsigned) const {
    const __m128i wanted = _mm_set1_epi64x(detail::flip(key));
    return detail::count_lanes(
        detail::sum_of<N>([&]<unsigned kAt>() { return _mm_cmpgt_epi64(wanted, detail::load_two<N, kAt>(slots_)); }));
  }
  // How many keys are <= key. Blank slots are not above the largest key: hence the min.
  unsigned count_not_above(uint64_t key, unsigned count) const {
    const __m128i wanted = _mm_set1_epi64x(detail::flip(key));
    const unsigned above = detail::count_lanes(
        detail::sum_of<N>([&]<unsigned kAt>() { return _mm_cmpgt_epi64(detail::load_two<N, kAt>(slots_), wanted); }));
    return std::min(N - above, count);
  }
  // Where the key stands, or `count`. Of small nodes only.
  unsigned position_of(uint64_t key, unsigned count) const {
    static_assert(N <= 31);
    const __m128i wanted = _mm_set1_epi64x(detail::flip(key));
    const uint32_t bits =
        detail::bits_of<N>([&]<unsigned kAt>() { return _mm_cmpeq_epi64(detail::load_two<N, kAt>(slots_), wanted); });
    return static_cast<unsigned>(std::countr_zero(bits | uint32_t{1} << count));
  }
#else
  unsigned count_below(uint64_t key, unsigned count) const {
    unsigned below = 0;
    for (unsigned i = 0; i < count; ++i) below += racy_load(slots_[i]) < detail::flip(key) ? 1 : 0;
    return below;
  }
  unsigned count_not_above(uint64_t key, unsigned count) const {
    unsigned below = 0;
    for (unsigned i = 0; i < count; ++i) below += racy_load(slots_[i]) <= detail::flip(key) ? 1 : 0;
    return below;
  }
  unsigned position_of(uint64_t key, unsigned count) const {
    unsigned position = count;
    for (unsigned i = count; i-- > 0;) position = racy_load(slots_[i]) == detail::flip(key) ? i : position;
    return position;
  }
#endif

 private:
  int64_t slots_[N];
};

template <unsigned N>
class KeySlots<SecondaryKey, N> {
 public:
  // The halves may be of two different keys; validation finds out.
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

#if ELIDER_BTREE_SSE
  unsigned count_below(SecondaryKey key, unsigned) const {
    const __m128i value = _mm_set1_epi64x(detail::flip(key.value)), primary = _mm_set1_epi64x(detail::flip(key.primary));
    return detail::count_lanes(detail::sum_of<N>([&]<unsigned kAt>() {
      const __m128i values = detail::load_two<N, kAt>(values_), primaries = detail::load_two<N, kAt>(primaries_);
      const __m128i tie = _mm_and_si128(_mm_cmpeq_epi64(value, values), _mm_cmpgt_epi64(primary, primaries));
      return _mm_or_si128(_mm_cmpgt_epi64(value, values), tie);
    }));
  }
  unsigned count_not_above(SecondaryKey key, unsigned count) const {
    const __m128i value = _mm_set1_epi64x(detail::flip(key.value)), primary = _mm_set1_epi64x(detail::flip(key.primary));
    const unsigned above = detail::count_lanes(detail::sum_of<N>([&]<unsigned kAt>() {
      const __m128i values = detail::load_two<N, kAt>(values_), primaries = detail::load_two<N, kAt>(primaries_);
      const __m128i tie = _mm_and_si128(_mm_cmpeq_epi64(value, values), _mm_cmpgt_epi64(primaries, primary));
      return _mm_or_si128(_mm_cmpgt_epi64(values, value), tie);
    }));
    return std::min(N - above, count);
  }
  unsigned position_of(SecondaryKey key, unsigned count) const {
    static_assert(N <= 31);
    const __m128i value = _mm_set1_epi64x(detail::flip(key.value)), primary = _mm_set1_epi64x(detail::flip(key.primary));
    const uint32_t bits = detail::bits_of<N>([&]<unsigned kAt>() {
      return _mm_and_si128(_mm_cmpeq_epi64(detail::load_two<N, kAt>(values_), value),
                              _mm_cmpeq_epi64(detail::load_two<N, kAt>(primaries_), primary));
    });
    return static_cast<unsigned>(std::countr_zero(bits | uint32_t{1} << count));
  }
#else
  unsigned count_below(SecondaryKey key, unsigned count) const {
    unsigned below = 0;
    for (unsigned i = 0; i < count; ++i) below += KeyTraits<SecondaryKey>::less(get(i), key) ? 1 : 0;
    return below;
  }
  unsigned count_not_above(SecondaryKey key, unsigned count) const {
    unsigned above = 0;
    for (unsigned i = 0; i < count; ++i) above += KeyTraits<SecondaryKey>::less(key, get(i)) ? 1 : 0;
    return count - above;
  }
  unsigned position_of(SecondaryKey key, unsigned count) const {
    unsigned position = count;
    for (unsigned i = count; i-- > 0;) position = get(i) == key ? i : position;
    return position;
  }
#endif

 private:
  int64_t values_[N];
  int64_t primaries_[N];
};

}  // namespace elider::index
