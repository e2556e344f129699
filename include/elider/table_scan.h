// TableScan, IndexScan: scans that return their rows page by page.
//
//   elider::TableScan scan(orders, elider::prefix("eu"));
//   std::array<elider::View<Order, OrderKey>, 100> page;
//   for (size_t rows = 1; rows != 0;) {
//     ELIDER_TRY(db.run_read_only([&](elider::Transaction& txn) -> elider::Status {
//       ELIDER_ASSIGN(rows, scan.next(txn, page));
//       return {};
//     }));
//     for (size_t i = 0; i < rows; ++i) ... page[i].key(), page[i]->amount ...
//   }
//
// A scan remembers the last row that it has returned. The next page begins after that row, in the
// same transaction or in a later one. The row may have been removed in the meantime. If each page
// is read in its own transaction, the pages show the table at different times; to read all pages
// from one state, use a held snapshot (elider/held_snapshot.h).
//
// When Database::run() repeats a procedure after a conflict, the first next() of the new attempt
// goes back to where the first attempt began. In all other cases the position stays where it is,
// even if the transaction does not commit: if run() fails, after begin_again(), in a group, and in
// an operation of an installed procedure. To go back, assign a copy that was made before the
// transaction.
//
// The rows of a page are copies, which the scan owns. They stay valid until the next call of
// next(), even if the transaction ends. Do not use the views of a page after that call. A
// transaction cannot update a row through such a view; it can update it by its key. A copy of a
// scan continues from the same position, but does not own the current page. Thread safety: one
// thread at a time may use a scan.
#pragma once

#include "elider/language.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "elider/byte_key.h"
#include "elider/key.h"
#include "elider/status.h"
#include "elider/table.h"
#include "elider/transaction.h"

namespace elider {

namespace detail {

// The memory of the rows of one page.
class PageMemory {
 public:
  PageMemory() = default;
  PageMemory(const PageMemory&) {}
  PageMemory& operator=(const PageMemory&) { return *this; }
  PageMemory(PageMemory&&) = default;
  PageMemory& operator=(PageMemory&&) = default;

  // Forgets all rows.
  void clear();
  // Returns a view of a copy of the row and of its key.
  RawView keep(const RawView& view, bool byte_key);
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kBlockBytes = 64 << 10;
  std::byte* take(size_t bytes);

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* at_ = nullptr;
  size_t left_ = 0;
  size_t bytes_ = 0;         // used by this page
  uint32_t generation_ = 1;  // of the page's views
};

// What the scans of tables and indexes have in common. Range is the part that is still to be read.
template <class Range>
class PagedScan {
 public:
  PagedScan(Range range, const ScanOptions& options)
      : options_(options), now_{std::move(range), options.limit, options.skip}, begin_(now_) {}

 protected:
  struct Position {
    Range rest;
    uint64_t left;  // the number of rows that the limit still allows
    uint64_t skip;  // the number of rows to skip before the next page
  };
  // Prepares for the next page in this transaction. Returns the options for a scan of `rows` rows.
  ScanOptions begin_page(const Transaction& txn, size_t rows);

  ScanOptions options_;
  Position now_;
  PageMemory memory_;

 private:
  Position begin_;  // where the attempt that used this scan last has begun
  const Transaction* txn_ = nullptr;
  uint64_t serial_ = 0;  // identifies the transaction that ran in `*txn_`
};

}  // namespace detail

// A scan of a table without a row type.
class RawTableScan : private detail::PagedScan<std::variant<KeyRange, ByteRange>> {
 public:
  // A page ends after the row with which it exceeds this size.
  static constexpr size_t kPageBytesMax = 16 << 20;

  // Scans a range, or the whole table. ScanOptions::limit is the maximum number of rows of all
  // pages together.
  explicit RawTableScan(const TableRef& table) : RawTableScan(table, ScanOptions()) {}
  RawTableScan(const TableRef& table, const ScanOptions& options)
      : RawTableScan(table, table.byte_keys() ? Range(ByteRange()) : Range(KeyRange()), options) {}
  RawTableScan(const TableRef& table, KeyRange range, const ScanOptions& options = {}) : RawTableScan(table, Range(range), options) {}
  RawTableScan(const TableRef& table, ByteRange range, const ScanOptions& options = {})
      : RawTableScan(table, Range(std::move(range)), options) {}

  // Reads the next rows into `page`, and returns their number. The number is 0 only at the end of
  // the range, or if `page` is empty. A page may have fewer rows than `page` although the range has
  // not ended. After an error, the position is unchanged. Returns the errors of Transaction::scan,
  // and
  //   kMemoryLimit  memory for the copies of the rows is exhausted
  Result<size_t> next(Transaction& txn, std::span<RawView> page);

 private:
  using Range = std::variant<KeyRange, ByteRange>;
  RawTableScan(const TableRef& table, Range range, const ScanOptions& options) : PagedScan(std::move(range), options), table_(table) {}

  TableRef table_;
};

// A scan of a secondary index without a row type.
class RawIndexScan : private detail::PagedScan<std::variant<IndexRange, ByteIndexRange, ColumnRange>> {
 public:
  static constexpr size_t kPageBytesMax = RawTableScan::kPageBytesMax;

