// How BufferedWrites buffers changes of some columns of a row (DBX, section 5.2).
#pragma once

#include "base/bits.h"
#include "txn/read_write/buffered_writes.h"

namespace elider::txn {

// Claims a column group for a write, and sets *w to its commit word. Returns kNotFound if the row
// is absent.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::present_word(TableType& table, Row* row, KeyRef key, uint32_t g, uint64_t* w) {
  Cell& cell = row->cell(table.layout(), g);
  if (Status status = this->template claim<Purpose::kWrite>(table, cell, key); !status.ok()) [[unlikely]] return status;
  *w = unlocked_word(cell);
  return word::absent(*w) ? note_absent(table, cell, key, g, *w) : Status();
}

// Extends an update by the columns of `set`, with their current values.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::widen(TableType& table, WriteEntry& write, const ColumnSet& set) {
  if (write.leaves_none()) return table.error(Code::kNotFound, Cause::kNone, write.key);
  if (write.kind == WriteKind::kPresent) return {};
  const Layout& layout = table.layout();
  const uint64_t missing = set.columns & ~write.columns->columns;
  if (missing == 0 && !(set.whole && !write.columns->whole)) return {};
  // Read the columns, including the earlier writes, into a second image, and copy them to the
  // write's image.
  std::byte* fresh = arena_.allocate(layout.row_bytes());
  if (Status status = read_own(table, write, set, fresh); !status.ok()) return status;
  copy_image(set, write.group, write.image, fresh);
  WriteSet::forget_additions(write, set);  // read_own() has already applied these additions
  writes_.join(write, set);
  return {};
}

template <class Sync, class Claims>
[[gnu::always_inline]] inline Status BufferedWrites<Sync, Claims>::edit_group(TableType& table, Row* row, KeyRef key,
                                                                                    const ColumnSet& set, uint32_t g, uint64_t w,
                                                                                    uint64_t expected, std::byte* image) {
  const Layout& layout = table.layout();
  if (word::removed(w) && expected == word::kUnknown) [[unlikely]] return note_absent(table, row->cell(layout, g), key, g, w);
  if (expected != word::kUnknown && expected != w) [[unlikely]] return doom(table, Code::kConflict, Cause::kReadChanged, key);
  recorder_.read(table, key, g, !word::absent(w), word::version_number(w));
  if (word::absent(w)) [[unlikely]] {
    tracking_.read_unclaimed({&row->cell(layout, g), w, key, &table});
    return table.error(Code::kNotFound, Cause::kNone, key);
  }
  writes_.add(table, row, key, g, WriteKind::kUpdate, set, w, image);
  return {};
}

// If the transaction has read this column group through the view `read`, returns the commit word of
// that read. The commit then validates this word with the write instead of the read. Otherwise
// returns kUnknown. `read` is the header of a view of the row, or null.
template <class Sync, class Claims>
[[gnu::always_inline]] inline uint64_t BufferedWrites<Sync, Claims>::expected_by(const detail::ImageHeader* read, const Cell& cell,
                                                                                       uint32_t g) {
  if (read == nullptr || read->read_index == ~0u || !(read->groups >> g & 1)) return word::kUnknown;
  const uint64_t position = uint64_t{read->read_index} + static_cast<uint64_t>(std::popcount(read->groups & ((1u << g) - 1)));
  return tracking_.leave_to_write(position, cell);
}

// Copies the current values of the columns to an image, and adds a write for each group that
// contains one of these columns.
template <class Sync, class Claims>
[[gnu::always_inline]] inline Status BufferedWrites<Sync, Claims>::copy_to_edit(TableType& table, Row* row, KeyRef key,
                                                                                      const ColumnSet& set, const detail::ImageHeader* read,
                                                                                      std::byte** image_out) {
  const Layout& layout = table.layout();
  std::byte* image = writes_.image_of(table, row);
  const uint32_t groups = set.read_groups;
  ReadTogether together;
  Status claimed = this->template claim_and_read_together<Purpose::kWrite>(table, row, key, set, groups, image, &together);
  if (!claimed.ok()) [[unlikely]] return claimed;
  for (const uint32_t g : Bits(groups)) {
    if (!writes_.empty()) {
      if (WriteEntry* write = writes_.find(row, layout, g)) {
        if (Status status = widen(table, *write, set); !status.ok()) return status;
        continue;
      }
    }
    const uint64_t expected = expected_by(read, row->cell(layout, g), g);
    const uint64_t w = together.has(g) ? together.words[g] : copy_cell(row->cell(layout, g), layout.group(g), set, g, image);
    if (Status status = edit_group(table, row, key, set, g, w, expected, image); !status.ok()) [[unlikely]] return status;
  }
  *image_out = image;
  return {};
}

