#include "recovery/build_indexes.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/test_points.h"
#include "recovery/snapshot_rows.h"
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
  for (uint32_t i = 0; i < table.secondary_count(); ++i) {
    found.clear();
    for (const auto& [key, handle] : entries) {
      Row* row = AnyTable::as_row(handle);
      if (word::absent(row->cell(layout, 0).load())) continue;
      reclaim::copy_locked(layout, row, layout.index_columns(i), image.data());
      try {
        found.push_back({table.index_value(i, image.data()), key, handle});
      } catch (...) {
        return Status(Code::kProcedureThrew, "the key function of index '" + table.schema().indexes[i].name + "' of table '" +
                                                 table.schema().name + "' threw for key " + table.key_text(key));
      }
    }
    // Sorts the entries, so that entries that are adjacent in the index are inserted one after the
    // other.
    std::sort(found.begin(), found.end(), [&](const AnyTable::Entry& a, const AnyTable::Entry& b) {
      if (a.value != b.value) return a.value < b.value;
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
// possible because no file records the key function, so the application may have changed the
// function.
Status check_unique_indexes(AnyTable& table) {
  Status status;
  for (uint32_t i = 0; i < table.secondary_count() && status.ok(); ++i) {
    const SecondaryIndex& described = table.schema().indexes[i];
    if (!described.unique) continue;
    uint64_t value_before = 0;
    KeyRef key_before;
    bool any = false;
    table.for_each_entry(i, [&](const AnyTable::Entry& entry) {
      const KeyRef key = table.key_of(AnyTable::as_row(entry.handle), entry.key);
      if (any && entry.value == value_before)
        status =
            Status(Code::kSchemaMismatch, "the unique index '" + described.name + "' of table '" + table.schema().name + "' has value " +
                                              std::to_string(entry.value) + " for keys " + table.key_text(key_before) + " and " +
                                              table.key_text(key) +
                                              ": its key function differs from the one used when the rows were written");
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
    if (table->secondary_count() != 0) all += table->row_blocks();
  if (all == 0) return {};
  std::vector<WorkerLoan> lent;
  while (lent.size() < threads)
    if (WorkerLoan worker = lend_worker(workers)) lent.push_back(std::move(worker));
    else break;
  if (lent.empty()) return Status(Code::kMemoryLimit, "not enough workers to build indexes (Options::workers_max)");
  Status status;
  for (AnyTable* const table : tables) {
    if (table->secondary_count() == 0 || !status.ok()) continue;
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