  // Scans a range of index values, or the whole index.
  explicit RawIndexScan(const IndexRef& index, const ScanOptions& options = {}) : PagedScan(whole(index), options), index_(index) {}
  RawIndexScan(const IndexRef& index, KeyRange values, const ScanOptions& options = {})
      : PagedScan(index.table.byte_keys() ? Range(ByteIndexRange(values)) : Range(IndexRange(values)), options), index_(index) {}
  RawIndexScan(const IndexRef& index, IndexRange range, const ScanOptions& options = {})
      : PagedScan(Range(range), options), index_(index) {}
  RawIndexScan(const IndexRef& index, ByteIndexRange range, const ScanOptions& options = {})
      : PagedScan(Range(std::move(range)), options), index_(index) {}
  template <ColumnRangeType Columns>
  RawIndexScan(const IndexRef& index, const Columns& range, const ScanOptions& options = {})
      : PagedScan(Range(ColumnRange(range)), options), index_(index) {}

  // Like RawTableScan::next(), in the order of (index value, key).
  Result<size_t> next(Transaction& txn, std::span<RawView> page);

 private:
  using Range = std::variant<IndexRange, ByteIndexRange, ColumnRange>;
  static Range whole(const IndexRef& index) {
    if (!index.table) return IndexRange();
    if (detail::is_by_columns(index)) return ColumnRange();
    if (index.table.byte_keys()) return ByteIndexRange();
    return IndexRange();
  }
  IndexRef index_;
};

template <class Row, class KeyType = Key>
class TableScan {
 public:
  using Range = std::conditional_t<ByteKeyType<KeyType>, ByteRange, KeyRange>;

  // Scans a range, or the whole table. ScanOptions::limit is the maximum number of rows of all
  // pages together.
  explicit TableScan(const Table<Row, KeyType>& table, Range range = {}, const ScanOptions& options = {})
      : scan_(table, std::move(range), options) {}
  // Like RawTableScan::next().
  Result<size_t> next(Transaction& txn, std::span<View<Row, KeyType>> page) {
    static_assert(sizeof(View<Row, KeyType>) == sizeof(RawView));
    return scan_.next(txn, {static_cast<RawView*>(page.data()), page.size()});
  }

 private:
  RawTableScan scan_;
};

template <class Row, class KeyType = Key>
class IndexScan {
 public:
  using Range = std::conditional_t<ByteKeyType<KeyType>, ByteIndexRange, IndexRange>;

  // Scans a range of index values, or the whole index.
  explicit IndexScan(const Index<Row, KeyType>& index) : scan_(index) {}
  IndexScan(const Index<Row, KeyType>& index, Range range, const ScanOptions& options = {}) : scan_(index, std::move(range), options) {}
  // Scans a part of an index by columns.
  template <ColumnRangeType Columns>
  IndexScan(const Index<Row, KeyType>& index, const Columns& range, const ScanOptions& options = {}) : scan_(index, range, options) {}
  // Like RawTableScan::next(), in the order of (index value, key).
  Result<size_t> next(Transaction& txn, std::span<View<Row, KeyType>> page) {
    static_assert(sizeof(View<Row, KeyType>) == sizeof(RawView));
    return scan_.next(txn, {static_cast<RawView*>(page.data()), page.size()});
  }

 private:
  RawIndexScan scan_;
};

namespace detail {
// Reads a page of RawViews and decodes its rows. After an error, the position of `scan` is
// unchanged.
template <class Scan, EncodedTableType Encoded>
Result<size_t> next_decoded(Scan& scan, std::vector<RawView>& views, const Encoded& table, Transaction& txn,
                            std::span<typename Encoded::Reader> page) {
  try {
    views.resize(page.size());
  } catch (const std::bad_alloc&) {
    return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  }
  const Scan before = scan;
  const Result<size_t> rows = scan.next(txn, views);
  for (size_t i = 0; rows.ok() && i < *rows; ++i) {
    auto row = table.reader(views[i]);
    if (!row.ok()) [[unlikely]] return scan = before, row.status();
    page[i] = *std::move(row);
  }
  return rows;
}
}  // namespace detail

// A scan of a DescribedTable, StructTable or ValueTable. The keys of the rows are key() of their
// readers or, of RowReaders in a table with byte keys, key_bytes().
template <EncodedTableType Encoded>
class EncodedScan {
 public:
  using Range = typename Encoded::Range;

  // Like the constructor of TableScan.
  explicit EncodedScan(const Encoded& table, Range range = {}, const ScanOptions& options = {})
      : table_(table), scan_(table, std::move(range), options) {}
  // Like RawTableScan::next(). The rows are valid until the next call.
  Result<size_t> next(Transaction& txn, std::span<typename Encoded::Reader> page) {
    return detail::next_decoded(scan_, views_, table_, txn, page);
  }

 private:
  Encoded table_;
  RawTableScan scan_;
  std::vector<RawView> views_;
};

// A scan of an index by columns of a DescribedTable or StructTable.
template <EncodedIndexType Index>
class EncodedIndexScan {
 public:
  // Scans the whole index, or a ColumnRange or an elider::prefix() of it.
  explicit EncodedIndexScan(const Index& index, const ColumnRange& range = {}, const ScanOptions& options = {})
      : table_(index.encoded), scan_(index, range, options) {}
  // Like EncodedScan::next(), in the order of the index.
  Result<size_t> next(Transaction& txn, std::span<typename Index::Encoded::Reader> page) {
    return detail::next_decoded(scan_, views_, table_, txn, page);
  }

 private:
  typename Index::Encoded table_;
  RawIndexScan scan_;
  std::vector<RawView> views_;
};

}  // namespace elider