// Like copy_to_edit(), but copies a variable-size row, which is edited as a whole.
template <class Sync, class Claims>
[[gnu::noinline]] Status BufferedWrites<Sync, Claims>::copy_sized_to_edit(TableType& table, Row* row, KeyRef key,
                                                                                const detail::ImageHeader* read, std::byte** image) {
  const Layout& layout = table.layout();
  if (WriteEntry* write = writes_.find(row, layout, 0)) {
    if (write->leaves_none()) return table.error(Code::kNotFound, Cause::kNone, key);
    // The caller takes the size of the image from its view.
    if (read != nullptr && WriteSet::image_bytes(layout, write->image) != read->bytes) return refuse_view_of_other_size(table, key);
    *image = write->image;
    return {};
  }
  Cell& cell = row->cell(layout, 0);
  if (Status status = this->template claim<Purpose::kWrite>(table, cell, key); !status.ok()) [[unlikely]] return status;
  const uint64_t expected = expected_by(read, cell, 0);
  for (;;) {
    const uint64_t w = unlocked_word(cell);
    *image = nullptr;
    storage::SizedRow row_bytes;
    if (!word::absent(w)) row_bytes = storage::sized_row(cell, [&](size_t bytes) { return *image = writes_.sized_image(bytes); });
    if (!cell.unchanged(w) && !ELIDER_MUTANT(kTrustSmallCopy)) continue;
    if (*image == nullptr) {
      *image = writes_.sized_image(row_bytes.size);
      if (row_bytes.size != 0) std::memcpy(*image, row_bytes.bytes, row_bytes.size);
    }
    return edit_group(table, row, key, layout.all(), 0, w, expected, *image);
  }
}

template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::edit_row(TableType& table, Row* row, KeyRef key, const ColumnSet& set,
                                                    const detail::ImageHeader* read, void** image_out) {
  const Layout& layout = table.layout();
  const uint64_t affected = indexes_reading(table, set.columns);
  if (affected == 0 && may_write_in_place(table, row)) return edit_in_place(table, row, key, set, image_out);
  std::byte* image = nullptr;
  if (Status status = layout.sized_rows() ? copy_sized_to_edit(table, row, key, read, &image)
                                          : copy_to_edit(table, row, key, set, read, &image);
      !status.ok()) [[unlikely]]
    return status;
  if (affected != 0) [[unlikely]] {
    edit_.table = &table;
    edit_.row = row;
    edit_.key = key;
    edit_.affected = affected;
    if (Status status = own_index_values(table, row, key, affected, Values::kOld, edit_.old_values); !status.ok()) return status;
    edit_.before = arena_.allocate(WriteSet::image_bytes(layout, image));
    edit_.set = &set;
    copy_edited(edit_.before, image);
    edited_table_ = &table;
    state_ = State::kEditing;
  }
  *image_out = image;
  return {};
}

// -- edits ----------------------------------------------------------------------------------------

// Copies the columns that the pending edit may change, or the entire row if it has variable size.
template <class Sync, class Claims>
void BufferedWrites<Sync, Claims>::copy_edited(std::byte* to, const std::byte* from) const {
  const Layout& layout = edit_.table->layout();
  if (layout.sized_rows()) {
    const WriteEntry* const write = writes_.find(edit_.row, layout, 0);
    std::memcpy(to, from, WriteSet::image_bytes(layout, write->image));
    return;
  }
  for (uint32_t g = 0; g < layout.group_count(); ++g) copy_image(*edit_.set, g, to, from);
}

