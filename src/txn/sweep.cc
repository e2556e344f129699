#include "txn/sweep.h"

#include <memory>
#include <new>
#include <vector>

#include "base/test_points.h"
#include "txn/table_cursor.h"

namespace elider::txn {

namespace {

constexpr size_t kRowsPerPortion = 4096;

class Sweep {
 public:
  explicit Sweep(AnyTable& table) : table_(table), rows_(table) {}

  // Returns false when everything has been freed.
  bool next(Worker& worker) {
    ELIDER_TEST_POINT("sweep.portion");
    if (index_ < table_.secondary_count()) return sweep_entries(worker), true;
    if (sweep_rows(worker)) return true;
    table_.free_key_index(worker);
    table_.free_places();
    table_.set_swept();
    return false;
  }

  void note_portion() { table_.note_portion_swept(); }

 private:
  void sweep_entries(Worker& worker) {
    std::vector<AnyTable::Entry> entries;
    entries.reserve(kRowsPerPortion);
    table_.for_each_entry(index_, [&](const AnyTable::Entry& entry) {
      entries.push_back(entry);
      return entries.size() < kRowsPerPortion;
    });
    // An entry by columns is in the memory of its index, which removing it retires but does not
    // free.
    for (const AnyTable::Entry& entry : entries) table_.remove_entry(worker, index_, entry);
    if (entries.size() < kRowsPerPortion) ++index_;
  }

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

  AnyTable& table_;
  TableCursor rows_;
  uint32_t index_ = 0;  // the secondary index whose entries are freed
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

}  // namespace

void sweep(Worker& worker, AnyTable& table) {
  try {
    auto begun = std::make_unique<Sweep>(table);
    if (worker.retire(step, begun.get(), 0, size_t{1} << 20)) begun.release();
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace elider::txn
