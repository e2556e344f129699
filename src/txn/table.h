// Table: a table with its indexes under one sync policy: where keys are turned into row blocks.
//
// Thread safety: that of the indexes. Every call needs a Worker that is inside a grace period.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/worker.h"
#include "htm/prefault.h"
#include "index/btree/btree.h"
#include "index/hash/hash_table.h"
#include "index/index.h"
#include "storage/table.h"

namespace elider::txn {

using storage::Cell;
using storage::ColumnSet;
using storage::Layout;
using storage::Row;
using storage::copy_image;
namespace word = storage::word;

using PrimaryHint = index::LeafHint<Key>;
using SecondaryHint = index::LeafHint<index::SecondaryKey>;

// A row block that nobody can reach yet, whose words are these: of no row. Null: no memory.
template <class Sync>
Row* new_row(Worker& worker, const Layout& layout, uint64_t absent_word) {
  auto* row = static_cast<Row*>(worker.allocate(layout.block_bytes(), MemoryPart::kRows));
  if (row == nullptr) [[unlikely]] return nullptr;
  if constexpr (Sync::kRegions) htm::prefault(row, layout.block_bytes());
  for (uint32_t g = 0; g < layout.group_count(); ++g) {
    if (layout.protocol_bytes() != 0) [[unlikely]] std::memset(row->protocol_bytes(layout, g), 0, layout.protocol_bytes());
    Cell& cell = row->cell(layout, g);
    cell.set_word(absent_word);
    cell.set_snapshot(0);
    cell.set_previous(nullptr);
    if (layout.group(g).block) cell.set_block(nullptr);
  }
  return row;
}

// An entry of a secondary index that its row may no longer match; see reclaim.h.
struct StaleEntry {
  uint32_t index;
  uint64_t value;
  uint64_t ticket;
};
struct StaleEntries {
  std::mutex mutex;  // rank: after no cell lock but those taken by try; before index latches
  uint64_t next_ticket = 0;
  std::unordered_map<Row*, std::vector<StaleEntry>> by_row;
  // An entry could not be listed, for the process has no memory: no row of the table is unlinked any more.
  bool unlisted = false;
};

template <class Sync>
class Table final : public detail::TableBase {
 public:
  using Ordered = index::BTree<Sync, Key>;
  using Hashed = index::HashTable<Sync>;
  using Secondary = index::BTree<Sync, index::SecondaryKey>;

  Table(Schema described, uint32_t id, uint64_t database_id, uint32_t block_threshold_bytes, uint32_t protocol_bytes)
      : TableBase(std::move(described), id, database_id, block_threshold_bytes, protocol_bytes) {
    if (schema().key_index == KeyIndex::kOrdered) ordered_ = std::make_unique<Ordered>();
    else hashed_ = std::make_unique<Hashed>();
    for (size_t i = 0; i < schema().indexes.size(); ++i) secondary_.push_back(std::make_unique<Secondary>());
  }

  bool ordered() const { return ordered_ != nullptr; }
  Ordered& tree() { return *ordered_; }
  Hashed& hash() { return *hashed_; }
  Secondary& secondary(uint32_t i) { return *secondary_[i]; }
  uint32_t secondary_count() const { return static_cast<uint32_t>(secondary_.size()); }
  StaleEntries& stale() { return stale_; }

  // `ahead`: where the row is touched next; a hashed table asks for it as soon as the row is found.
  Row* find(Key key, PrimaryHint& hint, index::Witness& witness, index::Ahead ahead = {}) {
    return as_row(ordered() ? find_in_tree(key, hint, witness) : hashed_->get(key, witness, ahead));
  }
  // And asks for what reading these columns of the rows touches.
  void find_many(const Key* keys, size_t count, const ColumnSet& columns, index::Handle* rows, index::Witness* witnesses) {
    if (ordered()) ordered_->multi_get(keys, count, rows, witnesses, columns.lines);
    else hashed_->multi_get(keys, count, rows, witnesses, columns.lines);
  }
  index::InsertResult find_or_insert(Worker& worker, Key key, Row* candidate, PrimaryHint& hint) {
    const index::Handle handle = reinterpret_cast<index::Handle>(candidate);
    return ordered() ? ordered_->get_or_insert(worker, key, handle, hint) : hashed_->get_or_insert(worker, key, handle);
  }
  bool remove(Worker& worker, Key key, Row* row) {
    const index::Handle handle = reinterpret_cast<index::Handle>(row);
    return ordered() ? ordered_->remove(worker, key, handle) : hashed_->remove(worker, key, handle);
  }

  // What secondary index i makes of a row.
  uint64_t index_value(uint32_t i, const std::byte* image) const { return schema().indexes[i].key(image); }

  // The latches of all its indexes.
  template <class F>
  void for_each_latch(F&& f) {
    if (ordered()) f(ordered_->latch());
    else f(hashed_->latch());
    for (auto& index : secondary_) f(index->latch());
  }

  static Row* as_row(index::Handle handle) { return reinterpret_cast<Row*>(handle); }

 private:
  // Apart, so that the registers that a descent takes are not saved for a hashed table.
  [[gnu::noinline]] index::Handle find_in_tree(Key key, PrimaryHint& hint, index::Witness& witness) {
    return ordered_->get(key, hint, witness);
  }

  std::unique_ptr<Ordered> ordered_;
  std::unique_ptr<Hashed> hashed_;
  std::vector<std::unique_ptr<Secondary>> secondary_;
  StaleEntries stale_;
};

}  // namespace elider::txn
