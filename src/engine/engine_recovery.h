// The parts of EngineBase that recovery and checkpoints use. They write rows without transactions,
// and read rows as of one snapshot number.
#pragma once

#include <new>

#include "base/parallel.h"
#include "engine/engine_base.h"
#include "index/scan.h"
#include "recovery/row_loader.h"
#include "recovery/snapshot_rows.h"

namespace elider::detail {

// A row loader that borrows a worker from the pool while it loads.
template <class Sync>
class WorkerLoader final : public recovery::RowLoaderOf<Sync> {
 public:
  explicit WorkerLoader(EngineWorker& worker) : recovery::RowLoaderOf<Sync>(worker.base, worker.counters), worker_(worker) {}
  ~WorkerLoader() override { worker_.pool.give_back(&worker_); }

 private:
  EngineWorker& worker_;
};

template <class Sync>
std::unique_ptr<recovery::RowLoader> EngineBase<Sync>::make_loader() {
  EngineWorker* worker = pool_->take();
  return worker == nullptr ? nullptr : std::make_unique<WorkerLoader<Sync>>(*worker);
}

template <class Sync>
std::unique_ptr<recovery::SnapshotRows> EngineBase<Sync>::read_snapshot() {
  Worker* worker = store_.workers.acquire();
  if (worker == nullptr) return nullptr;
  std::unique_ptr<recovery::SnapshotRowsOf<Sync>> rows;
  std::vector<TableBase*> tables;
  if (ELIDER_MUTANT(kTablesBeforeNumber)) tables = tables_made();
  ELIDER_TEST_POINT("checkpoint.before_number");
  try {
    rows = std::make_unique<recovery::SnapshotRowsOf<Sync>>(store_, *worker);
  } catch (const std::bad_alloc&) {
    store_.workers.release(worker);
    throw;
  }
  if (!ELIDER_MUTANT(kTablesBeforeNumber)) tables = tables_made();
  ELIDER_TEST_POINT("checkpoint.tables_listed");
  rows->set_tables(std::move(tables));
  return rows;
}

// Returns the tables, including every table that has been logged. Acquires creation_mutex_, because
// a table that another thread is creating may already be logged while it is not yet in tables_.
template <class Sync>
std::vector<TableBase*> EngineBase<Sync>::tables_made() {
  std::unique_lock made(creation_mutex_, std::defer_lock);
  if (!ELIDER_MUTANT(kSkipCreationLock) && !made.try_lock()) {
    ELIDER_TEST_POINT("checkpoint.awaits_table");
    made.lock();
  }
  std::shared_lock lock(catalog_mutex_);
  std::vector<TableBase*> all;
  for (const auto& table : tables_) all.push_back(table.get());
  return all;
}

// Checks a unique index that was just built. Fails if two rows have the same value. That is
// possible because no file records the key function, so the application may have changed the
// function.
template <class Sync>
Status check_unique_indexes(txn::Table<Sync>& table) {
  Status status;
  for (uint32_t i = 0; i < table.secondary_count() && status.ok(); ++i) {
    const SecondaryIndex& described = table.schema().indexes[i];
    if (!described.unique) continue;
    uint64_t value_before = 0;
    KeyRef key_before;
    bool any = false;
    const auto check = [&](const auto& entry, index::Handle handle) {
      const uint64_t value = index::value_of(entry);
      const KeyRef key = table.key_of(txn::Table<Sync>::as_row(handle), index::primary_of(entry));
      if (any && value == value_before)
        status =
            Status(Code::kSchemaMismatch, "the unique index '" + described.name + "' of table '" + table.schema().name + "' has value " +
                                              std::to_string(value) + " for keys " + table.key_text(key_before) + " and " +
                                              table.key_text(key) +
                                              ": its key function differs from the one used when the rows were written");
      value_before = value;
      key_before = key;
      any = true;
      return status.ok();
    };
    table.secondary(i).visit([&](auto& index) { index::for_each_entry(index, check); });
  }
  return status;
}

template <class Sync>
Status EngineBase<Sync>::build_indexes(uint32_t threads, const std::function<void(uint64_t, uint64_t)>& progress) {
  constexpr size_t kRowsAChunk = 4096;
  uint64_t all = 0, done = 0;
  std::mutex mutex;  // guards done, and progress
  for (const auto& table : tables_)
    if (table->secondary_count() != 0) all += table->keys().size();
  if (all == 0) return {};
  std::vector<EngineWorker*> workers;
  while (workers.size() < threads)
    if (EngineWorker* worker = pool_->take()) workers.push_back(worker);
    else break;
  if (workers.empty()) return refuse_worker();
  Status status;
  for (const auto& table : tables_) {
    if (table->secondary_count() == 0 || !status.ok()) continue;
    txn::TableCursor cursor(*table);
    status = parallel(static_cast<uint32_t>(workers.size()), workers.size(), [&](uint32_t, size_t i) -> Status {
      txn::TableCursor::Entries entries;
      for (;;) {
        {
          const Inside inside(workers[i]->base);
          if (!cursor.next(kRowsAChunk, &entries)) return {};
        }
        if (ELIDER_MUTANT(kLeaveOutLastChunk) && all > kRowsAChunk && entries.size() < kRowsAChunk) continue;
        if (Status indexed = recovery::index_rows(workers[i]->base, *table, entries); !indexed.ok()) return indexed;
        if (!progress) continue;
        std::lock_guard lock(mutex);
        progress(done += entries.size(), all);
      }
    });
  }
  for (const auto& table : tables_)
    if (status.ok()) {
      const Inside inside(workers.front()->base);
      status = check_unique_indexes(*table);
    }
  for (EngineWorker* worker : workers) pool_->give_back(worker);
  return status;
}

}  // namespace elider::detail
