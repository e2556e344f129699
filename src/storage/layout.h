// Layout: where the bytes of a row stand in memory, and ColumnSet: some
// columns, compiled to copies.
//
// A row is one block of cells, one a commit group; a cell is a header (storage/record.h) and the
// group's bytes. A table with one group keeps the row's own layout as its payload, so that a whole
// row is one copy. With several, each group holds its columns packed, and group 0 also every byte
// that no column describes. A group of at least the block threshold keeps its payload in a block of
// its own, which the cell points to.
// Thread safety: constant after construction; column sets are compiled under a lock, found without,
// and never freed before the table, but for those that are a caller's own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/sharded_counts.h"
#include "elider/schema.h"
#include "elider/table.h"

namespace elider::storage {

// `size` bytes stand at `row_offset` in a row and at `payload_offset` in their group's payload.
struct Span {
  uint32_t row_offset;
  uint32_t payload_offset;
  uint32_t size;
};

struct Group {
  uint32_t cell_offset = 0;    // bytes from the row block's begin
  uint32_t payload_bytes = 0;  // of the group's columns
  bool block = false;          // the cell holds a pointer to the payload
};

}  // namespace elider::storage

namespace elider::detail {

struct ColumnSet {
  const TableBase* table = nullptr;  // null: an unknown column was asked for
  uint64_t columns = 0;              // bit i: the schema's column i
  uint32_t groups = 0;               // bit g: group g holds some of them
  uint32_t read_groups = 1;          // which tell whether the row is there, too: where none holds any, the first
  bool whole = false;                // every byte of the row
  uint32_t begin[kCommitGroupsMax + 1] = {};  // spans of group g: begin[g] to begin[g + 1]
  uint32_t bytes[kCommitGroupsMax] = {};      // in the spans of group g
  std::vector<storage::Span> spans;
  std::vector<uint32_t> lines;       // offsets in the row block whose cache lines a read touches; for prefetching
  // Cache lines that a write of group g touches, whose cell begins at word w of one. A group kept
  // as one block: of its cell.
  uint8_t lines_written[kCommitGroupsMax][8] = {};
};

}  // namespace elider::detail

namespace elider::storage {

using detail::ColumnSet;

// A column that can be added to.
struct Number {
  uint32_t row_offset;
  uint32_t payload_offset;
  uint32_t group;
  ColumnType type;
  uint64_t column;  // its bit
};

// Column sets that go with whoever asked for them.
// Thread safety: one thread at a time.
using OwnColumnSets = std::vector<std::unique_ptr<ColumnSet>>;

class InlineRows;
class Zones;

// What a table's rows take in addition to the places of their row blocks, counted where it is
// allocated and freed, so that statistics need not look at rows.
// Thread safety: as ShardedCounts.
struct RowMemory {
  ShardedCounts blocks;    // payloads that are kept apart
  ShardedCounts versions;  // old versions from when they are retired on; without their payloads that are kept apart
  ShardedCounts outside;   // row blocks for which there was no inline place (storage/inline_rows.h), and those with their key
};

class Layout {
 public:
  // Unions that are kept. Programs write few, again and again; who writes ever new
  // ones must not fill the heap.
  static constexpr size_t kUnionsKept = 128;

  // protocol_bytes: in front of each cell, for the protocol of the transactions (txn/protocol.h).
  // byte_keys: each row block holds its key behind its cells; numbers are in the indexes alone.
  Layout(const detail::TableBase* table, const Schema& schema, uint32_t block_threshold_bytes, uint32_t protocol_bytes = 0,
         bool byte_keys = false);

