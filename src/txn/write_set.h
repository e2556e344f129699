// WriteSet: the writes of a transaction, stored separately from the rows until the commit (DBX,
// section 5.2). For each row that is written, it contains one entry per column group, an image that
// these entries share, and the additions that the commit will apply.
//
// Thread safety: none. A WriteSet belongs to one transaction.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/bits.h"
#include "storage/number.h"
#include "storage/record.h"
#include "storage/table.h"
#include "txn/arena.h"
#include "txn/counters.h"
#include "txn/pointer_map.h"

namespace elider::txn {

using detail::KeyRef;

// An addition, column += delta, that has not been applied yet.
struct Addition {
  uint32_t row_offset;
  uint32_t payload_offset;
  ColumnType type;
  uint64_t delta;  // a number of this type, in the first bytes
};

enum class WriteKind : uint8_t {
  kUpdate,   // writes some columns of a row that exists
  kPresent,  // writes the whole group; afterwards the row exists, whether or not it did before
  kRemove,   // removes the row
  kNone,     // this transaction inserted and removed the row, so it must still be absent
};

// The write of one column group of a row.
struct WriteEntry {
  WriteEntry(storage::Cell* its_cell, storage::Row* its_row, detail::TableBase* its_table, KeyRef its_key, std::byte* its_image,
             const storage::ColumnSet* its_columns, uint64_t its_expected, uint32_t its_group, WriteKind its_kind)
      : cell(its_cell),
        row(its_row),
        table(its_table),
        key(its_key),
        image(its_image),
        columns(its_columns),
        expected(its_expected),
        group(its_group),
        kind(its_kind) {}

  // Returns true if the row is absent after the commit, because the transaction removes the row or
  // has undone its own insert.
  bool leaves_none() const { return kind == WriteKind::kRemove || kind == WriteKind::kNone; }
  const storage::Group& layout_group() const { return table->layout().group(group); }

  storage::Cell* cell;
  storage::Row* row;
  detail::TableBase* table;
  KeyRef key;
  std::byte* image;                             // in the row's own layout; shared by all groups of the row
  const storage::ColumnSet* columns;            // the columns of the image that are written
  uint64_t expected;                            // the commit word that the commit must find; word::kUnknown: any word that fits the kind
  uint64_t locked_from = 0;                     // during the commit: the word before the lock
  storage::Version* version = nullptr;          // during the commit: the old version to keep, or null
  storage::Block* block = nullptr;              // during the commit: the new block, if the group is stored as a block
  std::vector<Addition>* additions = nullptr;   // or null
  uint32_t group;
  WriteKind kind;
  bool created = false;                         // the row is created in an absent block, which this transaction inserted or found
};

inline void apply_additions(const std::vector<Addition>& additions, std::byte* image) {
  for (const Addition& a : additions) storage::add_numbers(a.type, image + a.row_offset, image + a.row_offset, &a.delta);
}

class WriteSet {
 public:
  static constexpr uint32_t kTablesWithBit = 63;  // the tables with ids below this have their own bit in tables_ (note_table())
  // `arena` provides the memory for images. The transaction clears the arena when it ends.
  explicit WriteSet(Arena& arena) : arena_(arena) {}
  WriteSet(const WriteSet&) = delete;
  WriteSet& operator=(const WriteSet&) = delete;

  // Reserves memory for this many entries and additions.
  void make_room(size_t entries, size_t additions);

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  WriteEntry& operator[](size_t i) { return entries_[i]; }
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  bool has(const storage::Cell* cell) const { return positions_.find(cell) != PointerMap::kNone; }
  // Returns the write of column group g, or null. Does not read the row.
  const WriteEntry* find(void* row, const storage::Layout& layout, uint32_t g) const {
    return const_cast<WriteSet*>(this)->find(row, layout, g);
  }
  WriteEntry* find(void* row, const storage::Layout& layout, uint32_t g) {
    const uint32_t position = positions_.find(storage::Row::cell_address(row, layout, g));
    return position == PointerMap::kNone ? nullptr : &entries_[position];
  }
  // Returns any write of the row, or null.
  WriteEntry* find_any(storage::Row* row, const storage::Layout& layout) {
    for (uint32_t g = 0; g < layout.group_count(); ++g)
      if (WriteEntry* write = find(row, layout, g)) return write;
    return nullptr;
  }
  // Returns the image that all writes of this row share.
  std::byte* image_of(const detail::TableBase& table, storage::Row* row) {
    const storage::Layout& layout = table.layout();
    if (!entries_.empty())
      for (uint32_t g = 0; g < layout.group_count(); ++g)
        if (WriteEntry* write = find(row, layout, g); write != nullptr && write->image != nullptr) return write->image;
    return arena_.allocate(layout.row_bytes());
  }

