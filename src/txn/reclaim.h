// Reclaim: the cleanup after a commit or an abort, most of which waits for a grace period (DBX,
// section 5.5).
//
//   A removed row           is marked absent by the commit. After one grace period, no snapshot
//                           reader needs the row, so it is unlinked from all indexes and marked
//                           removed. Its memory is reused after a second grace period. If the
//                           commit did not see a reader that may need the row, the row is unlinked
//                           immediately, because it is absent in all later snapshots. Otherwise,
//                           later transactions of the worker check whether these readers have ended
//                           (txn/late_unlinks.h). These readers often end long before the grace
//                           period does, because a grace period lasts as long as the longest
//                           transaction. Until the row is unlinked, all scans must skip it.
//   An aborted insert       leaves an absent row block in the index, which is unlinked and then
//                           reused in the same two steps.
//   A secondary entry       becomes stale if a commit changes its row's value, or if the
//                           transaction that inserted the entry aborts. It is removed after one
//                           grace period, unless the row has that value again.
//
// Invariants. When a transaction makes a row block absent, it creates exactly one unlink task for
// the block, and may try to run the task early. The task does nothing if the block's commit word
// has changed since. If its worker is idle, a task may run so late that the row's memory has been
// freed. The task therefore looks up the row in the index before it accesses the row. A stale entry
// stays on its row's list (StaleEntries) until the entry is removed, or a transaction needs it
// again. Unlinking a row removes all stale entries of the row, so an entry does not outlive its row
// block. An entry on a list is in its index, because otherwise a transaction that inserts the entry
// would not take it over, and the task would remove the entry of that transaction. While an index
// is being built, a commit may list a value whose entry has not been inserted yet. Then
// retire_entry() inserts it.
//
// Entries of a dropped index are not maintained, and may outlive their row blocks. Only the sweep
// of the index meets them, which does not follow them (txn/sweep.h).
//
// Values. A stale entry is identified by its index and its value. In an index by columns, a value
// is the address of a byte string (index::IndexValue), and there are several copies of the same
// string. The transaction that makes an entry stale, and one that needs it again, have copies in
// their arenas. The list owns a copy (StaleEntry::bytes), and so does the index. The row's present
// value is encoded when it is needed. The invariants are:
// - Values are compared by their bytes (AnyTable::same_value, has_index_value), never by address.
// - The list's copy lives exactly as long as its StaleEntry, under the mutex. It does not depend on
//   the transaction that has listed the entry, nor on a version of the row.
// - A task does not have a value. It finds its StaleEntry by row and ticket. If the ticket is gone,
//   the entry has been taken over, listed again, or removed with its row.
// - A row whose entry cannot be encoded is never committed. So a locked row that some commit has
//   filled always has an entry in each index by columns.
//
// Lock order: cells, then StaleEntries::mutex, then index latches. A thread that holds the mutex
// may only try to lock cells; it must not wait for them.
//
// Thread safety: any worker that is inside the epoch (base/worker.h) may call these functions.
#pragma once

#include <cstring>
#include <memory>

#include "txn/any_table.h"

namespace elider::txn {

// retire_row() and retire_entry() must not fail, because they are called when a commit can no
// longer be undone. If retire_row() cannot allocate its task, the absent row block stays in its
// indexes until its key is used again. If retire_entry() cannot allocate memory, the entry stays in
// its index, and from then on no row block of its table is unlinked.

// Schedules an absent row block to be unlinked after a grace period. `absent_word` is the commit
// word of the block's group 0.
void retire_row(Worker& worker, AnyTable& table, Row* row, KeyRef key, uint64_t absent_word);

// Unlinks the row block at once, or schedules it if another transaction holds a lock of the row.
// May be called only in the grace period in which the block became absent, and only if no snapshot
// reader needs the row.
void unlink_row_now(Worker& worker, AnyTable& table, Row* row, KeyRef key, uint64_t absent_word);

// Schedules the removal of an entry (value, key) that may no longer match any version of the row.
void retire_entry(Worker& worker, AnyTable& table, Row* row, KeyRef key, uint32_t index, IndexValue value);

namespace reclaim {

// Called by a transaction that wants to insert an entry which the index already contains. If the
// entry is listed as stale, removes it from the list, so that it now belongs to the transaction,
// and returns true. Otherwise returns false. The caller must hold the mutex of the table's stale
// entries.
bool take_over_entry(AnyTable& table, Row* row, uint32_t index, IndexValue value);

// Locks every column group of the row, and stores the previous commit words in `words`. Returns
// false, without any lock, if another transaction holds one of the locks.
bool try_lock_row(const Layout& layout, Row* row, uint64_t* words);
void unlock_row(const Layout& layout, Row* row, const uint64_t* words);

// Makes an index lead to this row block under this value. An entry of another block of the key is
// replaced: that block has been unlinked, and its entry is about to be removed by the transaction
// that inserted it (IndexEntries::replace_unlinked). Returns false if memory is exhausted. The
// caller must hold the mutex of the table's stale entries.
bool put_entry(Worker& worker, AnyTable& table, Row* row, KeyRef key, uint32_t index, IndexValue value);

// A copy of a row's key that remains valid when the row's memory is freed. The constructor may
// throw std::bad_alloc.
class OwnKey {
 public:
  OwnKey(const AnyTable& table, KeyRef key) : key_(key) {
    if (!table.byte_keys()) [[likely]] return;
    const size_t bytes = sizeof(detail::KeyBytes) + key.bytes()->size;
    copy_ = std::make_shared<std::byte[]>(bytes);
    std::memcpy(copy_.get(), key.bytes(), bytes);
    key_ = KeyRef(reinterpret_cast<const detail::KeyBytes*>(copy_.get()));
  }
  operator KeyRef() const { return key_; }

 private:
  KeyRef key_;
  std::shared_ptr<std::byte[]> copy_;  // null: the key is a number
};

struct UnlinkTask {
  AnyTable* table;
  Row* row;
  OwnKey key;
  uint64_t absent_word;
};

// Unlinks the row, unless another transaction has already unlinked it or has inserted a row into
// the block again. Returns false if another transaction holds one of the row's locks.
bool unlink_absent_row(Worker& worker, const UnlinkTask& task);

// Copies the columns of `set`, which are not those of described rows, from the newest version to
// `image`. The caller must hold the row's locks.
inline void copy_locked(const Layout& layout, Row* row, const ColumnSet& set, std::byte* image) {
  for (uint32_t g = 0; g < layout.group_count(); ++g) {
    if (set.begin[g] == set.begin[g + 1]) continue;
    const Cell& cell = row->cell(layout, g);
    storage::copy_to_image(set, g, image, cell.payload(layout.group(g)));
  }
}

// Returns the columns that secondary index i reads. A described row is returned where it is stored.
// Otherwise the columns are copied to `image`, which has Layout::column_image_bytes() bytes. The
// caller must hold the row's locks, and some commit must have filled the row.
RowImage image_locked(const AnyTable& table, Row* row, uint32_t i, std::byte* image);

}  // namespace reclaim

}  // namespace elider::txn
