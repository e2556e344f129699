// How BufferedWrites buffers writes (DBX, section 5.2) and inserts absent row blocks (section
// 5.3).
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

// -- changes of some columns ----------------------------------------------------------------------

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
  recorder_.read(table, key, g, !word::absent(w), word::sequence(w));
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
    *image = write->image;
    return {};
  }
  Cell& cell = row->cell(layout, 0);
  if (Status status = this->template claim<Purpose::kWrite>(table, cell, key); !status.ok()) [[unlikely]] return status;
  const uint64_t expected = expected_by(read, cell, 0);
  for (;;) {
    const uint64_t w = unlocked_word(cell);
    const storage::Block* const block = word::absent(w) ? nullptr : cell.block();
    if (!cell.unchanged(w)) continue;
    *image = writes_.sized_image(block == nullptr ? 0 : block->size);
    if (block != nullptr) std::memcpy(*image, block->payload(), block->size);
    return edit_group(table, row, key, layout.all(), 0, w, expected, *image);
  }
}

template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::edit_row(TableType& table, Row* row, KeyRef key, const ColumnSet& set,
                                                    const detail::ImageHeader* read, void** image_out) {
  const Layout& layout = table.layout();
  const uint64_t affected = table.secondary_count() == 0 ? 0 : indexes_reading(table, set.columns);
  if constexpr (RunsInRegion<Claims>)
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
    if (Status status = old_index_values(table, row, key, affected, edit_.old_values); !status.ok()) return status;
    edit_.before = arena_.allocate(WriteSet::image_bytes(layout, image));
    edit_.set = &set;
    copy_edited(edit_.before, image);
    edited_table_ = &table;
    state_ = State::kEditing;
  }
  *image_out = image;
  return {};
}

// -- in place -------------------------------------------------------------------------------------

// Returns true if a region may write to the row at once. Returns false if the write set already
// contains a write of the row, or if the row is stored as a block, because a change replaces the
// block.
template <class Sync, class Claims>
[[gnu::always_inline]] inline bool BufferedWrites<Sync, Claims>::may_write_in_place(TableType& table, Row* row) const {
  const Layout& layout = table.layout();
  if (!claims_.in_place || image_in_place_ != nullptr || table.id() >= WriteSet::kTablesWithBit) return false;
  for (uint32_t g = 0; g < layout.group_count(); ++g)
    if (layout.group(g).block || (!writes_.empty() && writes_.find(row, layout, g) != nullptr)) return false;
  return true;
}

// The application edits an image, because the layout of a row differs from the layout of its cells.
// do_edited() then copies the image's columns to the cells.
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

template <class Sync, class Claims>
[[gnu::always_inline]] inline void BufferedWrites<Sync, Claims>::write_in_place(Cell& cell, const ColumnSet& set, uint32_t g,
                                                                                      const std::byte* image, uint64_t w) {
  storage::copy_to_payload(set, g, cell.payload_inside(), image);
  cell.set_snapshot(claims_.number);
  cell.unlock(word::next(w, false));
}

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
  KeyRef key = view.key;
  return guarded(table, key, [&]() -> Status {
    Row* row = claims_.row_of_call(table, view);
    if (row == nullptr || word::removed(row->cell(table.layout(), 0).load())) row = find(table, key, set);
    if (row == nullptr) [[unlikely]] return this->answer_absent(table, key);
    return edit_row(table, row, key, set, nullptr, image);
  });
}