  // Notes that the transaction writes to this table, for count_tables(). add() does so for the rows
  // that have entries.
  void note_table(const detail::TableBase& table) { tables_ |= uint64_t{1} << std::min(table.id(), kTablesWithBit); }
  WriteEntry& add(detail::TableBase& table, storage::Row* row, KeyRef key, uint32_t g, WriteKind kind, const storage::ColumnSet& set,
                  uint64_t expected, std::byte* image);
  // Allocates an image for a variable-size row. The size is stored in front of the image.
  std::byte* sized_image(size_t bytes) {
    std::byte* const memory = arena_.allocate(kSizeBytes + bytes);
    std::memcpy(memory, &bytes, sizeof bytes);
    return memory + kSizeBytes;
  }
  static size_t image_bytes(const storage::Layout& layout, const std::byte* image) {
    if (!layout.sized_rows()) [[likely]] return layout.row_bytes();
    size_t bytes;
    std::memcpy(&bytes, image - kSizeBytes, sizeof bytes);
    return bytes;
  }
  // Adds the writes that set the whole row to `source`, which has `bytes` bytes. `words` contains
  // the commit word that the commit must find in each column group. `created` means that the row
  // block is new, so the write set does not contain a write of the row yet.
  void make_present(detail::TableBase& table, storage::Row* row, KeyRef key, const uint64_t* words, const void* source, size_t bytes,
                    bool created);
  // Adds the columns of `set` to an update. The caller sets their bytes in the image before or
  // after this call.
  void join(WriteEntry& write, const storage::ColumnSet& set) {
    const storage::Layout& layout = write.table->layout();
    if (set.whole || write.columns->whole) write.columns = &layout.all();
    else if ((set.columns & ~write.columns->columns) != 0)
      write.columns = &layout.of_union(set.columns | write.columns->columns, own_sets_);
  }
  // Applies `delta` to the image if `write` sets the column. Otherwise records an addition. The
  // write must leave the row present.
  void add_number(WriteEntry& write, const storage::Number& number, const void* delta);
  // Drops the additions to these columns, because the image contains or overwrites them.
  static void forget_additions(WriteEntry& write, const storage::ColumnSet& set);

  void sort_by_address();
  // Counts the commit for each table that it writes to.
  void count_tables(Counters& counters) const {
    for (const uint32_t id : Bits(tables_ & ~kOtherTables)) counters.tables[id].commits.add(1);
    if (tables_ & kOtherTables) [[unlikely]] count_other_tables(counters);
  }
  // Clears the set, but keeps the memory for the next transaction.
  void clear() {
    entries_.clear();
    positions_.clear();
    tables_ = 0;
    additions_used_ = 0;
    if (additions_.size() > kAdditionsKept) [[unlikely]] additions_.resize(kAdditionsKept);
    own_sets_.clear();
  }

 private:
  static constexpr size_t kSizeBytes = 16;  // so that this image has the same alignment as others
  static constexpr uint64_t kOtherTables = uint64_t{1} << kTablesWithBit;
  static constexpr size_t kAdditionsKept = 1024;
  void count_other_tables(Counters& counters) const;
  std::vector<Addition>& new_additions();

  Arena& arena_;
  std::vector<WriteEntry> entries_;
  PointerMap positions_;  // positions of entries, by cell
  uint64_t tables_ = 0;   // one bit per table; all tables with larger ids share the bit kOtherTables
  std::vector<std::unique_ptr<std::vector<Addition>>> additions_;  // kept for later transactions
  size_t additions_used_ = 0;
  storage::OwnColumnSets own_sets_;
};

}  // namespace elider::txn
