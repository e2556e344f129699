// Heads: the part of a B+-tree node of byte keys that is searched, eight bytes of each key.
//
// A key is compared as if an infinite number of zero bytes followed it. This is its padded form.
// If one key is smaller than another, its padded form is smaller or equal. The padded forms of all
// keys of a node agree in their first P bytes, the node's prefix. The head of a key is the number
// that the P-th and the next seven bytes of its padded form make, the most significant first. The
// keys of a node are sorted, so their heads are sorted. Only keys with equal heads (a tie) have to
// be compared byte by byte.
//
// The prefix need not be the longest one. It gets shorter when a key is inserted that lacks it.
// The new heads are then computed from the old ones and one key. It gets longer when a node is
// split, if enough bytes are gained (kPrefixGainMin), because then every key has to be read.
//
// Thread safety: pure functions, and KeySlots (btree_slots.h). A reader may combine heads, keys and
// a prefix of different moments. The results are then meaningless, but every function stays within
// the bounds of the keys, and returns a position up to `count`.
#pragma once

#include <algorithm>
#include <bit>
#include <compare>
#include <cstdint>
#include <cstring>

#include "base/test_points.h"
#include "index/btree/btree_slots.h"
#include "index/byte_key.h"

namespace elider::index {

inline constexpr uint32_t kHeadBytes = 8;
inline constexpr uint32_t kPrefixGainMin = 4;

// Returns the number of leading bytes in which two heads agree, given their exclusive-or.
inline uint32_t equal_head_bytes(uint64_t heads) { return static_cast<uint32_t>(std::countl_zero(heads)) / 8; }

// Returns a byte of the key's padded form.
inline unsigned padded_byte(const ByteKey& key, uint32_t at) {
  return at < key.size() ? std::to_integer<unsigned>(key.bytes->data()[at]) : 0;
}

[[gnu::always_inline]] inline uint64_t head_of(const ByteKey& key, uint32_t prefix) {
  const uint32_t size = key.size();
  uint64_t head = 0;
  if (size >= prefix + kHeadBytes) [[likely]] {
    std::memcpy(&head, key.bytes->data() + prefix, kHeadBytes);
    return __builtin_bswap64(head);
  }
  for (uint32_t i = prefix; i < size; ++i) head |= uint64_t{padded_byte(key, i)} << (56 - 8 * (i - prefix));
  return head;
}

// Returns the first position from `from` up to `end` at which the padded forms differ, or `end`.
inline uint32_t padded_mismatch(const ByteKey& a, const ByteKey& b, uint32_t from, uint32_t end) {
  for (uint32_t at = from; at < end; at += kHeadBytes) {
    const uint64_t differs = head_of(a, at) ^ head_of(b, at);
    if (differs != 0) return std::min(end, at + static_cast<uint32_t>(std::countl_zero(differs)) / 8);
  }
  return end;
}

// Returns the number of bytes that both keys begin with.
inline uint32_t common_bytes(const ByteKey& a, const ByteKey& b) { return padded_mismatch(a, b, 0, std::min(a.size(), b.size())); }

// Compares two keys whose padded forms agree in their first `from` bytes.
inline std::strong_ordering compare_from(const ByteKey& a, const ByteKey& b, uint32_t from) {
  const uint32_t common = std::min(a.size(), b.size());
  if (common > from)
    if (const int order = std::memcmp(a.bytes->data() + from, b.bytes->data() + from, common - from); order != 0) return order <=> 0;
  return a.size() <=> b.size();
}
inline bool equal_keys(const ByteKey& a, const ByteKey& b) {
  return a.size() == b.size() && (a.size() == 0 || std::memcmp(a.bytes->data(), b.bytes->data(), a.size()) == 0);
}

// The prefix of a node with one key. It leaves the last bytes to the head, because the next keys
// often differ there.
inline uint32_t prefix_of_one(const ByteKey& key) { return key.size() > kHeadBytes ? key.size() - kHeadBytes : 0; }

// The first `size` bytes of a key.
struct ShortKey {
  ByteKey of;
  uint32_t size;
};
// Returns the shortest key s with left < s <= right. Both keys have the prefix, and `heads` is the
// exclusive-or of their heads. If the heads differ, `left` is not read.
template <class Left>
inline ShortKey shortest_separator(const Left& left, const ByteKey& right, uint32_t prefix, uint64_t heads) {
  const uint32_t agreed = heads != 0 ? prefix + equal_head_bytes(heads) : common_bytes(left(), right);
  return {right, std::min(agreed + 1, right.size())};
}

// The place of a key among the keys of a node.
struct ByteSpot {
  unsigned position = 0;
  bool found = false;
  uint32_t prefix = 0;  // the node's prefix if the key is inserted
  // Returns the same place after the first `at` entries have been moved away.
  ByteSpot after(unsigned at) const { return {position - at, found, prefix}; }
};

// Parameters of the functions below: key_at(i) returns key i of the node, `count` is the number of
// keys, and `prefix` is the length of the prefix.
template <unsigned N, class Slots = KeySlots<uint64_t, N>>
class Heads {
 public:
  uint64_t get(unsigned i) const { return slots_.get(i); }
  void set(unsigned i, uint64_t head) { slots_.set(i, head); }
  void blank(unsigned i) { slots_.blank(i); }
  void blank_all() { slots_.blank_all(); }
  const Slots& slots() const { return slots_; }
  void move(unsigned to, unsigned from) { slots_.move(to, from); }

