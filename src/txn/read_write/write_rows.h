// How BufferedWrites buffers writes of whole rows: insert, put and remove. An insert puts an absent
// row block into the key index (DBX, section 5.3).
#pragma once

#include "txn/read_write/buffered_writes.h"

namespace elider::txn {

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
    Row* row = this->known_row(table, key);
    if (row == nullptr) row = table.find(key, hints_.primary(table, key), unneeded);
    const GivenRow given{source, bytes};
    return row != nullptr ? replace_row(table, row, table.key_of(row, key), given, true) : insert_row(table, key, given, true);
  });
}

// Inserts a new row block into the key index. If the index already contains a block of the key,
// replaces the row in that block.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::insert_row(TableType& table, KeyRef key, GivenRow source, bool replace) {
  claims_.make_room_for_new();
  // The new block is locked, so that other transactions do not use it before its version number is
  // set.
  Row* candidate = new_row<Sync>(worker_, table.layout(), key, source.size, word::kAbsent | word::kLocked);
  if (candidate == nullptr) [[unlikely]] return replace_without_block(table, key, source, replace);
  claim_new(table, candidate);
  const index::InsertResult result = table.find_or_insert(worker_, key, candidate, hints_.primary(table, key));
  if (!result.inserted) [[unlikely]] storage::free_row_block(worker_, table.layout(), candidate);
  if (result.handle == index::kNoHandle) [[unlikely]] return doom(table, Code::kMemoryLimit, Cause::kMemoryLimit, key);
  Row* row = TableType::as_row(result.handle);
  key = table.key_of(row, key);
  if (!result.inserted) return replace_row(table, row, key, source, replace);
  keep_claims_of_new(table, row);
  return fill_inserted(table, row, key, source, result);
}

// Called if memory for a new row block is exhausted. The key may already have a block.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::replace_without_block(TableType& table, KeyRef key, GivenRow source, bool replace) {
  index::Witness unneeded;  // if the key has a row block, absent or not, the leaf's witness is not needed
  if (Row* row = table.find(key, hints_.primary(table, key), unneeded))
    return replace_row(table, row, table.key_of(row, key), source, replace);
  return doom(table, Code::kMemoryLimit, Cause::kMemoryLimit, key);
}

// Sets the commit words of a row block that this transaction has just inserted, and adds the write
// of its row.
template <class Sync, class Claims>
[[gnu::always_inline]] inline Status BufferedWrites<Sync, Claims>::fill_inserted(TableType& table, Row* row, KeyRef key, GivenRow source,
                                                                                 const index::InsertResult& result) {
  // Read the floor after the insert: if there was an older block of this key, it was unlinked
  // before the insert, and the floor was raised before that.
  const uint64_t w = table.version_floor() * word::kStep | word::kAbsent;
  if (insert_in_place(table, row, source, w)) return {};
  uint64_t words[kColumnGroupsMax] = {};
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
  recorder_.read(table, key, 0, false, word::version_number(w));
  if (Status status = claim_leaves_written(table, result, key); !status.ok()) [[unlikely]] return status;
  const uint64_t indexes = table.maintained_indexes();
  if (indexes == 0) [[likely]] return {};
  return index_insert(table, row, key, {static_cast<const std::byte*>(source.bytes), source.size}, indexes);
}

// Replaces the row in an existing row block, which may be absent. Returns kDuplicateKey if the row
// exists and `replace` is false.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::replace_row(TableType& table, Row* row, KeyRef key, GivenRow source, bool replace) {
  RowState before;
  Status status = writes_.find(row, table.layout(), 0) != nullptr ? state_of_written(table, row, key, &before)
                                                                  : state_of_unwritten(table, row, key, replace, &before);
  if (!status.ok()) [[unlikely]] return status;
  if (before.present && !replace) return table.error(Code::kDuplicateKey, Cause::kNone, key);
  if (table.maintained_indexes() != 0) return replace_indexed_row(table, row, key, source, before);
  writes_.make_present(table, row, key, before.words, source.bytes, source.size, false);
  return {};
}

// Determines the state of a row that this transaction has already written.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::state_of_written(TableType& table, Row* row, KeyRef key, RowState* state) {
  const Layout& layout = table.layout();
  if (Status status = this->template claim_groups<Purpose::kWrite>(table, row, key, layout.all_groups()); !status.ok()) [[unlikely]]
    return status;
  state->present = !writes_.find(row, layout, 0)->leaves_none();
  for (uint32_t g = 0; g < layout.group_count(); ++g)
    if (Status status = expect_written(table, row, key, g, &state->words[g]); !status.ok()) return status;
  return {};
}