// Updates the secondary indexes after the application has changed the image. If a unique value is
// already taken, restores the image.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::do_edited(const TableRef& ref, void* image) {
  if constexpr (RunsInRegion<Claims>)
    if (image_in_place_ != nullptr && image_in_place_ == image) {
      const Layout& layout = edit_.table->layout();
      if (!writes_.empty() && writes_.find_any(edit_.row, layout) != nullptr) [[unlikely]]  // change() itself wrote to the row
        Claims::Region::template abort<kUnsuitedForRegion>();
      for (const uint32_t g : Bits(edit_.set->groups)) {
        Cell& cell = edit_.row->cell(layout, g);
        write_in_place(cell, *edit_.set, g, image_in_place_, cell.load());
      }
      writes_.note_table(*edit_.table);
      arena_.give_back(image_in_place_, layout.row_bytes());
      image_in_place_ = nullptr;
      return {};
    }
  if (state_ == State::kActive) [[likely]] return {};
  if (state_ != State::kEditing) return refuse(ref, {});
  auto& table = *edit_.table;
  if (ref.base() != &table) return refuse_pending_edit(TableRef(&table));
  state_ = State::kActive;
  Status status = guarded(table, edit_.key, [&] { return index_update(table, edit_.row, edit_.key, edit_.old_values, edit_.affected); });
  if (status.code() == Code::kDuplicateKey)
    copy_edited(static_cast<std::byte*>(image), edit_.before);
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
  if (table.secondary_count() != 0 && indexes_reading(table, set.columns) != 0) {
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

// -- whole rows -----------------------------------------------------------------------------------

template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::do_insert(const TableRef& ref, KeyRef key, const void* row, size_t bytes) {
  if (this->template check<Purpose::kWrite>(ref, {}) == nullptr) [[unlikely]] return refuse(ref, {});
  auto& table = static_cast<TableType&>(*ref.base());
  return guarded(table, key, [&] { return insert_row(table, key, {row, bytes}, false); });
}

template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::do_put(const TableRef& ref, KeyRef key, const void* source, size_t bytes) {
  if (this->template check<Purpose::kWrite>(ref, {}) == nullptr) [[unlikely]] return refuse(ref, {});
  auto& table = static_cast<TableType&>(*ref.base());
  return guarded(table, key, [&] {
    index::Witness unneeded;  // if the row does not exist, the insert itself tracks the leaf
    Row* row = table.find(key, hints_.primary(table, key), unneeded);
    const GivenRow given{source, bytes};
    return row != nullptr ? replace_row(table, row, table.key_of(row, key), given, true) : insert_row(table, key, given, true);
  });
}

template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::insert_row(TableType& table, KeyRef key, GivenRow source, bool replace) {
  claims_.make_room_for_new();
  // The new block is locked, so that other transactions do not use it before its sequence number is
  // set.
  Row* candidate = new_row<Sync>(worker_, table.layout(), key, word::kAbsent | word::kLocked);
  if (candidate == nullptr) [[unlikely]] {
    // If the key already has a row block, absent or not, the leaf's witness is not needed.
    index::Witness unneeded;
    if (Row* row = table.find(key, hints_.primary(table, key), unneeded))
      return replace_row(table, row, table.key_of(row, key), source, replace);
    return doom(table, Code::kMemoryLimit, Cause::kMemoryLimit, key);
  }
  claim_new(table, candidate);
  const index::InsertResult result = table.find_or_insert(worker_, key, candidate, hints_.primary(table, key));
  if (!result.inserted) [[unlikely]] storage::free_row_block(worker_, table.layout(), candidate);
  if (result.handle == index::kNoHandle) [[unlikely]] return doom(table, Code::kMemoryLimit, Cause::kMemoryLimit, key);
  Row* row = TableType::as_row(result.handle);
  key = table.key_of(row, key);
  if (result.inserted) [[likely]] keep_claims_of_new(table, row);
  if (!result.inserted) return replace_row(table, row, key, source, replace);

  // Read the floor after the insert: if there was an older block of this key, it was unlinked
  // before the insert, and the floor was raised before that.
  const uint64_t w = table.sequence_floor() * word::kStep | word::kAbsent;
  uint64_t words[kCommitGroupsMax] = {};
  if constexpr (RunsInRegion<Claims>)
    if (table.secondary_count() == 0 && may_write_in_place(table, row) && claims_.count_inserted(table.id())) {
      for (uint32_t g = 0; g < table.layout().group_count(); ++g)
        write_in_place(row->cell(table.layout(), g), table.layout().all(), g, static_cast<const std::byte*>(source.bytes), w);
      writes_.note_table(table);
      return {};
    }
  for (uint32_t g = 0; g < table.layout().group_count(); ++g) row->cell(table.layout(), g).unlock(words[g] = w);
  ELIDER_TEST_POINT("occ.insert.after_index");
  const size_t earlier = writes_.size();
  try {
    tracking_.track_own_insert(result);
    writes_.make_present(table, row, key, words, source.bytes, source.size, true);
  } catch (...) {
    // Retire the row block here if a rollback would not find it.
    if (writes_.size() == earlier || !writes_[earlier].created) retire_row(worker_, table, row, key, w);
    throw;
  }
  recorder_.read(table, key, 0, false, word::sequence(w));
  if (Status status = claim_leaves_written(table, result, key); !status.ok()) [[unlikely]] return status;
  if (table.secondary_count() == 0) [[likely]] return {};
  return index_insert(table, row, key, static_cast<const std::byte*>(source.bytes));
}

// Replaces the row in an existing row block, which may be absent. Returns kDuplicateKey if the row
// exists and `replace` is false.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::replace_row(TableType& table, Row* row, KeyRef key, GivenRow source, bool replace) {
  const Layout& layout = table.layout();
  uint64_t words[kCommitGroupsMax] = {};
  bool present;
  if (WriteEntry* write = writes_.find(row, layout, 0)) {
    if (Status status = this->template claim_groups<Purpose::kWrite>(table, row, key, layout.all_groups()); !status.ok()) [[unlikely]]
      return status;
    present = write->kind == WriteKind::kPresent || write->kind == WriteKind::kUpdate;
    for (uint32_t g = 0; g < layout.group_count(); ++g) {
      WriteEntry* of_group = writes_.find(row, layout, g);
      words[g] = of_group != nullptr ? of_group->expected : word::kUnknown;
      if (of_group == nullptr || words[g] != word::kUnknown || of_group->kind == WriteKind::kPresent) continue;
      if (g != 0 && table.secondary_count() == 0) continue;
      // An earlier blind write assumed that the row exists. The row must still exist, because
      // otherwise this write would recreate it. In addition, the secondary indexes depend on the
      // row's current values.
      if (Status status = present_word(table, row, key, g, &words[g]); !status.ok())
        return status.not_found() ? doom(table, Code::kConflict, Cause::kReadChanged, key) : status;
      of_group->expected = words[g];
    }
  } else {
    // An insert that fails because the row exists only reads the row, so it claims only a read.
    for (bool writes = replace || word::absent(row->cell(layout, 0).load());; writes = true) {
      Status claimed = writes ? this->template claim_groups<Purpose::kWrite>(table, row, key, layout.all_groups())
                              : this->template claim_groups<Purpose::kRead>(table, row, key, 1);
      if (!claimed.ok()) [[unlikely]] return claimed;
      for (uint32_t g = 0; g < layout.group_count(); ++g) {
        words[g] = unlocked_word(row->cell(layout, g));
        if (word::removed(words[g])) [[unlikely]] return doom(table, Code::kConflict, Cause::kRowRemoved, key);
      }
      present = !word::absent(words[0]);
      if (present || writes) [[likely]] break;
    }
    for (uint32_t g = 1; g < layout.group_count() && !present; ++g)
      if (WriteEntry* write = writes_.find(row, layout, g); write != nullptr && write->kind == WriteKind::kUpdate)
        return doom(table, Code::kConflict, Cause::kReadChanged, key);  // the row existed when the earlier write was made
    recorder_.read(table, key, 0, present, word::sequence(words[0]));
    if (present && !replace) tracking_.read({&row->cell(layout, 0), words[0], key, &table});
  }
  if (present && !replace) return table.error(Code::kDuplicateKey, Cause::kNone, key);
  const auto* image = static_cast<const std::byte*>(source.bytes);
  if (table.secondary_count() != 0) {
    const uint64_t all = (uint64_t{1} << table.secondary_count()) - 1;
    uint64_t old_values[kSecondaryIndexesMax];
    if (present)
      if (Status status = old_index_values(table, row, key, all, old_values); !status.ok()) return status;
    // Uniqueness is checked first, because nothing may change if it is violated.
    for (uint32_t i = 0; i < table.secondary_count(); ++i)
      if (Status status = index_check_unique(table, row, key, i, index_value(table, i, key, image)); !status.ok()) return status;
    writes_.make_present(table, row, key, words, source.bytes, source.size, false);
    return present ? index_update(table, row, key, old_values, all) : index_insert(table, row, key, image);
  }
  writes_.make_present(table, row, key, words, source.bytes, source.size, false);
  return {};
}

