// Table: a table with its indexes under one sync policy. It maps keys to row blocks.
//
// Thread safety: that of the indexes. Every call requires a Worker that is inside a grace period.
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

// Allocates a row block for this key that no other thread can reach yet. Its words are those of an
// absent row. Null: memory is exhausted.
template <class Sync>
Row* new_row(Worker& worker, const Layout& layout, KeyRef key, uint64_t absent_word) {
  Row* const row = storage::allocate_row_block(worker, layout, key);
  if (row == nullptr) [[unlikely]] return nullptr;
  // Scans may look at a slot of a zone at any time; its pages are in memory.
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
  // An entry could not be listed because memory was exhausted. From then on no row of the table is
  // unlinked.
  bool unlisted = false;
};

template <class Sync>
class Table final : public detail::TableBase {
 public:
  using KeyIndexType = index::KeyIndexOf<Sync>;
  using Secondary = index::SecondaryIndexOf<Sync>;
  // Whether keys may be bytes under this policy.
  static constexpr bool kByteKeys = index::kHasByteKeys<Sync>;

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

  // `ahead`: where the row is accessed next. The witness is set if the row does not exist.
  [[gnu::always_inline]] inline Row* find(KeyRef key, PrimaryHint& hint, index::Witness& witness, index::Ahead ahead = {}) {
    if (Row* const row = find_inline(key)) return row;
    return find_in_index(key, hint, witness, ahead);
  }
  // The witness is set in either case.
  [[gnu::always_inline]] inline Row* find_in_index(KeyRef key, PrimaryHint& hint, index::Witness& witness, index::Ahead ahead = {}) {
    return as_row(keys_.get(key, hint, witness, ahead));
  }
  // Returns the inline row at the place of its key, or null if only the index may have the row.
  [[gnu::always_inline]] inline Row* find_inline(KeyRef key) const {
    storage::InlineRows* const places = layout().inline_rows();
    if (places == nullptr) [[likely]] return nullptr;
    places->prefetch(key.number());
    return places->find(key.number());
  }
  // Also prefetches the cache lines that a read of these columns touches. It searches the index,
  // whose cache misses overlap: the places of inline rows are more cache lines, which would cost
  // more here.
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

  // Returns the row's key, which is valid as long as the row block: byte keys are stored in the
  // row.
  [[gnu::always_inline]] inline KeyRef key_of(const Row* row, KeyRef key) const {
    if constexpr (kByteKeys)
      if (byte_keys()) return KeyRef(row->key(layout()));
    return key;
  }

  // The value of a row in secondary index i.
  uint64_t index_value(uint32_t i, const std::byte* image) const { return schema().indexes[i].key(image); }

  // Calls f for the latches of all indexes.
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
