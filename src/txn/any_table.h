// AnyTable: a table with its indexes, for callers that do not depend on the sync policy.
//
// Recovery, checkpoints, the check of all invariants, statistics and reclamation are compiled once,
// and reach the indexes through the virtual functions of this class. Transactions use the derived
// class Table (txn/table.h), whose functions of the same names are compiled for the sync policy and
// are not called through a pointer.
//
// Thread safety: the same as the indexes (index/index.h). The calling worker must be inside the
// epoch (base/worker.h).
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/cache_line.h"
#include "base/test_points.h"
#include "base/worker.h"
#include "elider/elision.h"
#include "elider/function_ref.h"
#include "htm/prefault.h"
#include "htm/site.h"
#include "index/btree/btree.h"  // LeafHint
#include "index/cursor.h"
#include "index/index.h"
#include "index/key_index.h"
#include "storage/block.h"
#include "storage/table.h"
#include "sync/policy.h"
#include "txn/column_index.h"

namespace elider::txn {

using storage::Cell;
using storage::ColumnSet;
using storage::Layout;
using storage::Row;
using detail::KeyRef;
using storage::copy_image;
namespace word = storage::word;
using index::IndexValue;

using PrimaryHint = index::LeafHint<Key>;
using SecondaryHint = index::LeafHint<index::SecondaryKey>;

// Allocates a row block for this key, and sets all its commit words to `absent_word`. Other threads
// cannot reach the block yet. If rows have variable sizes, the row will have `row_bytes` bytes.
// `regions` says whether hardware transactions will write the block. Returns null if memory is
// exhausted.
[[gnu::always_inline]] inline Row* new_row(Worker& worker, const Layout& layout, KeyRef key, size_t row_bytes, uint64_t absent_word,
                                           bool regions) {
  Row* const row = storage::allocate_row_block(worker, layout, key, row_bytes);
  if (row == nullptr) [[unlikely]] return nullptr;
  // The slots of zones need not be prefaulted: scans may read them at any time, so their pages are
  // already in memory.
  if (regions && layout.zones() == nullptr) htm::prefault(row, layout.block_bytes());
  ELIDER_TEST_POINT("row.taken");
  const uint32_t groups = layout.group_count();
  if (layout.protocol_bytes() != 0) [[unlikely]]
    for (uint32_t g = 0; g < groups; ++g) std::memset(row->protocol_bytes(layout, g), 0, layout.protocol_bytes());
  for (uint32_t g = 0; g < groups; ++g) {
    Cell& cell = row->cell(layout, g);
    cell.set_word(absent_word);
    cell.set_snapshot(0);
    cell.set_previous(nullptr);
    if (layout.group(g).block && !layout.sized_rows()) cell.set_contents(storage::Contents::nothing(0));
  }
  return row;
}

class AnyTable;

// A secondary index of a table.
struct IndexSlot {
  uint32_t position;                           // IndexRef::position
  SecondaryIndex definition;                   // from when the index was created; a column may have another name now
  std::unique_ptr<const ColumnIndex> columns;  // null: the index has a key function
  const ColumnSet& reads;                      // the columns that the index reads
  SnapshotNumber usable_from = 0;              // readers of older snapshots cannot use the index
  std::atomic<AnyTable*> counts{nullptr};      // if the index is ranked: see AnyTable::ranks()

  IndexSlot(uint32_t its_position, const Schema& schema, SecondaryIndex its_definition, const detail::TableBase& table)
      : position(its_position),
        definition(std::move(its_definition)),
        columns(definition.by_columns ? new ColumnIndex(schema, definition, table.versions().rows(), table.byte_keys()) : nullptr),
        reads(table.layout().columns_of(definition)) {}
  virtual ~IndexSlot() = default;
};

// A secondary index entry that its row may no longer match (txn/reclaim.h). If the index is by
// columns, the object owns the bytes of the entry.
struct StaleEntry {
  uint32_t index;
  IndexValue value;
  uint64_t ticket;
  std::unique_ptr<std::byte[]> bytes;  // null: the value is a number
};
struct StaleEntries {
  std::mutex mutex;  // lock order: after cells, before index latches; while it is held, cells may only be try-locked
  uint64_t next_ticket = 0;
  std::unordered_map<Row*, std::vector<StaleEntry>> by_row;
  // Set when an entry could not be listed because memory was exhausted. From then on, rows of this
  // table are not unlinked.
  bool unlisted = false;
};

class AnyTable : public detail::TableBase {
 public:
  // An entry of a secondary index, and the key of its row.
  struct Entry {
    IndexValue value;
    KeyRef key;
    index::Handle handle;
  };