template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::do_remove(const TableRef& ref, KeyRef key) {
  if (this->template check<Purpose::kWrite>(ref, {}) == nullptr) [[unlikely]] return refuse(ref, {});
  auto& table = static_cast<TableType&>(*ref.base());
  return guarded(table, key, [&] { return remove_row(table, key); });
}

template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::remove_row(TableType& table, KeyRef key) {
  const Layout& layout = table.layout();
  Row* row = find(table, key, table.layout().all());
  if (row == nullptr) [[unlikely]] return this->answer_absent(table, key);
  if (Status status = this->template claim_groups<Purpose::kWrite>(table, row, key, layout.all_groups()); !status.ok()) [[unlikely]]
    return status;
  WriteKind kind = WriteKind::kRemove;
  uint64_t w = word::kUnknown;
  if (WriteEntry* write = writes_.find(row, layout, 0)) {
    if (write->leaves_none()) return table.error(Code::kNotFound, Cause::kNone, key);
    if (write->kind == WriteKind::kPresent && write->expected != word::kUnknown && word::absent(write->expected)) kind = WriteKind::kNone;
  } else {
    if (Status status = present_word(table, row, key, 0, &w); !status.ok()) [[unlikely]] return status;
    recorder_.read(table, key, 0, true, word::sequence(w));
  }
  for (uint32_t g = 0; g < layout.group_count(); ++g) {
    WriteEntry* write = writes_.find(row, layout, g);
    if (write == nullptr) {
      // A later insert into a table with secondary indexes depends on the row's current values.
      if (g != 0) w = word::kUnknown;
      if (g != 0 && table.secondary_count() != 0)
        if (Status status = present_word(table, row, key, g, &w); !status.ok())
          return doom(table, Code::kConflict, Cause::kReadChanged, key);
      write = &writes_.add(table, row, key, g, kind, layout.all(), w, nullptr);
    }
    write->kind = kind;
    write->additions = nullptr;
  }
  return {};
}

}  // namespace elider::txn