  uint32_t group_count() const { return static_cast<uint32_t>(groups_.size()); }
  const Group& group(uint32_t g) const { return groups_[g]; }
  uint32_t block_bytes() const { return block_bytes_; }  // of a row block: all cells, without the key (storage/block.h)
  bool byte_keys() const { return byte_keys_; }
  uint32_t protocol_bytes() const { return protocol_bytes_; }
  uint32_t row_bytes() const { return row_bytes_; }  // of sized rows, the most
  // Whether each row has a size of its own; then its one group is kept as a
  // block, whose size is the row's.
  bool sized_rows() const { return schema_.sized_rows; }
  // Where row blocks stand by their keys; null: nowhere.
  InlineRows* inline_rows() const { return inline_rows_; }
  void set_inline_rows(InlineRows* places) { inline_rows_ = places; }
  // Where the row blocks of a zoned table stand; else null.
  Zones* zones() const { return zones_; }
  void set_zones(Zones* zones) { zones_ = zones; }
  uint32_t least_row_bytes() const { return least_row_bytes_; }  // where rows have one size: that
  // Room for an image that holds described columns alone: of a sized row they all lie within the
  // least that a row may have, so nothing needs room for the largest one.
  uint32_t column_image_bytes() const { return least_row_bytes_; }
  bool fits(size_t bytes) const { return bytes <= row_bytes_ && bytes >= least_row_bytes_; }
  RowMemory& memory() const { return *memory_; }
  uint32_t all_groups() const { return (1u << group_count()) - 1; }

  const ColumnSet& all() const { return *all_; }
  const ColumnSet& none() const { return *none_; }
  const ColumnSet& invalid() const { return *invalid_; }
  const ColumnSet& of_columns(uint64_t columns) const;
  // The same of columns that a transaction happens to write together, or a record of the log has:
  // the first kUnionsKept of these are kept as long as the table, others in `own`.
  const ColumnSet& of_union(uint64_t columns, OwnColumnSets& own) const;
  const ColumnSet& of_spans(const detail::ColumnSpan* spans, size_t count) const;
  // These and the columns that a secondary index reads.
  const ColumnSet& with_index(const ColumnSet& set, uint32_t index) const {
    return set.whole ? set : of_columns(set.columns | index_columns(index).columns);
  }
  // The columns that a secondary index reads, as a set and as bits.
  const ColumnSet& index_columns(uint32_t index) const { return *index_columns_[index]; }
  uint64_t indexed_columns() const { return indexed_columns_; }
  // The number of this type at this offset, unless a secondary index reads it; else null.
  const Number* number_at(uint32_t row_offset, ColumnType type) const {
    for (const Number& number : numbers_)
      if (number.row_offset == row_offset && number.type == type) return &number;
    return nullptr;
  }

 private:
  struct Placed {  // bytes that travel together
    uint32_t row_offset, size, group, payload_offset;
    uint64_t columns;
  };
  void place_groups(uint32_t block_threshold_bytes);
  std::unique_ptr<ColumnSet> compile(uint64_t columns, bool whole) const;
  const ColumnSet* find(uint64_t columns) const;
  const ColumnSet& of_columns_locked(uint64_t columns) const;
  void find_lines(ColumnSet& set) const;
  void count_lines_written(ColumnSet& set) const;

  InlineRows* inline_rows_ = nullptr;  // the table's; set before it has rows
  Zones* zones_ = nullptr;             // likewise
  const std::unique_ptr<RowMemory> memory_ = std::make_unique<RowMemory>();
  const detail::TableBase* table_;
  const Schema& schema_;
  uint32_t row_bytes_;
  uint32_t least_row_bytes_;
  uint32_t block_bytes_ = 0;
  const uint32_t protocol_bytes_;  // a multiple of 8
  const bool byte_keys_;
  std::vector<Group> groups_;
  std::vector<Placed> pieces_;  // by row offset
  std::vector<Number> numbers_;
  uint64_t indexed_columns_ = 0;
  std::unique_ptr<ColumnSet> all_, none_, invalid_;
  std::vector<const ColumnSet*> index_columns_;
  mutable std::mutex mutex_;  // guards compiled_ and unions_kept_
  mutable size_t unions_kept_ = 0;
  mutable std::unordered_map<uint64_t, std::unique_ptr<ColumnSet>> compiled_;  // by columns
  // Those that were asked for first, by a hash of their columns, for look-ups without the lock: a
  // set's place is one of kProbes, and is never given to another.
  static constexpr size_t kPlaces = 64, kProbes = 4;
  mutable std::atomic<const ColumnSet*> places_[kPlaces] = {};
};

}  // namespace elider::storage
