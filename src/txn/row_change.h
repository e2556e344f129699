// RowChange: a log entry that recovery will apply to its row. RowChanges: a list of such entries.
//
// A change's bytes follow it directly in memory. Recovery reads each change more than once, but the
// changes that it needs together are spread over the log files. A RowChanges object therefore
// copies these changes to adjacent memory, which the processor can prefetch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>

#include "elider/byte_key.h"
#include "txn/log_entry.h"

namespace elider::txn {

// Recovery sorts the changes of a column group by (generation, version number). If two changes have
// the same generation and version number, they come from one log record and keep the record's
// order, in which additions follow the bytes to which they are applied.
struct RowChange {
  Key key;  // the hash of a byte key
  uint64_t version_number;
  uint64_t columns;
  uint32_t size;  // the number of bytes after this object
  uint32_t table;
  uint32_t generation;
  uint8_t group;
  EntryKind kind;
  bool byte_key;  // true: the key is a byte key, which is stored after bytes()

  const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(this + 1); }
  detail::KeyRef key_ref() const {
    return byte_key ? detail::KeyRef(reinterpret_cast<const detail::KeyBytes*>(bytes() + (size + 7) / 8 * 8)) : detail::KeyRef(key);
  }
  // Returns true if both changes have the same table and the same key.
  bool same_row(const RowChange& other) const {
    if (key != other.key || table != other.table || byte_key != other.byte_key) return false;
    return !byte_key || detail::bytes_of(key_ref()) == detail::bytes_of(other.key_ref());
  }
  // Returns the size of this change, including its bytes and its byte key, if any, in words of 8
  // bytes.
  size_t words() const {
    const size_t own = (sizeof(RowChange) + size + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    return byte_key ? own + key_words(key_ref().bytes()->size) : own;
  }
  static size_t key_words(size_t key_bytes) { return (sizeof(detail::KeyBytes) + key_bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t); }
};
static_assert(sizeof(RowChange) == 40);

// A list of changes in the order in which they were added. clear() keeps the memory. Thread safety:
// one thread at a time.
class RowChanges {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = RowChange;
    using difference_type = std::ptrdiff_t;
    using pointer = const RowChange*;
    using reference = const RowChange&;

    explicit Iterator(const uint64_t* at = nullptr) : at_(at) {}
    const RowChange& operator*() const { return *reinterpret_cast<const RowChange*>(at_); }
    const RowChange* operator->() const { return &**this; }
    Iterator& operator++() {
      at_ += (*this)->words();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const uint64_t* at_;
  };

  // Appends a copy of the entry. Invalidates iterators and pointers to changes. If add() throws
  // std::bad_alloc, the list is unchanged.
  void add(const LogEntry& entry, uint32_t generation) {
    const auto size = static_cast<uint32_t>(entry.bytes.size());
    const size_t own = words(size), all = entry.byte_key ? own + RowChange::key_words(entry.key_size) : own;
    if (all > capacity_ - used_) grow(all);
    uint64_t* const to = memory_.get() + used_;
    auto* change = new (to) RowChange{entry.byte_key ? hash_of(entry.key_bytes()) : entry.key,
                                      entry.version_number,
                                      entry.columns,
                                      size,
                                      entry.table,
                                      generation,
                                      static_cast<uint8_t>(entry.group),
                                      entry.kind,
                                      entry.byte_key};
    if (size != 0) std::memcpy(change + 1, entry.bytes.data(), size);
    if (entry.byte_key) [[unlikely]] put_key(entry, to + own);
    used_ += all;
    // Recovery appends to more lists in turn than a hardware prefetcher can follow, so the memory
    // after the end is prefetched here.
    const auto next = reinterpret_cast<uintptr_t>(memory_.get() + used_);
    for (uintptr_t ahead : kAhead) __builtin_prefetch(reinterpret_cast<const void*>(next + ahead), 1);
    ++count_;
    tables_ = std::max(tables_, entry.table + uint64_t{1});
  }
  void clear() { used_ = count_ = tables_ = 0; }

  Iterator begin() const { return Iterator(memory_.get()); }
  Iterator end() const { return Iterator(memory_.get() + used_); }
  size_t count() const { return count_; }
  // The largest table id plus one; 0 if the list is empty.
  uint64_t tables() const { return tables_; }

  // Returns the hash that RowChange::key contains for a byte key. It depends on a random seed of
  // the process, so keys with equal hashes cannot be chosen on purpose.
  static uint64_t hash_of(elider::Bytes key);

 private:
  static void put_key(const LogEntry& entry, uint64_t* to);
  static constexpr uintptr_t kAhead[] = {64, 128};  // bytes
  static size_t words(size_t bytes) { return (sizeof(RowChange) + bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t); }
  void grow(size_t words) {
    const size_t capacity = std::max<size_t>(2 * capacity_, used_ + words);
    std::unique_ptr<uint64_t[]> memory(new uint64_t[capacity]);  // uninitialized
    if (used_ != 0) std::memcpy(memory.get(), memory_.get(), used_ * sizeof(uint64_t));
    memory_ = std::move(memory);
    capacity_ = capacity;
  }

  std::unique_ptr<uint64_t[]> memory_;
  size_t capacity_ = 0, used_ = 0;  // in words
  size_t count_ = 0;
  uint64_t tables_ = 0;
};

// All changes of a row, sorted by (column group, generation, version number).
struct ChangedRow {
  detail::KeyRef key;
  const RowChange* const* changes;
  uint32_t count;
};

}  // namespace elider::txn
