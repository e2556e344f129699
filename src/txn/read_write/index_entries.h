// IndexEntries: the entries of secondary indexes that a transaction adds, and those that it makes
// stale. It does not compute values and does not check uniqueness (secondary.h does both).
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
//
// Thread safety: none. An IndexEntries object belongs to one transaction, whose worker is inside
// the epoch.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/bits.h"
#include "base/test_points.h"
#include "base/worker.h"
#include "txn/hints.h"
#include "txn/index_changes.h"
#include "txn/reclaim.h"
#include "txn/table.h"
#include "txn/write_set.h"

namespace elider::txn {

// Returns the secondary indexes that read any of these columns, one bit per index.
template <class Sync>
uint64_t indexes_reading(const Table<Sync>& table, uint64_t columns) {
  uint64_t indexes = 0;
  if ((columns & table.layout().indexed_columns()) == 0) return 0;
  for (const uint32_t i : Bits(table.maintained_indexes()))
    if (columns & table.index_columns(i).columns) indexes |= uint64_t{1} << i;
  return indexes;
}

template <class Sync>
class IndexEntries : public IndexChanges {
 public:
  using TableType = Table<Sync>;

  IndexEntries(Worker& worker, Hints<Sync>& hints) : worker_(worker), hints_(hints) {}

  // Inserts the entry of the new value of `added`, or takes over the stale entry of this value.
  // Returns the row block to which the entry leads, or kNoHandle if memory is exhausted. If the
  // block is the row of `added`, the caller must then call settle(). Otherwise another block of the
  // key has the entry. Calls claims.leave_region() before it acquires a mutex.
  template <class Claims>
  index::InsertResult insert(const IndexChange& added, Claims& claims);
  // Lists for removal the entries that this commit makes stale (txn/reclaim.h). Must be called
  // before the commit changes the rows. Replaces an older listing of the same entry. The grace
  // period of that listing may be over, so it could remove the entry while a reader of the old
  // state still needs the entry. If the commit fails, the new listings are harmless, because the
  // rows still match their entries.
  void retire_old();
  // Lists for removal the entries that this transaction has inserted and that are not in use.
  void retire_unused(bool committed, const WriteSet& writes);

 private:
  static TableType& table_of(const IndexChange& change) { return static_cast<TableType&>(*change.table); }
  index::InsertResult put(const IndexChange& change) {
    TableType& table = table_of(change);
    return table.secondary(change.index)
        .get_or_insert(worker_, change.new_value, change.key, handle_of(change), hints_.secondary(table, change.index));
  }
  static index::Handle handle_of(const IndexChange& change) { return reinterpret_cast<index::Handle>(change.row); }
  void take_over(IndexChange& change, index::InsertResult* result);
  void replace_unlinked(const IndexChange& change, index::InsertResult* result);

  Worker& worker_;
  Hints<Sync>& hints_;
};

template <class Sync>
template <class Claims>
index::InsertResult IndexEntries<Sync>::insert(const IndexChange& added, Claims& claims) {
  // Record the change before the entry is in the index. Otherwise an exception could leave an entry
  // that is never removed.
  IndexChange& change = add(added);
  index::InsertResult result = put(change);
  if (!result.inserted && result.handle == handle_of(change)) {
    claims.leave_region();  // because a mutex is acquired next
    take_over(change, &result);
  }
  if (result.handle != handle_of(change) && result.handle != index::kNoHandle) [[unlikely]] {
    claims.leave_region();
    replace_unlinked(change, &result);
  }
  if (result.inserted) change.inserted = true;
  return result;
}

// A stale entry may be removed at any time, so this transaction takes it over. If the entry is not
// listed as stale, it is in use, or it has been removed in the meantime.
template <class Sync>
void IndexEntries<Sync>::take_over(IndexChange& change, index::InsertResult* result) {
  ELIDER_TEST_POINT("occ.index.entry_found");
  TableType& table = table_of(change);
  std::lock_guard lock(table.stale().mutex);
  change.inserted = reclaim::take_over_entry(table, change.row, change.index, change.new_value);
  if (!change.inserted) *result = put(change);
}

// The entry refers to an unlinked row block of this key. It was inserted by a transaction that can
// no longer commit but may stay open for a long time. The block is valid as long as the entry
// exists, because that transaction is still inside the epoch.
template <class Sync>
void IndexEntries<Sync>::replace_unlinked(const IndexChange& change, index::InsertResult* result) {
  TableType& table = table_of(change);
  std::lock_guard lock(table.stale().mutex);
  if (!word::removed(TableType::as_row(result->handle)->cell(table.layout(), 0).load())) return;
  table.secondary(change.index).remove(worker_, change.new_value, change.key, result->handle);
  *result = put(change);
}

template <class Sync>
void IndexEntries<Sync>::retire_old() {
  for (const IndexChange& change : *this)
    if (change.has_old) retire_entry(worker_, table_of(change), change.row, change.key, change.index, change.old_value);
}

template <class Sync>
void IndexEntries<Sync>::retire_unused(bool committed, const WriteSet& writes) {
  for (const IndexChange& change : *this) {
    if (!change.inserted) continue;
    // The new entry is in use if the row was committed with the new value.
    const WriteEntry* write = writes.find(change.row, change.table->layout(), 0);
    const bool gone = write != nullptr && write->leaves_none();
    if (!committed || change.superseded || gone)
      retire_entry(worker_, table_of(change), change.row, change.key, change.index, change.new_value);
  }
}

}  // namespace elider::txn
