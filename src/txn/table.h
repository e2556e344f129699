// Table: a table with its indexes, for one sync policy (sync/policy.h). It maps keys to row blocks.
//
// Thread safety: the same as the indexes (index/index.h). The calling worker must be inside the
// epoch (base/worker.h).
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/test_points.h"
#include "base/worker.h"
#include "htm/prefault.h"
#include "index/index.h"
#include "index/key_index.h"
#include "storage/block.h"
#include "storage/table.h"

namespace elider::txn {

using storage::Cell;
using storage::ColumnSet;
using storage::Layout;
using storage::Row;
using detail::KeyRef;
using storage::copy_image;
namespace word = storage::word;

using PrimaryHint = index::LeafHint<Key>;
using SecondaryHint = index::LeafHint<index::SecondaryKey>;

// Allocates a row block for this key, and sets all its commit words to `absent_word`. Other threads
// cannot reach the block yet. Returns null if memory is exhausted.
template <class Sync>
Row* new_row(Worker& worker, const Layout& layout, KeyRef key, uint64_t absent_word) {
  Row* const row = storage::allocate_row_block(worker, layout, key);
  if (row == nullptr) [[unlikely]] return nullptr;
  // The slots of zones need not be prefaulted: scans may read them at any time, so their pages are
  // already in memory.
  if constexpr (Sync::kRegions)
    if (layout.zones() == nullptr) htm::prefault(row, layout.block_bytes());
  ELIDER_TEST_POINT("row.taken");
  const uint32_t groups = layout.group_count();
  if (layout.protocol_bytes() != 0) [[unlikely]]
    for (uint32_t g = 0; g < groups; ++g) std::memset(row->protocol_bytes(layout, g), 0, layout.protocol_bytes());
  for (uint32_t g = 0; g < groups; ++g) {
    Cell& cell = row->cell(layout, g);
    cell.set_word(absent_word);
    cell.set_snapshot(0);
    cell.set_previous(nullptr);
    if (layout.group(g).block) cell.set_block(nullptr);
  }
  return row;
}

// A secondary index entry whose value may no longer be the value of its row (txn/reclaim.h).
struct StaleEntry {
  uint32_t index;
  uint64_t value;
  uint64_t ticket;
};
struct StaleEntries {
  std::mutex mutex;  // lock order: after cells, before index latches; while it is held, cells may only be try-locked
  uint64_t next_ticket = 0;
  std::unordered_map<Row*, std::vector<StaleEntry>> by_row;
  // Set when an entry could not be listed because memory was exhausted. From then on, rows of this
  // table are not unlinked.
  bool unlisted = false;
};

template <class Sync>
class Table final : public detail::TableBase {
 public:
  using KeyIndexType = index::KeyIndexOf<Sync>;
  using Secondary = index::SecondaryIndexOf<Sync>;

  Table(Schema described, index::KeyKind keys, uint32_t id, uint64_t database_id, uint32_t block_threshold_bytes, uint32_t protocol_bytes)
      : TableBase(std::move(described), id, database_id, block_threshold_bytes, protocol_bytes, keys == index::KeyKind::kBytes),
        keys_(schema().key_index, keys) {
    for (size_t i = 0; i < schema().indexes.size() && !lacks_indexes(); ++i) secondary_.emplace_back(keys);
  }

  KeyIndexType& keys() { return keys_; }
  const KeyIndexType& keys() const { return keys_; }
  Secondary& secondary(uint32_t i) { return secondary_[i]; }
  const Secondary& secondary(uint32_t i) const { return secondary_[i]; }
  uint32_t secondary_count() const { return static_cast<uint32_t>(secondary_.size()); }
  StaleEntries& stale() { return stale_; }

  // Returns the key's row block, or null. `ahead` is the part of the row that will be accessed
  // next, so that the index can prefetch it. The witness (index/index.h) is set if the result is
  // null.
  [[gnu::always_inline]] inline Row* find(KeyRef key, PrimaryHint& hint, index::Witness& witness, index::Ahead ahead = {}) {
    if (Row* const row = find_inline(key)) return row;
    return find_in_index(key, hint, witness, ahead);
  }
  // Like find(), but always searches the index and always sets the witness.
  [[gnu::always_inline]] inline Row* find_in_index(KeyRef key, PrimaryHint& hint, index::Witness& witness, index::Ahead ahead = {}) {
    return as_row(keys_.get(key, hint, witness, ahead));
  }
  // Returns the row if it is stored at one of the key's inline places (storage/inline_rows.h).
  // Returns null if only the index can tell whether the row exists.
  [[gnu::always_inline]] inline Row* find_inline(KeyRef key) const {
    storage::InlineRows* const places = layout().inline_rows();
    if (places == nullptr) [[likely]] return nullptr;
    places->prefetch(key.number());
    return places->find(key.number());
  }
  // Looks up many keys together, and prefetches the cache lines that a read of these columns
  // touches. Searches the index even for inline rows, because the cache misses of the index lookups
  // overlap, and the places of inline rows occupy more cache lines.
  void find_many(const KeyRef* keys, size_t count, const ColumnSet& columns, index::Handle* rows, index::Witness* witnesses) {
    keys_.multi_get(keys, count, rows, witnesses, columns.lines);
  }
  index::InsertResult find_or_insert(Worker& worker, KeyRef key, Row* candidate, PrimaryHint& hint) {
    const index::InsertResult result = keys_.get_or_insert(worker, key, reinterpret_cast<index::Handle>(candidate), hint);
    storage::InlineRows* const places = layout().inline_rows();
    if (places != nullptr && result.inserted && places->has(candidate)) [[unlikely]] places->set_found(candidate);
    return result;
  }
  bool remove(Worker& worker, KeyRef key, Row* row) {
    storage::InlineRows* const places = layout().inline_rows();
    if (places != nullptr && places->has(row)) [[unlikely]] places->set_lost(row);
    return keys_.remove(worker, key, reinterpret_cast<index::Handle>(row));
  }

  // Returns the row's key, which is valid as long as the row block is. A byte key is stored in the
  // row block, a number key is returned as it is.
  [[gnu::always_inline]] inline KeyRef key_of(const Row* row, KeyRef key) const {
    return byte_keys() ? KeyRef(row->key(layout())) : key;
  }

  // Returns the value in secondary index i of a row with this image.
  uint64_t index_value(uint32_t i, const std::byte* image) const { return schema().indexes[i].key(image); }

  // Calls f(latch) for each latch of the table's indexes.
  template <class F>
  void for_each_latch(F&& f) {
    const auto latch_of = [&](auto& index) {
      if constexpr (requires { index.latch(); }) f(index.latch());
    };
    keys_.visit(latch_of);
    for (Secondary& index : secondary_) index.visit(latch_of);
  }

  static Row* as_row(index::Handle handle) { return reinterpret_cast<Row*>(handle); }

 private:
  KeyIndexType keys_;
  std::vector<Secondary> secondary_;
  StaleEntries stale_;
};

}  // namespace elider::txn
