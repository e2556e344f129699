// Table: a table with its indexes, for one sync policy (sync/policy.h). It maps keys to row blocks.
// Transactions use it; other code uses its base class AnyTable.
//
// Thread safety: the same as the indexes (index/index.h). The calling worker must be inside the
// epoch (base/worker.h).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/bits.h"
#include "base/cache_line.h"
#include "base/worker.h"
#include "index/index.h"
#include "index/key_index.h"
#include "index/scan.h"
#include "sync/policy.h"
#include "txn/any_table.h"
#include "txn/arena.h"
#include "txn/kept_key.h"

namespace elider::txn {

// Calls new_row() for the rows of this sync policy.
template <class Sync>
Row* new_row(Worker& worker, const Layout& layout, KeyRef key, size_t row_bytes, uint64_t absent_word) {
  return new_row(worker, layout, key, row_bytes, absent_word, Sync::kRegions);
}

template <class Sync>
class Table final : public AnyTable {
 public:
  using KeyIndexType = index::KeyIndexOf<Sync>;
  using Secondary = index::SecondaryIndexOf<Sync>;

  Table(Schema described, index::KeyKind keys, uint32_t id, uint64_t database_id, uint32_t block_threshold_bytes, uint32_t protocol_bytes)
      : AnyTable(std::move(described), keys == index::KeyKind::kBytes, Sync::kRegions, id, database_id, block_threshold_bytes,
                 protocol_bytes),
        keys_(schema().key_index, keys, index::RowKey{layout().block_bytes()}) {
    reset_indexes();
  }

  KeyIndexType& keys() { return keys_; }
  const KeyIndexType& keys() const { return keys_; }
  Secondary& secondary(uint32_t i) const { return static_cast<Slot&>(const_cast<IndexSlot&>(index_slot(i))).entries; }

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
  // Searches the index even for inline rows, because the cache misses of the index lookups overlap,
  // and the places of inline rows occupy more cache lines.
  void find_many(const KeyRef* keys, size_t count, const ColumnSet& columns, index::Handle* rows, index::Witness* witnesses) override {
    keys_.multi_get(keys, count, rows, witnesses, columns.lines);
  }
  index::InsertResult find_or_insert(Worker& worker, KeyRef key, Row* candidate, PrimaryHint& hint) override {
    const index::InsertResult result = keys_.get_or_insert(worker, key, reinterpret_cast<index::Handle>(candidate), hint);
    storage::InlineRows* const places = layout().inline_rows();
    if (places != nullptr && result.inserted && places->has(candidate)) [[unlikely]] places->set_found(candidate);
    return result;
  }
  bool remove(Worker& worker, KeyRef key, Row* row) override {
    storage::InlineRows* const places = layout().inline_rows();
    if (places != nullptr && places->has(row)) [[unlikely]] places->set_lost(row);
    return keys_.remove(worker, key, reinterpret_cast<index::Handle>(row));
  }

  Row* find_row(KeyRef key) override {
    PrimaryHint hint;
    index::Witness unneeded;
    return find(key, hint, unneeded);
  }
  void prefetch(std::span<const Key> keys) const override {
    keys_.visit([&](const auto& index) {
      if constexpr (requires { index.prefetch(Key()); })
        for (const Key key : keys) index.prefetch(key);
    });
  }
  size_t row_blocks() const override { return keys_.size(); }
  std::unique_ptr<index::Cursor> cursor() override { return keys_.cursor(); }

