// TouchedRows: the rows that the calls of a group have named beforehand (elider/touches.h), found
// all at once, so that the cache misses of their lookups overlap.
//
// A row that was found here stands for a lookup that the transaction makes later, in the same grace
// period, as long as its block is not marked as removed. Invariant: a block is marked before it
// leaves its key's place in the index, and no other block comes there before that; so a block that
// is not marked is what a lookup at that instant would find. A key that was not there is looked for
// again: the transaction needs the witness of its own lookup.
//
// Thread safety: none; it belongs to one worker, which is inside from find() on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/test_points.h"
#include "elider/touches.h"
#include "txn/refuse.h"
#include "txn/table.h"

namespace elider::txn {

struct TouchedRow {
  const detail::TableBase* table = nullptr;  // null: nothing to go by
  Key key = 0;
  Row* row = nullptr;
};

class TouchedRows {
 public:
  // Looks for all touches, those of one table and the same columns together. May throw
  // std::bad_alloc; it holds no rows then.
  template <class Sync>
  void find(uint64_t database_id, const std::vector<detail::Touch>& touches);
  // Those of the touches from `begin` to `end`.
  std::span<const TouchedRow> of(size_t begin, size_t end) const {
    return end <= rows_.size() ? std::span(rows_).subspan(begin, end - begin) : std::span<const TouchedRow>();
  }

 private:
  static constexpr size_t kBatch = 32;

  // The touches from `first` on that are of its kind, at most kBatch.
  size_t gather(const std::vector<detail::Touch>& touches, size_t first);
  template <class Sync>
  void find_gathered(uint64_t database_id, const detail::Touch& like, size_t count);

  std::vector<TouchedRow> rows_;  // as the touches
  std::vector<bool> taken_;
  size_t positions_[kBatch];
  Key keys_[kBatch];
};

inline size_t TouchedRows::gather(const std::vector<detail::Touch>& touches, size_t first) {
  const detail::Touch& like = touches[first];
  size_t count = 0;
  for (size_t i = first; i < touches.size() && count < kBatch; ++i) {
    const detail::Touch& touch = touches[i];
    if (touch.table != like.table || touch.columns != like.columns || touch.place != like.place || touch.index != like.index || taken_[i])
      continue;
    taken_[i] = true;
    positions_[count] = i;
    keys_[count++] = touch.key;
  }
  return count;
}

template <class Sync>
void TouchedRows::find_gathered(uint64_t database_id, const detail::Touch& like, size_t count) {
  // What makes no sense the operation itself will refuse. Keys that are bytes nobody can name yet.
  const detail::ColumnSet* const set = accept_arguments<Access::kRead>(database_id, TableRef(like.table), ColumnsRef(like.columns));
  if (set == nullptr || like.table->byte_keys()) return;
  auto& table = static_cast<Table<Sync>&>(*like.table);
  index::Handle handles[kBatch];
  if (like.place == detail::Touch::Place::kIndexRange) {
    if (like.index < table.secondary_count()) table.secondary(like.index).touch(keys_, count, handles);
    return;
  }
  static_assert(sizeof(KeyRef) == sizeof(Key));
  table.find_many(reinterpret_cast<const KeyRef*>(keys_), count, *set, handles, nullptr);
  if (like.place != detail::Touch::Place::kRow) return;
  for (size_t i = 0; i < count; ++i) rows_[positions_[i]] = {&table, keys_[i], Table<Sync>::as_row(handles[i])};
}

template <class Sync>
void TouchedRows::find(uint64_t database_id, const std::vector<detail::Touch>& touches) {
  rows_.clear();
  taken_.assign(touches.size(), false);
  rows_.resize(touches.size());
  for (size_t first = 0; first < touches.size(); ++first)
    if (!taken_[first]) find_gathered<Sync>(database_id, touches[first], gather(touches, first));
}

}  // namespace elider::txn
