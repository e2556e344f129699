// TouchedRows: the rows that the calls of a group have announced (elider/touches.h), looked up
// together, so that the cache misses of the lookups overlap.
//
// If a row was found here, a transaction in the same grace period need not look it up again, unless
// the row block has been marked as removed in the meantime. Invariant: a block is marked as removed
// before it leaves the index, and until then the index does not contain another block for its key.
// So if the block is not marked, a lookup at that instant would find it. If a key was not found
// here, the transaction looks up the key again, because it needs a witness (index/index.h) from its
// own lookup.
//
// Thread safety: none. The object belongs to one worker, which must be inside the epoch
// (base/worker.h) from find() until the last use of the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elider/touches.h"
#include "txn/refuse.h"
#include "txn/table.h"

namespace elider::txn {

struct TouchedRow {
  const detail::TableBase* table = nullptr;  // null: the touch could not be looked up
  KeyRef key;
  Row* row = nullptr;

  // Returns true if this row has the key `other`, which must be a key of the same table.
  bool is_of(KeyRef other) const {
    if (!table->byte_keys()) [[likely]] return key == other;
    return index::ByteKey{key.bytes()} == index::ByteKey{other.bytes()};
  }
};

// Prefetches the cache lines that a read of these columns of a row touches.
inline void prefetch_row(const Row* row, const ColumnSet& set) {
  for (uint32_t line : set.lines) __builtin_prefetch(reinterpret_cast<const std::byte*>(row) + line);
}

// Prefetches the beginnings of the blocks that contain these rows. The addresses may be those of
// blocks that have been replaced or freed, which does not matter to a prefetch.
inline void prefetch_blocks(const storage::Layout& layout, std::span<const index::Handle> rows) {
  for (const index::Handle handle : rows) {
    if (handle == index::kNoHandle) continue;
    const auto* const block = reinterpret_cast<const std::byte*>(reinterpret_cast<Row*>(handle)->cell(layout, 0).block());
    if (block == nullptr) continue;
    __builtin_prefetch(block);
    __builtin_prefetch(block + kCacheLineBytes);
  }
}

class TouchedRows {
 public:
  // Looks up the rows of all touches, index by index. If find() throws std::bad_alloc, the object
  // does not contain any rows.
  template <class Sync>
  void find(uint64_t database_id, std::span<const detail::Touch> touches);
  // Returns the rows of the touches at positions [begin, end).
  std::span<const TouchedRow> of(size_t begin, size_t end) const {
    return end <= rows_.size() ? std::span(rows_).subspan(begin, end - begin) : std::span<const TouchedRow>();
  }

 private:
  static constexpr uint32_t kBatch = 32, kNone = ~uint32_t{0};
  // The touches that are looked up in one index. They are linked through next_.
  struct Lookups {
    const detail::Touch* like;
    uint32_t first, last;
  };

  void sort(std::span<const detail::Touch> touches);
  template <class Sync>
  void find_in_index(const Lookups& lookups, std::span<const detail::Touch> touches);

  std::vector<TouchedRow> rows_;  // one per touch, in the same order
  std::vector<uint32_t> next_;    // one per touch, in the same order
  std::vector<Lookups> lookups_;
};

inline void TouchedRows::sort(std::span<const detail::Touch> touches) {
  lookups_.clear();
  next_.assign(touches.size(), kNone);
  size_t at = 0;  // a guess: calls of one procedure touch the same tables in the same order
  for (uint32_t i = 0; i < touches.size(); ++i) {
    const detail::Touch& touch = touches[i];
    const size_t count = lookups_.size();
    size_t looked_at = 0;
    for (; looked_at < count; ++looked_at) {
      if (at >= count) at = 0;
      const detail::Touch& like = *lookups_[at].like;
      if (touch.table == like.table && touch.place == like.place && touch.index == like.index && touch.byte_key == like.byte_key)
        break;
      ++at;
    }
    if (looked_at == count) {
      lookups_.push_back({&touch, i, i});
      at = count;
      continue;
    }
    uint32_t& last = lookups_[at].last;
    next_[last] = i;
    last = i;
  }
}

template <class Sync>
void TouchedRows::find_in_index(const Lookups& lookups, std::span<const detail::Touch> touches) {
  auto& table = static_cast<Table<Sync>&>(*lookups.like->table);
  uint32_t positions[kBatch];
  KeyRef keys[kBatch];
  index::Handle handles[kBatch];
  static_assert(kBatch <= Table<Sync>::Secondary::kTouchesMax);
  static_assert(sizeof(KeyRef) == sizeof(Key));
  for (uint32_t i = lookups.first; i != kNone;) {
    uint32_t count = 0;
    for (; i != kNone && count < kBatch; i = next_[i]) {
      positions[count] = i;
      keys[count++] = touches[i].key;
    }
    if (lookups.like->place == detail::Touch::Place::kIndexRange) {
      table.secondary(AnyTable::slot_of(lookups.like->index)).touch(reinterpret_cast<const uint64_t*>(keys), count, handles);
      continue;
    }
    table.find_many(keys, count, table.layout().none(), handles, nullptr);
    if (lookups.like->place != detail::Touch::Place::kRow) continue;
    for (uint32_t found = 0; found < count; ++found) {
      const detail::Touch& touch = touches[positions[found]];
      Row* const row = Table<Sync>::as_row(handles[found]);
      rows_[positions[found]] = {&table, touch.key, row};
      // The operation itself will refuse columns of another table.
      if (row != nullptr && (touch.columns == nullptr || touch.columns->table == &table))
        prefetch_row(row, touch.columns != nullptr ? *touch.columns : table.layout().all());
    }
    if (table.layout().group(0).block) prefetch_blocks(table.layout(), std::span(handles, count));
  }
}

template <class Sync>
void TouchedRows::find(uint64_t database_id, std::span<const detail::Touch> touches) {
  rows_.clear();
  sort(touches);
  rows_.resize(touches.size());
  for (const Lookups& lookups : lookups_) {
    // The operation itself will refuse invalid arguments.
    const detail::TableBase* const table = lookups.like->table;
    if (accept_arguments<Purpose::kRead>(database_id, TableRef(lookups.like->table), {}) == nullptr) continue;
    if (lookups.like->place != detail::Touch::Place::kIndexRange && lookups.like->byte_key != table->byte_keys()) continue;
    if (lookups.like->place == detail::Touch::Place::kIndexRange &&
        static_cast<const AnyTable*>(table)->usable_index(lookups.like->index) == nullptr)
      continue;
    find_in_index<Sync>(lookups, touches);
  }
}

}  // namespace elider::txn
