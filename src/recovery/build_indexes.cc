#include "recovery/build_indexes.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/bits.h"
#include "base/parallel.h"
#include "base/test_points.h"
#include "base/status_words.h"
#include "recovery/snapshot_rows.h"
#include "txn/kept_key.h"
#include "txn/reclaim.h"
#include "txn/table_cursor.h"

namespace elider::recovery {

namespace {

// Inserts the rows of `entries` into the table's secondary indexes. Other threads must not write
// these rows during the call. kProcedureThrew: a key function threw. kMemoryLimit: memory is
// exhausted.
Status index_rows(Worker& worker, AnyTable& table, const index::Entries& entries) {
  const Layout& layout = table.layout();
  std::vector<AnyTable::Entry> found;
  found.reserve(entries.size());  // so only the key function can throw below
  std::vector<std::byte> image(layout.column_image_bytes());
  txn::Arena arena(false);  // the entries of the indexes by columns
  for (const uint32_t i : Bits(table.present_indexes())) {
    found.clear();
    arena.clear();
    for (const auto& [key, handle] : entries) {
      Row* row = AnyTable::as_row(handle);
      if (word::absent(row->cell(layout, 0).load())) continue;
      const txn::RowImage read = reclaim::image_locked(table, row, i, image.data());
      try {
        txn::EntryBuffer buffer;
        IndexValue value;
        if (!table.index_value(i, read, key, buffer, &value))
          return reworded(Code::kCorrupt, "", table.column_index(i)->refuse(table, read, key));
        if (table.column_index(i) != nullptr) value = txn::kept_value(arena, value.entry());
        found.push_back({value, key, handle});
      } catch (const std::bad_alloc&) {
        return table.error(Code::kMemoryLimit, Cause::kMemoryLimit, key);
      } catch (...) {
        return Status(Code::kProcedureThrew, "the key function of index '" + table.index_definition(i).name + "' of table '" +
                                                 table.schema().name + "' threw for key " + table.key_text(key));
      }
    }
    // Sorts the entries, so that entries that are adjacent in the index are inserted one after the
    // other.
    std::sort(found.begin(), found.end(), [&](const AnyTable::Entry& a, const AnyTable::Entry& b) {
      if (table.column_index(i) != nullptr) return index::ByteKey{a.value.entry()} < index::ByteKey{b.value.entry()};
      if (a.value.number() != b.value.number()) return a.value.number() < b.value.number();
      return table.byte_keys() ? detail::bytes_of(a.key) < detail::bytes_of(b.key) : a.key.number() < b.key.number();
    });
    const BeyondLimit beyond;
    const Inside inside(worker);
    const size_t inserted = table.insert_entries(worker, i, found);
    if (inserted != found.size()) return table.error(Code::kMemoryLimit, Cause::kMemoryLimit, found[inserted].key);
  }
  return {};
}

// Checks a unique index that was just built. Fails if two rows have the same value. That is
// possible because no file records a key function, so the application may have changed the
// function.
Status check_unique_indexes(AnyTable& table) {
  Status status;
  for (const uint32_t i : Bits(table.present_indexes())) {
    const SecondaryIndex& described = table.index_definition(i);
    if (!described.unique || !status.ok()) continue;
    const txn::ColumnIndex* const columns = table.column_index(i);
    IndexValue value_before{uint64_t{0}};
    KeyRef key_before;
    bool any = false;
    table.for_each_entry(i, [&](const AnyTable::Entry& entry) {
      const KeyRef key = entry.key;
      const auto equal = [&] {
        if (columns == nullptr) return entry.value.number() == value_before.number();
        return columns->tuple_of(*entry.value.entry(), key) == columns->tuple_of(*value_before.entry(), key_before) &&
               !columns->has_null(*entry.value.entry(), key);
      };
      if (any && equal())
        status = Status(columns != nullptr ? Code::kCorrupt : Code::kSchemaMismatch,
                        "the unique index '" + described.name + "' of table '" + table.schema().name + "' has value " +
                            table.value_text(i, entry.value, key) + " for keys " + table.key_text(key_before) + " and " +
                            table.key_text(key) +
                            (columns != nullptr ? "" : ": its key function differs from the one used when the rows were written"));
      value_before = entry.value;
      key_before = key;
      any = true;
      return status.ok();
    });
  }
  return status;
}

}  // namespace

Status build_indexes(std::span<AnyTable* const> tables, Workers& workers, uint32_t threads,
                     const std::function<void(uint64_t, uint64_t)>& progress) {
  constexpr size_t kRowsAChunk = 4096;
  uint64_t all = 0, done = 0;
  std::mutex mutex;  // guards done, and progress
  for (AnyTable* const table : tables)
    if (table->present_indexes() != 0) all += table->row_blocks();
  if (all == 0) return {};
  std::vector<WorkerLoan> lent;
  while (lent.size() < threads)
    if (WorkerLoan worker = lend_worker(workers)) lent.push_back(std::move(worker));
    else break;
  if (lent.empty()) return Status(Code::kMemoryLimit, "not enough workers to build indexes (Options::workers_max)");
  Status status;
  for (AnyTable* const table : tables) {
    if (table->present_indexes() == 0 || !status.ok()) continue;
    TableCursor cursor(*table);
    status = parallel(static_cast<uint32_t>(lent.size()), lent.size(), [&](uint32_t, size_t i) -> Status {
      index::Entries entries;
      for (;;) {
        {
          // The worker leaves the epoch after each chunk, so that memory can be reclaimed. The
          // cursor copies its position, and rows are not removed before recovery ends.
          const Inside inside(*lent[i]);
          if (!cursor.next(kRowsAChunk, &entries)) return {};
        }
        if (ELIDER_MUTANT(kLeaveOutLastChunk) && all > kRowsAChunk && entries.size() < kRowsAChunk) continue;
        if (Status indexed = index_rows(*lent[i], *table, entries); !indexed.ok()) return indexed;
        if (!progress) continue;
        std::lock_guard lock(mutex);
        progress(done += entries.size(), all);
      }
    });
  }
  for (AnyTable* const table : tables)
    if (status.ok()) {
      const Inside inside(*lent.front());
      status = check_unique_indexes(*table);
    }
  return status;
}

}  // namespace elider::recovery
