// Table: a table with its indexes, for one sync policy (sync/policy.h). It maps keys to row blocks.
// Transactions use it; other code uses its base class AnyTable.
//
// Thread safety: the same as the indexes (index/index.h). The calling worker must be inside the
// epoch (base/worker.h).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/cache_line.h"
#include "base/worker.h"
#include "index/index.h"
#include "index/key_index.h"
#include "index/scan.h"
#include "sync/policy.h"
#include "txn/any_table.h"

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
    make_secondary();
  }

  KeyIndexType& keys() { return keys_; }
  const KeyIndexType& keys() const { return keys_; }
  Secondary& secondary(uint32_t i) { return secondary_[i]; }
  const Secondary& secondary(uint32_t i) const { return secondary_[i]; }

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
    return secondary_[i].get(value, key, hint, unneeded);
  }
  size_t insert_entries(Worker& worker, uint32_t i, std::span<const Entry> entries) override {
    SecondaryHint hint;
    for (size_t at = 0; at < entries.size(); ++at)
      if (secondary_[i].get_or_insert(worker, entries[at].value, entries[at].key, entries[at].handle, hint).handle == index::kNoHandle)
        return at;
    return entries.size();
  }
  bool remove_entry(Worker& worker, uint32_t i, const Entry& entry) override {
    return secondary_[i].remove(worker, entry.value, entry.key, entry.handle);
  }
  void for_each_entry(uint32_t i, FunctionRef<bool(const Entry&)> f) override {
    secondary_[i].visit([&](auto& index) {
      index::for_each_entry(index, [&](const auto& entry, index::Handle handle) {
        return f({value_of_entry(i, entry), key_of_entry(i, entry, as_row(handle)), handle});
      });
    });
  }

  void free_key_index(Worker& worker) override {
    keys_.visit([&](auto& index) {
      if constexpr (requires { index.free_buckets(worker); }) index.free_buckets(worker);
    });
  }
  void give_key_functions(Schema schema) override {
    const storage::SchemaVersions::Version& now = versions().current();
    change_schema(versions().prepare(std::move(schema), now.version), now.number);
    set_secondary_count(static_cast<uint32_t>(this->schema().indexes.size()));
    make_secondary();
  }

  Status verify_indexes() const override {
    const auto verify = [](const auto& index) { return index.verify(); };
    if (Status status = keys_.visit(verify); !status.ok()) return status;
    for (const Secondary& index : secondary_)
      if (Status status = index.visit(verify); !status.ok()) return status;
    return {};
  }
  uint64_t index_bytes() const override {
    const auto bytes_of = [](const auto& index) { return uint64_t{index.memory_bytes()}; };
    uint64_t bytes = keys_.visit(bytes_of);
    for (const Secondary& index : secondary_) bytes += index.visit(bytes_of);
    return bytes;
  }
  void add_counts([[maybe_unused]] sync::Operation operation, [[maybe_unused]] htm::SiteCounts* counts) override {
    if constexpr (sync::kElides<Sync>) for_each_latch([&](const auto& latch) { counts->add(latch.site(operation).counts()); });
  }
  void set_elision([[maybe_unused]] const ElisionPolicy& policy) override {
    if constexpr (sync::kElides<Sync>) for_each_latch([&](auto& latch) { latch.set_policy(policy); });
  }

 private:
  void make_secondary() {
    const auto kind = byte_keys() ? index::KeyKind::kBytes : index::KeyKind::kNumbers;
    secondary_.clear();
    for (uint32_t i = 0; i < secondary_count(); ++i) secondary_.emplace_back(kind, column_index(i) != nullptr);
  }
  // Calls f(latch) for each latch of the table's indexes.
  template <class F>
  void for_each_latch(F&& f) {
    const auto latch_of = [&](auto& index) {
      if constexpr (requires { index.latch(); }) f(index.latch());
    };
    keys_.visit(latch_of);
    for (Secondary& index : secondary_) index.visit(latch_of);
  }

  // This cache line is rarely written, unlike the end of the base class.
  alignas(kCacheLineBytes) KeyIndexType keys_;
  std::vector<Secondary> secondary_;
};

}  // namespace elider::txn