// Sets *w to the commit word that the new write of group g must expect.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::expect_written(TableType& table, Row* row, KeyRef key, uint32_t g, uint64_t* w) {
  WriteEntry* write = writes_.find(row, table.layout(), g);
  *w = write != nullptr ? write->expected : word::kUnknown;
  if (write == nullptr || *w != word::kUnknown || write->kind == WriteKind::kPresent) return {};
  if (g != 0 && table.maintained_indexes() == 0) return {};
  // An earlier blind write assumed that the row exists. The row must still exist, because otherwise
  // this write would recreate it. In addition, the secondary indexes depend on the row's current
  // values.
  if (Status status = present_word(table, row, key, g, w); !status.ok())
    return status.not_found() ? doom(table, Code::kConflict, Cause::kReadChanged, key) : status;
  write->expected = *w;
  return {};
}

// Determines the state of a row whose group 0 this transaction has not written, and records that it
// has read this state. If an insert fails because the row exists, the insert only reads the row, so
// it claims the row only for reading.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::state_of_unwritten(TableType& table, Row* row, KeyRef key, bool replace, RowState* state) {
  const Layout& layout = table.layout();
  for (bool writes = replace || word::absent(row->cell(layout, 0).load());; writes = true) {
    Status claimed = writes ? this->template claim_groups<Purpose::kWrite>(table, row, key, layout.all_groups())
                            : this->template claim_groups<Purpose::kRead>(table, row, key, 1);
    if (!claimed.ok()) [[unlikely]] return claimed;
    for (uint32_t g = 0; g < layout.group_count(); ++g) {
      state->words[g] = unlocked_word(row->cell(layout, g));
      if (word::removed(state->words[g])) [[unlikely]] return doom(table, Code::kConflict, Cause::kRowRemoved, key);
    }
    state->present = !word::absent(state->words[0]);
    if (state->present || writes) [[likely]] break;
  }
  if (!state->present && updates_other_groups(row, layout))
    return doom(table, Code::kConflict, Cause::kReadChanged, key);  // the row existed when the earlier write was made
  recorder_.read(table, key, 0, state->present, word::version_number(state->words[0]));
  if (state->present && !replace) tracking_.read({&row->cell(layout, 0), state->words[0], key, &table});
  return {};
}

// Returns true if this transaction has updated a group of the row other than group 0.
template <class Sync, class Claims>
bool BufferedWrites<Sync, Claims>::updates_other_groups(Row* row, const Layout& layout) const {
  for (uint32_t g = 1; g < layout.group_count(); ++g)
    if (const WriteEntry* write = writes_.find(row, layout, g); write != nullptr && write->kind == WriteKind::kUpdate) return true;
  return false;
}

template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::replace_indexed_row(TableType& table, Row* row, KeyRef key, GivenRow source,
                                                         const RowState& before) {
  const RowImage image{static_cast<const std::byte*>(source.bytes), source.size};
  const uint64_t all = table.maintained_indexes();
  IndexValue old_values[kSecondaryIndexesMax];
  if (before.present)
    if (Status status = own_index_values(table, row, key, all, Values::kOld, old_values); !status.ok()) return status;
  // All values are checked first, because nothing may change if one of them is refused.
  for (const uint32_t i : Bits(all)) {
    IndexValue value;
    if (Status status = index_value(table, i, key, image, &value); !status.ok()) return status;
    if (Status status = index_check_unique(table, row, key, i, value); !status.ok()) return status;
  }
  writes_.make_present(table, row, key, before.words, source.bytes, source.size, false);
  return before.present ? index_update(table, row, key, old_values, all) : index_insert(table, row, key, image, all);
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
    recorder_.read(table, key, 0, true, word::version_number(w));
  }
  if (table.ranked_indexes() != 0) [[unlikely]] return remove_ranked_row(table, row, key, kind, w);
  return remove_groups(table, row, key, kind, w);
}

template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::remove_groups(TableType& table, Row* row, KeyRef key, WriteKind kind, uint64_t w) {
  for (uint32_t g = 0; g < table.layout().group_count(); ++g)
    if (Status status = remove_group(table, row, key, g, kind, g == 0 ? w : word::kUnknown); !status.ok()) return status;
  return {};
}

// Turns the write of a group into a removal of the given kind, or adds one that expects the word w.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::remove_group(TableType& table, Row* row, KeyRef key, uint32_t g, WriteKind kind, uint64_t w) {
  WriteEntry* write = writes_.find(row, table.layout(), g);
  if (write == nullptr) {
    // A later insert into a table with secondary indexes depends on the row's current values.
    if (g != 0 && table.maintained_indexes() != 0)
      if (Status status = present_word(table, row, key, g, &w); !status.ok())
        return doom(table, Code::kConflict, Cause::kReadChanged, key);
    write = &writes_.add(table, row, key, g, kind, table.layout().all(), w, nullptr);
  }
  write->kind = kind;
  write->additions = nullptr;
  return {};
}

}  // namespace elider::txn
