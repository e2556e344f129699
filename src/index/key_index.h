// KeyIndexOf: the key index of a table, which is a B+-tree, hash table or radix tree. With byte
// keys, it is a B+-tree or radix tree.
// SecondaryIndexOf: a secondary index of a table, which is always ordered.
//
// Lookups, with which every operation starts, are member functions. For everything else, visit()
// passes the index itself (index.h) to a function. Thread safety: the same as for the indexes.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "base/worker.h"
#include "elider/options.h"
#include "elider/schema.h"
#include "index/art/art.h"
#include "index/btree/btree.h"
#include "index/byte_key.h"
#include "index/cursor.h"
#include "index/hash/hash_table.h"
#include "index/index.h"
#include "index/row_key.h"

namespace elider::index {

template <class Sync>
class KeyIndexOf {
 public:
  using Ordered = BTree<Sync, Key>;
  using Hashed = HashTable<Sync, Key>;
  using HashedBytes = HashTable<Sync, ByteKey>;
  using Radix = RadixTree<Sync, Key>;
  using Bytes = typename ByteIndexOf<Sync>::type;
  using OrderedBytes = BTree<Sync, ByteKey>;
  using Hint = typename Ordered::Hint;  // the B+-tree's hint; other kinds of index do not use hints

  // `row_key` tells where a row stores its byte key.
  KeyIndexOf(KeyIndex kind, KeyKind keys, RowKey row_key) {
    if (keys == KeyKind::kBytes && kind == KeyIndex::kHashed) hashed_bytes_ = std::make_unique<HashedBytes>(HashKeys<ByteKey>(row_key));
    else if (keys == KeyKind::kBytes && kind == KeyIndex::kOrdered && ByteIndexOf<Sync>::kHasTree)
      ordered_bytes_ = std::make_unique<OrderedBytes>(row_key);
    else if (keys == KeyKind::kBytes) bytes_ = std::make_unique<Bytes>();
    else if (kind == KeyIndex::kOrdered) ordered_ = std::make_unique<Ordered>();
    else if (kind == KeyIndex::kRadix) radix_ = std::make_unique<Radix>();
    else hashed_ = std::make_unique<Hashed>();
  }

  bool has_hints() const { return ordered_ != nullptr; }

  // Returns the index, which must be of type `Index`.
  template <class Index>
  [[gnu::always_inline]] inline Index& as() const {
    if constexpr (std::is_same_v<Index, Hashed>) return *hashed_;
    else if constexpr (std::is_same_v<Index, Radix>) return *radix_;
    else if constexpr (std::is_same_v<Index, Bytes>) return *bytes_;
    else if constexpr (std::is_same_v<Index, HashedBytes>) return *hashed_bytes_;
    else if constexpr (std::is_same_v<Index, OrderedBytes>) return *ordered_bytes_;
    else return *ordered_;
  }
  // Calls f(index) and returns its result.
  template <class F>
  [[gnu::always_inline]] inline decltype(auto) visit(F&& f) const {
    if (ordered_ != nullptr) return f(*ordered_);
    if (hashed_ != nullptr) return f(*hashed_);
    if (radix_ != nullptr) return f(*radix_);
    if (bytes_ != nullptr) return f(*bytes_);
    if (hashed_bytes_ != nullptr) return f(*hashed_bytes_);
    return f(*ordered_bytes_);
  }