template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::do_edit(const TableRef& ref, KeyRef key, const ColumnsRef& columns, void** image) {
  const ColumnSet* set = this->template check<Purpose::kWrite>(ref, columns);
  if (set == nullptr) [[unlikely]] return refuse(ref, columns);
  auto& table = static_cast<TableType&>(*ref.base());
  return guarded(table, key, [&]() -> Status {
    Row* row = find(table, key, *set);
    if (row == nullptr) [[unlikely]] return this->answer_absent(table, key);
    return edit_row(table, row, key, *set, nullptr, image);
  });
}

template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::do_edit_view(const TableRef& ref, const RawView& view, const ColumnsRef& columns, void** image) {
  const ColumnSet* set = this->template check<Purpose::kWrite>(ref, columns);
  if (set == nullptr) [[unlikely]] return refuse(ref, columns);
  if (!view) return Status::invalid_argument("update: the view does not show a row");
  auto& table = static_cast<TableType&>(*ref.base());
  if (!has_read(table, *view.header())) [[unlikely]] {
    if (claims_.uses_views_of_call() && view.shows()) return edit_view_of_call(ref, *set, *view.header(), image);
    return refuse_view(ref);
  }
  return guarded(table, view.header()->key,
                 [&] { return edit_row(table, static_cast<Row*>(view.header()->row), view.header()->key, *set, view.header(), image); });
}

// Edits a row through a view that another piece of the same call may have read. Looks up the row if
// the view's row block is unknown or has been removed.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::edit_view_of_call(const TableRef& ref, const ColumnSet& set, const detail::ImageHeader& view,
                                                              void** image) {
  auto& table = static_cast<TableType&>(*ref.base());
  if (view.table != table.id() + 1) return refuse_view(ref);  // its key may be of another kind
  KeyRef key = view.key;
  return guarded(table, key, [&]() -> Status {
    Row* row = claims_.row_of_call(table, view);
    if (row == nullptr || word::removed(row->cell(table.layout(), 0).load())) row = find(table, key, set);
    if (row == nullptr) [[unlikely]] return this->answer_absent(table, key);
    return edit_row(table, row, key, set, nullptr, image);
  });
}

// Updates the secondary indexes after the application has changed the image. If a unique value is
// already taken, or the row cannot be indexed, restores the image.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::do_edited(const TableRef& ref, void* image) {
  if (end_edit_in_place(image)) return {};
  if (state_ == State::kActive) [[likely]] return {};
  if (state_ != State::kEditing) return refuse(ref, {});
  auto& table = *edit_.table;
  if (ref.base() != &table) return refuse_pending_edit(TableRef(&table));
  state_ = State::kActive;
  Status status = guarded(table, edit_.key, [&] { return index_update(table, edit_.row, edit_.key, edit_.old_values, edit_.affected); });
  if (!status.ok() && state_ == State::kActive) copy_edited(static_cast<std::byte*>(image), edit_.before);
  return status;
}

template <class Sync, class Claims>
void BufferedWrites<Sync, Claims>::do_edit_threw(const TableRef& ref, KeyRef key) {
  // If change() ended the attempt before it threw, the earlier reason is kept.
  if (state_ == State::kActive || state_ == State::kEditing)
    static_cast<void>(doom(*ref.base(), Code::kProcedureThrew, Cause::kException, key));
}

// A blind write: it reads only the columns that determine a secondary index's value.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::do_write(const TableRef& ref, KeyRef key, const ColumnsRef& columns, const void* row_bytes) {
  const ColumnSet* set = this->template check<Purpose::kWrite>(ref, columns);
  if (set == nullptr) [[unlikely]] return refuse(ref, columns);
  auto& table = static_cast<TableType&>(*ref.base());
  return guarded(table, key, [&] { return write_row(ref, table, key, *set, static_cast<const std::byte*>(row_bytes)); });
}