  // -- secondary indexes --------------------------------------------------------------------------
  //
  // A table has kSecondaryIndexesMax slots for indexes. Below, index i is the index in slot i. An
  // index stays in its slot until it is dropped and all its entries have been removed. Then the
  // slot can contain another index. The objects of dropped indexes are freed with the table, so
  // references to them remain valid. These sets of indexes have one bit per slot:
  //
  //   present     has entries, or may get some
  //   maintained  writers keep it up to date. An operation that changes entries reads this set
  //               once. The set may change between two operations of a transaction, because
  //               create_index() waits for this transaction (txn/index_build.h), and a dropped
  //               index need not be up to date.
  //   usable      readers may use it
  //
  // Each of the sets contains the next one.
  uint64_t present_indexes() const { return present_.load(std::memory_order_acquire); }
  uint64_t maintained_indexes() const { return maintained_.load(std::memory_order_acquire); }
  uint64_t usable_indexes() const { return usable_.load(std::memory_order_acquire); }
  const IndexSlot& index_slot(uint32_t i) const { return *slots_[i].load(std::memory_order_acquire); }
  const SecondaryIndex& index_definition(uint32_t i) const { return index_slot(i).definition; }
  // The columns that index i reads.
  const ColumnSet& index_columns(uint32_t i) const { return index_slot(i).reads; }
  // True if readers may use index i.
  bool is_usable(uint32_t i) const { return (usable_indexes() >> i & 1) != 0; }
  // True if an index is being created.
  bool has_new_index() const { return maintained_indexes() != usable_indexes(); }
  // The slot of an IndexRef::position.
  static uint32_t slot_of(uint32_t position) { return position % kSecondaryIndexesMax; }
  // Returns the index with this IndexRef::position, or null if readers cannot use it.
  const IndexSlot* usable_index(uint32_t position) const {
    const uint32_t i = slot_of(position);
    if (!is_usable(i)) [[unlikely]] return nullptr;
    const IndexSlot& slot = index_slot(i);
    return slot.position == position ? &slot : nullptr;
  }
  // Returns the index with this name, or null if readers cannot use it.
  IndexSlot* usable_index(std::string_view name) const;

  // Adds an index that writers maintain and readers cannot use. Returns null if no slot is free.
  // May throw std::bad_alloc. The caller excludes all threads that change the table's schema, as
  // for the next three functions.
  IndexSlot* add_index(const SecondaryIndex& definition);
  // Lets readers of this snapshot and of later ones use the index.
  void set_index_usable(IndexSlot& slot, SnapshotNumber from);
  // Stops the maintenance of index i and its use. sweep_index() must follow (txn/sweep.h).
  void forget_index(uint32_t i);
  // Makes the secondary indexes of the current schema, which are usable and empty. Must be called
  // before any transaction.
  void reset_indexes();
  // Frees the slot of an index without entries.
  void free_slot(uint32_t i) { present_.fetch_and(~(uint64_t{1} << i), std::memory_order_acq_rel); }

  StaleEntries& stale() { return stale_; }
  // ranked_indexes() has a bit for each ranked index whose counts writers maintain. An operation
  // that changes entries reads this set once. ranks() is the table with the counts of index i
  // (txn/ranks.h). It is null if the index is not ranked, or if its counts are being computed. Then
  // a write that changes entries of the index is refused.
  AnyTable* ranks(uint32_t i) const { return index_slot(i).counts.load(std::memory_order_acquire); }
  uint64_t ranked_indexes() const { return ranked_.load(std::memory_order_acquire); }
  // True if the table has the counts of another table's index.
  bool has_counts() const { return has_counts_; }
  // Called before any transaction can find this table.
  void mark_counts() { has_counts_ = true; }
  // From now on, a write that changes entries of index i is refused (kConflict), until set_ranks()
  // or forget_index() is called.
  void await_ranks(uint32_t i) { ranked_.fetch_or(uint64_t{1} << i, std::memory_order_acq_rel); }
  // From now on, writers maintain these counts, which are complete.
  void set_ranks(uint32_t i, AnyTable& counts) {
    slots_[i].load(std::memory_order_acquire)->counts.store(&counts, std::memory_order_release);
    await_ranks(i);
  }
  // True if hardware transactions access the table's rows.
  bool regions() const { return regions_; }