  // `ahead` lists the cache lines of the row that the caller will access next. The hash tables and
  // the radix tree of number keys prefetch them as soon as they find the row.
  [[gnu::always_inline]] inline Handle get(KeyRef key, Hint& hint, Witness& witness, Ahead ahead) {
    if (ordered_ != nullptr) return ordered_->get(key.number(), hint, witness);
    if (hashed_ != nullptr) return get_hashed(*hashed_, key, witness, ahead);
    if (radix_ != nullptr) return radix_->get(key.number(), witness, ahead);
    if (hashed_bytes_ != nullptr) return hashed_bytes_->get(ByteKey{key.bytes()}, witness, ahead);
    if (bytes_ != nullptr) {
      NoHint none;
      return bytes_->get(ByteKey{key.bytes()}, none, witness);
    }
    typename OrderedBytes::Hint none;
    return ordered_bytes_->get(ByteKey{key.bytes()}, none, witness);
  }
  void multi_get(const KeyRef* keys, size_t count, Handle* handles, Witness* witnesses, Ahead ahead) {
    const auto* const numbers = reinterpret_cast<const Key*>(keys);
    if (ordered_ != nullptr) ordered_->multi_get(numbers, count, handles, witnesses, ahead);
    else if (hashed_ != nullptr) hashed_->multi_get(numbers, count, handles, witnesses, ahead);
    else if (radix_ != nullptr) radix_->multi_get(numbers, count, handles, witnesses, ahead);
    else if (bytes_ != nullptr) bytes_->multi_get(keys, count, handles, witnesses, ahead);
    else if (hashed_bytes_ != nullptr) hashed_bytes_->multi_get(keys, count, handles, witnesses, ahead);
    else ordered_bytes_->multi_get(keys, count, handles, witnesses, ahead);
  }
  InsertResult get_or_insert(Worker& worker, KeyRef key, Handle candidate, Hint& hint) {
    if (ordered_ != nullptr) return ordered_->get_or_insert(worker, key.number(), candidate, hint);
    if (hashed_ != nullptr) return hashed_->get_or_insert(worker, key.number(), candidate);
    if (radix_ != nullptr) return radix_->get_or_insert(worker, key.number(), candidate);
    if (hashed_bytes_ != nullptr) return hashed_bytes_->get_or_insert(worker, {key.bytes()}, candidate);
    if (bytes_ != nullptr) return bytes_->get_or_insert(worker, {key.bytes()}, candidate);
    typename OrderedBytes::Hint none;
    return ordered_bytes_->get_or_insert(worker, {key.bytes()}, candidate, none);
  }
  bool remove(Worker& worker, KeyRef key, Handle expected) {
    return visit([&]<class Index>(Index& index) { return index.remove(worker, key_of<typename Index::Key>(key), expected); });
  }

  size_t size() const {
    return visit([](const auto& index) { return index.size(); });
  }
  std::unique_ptr<Cursor> cursor() const {
    return visit([](auto& index) { return make_cursor(index); });
  }

 private:
  // A separate function, so that a lookup in a B+-tree need not save the registers that a hash
  // lookup uses.
  [[gnu::noinline]] static Handle get_hashed(Hashed& index, KeyRef key, Witness& witness, Ahead ahead) {
    return index.get(key.number(), witness, ahead);
  }

  // Exactly one of these is set.
  std::unique_ptr<Ordered> ordered_;
  std::unique_ptr<Hashed> hashed_;
  std::unique_ptr<Radix> radix_;
  std::unique_ptr<Bytes> bytes_;
  std::unique_ptr<HashedBytes> hashed_bytes_;
  std::unique_ptr<OrderedBytes> ordered_bytes_;
};

// The key of an entry in an index of numbers over byte keys: the value, most significant byte
// first, followed by the row's key. The key is stored in the object itself, so that removing an
// entry does not allocate memory.
class ByteEntry {
 public:
  explicit ByteEntry(uint64_t value, ByteKey primary = {}) {
    assert(primary.size() <= kKeyBytesMax + 1);  // the end of a range may have one more byte
    auto* bytes = new (memory_) KeyBytes{static_cast<uint32_t>(sizeof value) + primary.size()};
    for (uint32_t i = 0; i < sizeof value; ++i) bytes->data()[i] = static_cast<std::byte>(value >> (56 - 8 * i));
    if (primary.size() != 0) std::memcpy(bytes->data() + sizeof value, primary.bytes->data(), primary.size());
  }
  ByteEntry(uint64_t value, KeyRef primary) : ByteEntry(value, ByteKey{primary.bytes()}) {}
  ByteKey key() const { return {reinterpret_cast<const KeyBytes*>(memory_)}; }

