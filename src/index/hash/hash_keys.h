// HashKeys: what the hash table requires of a key type. A bucket stores a 64-bit tag for each key.
//
// The tag of a number key is the number itself. The tag of a byte key is a hash of its bytes, and
// the key itself lies in the row (row_key.h). Two byte keys may have equal tags, so a lookup also
// compares the keys' bytes. Each index has a random seed, without which it is impractical to find
// many keys that belong to one bucket.
//
// Thread safety: constant after construction.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/checksum.h"
#include "base/random_seed.h"
#include "base/test_points.h"
#include "index/byte_key.h"
#include "index/index.h"
#include "index/row_key.h"

namespace elider::index {

template <class Key>
class HashKeys;

template <>
class HashKeys<Key> {
 public:
  static constexpr bool kBytes = false;
  using BatchKey = Key;

  static uint64_t tag_of(Key key) { return key; }
  // Every bit of the key affects every bit of the hash. The lowest bits select the bucket.
  static uint64_t hash_of(uint64_t tag) {
    uint64_t hash = tag;
    hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
    hash = (hash ^ (hash >> 29)) * 0xc2b2ae3d27d4eb4fu;
    return hash ^ (hash >> 32);
  }
  // Returns true if the handle, which was found under the key's tag, belongs to another key.
  static constexpr bool is_other(Handle, Key) { return false; }
  static void prefetch(Handle) {}

  static KeyRef entry_key(uint64_t tag) { return tag; }
  static bool same_key(Handle, Handle) { return true; }
  static bool has_tag(Handle, uint64_t) { return true; }
  static std::string text(uint64_t tag) { return "key " + std::to_string(tag); }
};

#if ELIDER_TEST_POINTS
// The bits of a hash that the indexes of byte keys use if they are created from now on. Tests clear
// some bits, so that many different keys have equal tags.
inline std::atomic<uint64_t> byte_hash_bits{~uint64_t{0}};
#endif

template <>
class HashKeys<ByteKey> {
 public:
  static constexpr bool kBytes = true;
  using BatchKey = KeyRef;

  explicit HashKeys(RowKey row_key) : row_key_(row_key) {}

  uint64_t tag_of(const ByteKey& key) const {
    const uint64_t hash = checksum({key.size() == 0 ? nullptr : key.bytes->data(), key.size()}, seed_);
#if ELIDER_TEST_POINTS
    return hash & bits_;
#else
    return hash;
#endif
  }
  static uint64_t hash_of(uint64_t tag) { return tag; }
  bool is_other(Handle handle, const ByteKey& key) const {
    return handle != kNoHandle && !row_key_.equals(handle, key) && !ELIDER_MUTANT(kHashCompareTags);
  }
  void prefetch(Handle handle) const { row_key_.prefetch(handle); }

  // The entries of an index of byte keys do not contain the keys (cursor.h).
  static KeyRef entry_key(uint64_t) { return {}; }
  // same_key() returns true if both handles have the same key, and has_tag() returns true if the
  // key of a handle has this tag.
  bool same_key(Handle a, Handle b) const { return row_key_.equals(a, row_key_.of(b)); }
  bool has_tag(Handle handle, uint64_t tag) const { return tag_of(row_key_.of(handle)) == tag; }
  static std::string text(uint64_t tag) { return "a key with tag " + std::to_string(tag); }

 private:
  uint64_t seed_ = random_seed();
  RowKey row_key_;
#if ELIDER_TEST_POINTS
  uint64_t bits_ = byte_hash_bits.load();
#endif
};

}  // namespace elider::index