  // The number of rows that recovery has written, which no worker's counters include (counters.h).
  // relaxed: other data does not depend on the value.
  int64_t recovered_rows() const { return recovered_rows_.load(std::memory_order_relaxed); }
  void add_recovered_rows(int64_t rows) { recovered_rows_.fetch_add(rows, std::memory_order_relaxed); }

  // Returns the row's key, which is valid as long as the row block is. A byte key is stored in the
  // row block. A number key is returned as it is.
  [[gnu::always_inline]] inline KeyRef key_of(const Row* row, KeyRef key) const {
    return byte_keys() ? KeyRef(row->key(layout())) : key;
  }
  // Returns null if secondary index i has a key function.
  const ColumnIndex* column_index(uint32_t i) const { return index_slot(i).columns.get(); }
  // Calls the key function of secondary index i for a row with this image.
  uint64_t index_number(uint32_t i, const std::byte* image) const { return index_definition(i).key(image); }
  // Computes the value in secondary index i of the row with this key, which may refer to `buffer`.
  // Returns false if the row cannot be indexed (ColumnIndex::refuse). A key function may throw.
  bool index_value(uint32_t i, RowImage row, KeyRef key, EntryBuffer& buffer, IndexValue* value) const {
    if (const ColumnIndex* const columns = column_index(i)) {
      const KeyBytes* const entry = columns->encode(row, key, buffer);
      *value = IndexValue(entry);
      return entry != nullptr;
    }
    *value = IndexValue(index_number(i, row.bytes));
    return true;
  }
  // Returns true if the row with this key has this value in secondary index i. A key function may
  // throw.
  bool has_index_value(uint32_t i, RowImage row, KeyRef key, IndexValue value) const {
    if (const ColumnIndex* const columns = column_index(i)) return columns->matches(row, key, *value.entry());
    return index_number(i, row.bytes) == value.number();
  }
  // Returns true if these values of secondary index i are equal.
  [[gnu::always_inline]] bool same_value(uint32_t i, IndexValue a, IndexValue b) const {
    if (a.word() == b.word()) return true;
    return column_index(i) != nullptr && index::ByteKey{a.entry()} == index::ByteKey{b.entry()};
  }

  // Prints a value of the row with this key, for messages.
  std::string value_text(uint32_t i, IndexValue value, KeyRef key) const;

  // The value of an entry of secondary index i, which is valid as long as the entry.
  IndexValue value_of_entry(uint32_t, const index::SecondaryKey& entry) const { return IndexValue(entry.value); }
  IndexValue value_of_entry(uint32_t i, const index::ByteKey& entry) const {
    if (column_index(i) != nullptr) return IndexValue(entry.bytes);
    return IndexValue(entry.bytes == nullptr ? 0 : entry.bytes->prefix());
  }
  // The key of an entry's row.
  KeyRef key_of_entry(uint32_t, const index::SecondaryKey& entry, const Row*) const { return entry.primary; }
  KeyRef key_of_entry(uint32_t, const index::ByteKey& entry, const Row* row) const {
    return byte_keys() ? KeyRef(row->key(layout())) : KeyRef(ColumnIndex::number_key_of(*entry.bytes));
  }

  // The progress of the sweep of a dropped table (txn/sweep.h).
  bool swept() const { return swept_.load(std::memory_order_acquire); }
  uint64_t portions_swept() const { return portions_swept_.load(std::memory_order_relaxed); }  // relaxed: an estimate
  void note_portion_swept() { portions_swept_.fetch_add(1, std::memory_order_relaxed); }
  void set_swept() {
    {
      const std::lock_guard lock(stale_.mutex);
      stale_.by_row.clear();
    }
    swept_.store(true, std::memory_order_release);
  }
  // True if the row block is in the memory of the table's zones or inline places, which is freed as
  // a whole.
  bool places_have(const Row* row) const {
    return layout().zones() != nullptr || (layout().inline_rows() != nullptr && layout().inline_rows()->has(row));
  }
  static Row* as_row(index::Handle handle) { return reinterpret_cast<Row*>(handle); }

  // -- the key index ------------------------------------------------------------------------------