  // Returns the position of the first key with this head, or `count`.
  template <bool Wide>
  unsigned position_of(uint64_t head, unsigned count) const {
    return slots_.template position_of<Wide>(head, count);
  }
  template <bool Wide>
  unsigned count_below(uint64_t head, unsigned count) const {
    return std::min(slots_.template count_below<Wide>(head, count), count);
  }
  template <bool Wide>
  unsigned count_not_above(uint64_t head, unsigned count) const {
    return slots_.template count_not_above<Wide>(head, count);
  }

  // Returns the number of keys below `key`, or, if `through` is true, of those that are not above
  // it. The key must have the node's prefix.
  template <bool Wide, class KeyAt>
  unsigned count_before(const ByteKey& key, bool through, unsigned count, uint32_t prefix, const KeyAt& key_at) const {
    const uint64_t head = head_of(key, prefix);
    unsigned end = count_not_above<Wide>(head, count);
    if (end == 0 || get(end - 1) != head) [[likely]] return end;
    unsigned begin = count_below<Wide>(head, count);
    if (ELIDER_MUTANT(kHeadTrustTies)) return through ? end : begin;
    while (begin < end) {
      const unsigned middle = begin + (end - begin) / 2;
      const std::strong_ordering order = compare_from(key_at(middle), key, prefix);
      if (order < 0 || (through && order == 0)) begin = middle + 1;
      else end = middle;
    }
    return begin;
  }

  // Returns the position between `middle - reach` and `middle + reach` whose head shares the fewest
  // bytes with the head before it, and of several the nearest to the middle. A node that is divided
  // there has short separators, and keys that share long prefixes, so that few heads tie.
  unsigned best_division(unsigned middle, unsigned reach) const {
    unsigned best = middle;
    uint32_t least = equal_head_bytes(get(middle - 1) ^ get(middle));
    for (unsigned distance = 1; distance <= reach && least != 0; ++distance)
      for (const unsigned at : {middle - distance, middle + distance}) {
        const uint32_t shared = equal_head_bytes(get(at - 1) ^ get(at));
        if (shared < least) least = shared, best = at;
      }
    return best;
  }

  // Computes the heads for a shorter prefix. `first` is the key of position 0.
  void shorten(uint32_t from, uint32_t to, unsigned count, const ByteKey& first) {
    const uint32_t gained = from - to;  // bytes that are in the prefix until now, and are equal in all keys
    const uint64_t before = head_of(first, to);
    for (unsigned i = 0; i < count; ++i) {
      if (gained >= kHeadBytes) set(i, before);
      else set(i, (before & ~(~uint64_t{0} >> (8 * gained))) | get(i) >> (8 * gained));
    }
  }

 private:
  Slots slots_;
};

}  // namespace elider::index
