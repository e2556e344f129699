// Layout: how the bytes of a row are stored. ColumnSet: a set of columns, compiled to the list of
// spans that a read or write copies.
//
// A row is stored in one row block, which has a cell for each column group. A cell consists of a
// header (storage/record.h) and the group's bytes, its payload. If a table has one group, the
// payload has the row's own layout, so a whole row is copied at once. If it has several groups,
// each payload contains only the group's columns, and that of group 0 also contains all bytes that
// no column describes. If a group's size reaches the block threshold, its payload is stored in a
// separate block, and the cell contains a pointer to that block.
//
// Thread safety: a Layout is constant after construction, except for set_indexed_columns(), which
// one thread at a time may call. Column sets are compiled under a lock,
// but found without the lock. Column sets are freed with the table, except for those that a caller
// owns.
#pragma once

#include <algorithm>
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

// `size` bytes at `row_offset` in a row are at `payload_offset` in their group's payload.
struct Span {
  uint32_t row_offset;
  uint32_t payload_offset;
  uint32_t size;
};

// A variable-size row of at most this many bytes is stored in its row block.
inline constexpr uint32_t kSizedInsideBytesMax = 256;

struct Group {
  uint32_t cell_offset = 0;    // in bytes, from the start of the row block
  uint32_t payload_bytes = 0;  // size of the group's columns
  bool block = false;          // the cell contains a Contents instead of the payload (storage/record.h)
};

}  // namespace elider::storage

namespace elider::detail {

struct ColumnSet {
  const TableBase* table = nullptr;  // null if an unknown column was requested
  uint64_t columns = 0;              // bit i: the schema's column i
  uint32_t groups = 0;               // bit g: group g contains some of the columns
  uint32_t read_groups = 1;          // the groups that a read accesses; if `groups` is empty, group 0, which shows whether the row exists
  bool whole = false;                // all bytes of the row
  uint32_t begin[kColumnGroupsMax + 1] = {};  // the spans of group g are begin[g] to begin[g + 1]
  uint32_t bytes[kColumnGroupsMax] = {};      // bytes in the spans of group g
  std::vector<storage::Span> spans;
  std::vector<uint32_t> lines;       // offsets in the row block of the cache lines that a read accesses, for prefetching
  // The number of cache lines that a write of group g accesses if its cell begins at word w of a
  // cache line. If the payload is stored in a separate block, only the cache lines of the cell are
  // counted.
  uint8_t lines_written[kColumnGroupsMax][8] = {};
};

}  // namespace elider::detail

namespace elider::storage {

using detail::ColumnSet;

// A column that supports additions.
struct Number {
  uint32_t row_offset;
  uint32_t payload_offset;
  uint32_t group;
  ColumnType type;
  uint64_t column;  // its bit
};

// Column sets that a caller owns.
// Thread safety: one thread at a time.
using OwnColumnSets = std::vector<std::unique_ptr<ColumnSet>>;

class InlineRows;
class Zones;

// The memory of a table's rows, not including the inline places of row blocks. It is counted when
// memory is allocated and freed, so statistics need not visit rows. Thread safety: the same as for
// ShardedCounts.
struct RowMemory {
  ShardedCounts blocks;    // payloads that are stored separately
  ShardedCounts versions;  // old versions from their retirement on, without separately stored payloads
  ShardedCounts outside;   // row blocks outside inline places (storage/inline_rows.h), and row blocks of different sizes
};

class Layout {
 public:
  // The number of column sets from of_union() that are kept as long as the table. A program usually
  // creates few of them, and uses them repeatedly. The limit prevents a program that always creates
  // new unions from exhausting memory.
  static constexpr size_t kUnionsKept = 128;

  // protocol_bytes: the number of bytes before each cell that are reserved for the transaction
  // protocol (txn/protocol.h). byte_keys: each row block stores its key after its cells; otherwise
  // row blocks do not contain keys.
  Layout(const detail::TableBase* table, const Schema& schema, uint32_t block_threshold_bytes, uint32_t protocol_bytes = 0,
         bool byte_keys = false);