template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::write_row(const TableRef& ref, TableType& table, KeyRef key, const ColumnSet& set,
                                                     const std::byte* source) {
  const Layout& layout = table.layout();
  Row* row = find(table, key, set);
  if (row == nullptr) [[unlikely]] return this->answer_absent(table, key);
  if (layout.sized_rows()) [[unlikely]] return write_sized_row(ref, table, row, key, set, source);
  if (indexes_reading(table, set.columns) != 0) {
    void* image;
    if (Status status = edit_row(table, row, key, set, nullptr, &image); !status.ok()) return status;
    for (uint32_t g = 0; g < layout.group_count(); ++g) copy_image(set, g, static_cast<std::byte*>(image), source);
    return do_edited(ref, image);
  }
  std::byte* image = writes_.image_of(table, row);
  const uint32_t groups = set.read_groups;
  for (const uint32_t g : Bits(groups)) {
    WriteEntry* write = writes_.find(row, layout, g);
    if (write == nullptr) {
      uint64_t w;
      if (Status status = present_word(table, row, key, g, &w); !status.ok()) [[unlikely]] return status;
      writes_.add(table, row, key, g, WriteKind::kUpdate, set, word::kUnknown, image);
    } else if (write->kind == WriteKind::kUpdate) {
      // The old values of these columns are not read, so a blind write stays blind.
      WriteSet::forget_additions(*write, set);
      writes_.join(*write, set);
    } else if (write->kind != WriteKind::kPresent) {
      return table.error(Code::kNotFound, Cause::kNone, key);
    }
    copy_image(set, g, image, source);
  }
  return {};
}

// Not a blind write: the size of the new block depends on the current row.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::write_sized_row(const TableRef& ref, TableType& table, Row* row, KeyRef key,
                                                           const ColumnSet& set, const std::byte* source) {
  if (set.whole) return refuse_whole_write(ref);
  void* image;
  if (Status status = edit_row(table, row, key, set, nullptr, &image); !status.ok()) return status;
  copy_image(set, 0, static_cast<std::byte*>(image), source);
  return do_edited(ref, image);
}

template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::do_add(const TableRef& ref, KeyRef key, uint32_t offset, ColumnType type, const void* delta) {
  if (this->template check<Purpose::kWrite>(ref, {}) == nullptr) [[unlikely]]
    if (!may_add_to_some(ref)) return refuse(ref, {});
  auto& table = static_cast<TableType&>(*ref.base());
  const storage::Number* number = table.layout().number_at(offset, type);
  if (number == nullptr) [[unlikely]] return refuse_add(ref, offset, type);
  return guarded(table, key, [&] { return add_to_row(table, key, *number, delta); });
}

// Returns true if the table accepts additions to the columns that no index reads, although it does
// not accept writes of whole rows. Layout::number_at() finds only these columns.
template <class Sync, class Claims>
[[gnu::noinline]] bool BufferedWrites<Sync, Claims>::may_add_to_some(const TableRef& ref) const {
  return ref && this->template check<Purpose::kWrite>(ref, ColumnsRef(&ref.base()->layout().none())) != nullptr;
}

template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::add_to_row(TableType& table, KeyRef key, const storage::Number& number, const void* delta) {
  const Layout& layout = table.layout();
  Row* row = find(table, key, layout.none());
  if (row == nullptr) [[unlikely]] return this->answer_absent(table, key);
  WriteEntry* write = writes_.find(row, layout, number.group);
  if (layout.sized_rows() && write == nullptr) [[unlikely]] {
    std::byte* image;
    if (Status status = copy_sized_to_edit(table, row, key, nullptr, &image); !status.ok()) return status;
    write = writes_.find(row, layout, 0);
  }
  if (write == nullptr) {
    uint64_t w;
    if (Status status = present_word(table, row, key, number.group, &w); !status.ok()) [[unlikely]] return status;
    write = &writes_.add(table, row, key, number.group, WriteKind::kUpdate, layout.none(), word::kUnknown, writes_.image_of(table, row));
  }
  if (write->leaves_none()) return table.error(Code::kNotFound, Cause::kNone, key);
  writes_.add_number(*write, number, delta);
  return {};
}

}  // namespace elider::txn
