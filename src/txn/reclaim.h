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
// block.
//
// Lock order: cells, then StaleEntries::mutex, then index latches. A thread that holds the mutex
// may only try to lock cells; it must not wait for them.
//
// Thread safety: any worker that is inside the epoch (base/worker.h) may call these functions.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "txn/table.h"

namespace elider::txn {

// retire_row() and retire_entry() must not fail, because they are called when a commit can no
// longer be undone. If retire_row() cannot allocate its task, the absent row block stays in its
// indexes until its key is used again. If retire_entry() cannot allocate memory, the entry stays in
// its index, and from then on no row block of its table is unlinked.

// Schedules an absent row block to be unlinked after a grace period. `absent_word` is the commit
// word of the block's group 0.
template <class Sync>
void retire_row(Worker& worker, Table<Sync>& table, Row* row, KeyRef key, uint64_t absent_word);

// Unlinks the row block immediately or, if another transaction holds one of the row's locks,
// schedules the block to be unlinked later. May be called only in the grace period in which the
// block became absent, and only if no snapshot reader needs the row.
template <class Sync>
void unlink_row_now(Worker& worker, Table<Sync>& table, Row* row, KeyRef key, uint64_t absent_word);

// Schedules the removal of a secondary index entry (value, key) that may no longer match any
// version of the row.
template <class Sync>
void retire_entry(Worker& worker, Table<Sync>& table, Row* row, KeyRef key, uint32_t index, uint64_t value);

namespace reclaim {

// Called by a transaction that wants to insert an entry which the index already contains. If the
// entry is listed as stale, removes it from the list, so that it now belongs to the transaction,
// and returns true. Otherwise returns false. The caller must hold the mutex of the table's stale
// entries.
template <class Sync>
bool take_over_entry(Table<Sync>& table, Row* row, uint32_t index, uint64_t value) {
  const auto found = table.stale().by_row.find(row);
  if (found == table.stale().by_row.end()) return false;
  const bool listed = std::erase_if(found->second, [&](const StaleEntry& e) { return e.index == index && e.value == value; }) != 0;
  if (found->second.empty()) table.stale().by_row.erase(found);
  return listed;
}

// A copy of a row's key that remains valid when the row's memory is freed. The constructor may
// throw std::bad_alloc.
template <class Sync>
class OwnKey {
 public:
  OwnKey(const Table<Sync>& table, KeyRef key) : key_(key) {
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

template <class Sync>
struct UnlinkTask {
  Table<Sync>* table;
  Row* row;
  OwnKey<Sync> key;
  uint64_t absent_word;
};

// `row` and `key` are valid as long as the entry is on the row's list.
template <class Sync>
struct EntryTask {
  Table<Sync>* table;
  Row* row;
  KeyRef key;
  StaleEntry entry;
};

// Locks every column group of the row, and stores the previous commit words in `words`. Returns
// false, without any lock, if another transaction holds one of the locks.
inline bool try_lock_row(const Layout& layout, Row* row, uint64_t* words) {
  for (uint32_t g = 0; g < layout.group_count(); ++g) {
    words[g] = row->cell(layout, g).load();
    if (!word::locked(words[g]) && row->cell(layout, g).lock_from(words[g])) continue;
    while (g-- > 0) row->cell(layout, g).unlock(words[g]);
    return false;
  }
  return true;
}
inline void unlock_row(const Layout& layout, Row* row, const uint64_t* words) {
  for (uint32_t g = 0; g < layout.group_count(); ++g) row->cell(layout, g).unlock(words[g]);
}

// Copies the columns of `set` from the newest version to `image`. The caller must hold the row's
// locks.
inline void copy_locked(const Layout& layout, Row* row, const ColumnSet& set, std::byte* image) {
  for (uint32_t g = 0; g < layout.group_count(); ++g) {
    if (set.begin[g] == set.begin[g + 1]) continue;
    const Cell& cell = row->cell(layout, g);
    storage::copy_to_image(set, g, image, cell.payload(layout.group(g)));
  }
}

// Retires the row's memory: the row block, and the separate blocks of its column groups.
template <class Sync>
void retire_memory_of(Worker& worker, Row* row, uint64_t table_address, Reclaim step) {
  const Layout& layout = reinterpret_cast<Table<Sync>*>(table_address)->layout();
  worker.retire(step, row, table_address, storage::all_bytes(layout, row));
}

template <class Sync>
void free_row_now(Worker& worker, void* object, uint64_t table_address) {
  storage::free_row(worker, reinterpret_cast<Table<Sync>*>(table_address)->layout(), static_cast<Row*>(object));
}

// If the table has secondary indexes, the row's memory is freed only after two grace periods. A
// transaction that found the row before it was unlinked may have added a secondary entry for the
// row, noticed that the row is removed, and removed the entry again. A reader that saw this entry
// may have entered after the unlinking, but at most one epoch later.
template <class Sync>
void free_row(Worker& worker, void* object, uint64_t table_address) {
  if (reinterpret_cast<Table<Sync>*>(table_address)->secondary_count() == 0) free_row_now<Sync>(worker, object, table_address);
  else retire_memory_of<Sync>(worker, static_cast<Row*>(object), table_address, free_row_now<Sync>);
}

// Computes the row's values in secondary indexes `first` to `last` (inclusive). The caller must
// hold the row's locks. Returns false if a key function threw or memory is exhausted; the caller
// must then not change anything.
template <class Sync>
bool values_locked(Table<Sync>& table, Row* row, uint32_t first, uint32_t last, uint64_t* values) {
  const Layout& layout = table.layout();
  try {
    const auto image = std::make_unique_for_overwrite<std::byte[]>(layout.column_image_bytes());
    for (uint32_t i = first; i <= last; ++i) {
      copy_locked(layout, row, layout.index_columns(i), image.get());
      values[i] = table.index_value(i, image.get());
    }
    return true;
  } catch (...) {
    return false;
  }
}

// Marks a locked row as removed, and removes all its secondary entries. `word_before` is the commit
// word that group 0 had before the lock. Returns false, without any change, if the row cannot be
// unlinked now.
template <class Sync>
bool remove_entries(Worker& worker, Table<Sync>& table, Row* row, KeyRef key, uint64_t word_before) {
  const index::Handle handle = reinterpret_cast<index::Handle>(row);
  const bool filled = row->cell(table.layout(), 0).snapshot() != 0;  // some commit has filled the row
  uint64_t values[kSecondaryIndexesMax];
  if (filled && !values_locked(table, row, 0, table.secondary_count() - 1, values)) return false;
  std::lock_guard lock(table.stale().mutex);
  if (table.stale().unlisted) return false;
  // The removed bit must be set before the stale entries are removed: a transaction that creates a
  // stale entry after their removal then sees the bit (retire_entry()).
  row->cell(table.layout(), 0).set_word(word_before | word::kLocked | word::kRemoved);
  if (filled)
    for (uint32_t i = 0; i < table.secondary_count(); ++i) table.secondary(i).remove(worker, values[i], key, handle);
  auto pending = table.stale().by_row.extract(row);
  if (pending.empty()) return true;
  for (const StaleEntry& entry : pending.mapped()) table.secondary(entry.index).remove(worker, entry.value, key, handle);
  return true;
}

// Unlinks the row from its indexes if the commit word of its group 0 is still `absent_word`. The
// caller must make sure that the row's memory has not been reused. Returns false if another
// transaction holds one of the row's locks.
template <class Sync>
bool try_unlink_row(Worker& worker, Table<Sync>& table, Row* row, KeyRef key, uint64_t absent_word) {
  const Layout& layout = table.layout();
  uint64_t words[kCommitGroupsMax] = {};
  if (!try_lock_row(layout, row, words)) return false;
  if (words[0] != absent_word) {
    unlock_row(layout, row, words);
    return true;
  }
  ELIDER_TEST_POINT("gc.before_unlink");
  uint64_t sequence_max = 0;
  for (uint32_t g = 0; g < layout.group_count(); ++g) sequence_max = std::max(sequence_max, word::sequence(words[g]));
  table.raise_sequence_floor(sequence_max + 1);  // before a new block of this key can be inserted
  if (table.secondary_count() == 0) {
    row->cell(layout, 0).set_word(words[0] | word::kLocked | word::kRemoved);
  } else if (!remove_entries(worker, table, row, key, words[0])) {
    unlock_row(layout, row, words);  // the row stays absent until its key is used again
    return true;
  }
  table.remove(worker, key, row);
  ELIDER_TEST_POINT("gc.after_unlink");
  for (uint32_t g = 0; g < layout.group_count(); ++g) row->cell(layout, g).unlock(word::next(words[g], true) | word::kRemoved);
  retire_memory_of<Sync>(worker, row, reinterpret_cast<uint64_t>(&table), free_row<Sync>);
  return true;
}

// Schedules the task, or drops it if memory is exhausted. An absent row then stays in its indexes
// until its key is used again. A stale entry stays on its row's list, and is removed together with
// the row.
template <class Task>
void retire_task(Worker& worker, Reclaim step, Task* task) {
  if (!worker.retire_linked(step, task, 0)) delete task;
}

// Unlinks the row, unless another transaction has already unlinked it or has inserted a row into
// the block again. Returns false if another transaction holds one of the row's locks.
template <class Sync>
bool unlink_absent_row(Worker& worker, const UnlinkTask<Sync>& task) {
  auto& [table, row, own_key, absent_word] = task;
  const KeyRef key = own_key;
  PrimaryHint hint;
  index::Witness unneeded;
  // The lock bit is ignored, because the word may return to its earlier value when it is unlocked.
  return table->find(key, hint, unneeded) != row || (row->cell(table->layout(), 0).load() & ~word::kLocked) != absent_word ||
         try_unlink_row(worker, *table, row, key, absent_word);
}

// The first step of a removal, one grace period after the commit.
template <class Sync>
void unlink_row(Worker& worker, void* object, uint64_t) {
  auto* task = static_cast<UnlinkTask<Sync>*>(object);
  if (unlink_absent_row(worker, *task)) delete task;
  else retire_task(worker, unlink_row<Sync>, task);
}

// Removes the entry, unless its row has that value again.
template <class Sync>
void unlink_entry(Worker& worker, void* object, uint64_t) {
  std::unique_ptr<EntryTask<Sync>> task(static_cast<EntryTask<Sync>*>(object));
  Table<Sync>* const table = task->table;
  Row* const row = task->row;
  const KeyRef key = task->key;
  const StaleEntry entry = task->entry;
  const Layout& layout = table->layout();
  std::lock_guard lock(table->stale().mutex);
  auto found = table->stale().by_row.find(row);
  if (found == table->stale().by_row.end()) return;
  auto& list = found->second;
  auto at = std::find_if(list.begin(), list.end(), [&](const StaleEntry& e) { return e.ticket == entry.ticket; });
  if (at == list.end()) return;  // a later change of the same entry has its own task, or the row is unlinked
  uint64_t words[kCommitGroupsMax];
  if (!try_lock_row(layout, row, words)) {
    retire_task(worker, unlink_entry<Sync>, task.release());
    return;
  }
  bool matches = false;
  if (row->cell(layout, 0).snapshot() != 0) {  // a removed row keeps the entry of its last value until it is unlinked
    uint64_t values[kSecondaryIndexesMax];
    if (!values_locked(*table, row, entry.index, entry.index, values)) {
      unlock_row(layout, row, words);
      return;  // the entry stays on the list, and is removed together with its row
    }
    matches = values[entry.index] == entry.value;
  }
  if (!matches) ELIDER_TEST_POINT("gc.before_entry_removal");
  if (!matches) table->secondary(entry.index).remove(worker, entry.value, key, reinterpret_cast<index::Handle>(row));
  unlock_row(layout, row, words);
  list.erase(at);
  if (list.empty()) table->stale().by_row.erase(found);
}

}  // namespace reclaim

template <class Sync>
void retire_row(Worker& worker, Table<Sync>& table, Row* row, KeyRef key, uint64_t absent_word) {
  try {
    std::unique_ptr<reclaim::UnlinkTask<Sync>> task(new reclaim::UnlinkTask<Sync>{&table, row, {table, key}, absent_word});
    reclaim::retire_task(worker, reclaim::unlink_row<Sync>, task.release());
  } catch (const std::bad_alloc&) {
  }
}

template <class Sync>
void unlink_row_now(Worker& worker, Table<Sync>& table, Row* row, KeyRef key, uint64_t absent_word) {
  if (!reclaim::try_unlink_row(worker, table, row, key, absent_word)) retire_row(worker, table, row, key, absent_word);
}

template <class Sync>
void retire_entry(Worker& worker, Table<Sync>& table, Row* row, KeyRef key, uint32_t index, uint64_t value) {
  std::lock_guard lock(table.stale().mutex);
  if (word::removed(row->cell(table.layout(), 0).load())) {
    // This entry was not listed yet when the row was unlinked, so the unlinking did not remove it.
    table.secondary(index).remove(worker, value, key, reinterpret_cast<index::Handle>(row));
    return;
  }
  const StaleEntry entry{index, value, ++table.stale().next_ticket};
  try {
    std::unique_ptr<reclaim::EntryTask<Sync>> task(new reclaim::EntryTask<Sync>{&table, row, key, entry});
    auto& list = table.stale().by_row[row];
    list.reserve(list.size() + 1);
    std::erase_if(list, [&](const StaleEntry& e) { return e.index == index && e.value == value; });
    list.push_back(entry);
    reclaim::retire_task(worker, reclaim::unlink_entry<Sync>, task.release());
  } catch (const std::bad_alloc&) {
    table.stale().unlisted = true;  // the entry stays in its index, so the row block must also stay
  }
}

}  // namespace elider::txn
