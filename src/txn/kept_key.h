// Functions that bring keys and index ranges into the form in which a transaction stores them.
// Number keys are stored directly. Byte keys are copied to the transaction's arena.
//
// Thread safety: the same as the arena.
#pragma once

#include <cstring>
#include <new>

#include "index/btree/btree_key.h"
#include "index/byte_key.h"
#include "index/index.h"
#include "index/key_index.h"
#include "txn/arena.h"

namespace elider::txn {

using index::ByteKey;
using index::SecondaryKey;

// Copies `key` to the arena and appends `zeros` zero bytes.
inline ByteKey copy_of(Arena& arena, const ByteKey& key, uint32_t zeros = 0) {
  std::byte* const memory = arena.allocate(sizeof(detail::KeyBytes) + key.size() + zeros);
  auto* copy = new (memory) detail::KeyBytes{key.size() + zeros};
  if (key.size() != 0) std::memcpy(copy->data(), key.bytes->data(), key.size());
  if (zeros != 0) std::memset(copy->data() + key.size(), 0, zeros);
  return {copy};
}

inline detail::KeyRef kept_key(Arena&, Key key) { return key; }
inline detail::KeyRef kept_key(Arena& arena, const ByteKey& key) { return index::ref_of(copy_of(arena, key)); }
// Returns the form in which the transaction stores the key of a secondary index entry.
inline SecondaryKey kept_entry(Arena&, const SecondaryKey& entry) { return entry; }
inline SecondaryKey kept_entry(Arena& arena, const ByteKey& entry) { return {0, kept_key(arena, entry).number()}; }
// Copies the entry of an index by columns to the arena.
inline index::IndexValue kept_value(Arena& arena, const detail::KeyBytes* entry) {
  return index::IndexValue(copy_of(arena, {entry}).bytes);
}
template <class IndexKey>
IndexKey entry_of(const SecondaryKey& kept) {
  if constexpr (std::is_same_v<IndexKey, ByteKey>) return index::key_of<ByteKey>(detail::KeyRef(kept.primary));
  else return kept;
}

// Returns the bound just above this key. The next larger byte key is this key with a zero byte
// appended.
template <class IndexKey>
index::Bound<IndexKey> behind(Arena&, const IndexKey& key) {
  return index::bound_behind(key);
}
inline index::Bound<ByteKey> behind(Arena& arena, const ByteKey& key) { return {copy_of(arena, key, 1), false}; }

// Converts a range of entries to the index's own key type.
template <class IndexKey>
index::Range<IndexKey> range_of_entries(Arena& arena, const detail::EntryRange& range) {
  if constexpr (std::is_same_v<IndexKey, ByteKey>) {
    if (range.by_columns) return {copy_of(arena, {range.from.bytes()}), {copy_of(arena, {range.to.bytes()}), range.to_end}};
    return {copy_of(arena, index::ByteEntry(range.from_value, range.from).key()),
            {copy_of(arena, index::ByteEntry(range.to_value, range.to).key()), range.to_end}};
  } else {
    return {{range.from_value, range.from.number()}, {{range.to_value, range.to.number()}, range.to_end}};
  }
}

}  // namespace elider::txn
