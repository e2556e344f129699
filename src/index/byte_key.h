// ByteKey: a byte-string key in an index. ByteIndexOf: selects the index of byte keys.
//
// Thread safety: values and pure functions.
#pragma once

#include <algorithm>
#include <compare>
#include <cstring>
#include <type_traits>

#include "elider/byte_key.h"
#include "elider/key.h"
#include "elider/schema.h"
#include "elider/options.h"
#include "index/index.h"
#include "sync/policy.h"

namespace elider::index {

using elider::detail::KeyBytes;
using elider::detail::KeyRef;

using elider::KeyKind;
using elider::kKeyBytesMax;

// A reference to a key's bytes, which it does not own. Keys are ordered as by memcmp, and a prefix
// is less than a longer key. A null pointer means an empty key, which is the smallest.
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

template <sync::Policy Sync, class KeyType>
class RadixTree;

// Selects the index with byte keys that tables under a sync policy use, and that also serves as
// their secondary index. By default, this index is the radix tree, and a new table's schema
// determines whether the table has number keys or byte keys. Tables that ask for a hash table or,
// if kHasTree is true, for a B+-tree, have that as their key index. Tests specialize the template
// to run another index, or to use byte keys in tables whose callers use number keys. A
// specialization defines `type`, the class of the index, kHasTree, and kind_of(schema, options),
// which returns the kind of keys of a new table.
//
// The index implements the interface of an ordered index (index.h) with ByteKey as its key, except
// that it does not use hints: get() and read_leaf() take a NoHint, and get_or_insert() does not
// take a hint. multi_get() takes KeyRefs.
template <class Sync>
struct ByteIndexOf {
  using type = RadixTree<Sync, ByteKey>;
  static constexpr bool kHasTree = true;
  static KeyKind kind_of(const Schema& schema, const Options&) { return schema.key_kind; }
};

// ref_of() converts an index's key to KeyRef, the key type of the layer above. key_of() converts it
// back. The bytes of a byte key are not copied.
inline KeyRef ref_of(Key key) { return key; }
inline KeyRef ref_of(const ByteKey& key) { return KeyRef(key.bytes); }
template <class IndexKey>
IndexKey key_of(KeyRef key) {
  if constexpr (std::is_same_v<IndexKey, ByteKey>) return {key.bytes()};
  else return key.number();
}

}  // namespace elider::index
