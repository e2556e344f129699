#include "txn/sweep.h"

#include <bit>
#include <memory>
#include <new>

#include "base/test_points.h"
#include "txn/table_cursor.h"

namespace elider::txn {

namespace {

constexpr size_t kRowsPerPortion = 4096;

class Sweep {
 public:
  explicit Sweep(AnyTable& table) : table_(table) {}
  virtual ~Sweep() = default;
  // Frees a portion. Returns false when everything has been freed.
  virtual bool next(Worker& worker) = 0;
  void note_portion() { table_.note_portion_swept(); }

 protected:
  AnyTable& table_;
};

class TableSweep final : public Sweep {
 public:
  explicit TableSweep(AnyTable& table) : Sweep(table), rows_(table) {}

  bool next(Worker& worker) override {
    ELIDER_TEST_POINT("sweep.portion");
    if (const uint64_t left = table_.present_indexes(); left != 0) {
      const auto i = static_cast<uint32_t>(std::countr_zero(left));
      if (table_.remove_first_entries(worker, i, kRowsPerPortion) < kRowsPerPortion) table_.free_slot(i);
      return true;
    }
    if (sweep_rows(worker)) return true;
    table_.free_key_index(worker);
    table_.free_places();
    table_.set_swept();
    return false;
  }

 private:
  bool sweep_rows(Worker& worker) {
    index::Entries rows;
    if (!rows_.next(kRowsPerPortion, &rows)) return false;
    const Layout& layout = table_.layout();
    for (const auto& [key, handle] : rows) {
      Row* const row = AnyTable::as_row(handle);
      table_.remove(worker, key, row);
      if (!table_.places_have(row)) storage::free_row(worker, layout, row);
      else storage::free_blocks(worker, layout, row);
    }
    return true;
  }

  TableCursor rows_;
};

class IndexSweep final : public Sweep {
 public:
  IndexSweep(AnyTable& table, uint32_t i) : Sweep(table), i_(i) {}

  bool next(Worker& worker) override {
    ELIDER_TEST_POINT("sweep.index_portion");
    if (table_.dropped()) return false;
    if (table_.remove_first_entries(worker, i_, kRowsPerPortion) == kRowsPerPortion) return true;
    // The tasks of stale entries that are not on the list do nothing.
    {
      const std::lock_guard lock(table_.stale().mutex);
      auto& all = table_.stale().by_row;
      for (auto list = all.begin(); list != all.end();) {
        std::erase_if(list->second, [&](const StaleEntry& entry) { return entry.index == i_; });
        list = list->second.empty() ? all.erase(list) : std::next(list);
      }
    }
    table_.free_slot(i_);
    return false;
  }

 private:
  const uint32_t i_;
};

void step(Worker& worker, void* object, uint64_t) {
  std::unique_ptr<Sweep> its(static_cast<Sweep*>(object));
  try {
    if (!its->next(worker)) return;
    its->note_portion();
  } catch (const std::bad_alloc&) {
    // The next portion tries again.
  }
  if (worker.retire(step, its.get(), 0, size_t{1} << 20)) its.release();
}

void begin(Worker& worker, std::unique_ptr<Sweep> its) {
  if (worker.retire(step, its.get(), 0, size_t{1} << 20)) its.release();
}

}  // namespace

void sweep(Worker& worker, AnyTable& table) {
  try {
    begin(worker, std::make_unique<TableSweep>(table));
  } catch (const std::bad_alloc&) {
  }
}

void sweep_index(Worker& worker, AnyTable& table, uint32_t i) {
  try {
    begin(worker, std::make_unique<IndexSweep>(table, i));
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace elider::txn