  // Returns the key's row block, or null.
  virtual Row* find_row(KeyRef key) = 0;
  // Looks up many keys at once, and prefetches the cache lines that a read of these columns
  // touches. `witnesses` may be null.
  virtual void find_many(const KeyRef* keys, size_t count, const ColumnSet& columns, index::Handle* rows, index::Witness* witnesses) = 0;
  virtual index::InsertResult find_or_insert(Worker& worker, KeyRef key, Row* candidate, PrimaryHint& hint) = 0;
  virtual bool remove(Worker& worker, KeyRef key, Row* row) = 0;
  // Prefetches the memory in which the index stores these keys, if it can compute the addresses.
  virtual void prefetch(std::span<const Key> keys) const = 0;
  virtual size_t row_blocks() const = 0;
  // Frees memory that the key index keeps when its last entry has been removed. Afterwards, the
  // index must not be used.
  virtual void free_key_index(Worker& worker) = 0;
  virtual std::unique_ptr<index::Cursor> cursor() = 0;

  // -- entries of secondary indexes ---------------------------------------------------------------

  virtual index::Handle find_entry(uint32_t i, IndexValue value, KeyRef key) = 0;
  // Inserts the entries that the index does not contain. This is fastest if the entries are sorted.
  // Returns how many entries were processed, which is fewer than all if memory is exhausted.
  virtual size_t insert_entries(Worker& worker, uint32_t i, std::span<const Entry> entries) = 0;
  // Inserts the entry if the index does not contain it. Returns the row block to which the index
  // leads afterwards, or kNoHandle if memory is exhausted.
  virtual index::Handle find_or_insert_entry(Worker& worker, uint32_t i, const Entry& entry) = 0;
  virtual bool remove_entry(Worker& worker, uint32_t i, const Entry& entry) = 0;
  // Removes the first entries, at most `count` of them, without following them to their rows.
  // Returns how many there were.
  virtual size_t remove_first_entries(Worker& worker, uint32_t i, size_t count) = 0;
  // Calls f(entry) for each entry, in order, until f returns false.
  virtual void for_each_entry(uint32_t i, FunctionRef<bool(const Entry&)> f) = 0;
  // Like for_each_entry(), but begins at the entry `from` of an index by columns.
  virtual void for_each_entry_from(uint32_t i, const KeyBytes* from, FunctionRef<bool(const Entry&)> f) = 0;

  // -- all indexes --------------------------------------------------------------------------------

  // Checks the invariants of the indexes themselves.
  virtual Status verify_indexes() const = 0;
  virtual uint64_t index_bytes() const = 0;
  // Adds the counts of the hardware transactions that run this operation of the indexes.
  virtual void add_counts(sync::Operation operation, htm::SiteCounts* counts) = 0;
  // Must be called before the table is used. `policy` must outlive the table.
  void set_elision(const ElisionPolicy& policy) {
    elision_ = &policy;
    elision_changed();
  }

 protected:
  AnyTable(Schema described, bool byte_keys, bool regions, uint32_t id, uint64_t database_id, uint32_t block_threshold_bytes,
           uint32_t protocol_bytes)
      : TableBase(std::move(described), id, database_id, block_threshold_bytes, protocol_bytes, byte_keys), regions_(regions) {}

  virtual void elision_changed() = 0;
  const ElisionPolicy* elision() const { return elision_; }  // null before set_elision()
  virtual std::unique_ptr<IndexSlot> make_index(uint32_t position, const SecondaryIndex& definition) = 0;

 private:
  void put_slot(uint32_t i, std::unique_ptr<IndexSlot> slot) {
    slots_[i].store(slot.get(), std::memory_order_release);
    all_slots_.push_back(std::move(slot));
  }
  void find_indexed_columns();

  // Read by every write, and rarely changed.
  std::atomic<uint64_t> maintained_{0};
  std::atomic<uint64_t> usable_{0};
  std::atomic<uint64_t> present_{0};
  const bool regions_;
  bool has_counts_ = false;
  std::atomic<uint64_t> ranked_{0};
  const ElisionPolicy* elision_ = nullptr;
  std::atomic<IndexSlot*> slots_[kSecondaryIndexesMax] = {};
  std::vector<std::unique_ptr<IndexSlot>> all_slots_;  // also of dropped indexes; changed only by add_index() and reset_indexes()
  std::atomic<int64_t> recovered_rows_{0};
  std::atomic<uint64_t> portions_swept_{0};
  std::atomic<bool> swept_{false};
  alignas(kCacheLineBytes) StaleEntries stale_;  // its mutex is written often, but every operation reads the members before it
};

}  // namespace elider::txn
