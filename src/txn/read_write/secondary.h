// How BufferedWrites updates secondary indexes. The updates are part of the same transaction.
//
// An entry maps (value, primary key) to the row block itself. Invariant: the index contains an
// entry for each version of a row that belongs to the newest state or to a snapshot that is being
// read. The index may also contain stale entries, which do not match any version. Therefore a
// reader that follows an entry recomputes the row's value and ignores the entry if the value
// differs. An entry is inserted before the commit that needs it, and removed a grace period after
// the commit that makes it stale (txn/reclaim.h). A transaction that needs a stale entry takes it
// over. Phantoms are detected as in the key index, because a new entry increases the version of its
// leaf. If a stale entry becomes valid again because its row changes, the version stays the same,
// but every transaction that saw the entry has also read the row.
#pragma once

#include "base/bits.h"
#include "txn/read_write/buffered_writes.h"

namespace elider::txn {

// Returns the secondary indexes that read any of these columns, one bit per index.
template <class Sync, class Claims>
uint64_t BufferedWrites<Sync, Claims>::indexes_reading(TableType& table, uint64_t columns) const {
  uint64_t indexes = 0;
  if ((columns & table.layout().indexed_columns()) == 0) return 0;
  for (uint32_t i = 0; i < table.secondary_count(); ++i)
    if (columns & table.layout().index_columns(i).columns) indexes |= uint64_t{1} << i;
  return indexes;
}

// Computes the row's current index values as this transaction sees them, including its own writes.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::old_index_values(TableType& table, Row* row, KeyRef key, uint64_t affected, uint64_t* values) {
  std::byte* image = arena_.allocate(table.layout().column_image_bytes());
  detail::ImageHeader header;
  for (const uint32_t i : Bits(affected)) {
    if (Status status = read_row(table, row, key, table.layout().index_columns(i), image, &header); !status.ok()) return status;
    values[i] = index_value(table, i, key, image);
  }
  return {};
}

// Returns kDuplicateKey if the index is unique and another row has this value.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::index_check_unique(TableType& table, Row* row, KeyRef key, uint32_t i, uint64_t value) {
  if (!table.schema().indexes[i].unique) return {};
  bool taken = false;
  KeyRef holder;
  const size_t looked_at = tracking_.leaves();
  const auto visit = [&](KeyRef found, uint64_t, const RawView& view) {
    taken = view.header()->row != row;
    holder = found;
    return !taken;
  };
  Status status = scan_secondary(table, i, IndexRange(value, value), {}, table.layout().index_columns(i), visit);
  if (ELIDER_MUTANT(kForgetUniqueCheck)) tracking_.ignore_leaves_after(looked_at);
  if (status.ok() && taken)
    return refuse_taken(table.error(Code::kDuplicateKey, Cause::kNone, key), table.schema().indexes[i], value,
                        table.key_text(holder));
  return status;
}

// Computes the index values of the row that this row block contained before, and that this
// transaction replaces. The entries of these values still exist, and must be removed when the new
// row is committed. If the row has changed, the transaction is doomed. Waits while the row is
// locked, because skipping a row that turns out to be unchanged would leave its entries in the
// indexes forever.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::former_index_values(TableType& table, Row* row, KeyRef key, uint64_t* values, bool* had_row) {
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

// Adds the entries of a row that is inserted into an absent row block. Uniqueness has already been
// checked, unless the block is new.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::index_insert(TableType& table, Row* row, KeyRef key, const std::byte* image) {
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

// Updates the entries of a row whose index values have changed from `old_values` to its current
// values.
template <class Sync, class Claims>
Status BufferedWrites<Sync, Claims>::index_update(TableType& table, Row* row, KeyRef key, const uint64_t* old_values,
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
Status BufferedWrites<Sync, Claims>::index_add(TableType& table, Row* row, KeyRef key, uint32_t i, const uint64_t* old_value,
                                                     uint64_t new_value) {
  // Record the change before the entry is in the index. Otherwise an exception could leave an entry
  // that is never removed.
  IndexChange& change =
      index_changes_.add({row, &table, key, i, old_value != nullptr, old_value != nullptr ? *old_value : 0, new_value, false, false});
  const auto handle = reinterpret_cast<index::Handle>(row);
  const auto put = [&] { return table.secondary(i).get_or_insert(worker_, new_value, key, handle, hints_.secondary(table, i)); };
  index::InsertResult result = put();
  if (!result.inserted && result.handle == handle) {
    claims_.leave_region();  // because a mutex is acquired next
    ELIDER_TEST_POINT("occ.index.entry_found");
    // A stale entry may be removed at any time, so this transaction takes it over. If the entry is
    // not listed as stale, it is in use, or it has been removed in the meantime.
    std::lock_guard lock(table.stale().mutex);
    change.inserted = reclaim::take_over_entry(table, row, i, new_value);
    if (!change.inserted) result = put();
  }
  if (result.handle != handle && result.handle != index::kNoHandle) [[unlikely]] {
    claims_.leave_region();
    // The entry refers to an unlinked row block of this key. It was inserted by a transaction that
    // can no longer commit but may stay open for a long time. The block is valid as long as the
    // entry exists, because that transaction is still inside the epoch.
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
    tracking_.track_own_insert(result);
  }
  index_changes_.settle();
  return result.inserted ? claim_leaves_written(table, result, key) : Status();
}

// Lists the entries that this commit makes stale for removal (txn/reclaim.h). This must happen
// before the commit changes the rows, because it replaces an older listing of the same entry, whose
// grace period may be over. The older listing could remove the entry while a reader of the old
// state still needs it. If the commit fails, the new listings are harmless, because the rows still
// match their entries.
template <class Sync, class Claims>
void BufferedWrites<Sync, Claims>::retire_old_entries() {
  for (const IndexChange& change : index_changes_)
    if (change.has_old)
      retire_entry(worker_, static_cast<TableType&>(*change.table), change.row, change.key, change.index, change.old_value);
}

// Schedules the removal of the entries that this transaction has inserted but that are not used:
// all of them if it did not commit.
template <class Sync, class Claims>
void BufferedWrites<Sync, Claims>::index_finish(bool committed) {
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
