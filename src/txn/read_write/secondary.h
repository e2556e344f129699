// How ReadWriteTransaction updates secondary indexes. The updates are part of the same transaction.
//
// An entry maps (value, primary key) to the row block itself. Invariant: if the newest state or a
// reader's snapshot can see a version of a row, the index contains the entry of this version. The
// index may also contain entries that do not match any version. Therefore a reader that follows an
// entry recomputes the row's value and ignores the entry if the value differs. An entry is inserted
// before the commit that needs it, and removed a grace period after the commit that ended its use
// (reclaim.h). A transaction that needs an entry which waits for its removal takes the entry over.
// Phantoms are detected as in the key index. A new entry raises its leaf's version. If an old entry
// becomes valid again because its row is changed into the range, every transaction that saw the
// entry has also read the row.
#pragma once

#include "base/bits.h"
#include "txn/read_write/transaction.h"

namespace elider::txn {

// Calls the key function. If the function throws, the operation is half done and must be rolled
// back.
template <class Sync, class Claims>
uint64_t ReadWriteTransaction<Sync, Claims>::index_value(TableType& table, uint32_t i, KeyRef key, const std::byte* image) {
  try {
    return table.index_value(i, image);
  } catch (...) {
    static_cast<void>(doom(table, Code::kProcedureThrew, Cause::kException, key));
    throw;
  }
}

// Returns the secondary indexes that read any of these columns, one bit per index.
template <class Sync, class Claims>
uint64_t ReadWriteTransaction<Sync, Claims>::indexes_reading(TableType& table, uint64_t columns) const {
  uint64_t indexes = 0;
  if ((columns & table.layout().indexed_columns()) == 0) return 0;
  for (uint32_t i = 0; i < table.secondary_count(); ++i)
    if (columns & table.layout().index_columns(i).columns) indexes |= uint64_t{1} << i;
  return indexes;
}

// Computes the row's current index values as this transaction sees them, including own writes.
template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::old_index_values(TableType& table, Row* row, KeyRef key, uint64_t affected, uint64_t* values) {
  std::byte* image = arena_.allocate(table.layout().column_image_bytes());
  detail::ImageHeader header;
  for (const uint32_t i : Bits(affected)) {
    if (Status status = read_row(table, row, key, table.layout().index_columns(i), image, &header); !status.ok()) return status;
    values[i] = index_value(table, i, key, image);
  }
  return {};
}

// Checks that no other present row has this value.
template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::index_check_unique(TableType& table, Row* row, KeyRef key, uint32_t i, uint64_t value) {
  if (!table.schema().indexes[i].unique) return {};
  bool taken = false;
  KeyRef holder;
  const size_t looked_at = nodes_.size();
  const auto visit = [&](KeyRef found, uint64_t, const RawView& view) {
    taken = view.header()->row != row;
    holder = found;
    return !taken;
  };
  Status status = scan_secondary(table, i, IndexRange(value, value), {}, table.layout().index_columns(i), visit);
  if (ELIDER_MUTANT(kForgetUniqueCheck)) {
    static const std::atomic<uint64_t> never_changes{0};
    for (size_t n = looked_at; n < nodes_.size(); ++n) nodes_[n].witness = {&never_changes, 0};
  }
  if (status.ok() && taken)
    return refuse_taken(table.error(Code::kDuplicateKey, Cause::kNone, key), table.schema().indexes[i], value,
                        table.key_text(holder));
  return status;
}

// Computes the index values of the row that was previously in this row block and that this
// transaction replaces. The entries of these values still exist, and must be removed when the new
// row is committed. The commit must find the values unchanged. A word that is only locked may
// return to its earlier value, so a locked row must not be skipped: its entry would stay forever.
template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::former_index_values(TableType& table, Row* row, KeyRef key, uint64_t* values, bool* had_row) {
  const Layout& layout = table.layout();
  *had_row = !writes_.find(row, layout, 0)->created && row->cell(layout, 0).snapshot() != 0;
  if (!*had_row) return {};
  std::byte* image = arena_.allocate(layout.column_image_bytes());
  for (uint32_t g = 0; g < layout.group_count(); ++g) {
    const Cell& cell = row->cell(layout, g);
    const uint64_t expected = writes_.find(row, layout, g)->expected;
    do {
      const uint64_t w = unlocked_word(cell);
      if (w != expected) return doom(table, Code::kConflict, word::removed(w) ? Cause::kRowRemoved : Cause::kReadChanged, key);
      for (uint32_t i = 0; i < table.secondary_count(); ++i)
        storage::copy_to_image(layout.index_columns(i), g, image, cell.payload(layout.group(g)));
    } while (!cell.unchanged(expected));
  }
  for (uint32_t i = 0; i < table.secondary_count(); ++i) values[i] = index_value(table, i, key, image);
  return {};
}

// Adds the entries of a row that is inserted into an empty row block. Uniqueness has already been
// checked, unless the block is new.
template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::index_insert(TableType& table, Row* row, KeyRef key, const std::byte* image) {
  uint64_t former[kSecondaryIndexesMax];
  bool had_row = false;
  if (Status status = former_index_values(table, row, key, former, &had_row); !status.ok()) return status;
  for (uint32_t i = 0; i < table.secondary_count(); ++i) {
    const uint64_t value = index_value(table, i, key, image);
    Status status = index_check_unique(table, row, key, i, value);
    if (status.ok()) status = index_add(table, row, key, i, had_row && former[i] != value ? &former[i] : nullptr, value);
    if (status.ok()) continue;
    // The insert failed. The row block stays absent, and the commit must find it absent.
    if (status.code() == Code::kDuplicateKey)
      for (uint32_t g = 0; g < table.layout().group_count(); ++g) writes_.find(row, table.layout(), g)->kind = WriteKind::kNone;
    return status;
  }
  return {};
}

// Updates the entries of a row whose indexed columns have changed from these values to the row's
// current values.
template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::index_update(TableType& table, Row* row, KeyRef key, const uint64_t* old_values,
                                                        uint64_t affected) {
  uint64_t new_values[kSecondaryIndexesMax];
  if (Status status = old_index_values(table, row, key, affected, new_values); !status.ok()) return status;
  for (const uint32_t i : Bits(affected)) {
    if (new_values[i] == old_values[i]) continue;
    if (Status status = index_check_unique(table, row, key, i, new_values[i]); !status.ok()) return status;
  }
  for (const uint32_t i : Bits(affected)) {
    if (new_values[i] == old_values[i]) continue;
    if (Status status = index_add(table, row, key, i, &old_values[i], new_values[i]); !status.ok()) return status;
  }
  return {};
}

template <class Sync, class Claims>
Status ReadWriteTransaction<Sync, Claims>::index_add(TableType& table, Row* row, KeyRef key, uint32_t i, const uint64_t* old_value,
                                                     uint64_t new_value) {
  // The change is listed before the entry is in the index. Otherwise an exception could leave an
  // entry that is never removed.
  IndexChange& change =
      index_changes_.add({row, &table, key, i, old_value != nullptr, old_value != nullptr ? *old_value : 0, new_value, false, false});
  const auto handle = reinterpret_cast<index::Handle>(row);
  const auto put = [&] { return table.secondary(i).get_or_insert(worker_, new_value, key, handle, hints_.secondary(table, i)); };
  index::InsertResult result = put();
  if (!result.inserted && result.handle == handle) {
    if constexpr (RunsInRegion<Claims>) Claims::Region::template abort<kUnsuitedForRegion>();  // a latch follows
    ELIDER_TEST_POINT("occ.index.entry_found");
    // A stale entry may be removed at any time. From here on, this entry belongs to this
    // transaction. If the entry is not on a list, it is not stale, or it has been removed in the
    // meantime.
    std::lock_guard lock(table.stale().mutex);
    change.inserted = reclaim::take_over_entry(table, row, i, new_value);
    if (!change.inserted) result = put();
  }
  if (result.handle != handle && result.handle != index::kNoHandle) [[unlikely]] {
    if constexpr (RunsInRegion<Claims>) Claims::Region::template abort<kUnsuitedForRegion>();
    // The entry belongs to an unlinked row block of this key. It was inserted by a transaction that
    // can no longer commit but may stay open for long. The block exists as long as its entry,
    // because that transaction is still inside the epoch.
    std::lock_guard lock(table.stale().mutex);
    if (word::removed(TableType::as_row(result.handle)->cell(table.layout(), 0).load())) {
      table.secondary(i).remove(worker_, new_value, key, result.handle);
      result = put();
    }
  }
  if (result.handle == index::kNoHandle) [[unlikely]] return doom(table, Code::kMemoryLimit, Cause::kMemoryLimit, key);
  if (result.handle != handle) return doom(table, Code::kConflict, Cause::kRowRemoved, key);
  if (result.inserted) {
    change.inserted = true;
    track_own_insert(result);
  }
  index_changes_.settle();
  return result.inserted ? claim_leaves_written(table, result, key) : Status();
}

// Passes the entries that the rows match until this commit to reclamation. This must happen before
// the commit changes the rows, because it ends any older listing of such an entry, whose grace
// period may be over. Otherwise a reader of the old state could miss the entry. If the rows remain
// unchanged, the new listings do not change anything.
template <class Sync, class Claims>
void ReadWriteTransaction<Sync, Claims>::retire_old_entries() {
  for (const IndexChange& change : index_changes_)
    if (change.has_old)
      retire_entry(worker_, static_cast<TableType&>(*change.table), change.row, change.key, change.index, change.old_value);
}

// Passes the entries that this transaction inserted and that are not in use to reclamation.
template <class Sync, class Claims>
void ReadWriteTransaction<Sync, Claims>::index_finish(bool committed) {
  for (const IndexChange& change : index_changes_) {
    auto& table = static_cast<TableType&>(*change.table);
    if (!change.inserted) continue;
    // The new entry is in use if the row was committed with the new value.
    const WriteEntry* write = writes_.find(change.row, table.layout(), 0);
    const bool gone = write != nullptr && write->leaves_none();
    if (!committed || change.superseded || gone)
      retire_entry(worker_, table, change.row, change.key, change.index, change.new_value);
  }
}

}  // namespace elider::txn