  uint32_t group_count() const { return static_cast<uint32_t>(groups_.size()); }
  const Group& group(uint32_t g) const { return groups_[g]; }
  uint32_t block_bytes() const { return block_bytes_; }  // size of a row block with all cells, without the key (storage/block.h)
  bool byte_keys() const { return byte_keys_; }
  uint32_t protocol_bytes() const { return protocol_bytes_; }
  uint32_t row_bytes() const { return row_bytes_; }  // the maximum for variable-size rows
  // True if rows have variable sizes. The table then has one group. A small row is stored in its
  // row block, and another row as a block of the row's size (storage/block.h).
  bool sized_rows() const { return schema_.sized_rows; }
  bool described_rows() const { return !schema_.row_columns.empty(); }
  bool plain_rows() const { return plain_rows_; }  // number keys and fixed-size rows: all row blocks have the same size
  // The inline places of row blocks, or null if the table does not have any.
  InlineRows* inline_rows() const { return inline_rows_; }
  void set_inline_rows(InlineRows* places) { inline_rows_ = places; }
  // The zones of a zoned table; otherwise null.
  Zones* zones() const { return zones_; }
  void set_zones(Zones* zones) { zones_ = zones; }
  uint32_t least_row_bytes() const { return least_row_bytes_; }  // equal to row_bytes() for fixed-size rows
  // The size of an image that contains only described columns, or the copy of a row that is stored
  // in its row block. In a variable-size row, all described columns are within the minimum size, so
  // such an image need not have the maximum size.
  uint32_t column_image_bytes() const { return sized_rows() ? std::max(least_row_bytes_, kSizedInsideBytesMax) : least_row_bytes_; }
  bool fits(size_t bytes) const { return bytes <= row_bytes_ && bytes >= least_row_bytes_; }
  RowMemory& memory() const { return *memory_; }
  uint32_t all_groups() const { return (1u << group_count()) - 1; }

  const ColumnSet& all() const { return *all_; }
  const ColumnSet& none() const { return *none_; }
  const ColumnSet& invalid() const { return *invalid_; }
  const ColumnSet& of_columns(uint64_t columns) const;
  // Like of_columns(), but used for sets that a program may create in large numbers, such as the
  // columns that a transaction writes together or that a log record contains. The first kUnionsKept
  // of these sets are kept as long as the table. The caller owns the others, which are appended to
  // `own`.
  const ColumnSet& of_union(uint64_t columns, OwnColumnSets& own) const;
  const ColumnSet& of_spans(const detail::ColumnSpan* spans, size_t count) const;
  // Returns the columns that this index reads, which are all() if the rows are described rows.
  const ColumnSet& columns_of(const SecondaryIndex& index) const;
  // Returns the union of two column sets.
  const ColumnSet& both(const ColumnSet& a, const ColumnSet& b) const {
    if (a.whole || b.whole) return a.whole ? a : b;
    return of_columns(a.columns | b.columns);
  }
  // The columns that any secondary index reads, as bits. They change if an index is created or
  // dropped (txn::AnyTable::maintained_indexes).
  uint64_t indexed_columns() const { return indexed_columns_.load(std::memory_order_acquire); }
  void set_indexed_columns(uint64_t columns) { indexed_columns_.store(columns, std::memory_order_release); }
  // Returns the number column of this type at this offset. Returns null if there isn't one, or if a
  // secondary index reads it.
  const Number* number_at(uint32_t row_offset, ColumnType type) const {
    for (const Number& number : numbers_)
      if (number.row_offset == row_offset && number.type == type) return (number.column & indexed_columns()) == 0 ? &number : nullptr;
    return nullptr;
  }

 private:
  struct Placed {  // bytes that are copied together
    uint32_t row_offset, size, group, payload_offset;
    uint64_t columns;
  };
  void place_groups(uint32_t block_threshold_bytes);
  std::unique_ptr<ColumnSet> compile(uint64_t columns, bool whole) const;
  const ColumnSet* find(uint64_t columns) const;
  const ColumnSet& of_columns_locked(uint64_t columns) const;
  void find_lines(ColumnSet& set) const;
  void count_lines_written(ColumnSet& set) const;

  InlineRows* inline_rows_ = nullptr;  // belongs to the table; set before the table has rows
  Zones* zones_ = nullptr;             // like inline_rows_
  const std::unique_ptr<RowMemory> memory_ = std::make_unique<RowMemory>();
  const detail::TableBase* table_;
  const Schema& schema_;
  uint32_t row_bytes_;
  uint32_t least_row_bytes_;
  uint32_t block_bytes_ = 0;
  const uint32_t protocol_bytes_;  // a multiple of 8
  const bool byte_keys_;
  const bool plain_rows_;
  std::vector<Group> groups_;
  std::vector<Placed> pieces_;  // ordered by row offset
  std::vector<Number> numbers_;
  std::atomic<uint64_t> indexed_columns_{0};
  std::unique_ptr<ColumnSet> all_, none_, invalid_;
  mutable std::mutex mutex_;  // guards compiled_ and unions_kept_
  mutable size_t unions_kept_ = 0;
  mutable std::unordered_map<uint64_t, std::unique_ptr<ColumnSet>> compiled_;  // indexed by columns
  // The sets that were requested first, hashed by their columns, for lookups without the lock. A
  // set is stored at one of kProbes positions. A position is never reused for another set.
  static constexpr size_t kPlaces = 64, kProbes = 4;
  mutable std::atomic<const ColumnSet*> places_[kPlaces] = {};
};

}  // namespace elider::storage
