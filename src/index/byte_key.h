// Keys that are bytes, as indexes see them, and where an index of such keys is plugged in.
//
// Thread safety: values and pure functions.
#pragma once

#include <algorithm>
#include <compare>
#include <cstring>
#include <type_traits>

#include "elider/key.h"
#include "index/index.h"

namespace elider::index {

using elider::detail::KeyBytes;
using elider::detail::KeyRef;

inline constexpr uint32_t kKeyBytesMax = 1024;

// Somebody else's bytes, in the order of memcmp, a shorter key before those that it begins. Null:
// no bytes, the smallest key.
struct ByteKey {
  const KeyBytes* bytes = nullptr;

  uint32_t size() const { return bytes == nullptr ? 0 : bytes->size; }
  friend std::strong_ordering operator<=>(const ByteKey& a, const ByteKey& b) {
    const uint32_t common = std::min(a.size(), b.size());
    if (const int order = common == 0 ? 0 : std::memcmp(a.bytes->data(), b.bytes->data(), common); order != 0) return order <=> 0;
    return a.size() <=> b.size();
  }
  friend bool operator==(const ByteKey& a, const ByteKey& b) { return (a <=> b) == 0; }
};

// What a table's keys are.
enum class KeyKind : uint8_t { kNumbers, kBytes };

// The ordered index of byte keys of tables under a sync policy. No table of the library has such
// keys yet: a specialization names the index's type, and has kind_of(schema, options) -> KeyKind,
// of a new table.
//
// The index is what index.h says of ordered ones, with ByteKey as its key, but that it needs no
// hints: get() and read_leaf() take a NoHint, get_or_insert() none; and multi_get() takes KeyRefs.
template <class Sync>
struct ByteIndexOf {
  using type = void;
};

// What an index's key is for the layer above, and back. The bytes of an entry's key are
// the row's for that layer.
inline KeyRef ref_of(Key key) { return key; }
inline KeyRef ref_of(const ByteKey& key) { return KeyRef(key.bytes); }
template <class IndexKey>
IndexKey key_of(KeyRef key) {
  if constexpr (std::is_same_v<IndexKey, ByteKey>) return {key.bytes()};
  else return key.number();
}

}  // namespace elider::index
