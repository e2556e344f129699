// How BufferedWrites writes in place, in a piece that runs within one hardware transaction
// (txn/chopping/direct.h). In all other transactions, these functions compile to nothing.
#pragma once

#include "base/bits.h"
#include "txn/read_write/buffered_writes.h"

namespace elider::txn {

// Returns true if a region may write to the row at once. Returns false if the write set already
// contains a write of the row, or if the row is stored as a block, because a change replaces the
// block.
template <class Sync, class Claims>
[[gnu::always_inline]] inline bool BufferedWrites<Sync, Claims>::may_write_in_place(TableType& table, Row* row) const {
  const Layout& layout = table.layout();
  if (!claims_.writes_in_place() || image_in_place_ != nullptr || table.id() >= WriteSet::kTablesWithBit) return false;
  for (uint32_t g = 0; g < layout.group_count(); ++g)
    if (layout.group(g).block || (!writes_.empty() && writes_.find(row, layout, g) != nullptr)) return false;
  return true;
}

// The application edits an image, because the layout of a row differs from the layout of its cells.
// end_edit_in_place() then copies the image's columns to the cells.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::edit_in_place(TableType& table, Row* row, KeyRef key, const ColumnSet& set, void** image_out) {
  const Layout& layout = table.layout();
  std::byte* const image = arena_.allocate(layout.row_bytes());
  for (const uint32_t g : Bits(set.read_groups)) {
    Cell& cell = row->cell(layout, g);
    const uint64_t w = copy_cell(cell, layout.group(g), set, g, image);
    if (word::absent(w)) [[unlikely]] return note_absent(table, cell, key, g, w);
  }
  edit_.table = &table;
  edit_.row = row;
  edit_.set = &set;
  image_in_place_ = image;
  *image_out = image;
  return {};
}

// Returns false if `image` does not belong to an edit in place.
template <class Sync, class Claims>
[[gnu::always_inline]] inline bool BufferedWrites<Sync, Claims>::end_edit_in_place(const void* image) {
  if (!RunsInRegion<Claims> || image_in_place_ == nullptr || image_in_place_ != image) return false;
  const Layout& layout = edit_.table->layout();
  // If change() itself wrote to the row, the write set contains a write of the row.
  if (!writes_.empty() && writes_.find_any(edit_.row, layout) != nullptr) [[unlikely]] claims_.leave_region();
  for (const uint32_t g : Bits(edit_.set->groups)) {
    Cell& cell = edit_.row->cell(layout, g);
    write_in_place(cell, *edit_.set, g, image_in_place_, cell.load());
  }
  writes_.note_table(*edit_.table);
  arena_.give_back(image_in_place_, layout.row_bytes());
  image_in_place_ = nullptr;
  return true;
}

// Writes a row into a block that this transaction has just inserted. Returns false if the row must
// be buffered.
template <class Sync, class Claims>
[[gnu::always_inline]] inline bool BufferedWrites<Sync, Claims>::insert_in_place(TableType& table, Row* row, GivenRow source, uint64_t w) {
  if (table.maintained_indexes() != 0 || !may_write_in_place(table, row) || !claims_.count_inserted(table.id())) return false;
  for (uint32_t g = 0; g < table.layout().group_count(); ++g)
    write_in_place(row->cell(table.layout(), g), table.layout().all(), g, static_cast<const std::byte*>(source.bytes), w);
  writes_.note_table(table);
  return true;
}

template <class Sync, class Claims>
[[gnu::always_inline]] inline void BufferedWrites<Sync, Claims>::write_in_place(Cell& cell, const ColumnSet& set, uint32_t g,
                                                                                const std::byte* image, uint64_t w) {
  storage::copy_to_payload(set, g, cell.payload_inside(), image);
  cell.set_snapshot(claims_.number_in_place());
  cell.unlock(word::next(w, false));
}

}  // namespace elider::txn