  index::Handle find_entry(uint32_t i, IndexValue value, KeyRef key) override {
    SecondaryHint hint;
    index::Witness unneeded;
    return secondary(i).get(value, key, hint, unneeded);
  }
  size_t insert_entries(Worker& worker, uint32_t i, std::span<const Entry> entries) override {
    SecondaryHint hint;
    Secondary& index = secondary(i);
    for (size_t at = 0; at < entries.size(); ++at)
      if (index.get_or_insert(worker, entries[at].value, entries[at].key, entries[at].handle, hint).handle == index::kNoHandle)
        return at;
    return entries.size();
  }
  index::Handle find_or_insert_entry(Worker& worker, uint32_t i, const Entry& entry) override {
    SecondaryHint hint;
    return secondary(i).get_or_insert(worker, entry.value, entry.key, entry.handle, hint).handle;
  }
  bool remove_entry(Worker& worker, uint32_t i, const Entry& entry) override {
    return secondary(i).remove(worker, entry.value, entry.key, entry.handle);
  }
  size_t remove_first_entries(Worker& worker, uint32_t i, size_t count) override {
    return secondary(i).visit([&]<class Index>(Index& index) {
      Arena arena(false);  // the scan's copy of a byte key is valid only during the visit
      std::vector<std::pair<index::SecondaryKey, index::Handle>> first;
      first.reserve(count);
      index::for_each_entry(index, {}, [&](const typename Index::Key& entry, index::Handle handle) {
        if (first.size() == count) return false;
        first.emplace_back(kept_entry(arena, entry), handle);
        return true;
      });
      for (const auto& [entry, handle] : first) index.remove(worker, entry_of<typename Index::Key>(entry), handle);
      return first.size();
    });
  }
  void for_each_entry(uint32_t i, FunctionRef<bool(const Entry&)> f) override { for_each_entry_from(i, nullptr, f); }
  void for_each_entry_from(uint32_t i, const KeyBytes* from, FunctionRef<bool(const Entry&)> f) override {
    secondary(i).visit([&]<class Index>(Index& index) {
      using IndexKey = typename Index::Key;
      index::Range<IndexKey> range;
      if constexpr (std::is_same_v<IndexKey, index::ByteKey>) range.from = {from};
      index::for_each_entry(index, range, [&](const IndexKey& entry, index::Handle handle) {
        return f({value_of_entry(i, entry), key_of_entry(i, entry, as_row(handle)), handle});
      });
    });
  }

  void free_key_index(Worker& worker) override {
    keys_.visit([&](auto& index) {
      if constexpr (requires { index.free_buckets(worker); }) index.free_buckets(worker);
    });
  }
  Status verify_indexes() const override {
    const auto verify = [](const auto& index) { return index.verify(); };
    if (Status status = keys_.visit(verify); !status.ok()) return status;
    for (const uint32_t i : Bits(present_indexes()))
      if (Status status = secondary(i).visit(verify); !status.ok()) return status;
    return {};
  }
  uint64_t index_bytes() const override {
    const auto bytes_of = [](const auto& index) { return uint64_t{index.memory_bytes()}; };
    uint64_t bytes = keys_.visit(bytes_of);
    for (const uint32_t i : Bits(present_indexes())) bytes += secondary(i).visit(bytes_of);
    return bytes;
  }
  void add_counts([[maybe_unused]] sync::Operation operation, [[maybe_unused]] htm::SiteCounts* counts) override {
    if constexpr (sync::kElides<Sync>) for_each_latch([&](const auto& latch) { counts->add(latch.site(operation).counts()); });
  }

 private:
  struct Slot final : IndexSlot {
    Slot(uint32_t its_position, const SecondaryIndex& its_definition, const Table& table)
        : IndexSlot(its_position, table.schema(), its_definition, table),
          entries(table.byte_keys() ? index::KeyKind::kBytes : index::KeyKind::kNumbers, columns != nullptr) {}
    Secondary entries;
  };
  std::unique_ptr<IndexSlot> make_index(uint32_t position, const SecondaryIndex& definition) override {
    auto made = std::make_unique<Slot>(position, definition, *this);
    if (elision() != nullptr) set_policy(made->entries);
    return made;
  }
  template <class Index>
  void set_policy([[maybe_unused]] Index& entries) {
    if constexpr (sync::kElides<Sync>)
      entries.visit([&](auto& index) {
        if constexpr (requires { index.latch(); }) index.latch().set_policy(*elision());
      });
  }
  void elision_changed() override {
    set_policy(keys_);
    for (const uint32_t i : Bits(present_indexes())) set_policy(secondary(i));
  }
  // Calls f(latch) for each latch of the table's indexes.
  template <class F>
  void for_each_latch(F&& f) {
    const auto latch_of = [&](auto& index) {
      if constexpr (requires { index.latch(); }) f(index.latch());
    };
    keys_.visit(latch_of);
    for (const uint32_t i : Bits(present_indexes())) secondary(i).visit(latch_of);
  }

  // This cache line is rarely written, unlike the end of the base class.
  alignas(kCacheLineBytes) KeyIndexType keys_;
};

}  // namespace elider::txn