 private:
  alignas(KeyBytes) std::byte memory_[sizeof(KeyBytes) + sizeof(uint64_t) + kKeyBytesMax + 1];
};

// A value in a secondary index. In an index with a key function, it is a number. In an index by
// columns, it is the address of a whole entry, that is, of the encoded columns followed by the
// row's key (txn/column_index.h), and it is valid as long as these bytes are. Which of the two it
// is depends on the index. A default-constructed object is not initialized.
class IndexValue {
 public:
  IndexValue() = default;
  explicit IndexValue(uint64_t number) : word_(number) {}
  explicit IndexValue(const KeyBytes* entry) : word_(reinterpret_cast<uint64_t>(entry)) {}
  uint64_t number() const { return word_; }
  const KeyBytes* entry() const { return reinterpret_cast<const KeyBytes*>(word_); }
  uint64_t word() const { return word_; }  // the number or the address

 private:
  uint64_t word_;
};

template <class Sync>
class SecondaryIndexOf {
 public:
  using Numbers = BTree<Sync, SecondaryKey>;
  using Bytes = typename ByteIndexOf<Sync>::type;
  using Hint = typename Numbers::Hint;
  static constexpr size_t kTouchesMax = 32;

  SecondaryIndexOf(KeyKind keys, bool by_columns) : by_columns_(by_columns) {
    if (by_columns || keys == KeyKind::kBytes) bytes_ = std::make_unique<Bytes>();
    else numbers_ = std::make_unique<Numbers>();
  }

  template <class F>
  [[gnu::always_inline]] inline decltype(auto) visit(F&& f) const {
    return numbers_ != nullptr ? f(*numbers_) : f(*bytes_);
  }

  // Looks up the entry for the row with this primary key, under this value.
  Handle get(IndexValue value, KeyRef primary, Hint& hint, Witness& witness) {
    if (numbers_ != nullptr) return numbers_->get({value.number(), primary.number()}, hint, witness);
    NoHint none;
    if (by_columns_) return bytes_->get({value.entry()}, none, witness);
    return bytes_->get(ByteEntry(value.number(), primary).key(), none, witness);
  }
  // Brings the leaves that contain these values into the cache, with overlapping misses. `count` is
  // at most kTouchesMax. `found` must have room for `count` handles; its contents are meaningless
  // afterwards.
  void touch(const uint64_t* values, size_t count, Handle* found) {
    if (numbers_ == nullptr) return;
    SecondaryKey keys[kTouchesMax];
    for (size_t i = 0; i < count; ++i) keys[i] = {values[i], 0};
    numbers_->multi_get(keys, count, found, nullptr, {});
  }
  InsertResult get_or_insert(Worker& worker, IndexValue value, KeyRef primary, Handle candidate, Hint& hint) {
    if (numbers_ != nullptr) return numbers_->get_or_insert(worker, {value.number(), primary.number()}, candidate, hint);
    if (by_columns_) return bytes_->get_or_insert(worker, {value.entry()}, candidate);
    return bytes_->get_or_insert(worker, ByteEntry(value.number(), primary).key(), candidate);
  }
  bool remove(Worker& worker, IndexValue value, KeyRef primary, Handle expected) {
    if (numbers_ != nullptr) return numbers_->remove(worker, {value.number(), primary.number()}, expected);
    if (by_columns_) return bytes_->remove(worker, {value.entry()}, expected);
    return bytes_->remove(worker, ByteEntry(value.number(), primary).key(), expected);
  }

 private:
  // Exactly one of these is set.
  std::unique_ptr<Numbers> numbers_;
  std::unique_ptr<Bytes> bytes_;
  const bool by_columns_;  // entries are complete byte strings (IndexValue)
};

}  // namespace elider::index
