#include "txn/reclaim.h"

#include <algorithm>
#include <memory>
#include <new>

namespace elider::txn {

namespace reclaim {

namespace {

// Returns true if the list's entry is the one with this index and value. The addresses of equal
// values differ.
bool is_entry(const AnyTable& table, const StaleEntry& entry, uint32_t index, IndexValue value) {
  if (entry.index != index) return false;
  if (ELIDER_MUTANT(kStaleByAddress)) return entry.value.word() == value.word();
  return table.same_value(index, entry.value, value);
}

// Returns an entry for the list, with its own copy of the value. May throw std::bad_alloc.
StaleEntry stale_entry(const AnyTable& table, uint32_t index, IndexValue value) {
  StaleEntry entry{index, value, 0, nullptr};
  if (table.column_index(index) == nullptr) [[likely]] return entry;
  if (ELIDER_MUTANT(kStaleBorrowed)) return entry;
  const size_t bytes = sizeof(KeyBytes) + value.entry()->size;
  entry.bytes = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::memcpy(entry.bytes.get(), value.entry(), bytes);
  entry.value = IndexValue(reinterpret_cast<const KeyBytes*>(entry.bytes.get()));
  return entry;
}

}  // namespace

RowImage image_locked(const AnyTable& table, Row* row, uint32_t i, std::byte* image) {
  const Layout& layout = table.layout();
  const ColumnIndex* const columns = table.column_index(i);
  if (columns == nullptr || !columns->reads_described_rows()) {
    copy_locked(layout, row, table.index_columns(i), image);
    return {image, layout.column_image_bytes()};
  }
  const Cell& cell = row->cell(layout, 0);
  const storage::Contents contents = cell.contents();
  if (contents.is_inside()) return {cell.payload_at(contents.inside_offset()), contents.inside_size()};
  return {contents.block()->payload(), contents.block()->size};
}

bool try_lock_row(const Layout& layout, Row* row, uint64_t* words) {
  for (uint32_t g = 0; g < layout.group_count(); ++g) {
    words[g] = row->cell(layout, g).load();
    if (!word::locked(words[g]) && row->cell(layout, g).lock_from(words[g])) continue;
    while (g-- > 0) row->cell(layout, g).unlock(words[g]);
    return false;
  }
  return true;
}
void unlock_row(const Layout& layout, Row* row, const uint64_t* words) {
  for (uint32_t g = 0; g < layout.group_count(); ++g) row->cell(layout, g).unlock(words[g]);
}

bool put_entry(Worker& worker, AnyTable& table, Row* row, KeyRef key, uint32_t index, IndexValue value) {
  const AnyTable::Entry entry{value, key, reinterpret_cast<index::Handle>(row)};
  const index::Handle there = table.find_or_insert_entry(worker, index, entry);
  if (there == entry.handle || there == index::kNoHandle) return there == entry.handle;
  table.remove_entry(worker, index, {value, key, there});
  return table.find_or_insert_entry(worker, index, entry) == entry.handle;
}

bool take_over_entry(AnyTable& table, Row* row, uint32_t index, IndexValue value) {
  const auto found = table.stale().by_row.find(row);
  if (found == table.stale().by_row.end()) return false;
  const bool listed = std::erase_if(found->second, [&](const StaleEntry& e) { return is_entry(table, e, index, value); }) != 0;
  if (found->second.empty()) table.stale().by_row.erase(found);
  return listed;
}

namespace {

// `row` and `key` are valid as long as the entry with this ticket is on the row's list.
struct EntryTask {
  AnyTable* table;
  Row* row;
  KeyRef key;
  uint64_t ticket;
};

// Retires the row's memory: the row block, and the separate blocks of its column groups.
void retire_memory_of(Worker& worker, Row* row, uint64_t table_address, Reclaim step) {
  const Layout& layout = reinterpret_cast<AnyTable*>(table_address)->layout();
  worker.retire(step, row, table_address, storage::all_bytes(layout, row));
}

// Zones and inline places are freed as a whole when their table has been dropped.
bool freed_with_places(const AnyTable& table, const Row* row) { return table.dropped() && table.places_have(row); }

void free_row_now(Worker& worker, void* object, uint64_t table_address) {
  const AnyTable& table = *reinterpret_cast<AnyTable*>(table_address);
  auto* const row = static_cast<Row*>(object);
  if (!freed_with_places(table, row)) storage::free_row(worker, table.layout(), row);
}

// If the table has secondary indexes, the row's memory is freed only after two grace periods. A
// transaction that found the row before it was unlinked may have added a secondary entry for the
// row, noticed that the row is removed, and removed the entry again. A reader that saw this entry
// may have entered after the unlinking, but at most one epoch later.
void free_row(Worker& worker, void* object, uint64_t table_address) {
  const AnyTable& table = *reinterpret_cast<AnyTable*>(table_address);
  if (table.present_indexes() == 0) free_row_now(worker, object, table_address);
  else if (!freed_with_places(table, static_cast<Row*>(object)))
    retire_memory_of(worker, static_cast<Row*>(object), table_address, free_row_now);
}

// Computes the row's numbers in those of the indexes that have key functions. The caller must hold
// the row's locks. Returns false if a key function threw; the caller must then not change anything.
bool numbers_locked(AnyTable& table, uint64_t indexes, Row* row, std::byte* image, uint64_t* numbers) {
  try {
    for (const uint32_t i : Bits(indexes))
      if (table.column_index(i) == nullptr) numbers[i] = table.index_number(i, image_locked(table, row, i, image).bytes);
    return true;
  } catch (...) {
    return false;
  }
}

// Marks a locked row as removed, and removes all its secondary entries. `word_before` is the commit
// word that group 0 had before the lock. Returns false, without any change, if the row cannot be
// unlinked now.
bool remove_entries(Worker& worker, AnyTable& table, Row* row, KeyRef key, uint64_t word_before) {
  const index::Handle handle = reinterpret_cast<index::Handle>(row);
  const bool filled = row->cell(table.layout(), 0).snapshot() != 0;  // some commit has filled the row
  const uint64_t indexes = table.maintained_indexes();
  uint64_t numbers[kSecondaryIndexesMax];
  const std::unique_ptr<std::byte[]> image(new (std::nothrow) std::byte[table.layout().column_image_bytes()]);
  if (image == nullptr || (filled && !numbers_locked(table, indexes, row, image.get(), numbers))) return false;
  std::lock_guard lock(table.stale().mutex);
  if (table.stale().unlisted) return false;
  // The removed bit must be set before the stale entries are removed. A transaction that creates a
  // stale entry after that sees the bit (retire_entry).
  row->cell(table.layout(), 0).set_word(word_before | word::kLocked | word::kRemoved);
  for (const uint32_t i : Bits(filled ? indexes : 0)) {
    const ColumnIndex* const columns = table.column_index(i);
    if (columns == nullptr) {
      table.remove_entry(worker, i, {IndexValue(numbers[i]), key, handle});
      continue;
    }
    EntryBuffer buffer;
    if (const KeyBytes* const entry = columns->encode(image_locked(table, row, i, image.get()), key, buffer))
      table.remove_entry(worker, i, {IndexValue(entry), key, handle});
  }
  auto pending = table.stale().by_row.extract(row);
  if (pending.empty()) return true;
  for (const StaleEntry& entry : pending.mapped()) table.remove_entry(worker, entry.index, {entry.value, key, handle});
  return true;
}

// Unlinks the row from its indexes if the commit word of its group 0 is still `absent_word`. The
// caller must make sure that the row's memory has not been reused. Returns false if another
// transaction holds one of the row's locks.
bool try_unlink_row(Worker& worker, AnyTable& table, Row* row, KeyRef key, uint64_t absent_word) {
  const Layout& layout = table.layout();
  uint64_t words[kColumnGroupsMax] = {};
  if (!try_lock_row(layout, row, words)) return false;
  if (words[0] != absent_word) {
    unlock_row(layout, row, words);
    return true;
  }
  ELIDER_TEST_POINT("gc.before_unlink");
  uint64_t version_number_max = 0;
  for (uint32_t g = 0; g < layout.group_count(); ++g) version_number_max = std::max(version_number_max, word::version_number(words[g]));
  table.raise_version_floor(version_number_max + 1);  // before a new block of this key can be inserted
  if (table.present_indexes() == 0) {
    row->cell(layout, 0).set_word(words[0] | word::kLocked | word::kRemoved);
  } else if (!remove_entries(worker, table, row, key, words[0])) {
    unlock_row(layout, row, words);  // the row stays absent until its key is used again
    return true;
  }
  table.remove(worker, key, row);
  ELIDER_TEST_POINT("gc.after_unlink");
  for (uint32_t g = 0; g < layout.group_count(); ++g) row->cell(layout, g).unlock(word::next(words[g], true) | word::kRemoved);
  retire_memory_of(worker, row, reinterpret_cast<uint64_t>(&table), free_row);
  return true;
}

// Schedules the task, or drops it if memory is exhausted. An absent row then stays in its indexes
// until its key is used again. A stale entry stays on its row's list, and is removed together with
// the row.
template <class Task>
void retire_task(Worker& worker, Reclaim step, Task* task) {
  if (!worker.retire_linked(step, task, 0)) delete task;
}

}  // namespace

bool unlink_absent_row(Worker& worker, const UnlinkTask& task) {
  auto& [table, row, own_key, absent_word] = task;
  if (table->dropped()) return true;  // the sweep unlinks the row (txn/sweep.h)
  const KeyRef key = own_key;
  // The lock bit is ignored, because the word may return to its earlier value when it is unlocked.
  return table->find_row(key) != row || (row->cell(table->layout(), 0).load() & ~word::kLocked) != absent_word ||
         try_unlink_row(worker, *table, row, key, absent_word);
}

namespace {

// The first step of a removal, one grace period after the commit.
void unlink_row(Worker& worker, void* object, uint64_t) {
  auto* task = static_cast<UnlinkTask*>(object);
  if (unlink_absent_row(worker, *task)) delete task;
  else retire_task(worker, unlink_row, task);
}

// Removes the entry, unless its row has that value again.
void unlink_entry(Worker& worker, void* object, uint64_t) {
  std::unique_ptr<EntryTask> task(static_cast<EntryTask*>(object));
  AnyTable* const table = task->table;
  Row* const row = task->row;
  const KeyRef key = task->key;
  const Layout& layout = table->layout();
  if (table->dropped()) return;  // the sweep removes the entry
  std::lock_guard lock(table->stale().mutex);
  auto found = table->stale().by_row.find(row);
  if (found == table->stale().by_row.end()) return;
  auto& list = found->second;
  auto at = std::find_if(list.begin(), list.end(), [&](const StaleEntry& e) { return e.ticket == task->ticket; });
  if (at == list.end()) return;  // a later change of the same entry has its own task, or the row is unlinked
  uint64_t words[kColumnGroupsMax];
  if (!try_lock_row(layout, row, words)) {
    retire_task(worker, unlink_entry, task.release());
    return;
  }
  bool matches = false;
  if (row->cell(layout, 0).snapshot() != 0) {  // a removed row keeps the entry of its last value until it is unlinked
    try {
      const auto image = std::make_unique_for_overwrite<std::byte[]>(layout.column_image_bytes());
      matches = table->has_index_value(at->index, image_locked(*table, row, at->index, image.get()), key, at->value) &&
                !ELIDER_MUTANT(kStaleByTicket);
    } catch (...) {  // the key function threw, or memory is exhausted
      unlock_row(layout, row, words);
      return;  // the entry stays on the list, and is removed together with its row
    }
  }
  if (!matches) ELIDER_TEST_POINT("gc.before_entry_removal");
  if (!matches) table->remove_entry(worker, at->index, {at->value, key, reinterpret_cast<index::Handle>(row)});
  unlock_row(layout, row, words);
  list.erase(at);
  if (list.empty()) table->stale().by_row.erase(found);
}

}  // namespace

}  // namespace reclaim


void retire_row(Worker& worker, AnyTable& table, Row* row, KeyRef key, uint64_t absent_word) {
  try {
    std::unique_ptr<reclaim::UnlinkTask> task(new reclaim::UnlinkTask{&table, row, {table, key}, absent_word});
    reclaim::retire_task(worker, reclaim::unlink_row, task.release());
  } catch (const std::bad_alloc&) {
  }
}

void unlink_row_now(Worker& worker, AnyTable& table, Row* row, KeyRef key, uint64_t absent_word) {
  if (!reclaim::try_unlink_row(worker, table, row, key, absent_word)) retire_row(worker, table, row, key, absent_word);
}

void retire_entry(Worker& worker, AnyTable& table, Row* row, KeyRef key, uint32_t index, IndexValue value) {
  std::lock_guard lock(table.stale().mutex);
  if (word::removed(row->cell(table.layout(), 0).load())) {
    // When the row was unlinked, this entry was not listed yet, so it was not removed.
    table.remove_entry(worker, index, {value, key, reinterpret_cast<index::Handle>(row)});
    return;
  }
  const uint64_t ticket = ++table.stale().next_ticket;
  try {
    std::unique_ptr<reclaim::EntryTask> task(new reclaim::EntryTask{&table, row, key, ticket});
    StaleEntry entry = reclaim::stale_entry(table, index, value);
    entry.ticket = ticket;
    if (!table.is_usable(index) && !reclaim::put_entry(worker, table, row, key, index, value)) throw std::bad_alloc();
    auto& list = table.stale().by_row[row];
    list.reserve(list.size() + 1);
    std::erase_if(list, [&](const StaleEntry& e) { return reclaim::is_entry(table, e, index, value); });
    list.push_back(std::move(entry));
    reclaim::retire_task(worker, reclaim::unlink_entry, task.release());
  } catch (const std::bad_alloc&) {
    table.stale().unlisted = true;  // the entry stays in its index, so the row block must also stay
  }
}

}  // namespace elider::txn
