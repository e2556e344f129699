// Tags: one byte of a hash of each key in a leaf of byte keys. A lookup of a key compares the tags
// instead of the heads, because the tags of a leaf are in its first cache line.
//
// Equal keys have equal tags. Of 256 different keys, one has the tag of a given key on average, so
// a lookup must also compare the key itself.
//
// A search may read tags that a writer is changing. Its result contains only positions below the
// given count, but is meaningless until the node's guard has been validated. Thread safety: as in
// base/racy.h. Only the thread that holds the node's lock may write.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/racy.h"
#include "index/btree/btree_head.h"
#include "index/btree/btree_slots.h"
#include "index/byte_key.h"

namespace elider::index {

// Returns the tag of a key. Every byte of the key changes it.
inline uint8_t tag_of(const ByteKey& key) {
  const uint32_t size = key.size();
  uint64_t hash = size;
  const auto add = [&hash](uint64_t word) {
#if ELIDER_BTREE_VECTORS
    hash = _mm_crc32_u64(hash, word);
#else
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
#endif
  };
  if (size < kHeadBytes) {
    add(head_of(key, 0));
  } else {
    const auto word = [&key](uint32_t at) {
      uint64_t value;
      std::memcpy(&value, key.bytes->data() + at, sizeof value);
      return value;
    };
    for (uint32_t at = 0; at + kHeadBytes < size; at += kHeadBytes) add(word(at));
    add(word(size - kHeadBytes));  // the last word may overlap the one before it
  }
  return static_cast<uint8_t>(hash ^ hash >> 8);
}

// The tags of up to 31 keys.
class Tags {
 public:
  static constexpr unsigned kTags = 32;

  uint8_t get(unsigned i) const { return racy_load(tags_[i]); }
  void set(unsigned i, uint8_t tag) { racy_store(tags_[i], tag); }
  void move(unsigned to, unsigned from) { set(to, get(from)); }
  const void* end() const { return tags_ + kTags; }

  // Returns one bit for each of the first `count` keys, set if the key has this tag.
  uint32_t equal_to(uint8_t tag, unsigned count) const {
    uint32_t bits = 0;
#if ELIDER_BTREE_VECTORS
    const __m128i wanted = _mm_set1_epi8(static_cast<char>(tag));
    const auto* const tags = reinterpret_cast<const __m128i*>(tags_);
    bits = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(tags), wanted))) |
           static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(tags + 1), wanted))) << 16;
#else
    for (unsigned i = 0; i < count; ++i) bits |= uint32_t{get(i) == tag} << i;
#endif
    return bits & ((uint32_t{1} << count) - 1);
  }

 private:
  uint8_t tags_[kTags];
};

}  // namespace elider::index
