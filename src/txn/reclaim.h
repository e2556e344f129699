// Reclaim: the work that follows a commit or an abort after a grace period (DBX, section 5.5).
//
//   A removed row           is absent from the commit on. After one grace period, no snapshot needs
//                           the row, so it is unlinked from all indexes and marked removed. Its
//                           memory is reused after a second grace period. If the commit did not see
//                           a reader that may need the row, the row is unlinked at once, because
//                           later readers find it absent at their numbers. Otherwise, later
//                           transactions of the worker check whether the readers have ended
//                           (txn/late_unlinks.h). A grace period can be much longer than that,
//                           because it lasts as long as the longest reader, and scans must skip all
//                           rows that wait.
//   An aborted insert       leaves an absent row block in the index. The block is unlinked and then
//                           reused, in the same two steps.
//   A secondary entry       is stale if its row has another value since the commit, or if the
//                           transaction that inserted it has aborted. It is removed after one grace
//                           period, unless the row has that value again.
//
// Invariants. Each absent state of a row block has exactly one unlink task. The transaction that
// made the row absent creates the task, and may try to run it earlier. The task does nothing if the
// word has changed since. If a task may run late, because its worker was idle, it looks up its row
// in the index before it accesses the row. A stale entry is on its row's list until the entry is
// removed, or a transaction needs it again. Unlinking a row removes all stale entries of the row,
// so an entry does not outlive its row block.
//
// Lock ranks: cells, then StaleEntries::mutex, then index latches. A thread that holds the mutex
// may only try to lock cells; it must not wait for them.
//
// Thread safety: any worker that is inside the epoch may call these functions.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "txn/table.h"

namespace elider::txn {

// retire_row() and retire_entry() do not fail, because they are called when a commit can no longer
// be undone. If memory for a task is exhausted, an absent row block stays in its indexes until its
// key is used again. If an entry cannot be listed, the entry stays in its index, and from then on
// no row block of its table is unlinked.

// Schedules the unlinking of a row block after a grace period. The block is absent, with this word
// in group 0.
template <class Sync>
void retire_row(Worker& worker, Table<Sync>& table, Row* row, KeyRef key, uint64_t absent_word);

// Unlinks the row block now. This is allowed only within the grace period in which the block became
// absent with this word, and only if no snapshot needs the row.
template <class Sync>
void unlink_row_now(Worker& worker, Table<Sync>& table, Row* row, KeyRef key, uint64_t absent_word);

// Schedules the removal of an entry (value, key) that may no longer match any version of the row.
template <class Sync>
void retire_entry(Worker& worker, Table<Sync>& table, Row* row, KeyRef key, uint32_t index, uint64_t value);

namespace reclaim {

// Called by a transaction that found the entry and needs it. If the entry is listed as stale, it is
// removed from the list, so that it now belongs to the transaction. Returns false if the entry is
// not listed. The caller holds the mutex of the table's stale entries.
template <class Sync>
bool take_over_entry(Table<Sync>& table, Row* row, uint32_t index, uint64_t value) {
  const auto found = table.stale().by_row.find(row);
  if (found == table.stale().by_row.end()) return false;
  const bool listed = std::erase_if(found->second, [&](const StaleEntry& e) { return e.index == index && e.value == value; }) != 0;
  if (found->second.empty()) table.stale().by_row.erase(found);
  return listed;
}

// A copy of the key of a row whose memory may be freed before the key is used. Throws
// std::bad_alloc.
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

// The row exists as long as the entry is on the row's list.
template <class Sync>
struct EntryTask {
  Table<Sync>* table;
  Row* row;
  KeyRef key;
  StaleEntry entry;
};

// Locks every group of the row, unless another transaction holds one of them. Stores the earlier
// words in `words`.
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

// Copies columns of the newest version. The caller holds the row's locks.
inline void copy_locked(const Layout& layout, Row* row, const ColumnSet& set, std::byte* image) {
  for (uint32_t g = 0; g < layout.group_count(); ++g) {
    if (set.begin[g] == set.begin[g + 1]) continue;
    const Cell& cell = row->cell(layout, g);
    storage::copy_to_image(set, g, image, cell.payload(layout.group(g)));
  }
}

// Retires the row's memory: its block, and the blocks and versions of its groups.
template <class Sync>
void retire_memory_of(Worker& worker, Row* row, uint64_t table_address, Reclaim step) {
  const Layout& layout = reinterpret_cast<Table<Sync>*>(table_address)->layout();
  worker.retire(step, row, table_address, storage::all_bytes(layout, row));
}

template <class Sync>
void free_row_now(Worker& worker, void* object, uint64_t table_address) {
  storage::free_row(worker, reinterpret_cast<Table<Sync>*>(table_address)->layout(), static_cast<Row*>(object));
}

// The memory of a row in a table with secondary indexes waits for two grace periods. A transaction
// that found the row before it was unlinked may have added an entry for the row, noticed that the
// row is removed, and removed the entry again. A reader that saw this entry entered at most one
// epoch after the unlinking.
template <class Sync>
void free_row(Worker& worker, void* object, uint64_t table_address) {
  if (reinterpret_cast<Table<Sync>*>(table_address)->secondary_count() == 0) free_row_now<Sync>(worker, object, table_address);
  else retire_memory_of<Sync>(worker, static_cast<Row*>(object), table_address, free_row_now<Sync>);
}

// Computes the row's values in the secondary indexes from `first` to `last`. The caller holds the
// row's locks. Returns false if a key function threw or memory is exhausted; the caller must then
// not change anything.
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

// Marks the locked row, whose group 0 had `word_before`, as removed, and removes all its entries.
// Returns false if the row must stay as it is.
template <class Sync>
bool remove_entries(Worker& worker, Table<Sync>& table, Row* row, KeyRef key, uint64_t word_before) {
  const index::Handle handle = reinterpret_cast<index::Handle>(row);
  const bool filled = row->cell(table.layout(), 0).snapshot() != 0;  // some commit has filled the row
  uint64_t values[kSecondaryIndexesMax];
  if (filled && !values_locked(table, row, 0, table.secondary_count() - 1, values)) return false;
  std::lock_guard lock(table.stale().mutex);
  if (table.stale().unlisted) return false;
  // The removed bit must be set before the stale entries are removed. A transaction that creates a
  // stale entry afterwards then sees the bit (retire_entry).
  row->cell(table.layout(), 0).set_word(word_before | word::kLocked | word::kRemoved);
  if (filled)
    for (uint32_t i = 0; i < table.secondary_count(); ++i) table.secondary(i).remove(worker, values[i], key, handle);
  auto pending = table.stale().by_row.extract(row);
  if (pending.empty()) return true;
  for (const StaleEntry& entry : pending.mapped()) table.secondary(entry.index).remove(worker, entry.value, key, handle);
  return true;
}

// Unlinks the row from its indexes if it is still absent with this word. The caller must make sure
// that the row's memory has not been reused. Returns false if another transaction holds one of the
// row's locks.
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

// If memory is exhausted, the task may be dropped. An absent row then stays until its key is used
// again. A stale entry stays on its row's list, and is removed together with the row.
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
  // If only the lock bit of the word differs, the word may return to its earlier value.
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
  if (row->cell(layout, 0).snapshot() != 0) {  // the last entry of an absent row is removed when the row is unlinked
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
    // This entry was not among those that were removed when the row was unlinked.
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
    table.stale().unlisted = true;  // the entry stays, so its row must stay as well
  }
}

}  // namespace elider::txn
