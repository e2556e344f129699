// Transaction: reads and writes rows of any tables atomically. All its effects become visible at
// one point in time, or none do.
//
// Database::run passes a Transaction to a procedure, and Database::begin returns one to interactive
// callers. Isolation is strict serializability, including phantoms and reads of absent keys
// (docs/isolation.md; DBX, section 5). The default protocol is optimistic: reads copy rows, writes
// are buffered, and the commit validates the reads. A running procedure may therefore see rows that
// never existed at the same time. In that case, the commit fails, and the engine discards what the
// procedure returned or threw and runs the procedure again.
// All operations, including scans, see the transaction's own writes.
//
// The file is long because it has the operations in four forms, which belong to one class: for rows
// of a known type, for byte keys, for encoded rows, and without types.
//
// Every operation may return:
//   kInvalidArgument  the table or columns belong to another database, a row has a wrong size, or
//                     its entry in an index by columns would be too long
//   kConflict         this attempt cannot commit; return the status, so that the engine retries
//   kMemoryLimit      the memory limit is reached; the transaction is rolled back
//   kProcedureThrew   a function that the caller provided (a change function or an index's key
//                     function) threw
//   kUnsupported      the write affects a secondary index that was not opened
//                     (Options::leave_out_indexes)
//   kFinished         the transaction has ended
// After one of these statuses, except kInvalidArgument and kUnsupported, the transaction can only
// be rolled back.
// Thread safety: only one thread may use a transaction at a time, but different threads may use it
// one after another.
#pragma once

#include "elider/language.h"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <type_traits>

#include "elider/byte_key.h"
#include "elider/column_range.h"
#include "elider/function_ref.h"
#include "elider/status.h"
#include "elider/table.h"

namespace elider {

namespace txn {
class DeclaredTransaction;
class Ranks;
}
namespace detail {
template <class Range>
class PagedScan;
}

inline constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

struct ScanOptions {
  uint64_t limit = kNoLimit;  // maximum number of rows
  bool reverse = false;       // in descending order
  ColumnsRef columns = {};    // the columns to fill in; by default all
  // The number of rows to skip before the first one that is visited, from the end of the range if
  // `reverse` is true. They do not count towards the limit. Only for ranked indexes, where it takes
  // logarithmic time.
  uint64_t skip = 0;
};

// A table whose handle encodes and decodes its rows: a DescribedTable (elider/described.h), a
// StructTable (elider/struct_table.h) or a ValueTable (elider/value_table.h). Reader is what reads
// return, and Argument what insert() and put() take.
template <class T>
concept EncodedTableType = std::derived_from<T, TableRef> && requires {
  typename T::KeyType;
  typename T::Reader;
  typename T::Argument;
};

// An elider::EncodedIndex (elider/described.h).
template <class T>
concept EncodedIndexType = std::derived_from<T, IndexRef> && EncodedTableType<typename T::Encoded>;

struct RowScanOptions {
  ColumnsRef columns = {};  // the columns to fill in; by default all
  unsigned threads = 1;     // 1 to 256, including the calling thread; the others end when the scan ends; only for zoned tables
};

class Transaction {
 public:
  // -- reading ------------------------------------------------------------------------------------

  // Returns the row, or only the given columns.
  //   kNotFound  the key does not exist; the commit validates that it still does not
  template <class Row>
  Result<View<Row>> get(const Table<Row>& table, Key key, const Columns<Row>& columns = {}) {
    RawView view;
    if (Status status = do_get(table, key, columns, &view); !status.ok()) [[unlikely]] return status;
    return View<Row>(view);
  }

  // Sets views[i] to the row of keys[i], or to an empty view if the key does not exist. The spans
  // must have the same size. The lookups overlap their cache misses, so this is much faster than
  // calling get() for each key.
  template <class Row>
  Status multi_get(const Table<Row>& table, std::span<const Key> keys, std::span<View<Row>> views, const Columns<Row>& columns = {}) {
    static_assert(sizeof(View<Row>) == sizeof(RawView));
    if (keys.size() != views.size()) return Status::invalid_argument("multi_get: the number of views must equal the number of keys");
    return do_multi_get(table, refs(keys.data()), keys.size(), columns, static_cast<RawView*>(views.data()));
  }

  // Calls visit(Key, const View<Row>&) for each row of the range, in key order. The visitor returns
  // nothing, a bool or a Status. The scan stops when the visitor returns false or an error; scan()
  // returns that error. The visitor may use this transaction. If the visitor ends the transaction,
  // scan() returns kFinished and does not visit another row.
  //   kUnsupported  the table is hashed
  template <class Row, class Visitor>
  Status scan(const Table<Row>& table, KeyRange range, const ScanOptions& options, Visitor&& visit) {
    const auto call = [&](detail::KeyRef key, const RawView& view) { return visit(key.number(), View<Row>(view)); };
    return visited<detail::KeyRef, RawView>(call, [&](EachRow each) { return do_scan(table, range, options, each); });
  }

  // Scans a secondary index in the order of (index value, primary key). The range is a range of
  // index values, such as {first, last} or a KeyRange. To continue a scan that has ended, use
  // IndexRange::after(), or before() for a reverse scan. The visitor works as in a scan by key: it
  // receives the primary key or, as visit(IndexPosition, const View<Row>&), the row's position in
  // the index.
  //   kInvalidArgument  the table does not have an index at IndexRef::position
  template <class Row, class Visitor>
  Status scan(const Index<Row>& index, const IndexRange& range, const ScanOptions& options, Visitor&& visit) {
    const auto call = [&](detail::KeyRef key, uint64_t value, const RawView& view) {
      if constexpr (std::is_invocable_v<Visitor&, Key, View<Row>>) return visit(key.number(), View<Row>(view));
      else return visit(IndexPosition{value, key.number()}, View<Row>(view));
    };
    return visited<detail::KeyRef, uint64_t, RawView>(call, [&](EachEntry each) { return do_scan_index(index, range, options, each); });
  }

  // Scans an index by columns, in the order of its columns and then of the primary key. The range
  // is a ColumnRange or an elider::prefix() of values. To continue a scan that has ended, use
  // ColumnRange::after() or before(). The visitor works as in a scan by key: it receives the
  // primary key or, as visit(ColumnPosition, const View<Row, KeyType>&), the row's position in the
  // index.
  //   kInvalidArgument  the index is not by columns, or the values do not have the columns' types
  template <class Row, class KeyType, ColumnRangeType Range, class Visitor>
  Status scan(const Index<Row, KeyType>& index, const Range& range, const ScanOptions& options, Visitor&& visit) {
    const auto call = [&](detail::KeyRef key, uint64_t value, const RawView& view) {
      using RowView = View<Row, KeyType>;
      if constexpr (!std::is_invocable_v<Visitor&, KeyType, RowView>) return visit(detail::column_position(value), RowView(view));
      else if constexpr (ByteKeyType<KeyType>) return visit(detail::KeyFace<KeyType>::given(key), RowView(view));
      else return visit(key.number(), RowView(view));
    };
    return visited<detail::KeyRef, uint64_t, RawView>(call, [&](EachEntry each) { return scan_columns(index, range, options, each); });
  }

  // Counts the rows in a range of a secondary index, but at most `limit` rows. The time depends on
  // the number of rows, unless the index is ranked.
  Result<uint64_t> count(const IndexRef& index, const ColumnRange& range, uint64_t limit = kNoLimit);
  Result<uint64_t> count(const IndexRef& index, const IndexRange& range, uint64_t limit = kNoLimit);
  template <class Row>
  Result<uint64_t> count(const Index<Row>& index, const IndexRange& range, uint64_t limit = kNoLimit) {
    return count(static_cast<const IndexRef&>(index), range, limit);
  }
  Result<uint64_t> count(const IndexRef& index, const ByteIndexRange& range, uint64_t limit = kNoLimit);

  // Returns the position of the row with this key in an index by columns. With it, a scan or count
  // can begin or end at the row: count(by_score, range.before(*position)) is the row's rank within
  // a range.
  //   kNotFound         the key does not exist
  //   kInvalidArgument  the index is not by columns
  Result<ColumnPosition> position(const IndexRef& index, Key key) {
    if (index.table.byte_keys()) [[unlikely]] return detail::refuse_number(index.table, key);
    ColumnPosition at;
    if (Status status = do_position(index, key, &at); !status.ok()) [[unlikely]] return status;
    return at;
  }
  Result<ColumnPosition> position(const IndexRef& index, Bytes key) {
    ColumnPosition at;
    Status status = with_bytes(index.table, key, [&](detail::KeyRef ref) { return do_position(index, ref, &at); });
    if (!status.ok()) [[unlikely]] return status;
    return at;
  }
  // Returns the number of rows before the row with this key, or before a position, in a ranked
  // index: the first row has rank 0. The row at a position need not exist.
  //   kNotFound         the key does not exist
  //   kInvalidArgument  the index is not ranked
  Result<uint64_t> rank(const IndexRef& index, const ColumnPosition& position);
  Result<uint64_t> rank(const IndexRef& index, Key key) { return rank_at(index, position(index, key)); }
  Result<uint64_t> rank(const IndexRef& index, Bytes key) { return rank_at(index, position(index, key)); }
  // These do the same for tables with tuple keys, such as rank(by_score, {7, "eu"}).
  template <class Row, TupleKeyType KeyType>
  Result<ColumnPosition> position(const Index<Row, KeyType>& index, const KeyArgument<KeyType>& key) {
    return position_of<KeyType>(index, key);
  }
  template <class Row, TupleKeyType KeyType>
  Result<uint64_t> rank(const Index<Row, KeyType>& index, const KeyArgument<KeyType>& key) {
    return rank_at(index, position_of<KeyType>(index, key));
  }
  template <EncodedIndexType Index>
    requires TupleKeyType<typename Index::Encoded::KeyType>
  Result<ColumnPosition> position(const Index& index, const typename Index::Encoded::KeyParameter& key) {
    return position_of<typename Index::Encoded::KeyType>(index, key);
  }
  template <EncodedIndexType Index>
    requires TupleKeyType<typename Index::Encoded::KeyType>
  Result<uint64_t> rank(const Index& index, const typename Index::Encoded::KeyParameter& key) {
    return rank_at(index, position_of<typename Index::Encoded::KeyType>(index, key));
  }

  // Visits all rows of a table, in no particular order, in a read-only transaction. This is the
  // fastest scan of a whole zoned table (SchemaOf::zoned), and the only scan of a hashed table.
  // Calls visit(Key, const View<Row>&) or visit(Key, const View<Row>&, unsigned thread) once for
  // each row of the snapshot. If the table is zoned and RowScanOptions::threads is above 1, the
  // threads call the visitor concurrently, each with its own number, counted from 0. The visitor
  // must then not use the transaction. Other tables are scanned by the calling thread alone, as
  // thread 0. The visitor returns nothing or a bool. If it returns false, the scan ends, but other
  // threads may visit a few more rows. An exception that the visitor throws propagates to the
  // caller of scan_rows(). A view is valid until the visitor returns.
  //   kInvalidArgument  the transaction is not read-only, or `threads` is not from 1 to 256
  //   kFinished         the visitor ended the transaction, which also ended the scan
  template <class Row, class KeyType, class Visitor>
  Status scan_rows(const Table<Row, KeyType>& table, const RowScanOptions& options, Visitor&& visit) {
    using RowView = View<Row, KeyType>;
    if constexpr (std::is_invocable_v<Visitor&, KeyType, RowView>)
      static_assert(!std::is_same_v<std::invoke_result_t<Visitor&, KeyType, RowView>, Status>,
                    "the visitor of scan_rows must return a bool or nothing");
    const auto call = [&](detail::KeyRef ref, RawView view, unsigned thread) {
      const KeyType key = [&]() -> KeyType {
        if constexpr (ByteKeyType<KeyType>) return detail::KeyFace<KeyType>::given(ref);
        else return ref.number();
      }();
      if constexpr (std::is_invocable_v<Visitor&, KeyType, RowView, unsigned>) return visit(key, RowView(view), thread);
      else return visit(key, RowView(view));
    };
    return do_scan_rows(table, options, [&](detail::KeyRef key, RawView view, unsigned thread) -> bool {
      if constexpr (std::is_void_v<decltype(call(key, view, thread))>) return call(key, view, thread), true;
      else return call(key, view, thread);
    });
  }

  // Returns the version of the row, or 0 if the key does not exist. Every commit that writes to the
  // row increases its version, even if the values stay the same. If the key is removed and inserted
  // again, the new row has a larger version, but only as long as the database is open. So a row is
  // unchanged if its version is. If both versions are 0, the row is absent again, but may have
  // existed in between. The commit validates this read like every other read.
  // The result is 0 if this transaction has removed the row.
  //   kInvalidArgument  this transaction has written the row
  Result<uint64_t> version(const TableRef& table, Key key) {
    uint64_t version = 0;
    if (table.byte_keys()) [[unlikely]] return detail::refuse_number(table, key);
    if (Status status = do_version(table, key, &version); !status.ok()) [[unlikely]] return status;
    return version;
  }
  Result<uint64_t> version(const TableRef& table, Bytes key) {
    uint64_t version = 0;
    Status status = with_bytes(table, key, [&](detail::KeyRef ref) { return do_version(table, ref, &version); });
    if (!status.ok()) [[unlikely]] return status;
    return version;
  }
  template <class Row, TupleKeyType KeyType>
  Result<uint64_t> version(const Table<Row, KeyType>& table, const KeyArgument<KeyType>& key) {
    uint64_t version = 0;
    Status status = with_key<KeyType>(table, key, [&](detail::KeyRef ref) { return do_version(table, ref, &version); });
    if (!status.ok()) [[unlikely]] return status;
    return version;
  }

  // -- writing ------------------------------------------------------------------------------------

  // Inserts a row.
  //   kDuplicateKey  the key exists, or a unique index already contains the row's value; the row is
  //                  not inserted
  template <class Row>
  Status insert(const Table<Row>& table, Key key, const std::type_identity_t<Row>& row) { return do_insert(table, key, &row, sizeof(Row)); }

  // Inserts rows[i] at keys[i], in this order, and overlaps the cache misses of the lookups. The
  // spans must have the same size. After an error, the rows before the one that failed are
  // inserted; to insert all rows or none, return the error from the procedure.
  //   kDuplicateKey  as for insert(); the message names the key
  template <class Row>
  Status insert_many(const Table<Row>& table, std::span<const Key> keys, std::span<const std::type_identity_t<Row>> rows) {
    if (keys.size() != rows.size()) return detail::refuse_row_count(keys.size(), rows.size());
    return in_batches(table, keys.size(), [&](size_t begin, size_t end) -> Status {
      do_look_ahead(table, refs(keys.data() + begin), end - begin);
      for (size_t i = begin; i < end; ++i)
        if (Status status = do_insert(table, keys[i], &rows[i], sizeof(Row)); !status.ok()) [[unlikely]] return status;
      return {};
    });
  }

  // Inserts the row of this key, or replaces it.
  //   kDuplicateKey  a unique index already contains the row's value
  template <class Row>
  Status put(const Table<Row>& table, Key key, const std::type_identity_t<Row>& row) { return do_put(table, key, &row, sizeof(Row)); }

  // Reads the given columns, lets change(Row&) modify them, and writes them, all with a single
  // lookup. change() must not modify any other columns.
  //   kNotFound         the key does not exist
  //   kDuplicateKey     a unique index already contains the row's new value
  //   kInvalidArgument  change() used this transaction, which is not allowed if a secondary index
  //                     reads these columns
  // An exception that change() throws propagates to the caller. The transaction can then only be
  // rolled back, even if the exception is caught. All further operations and the commit return
  // kProcedureThrew.
  template <class Row, class Change>
    requires std::is_invocable_v<Change, Row&>
  Status update(const Table<Row>& table, Key key, const Columns<Row>& columns, Change&& change) {
    void* image = nullptr;
    if (Status status = do_edit(table, key, columns, &image); !status.ok()) [[unlikely]] return status;
    apply(change, *static_cast<Row*>(image), table, key);
    return do_edited(table, image);
  }
  // Like update() by key, but takes a view that this transaction has read, and therefore does not
  // need a lookup. A view must not outlive its transaction. Misuse is detected when possible, but
  // not always.
  //   kInvalidArgument  the view belongs to another transaction, another table, or a read-only
  //                     transaction
  template <class Row, class Change>
    requires std::is_invocable_v<Change, Row&>
  Status update(const Table<Row>& table, const View<Row>& view, const Columns<Row>& columns, Change&& change) {
    void* image = nullptr;
    if (Status status = do_edit_view(table, view, columns, &image); !status.ok()) [[unlikely]] return status;
    apply(change, *static_cast<Row*>(image), table, view.key());
    return do_edited(table, image);
  }
  // Overwrites the given columns with those of `row`, without reading the old values.
  //   kNotFound  the key does not exist
  template <class Row>
  Status write(const Table<Row>& table, Key key, const Columns<Row>& columns, const std::type_identity_t<Row>& row) {
    return do_write(table, key, columns, &row);
  }

  // Adds delta to a numeric column at commit; integers wrap around. Under Protocol::kOcc, additions
  // do not conflict with each other (DBX-TC: commutative), so transactions can add to the same row
  // concurrently.
  //   kNotFound         the key does not exist
  //   kInvalidArgument  the column is not numeric, or a secondary index reads it
  template <class Row, class Member>
    requires std::is_arithmetic_v<Member>
  Status add(const Table<Row>& table, Key key, Member Row::*member, std::type_identity_t<Member> delta) {
    return do_add(table, key, offset_of(member), column_type_of<Member>(), &delta);
  }

  // Removes a row.
  //   kNotFound  the key does not exist
  template <class Row>
  Status remove(const Table<Row>& table, Key key) {
    return do_remove(table, key);
  }

  // -- byte keys ----------------------------------------------------------------------------------
  // These are the same operations for tables whose key type is std::string_view, Bytes or
  // std::tuple. Keys of the first two types can be passed as any type that converts to Bytes, such
  // as a string literal, and tuples as {1, "eu"}. A string_view or Bytes that a scan passes to its
  // visitor is valid until the visitor returns. The key of a view is valid as long as the view.
  // Tuples are copies, so they remain valid.
  //   kInvalidArgument  the key has more than kKeyBytesMax bytes, or text in a tuple is not UTF-8

  template <class Row, ByteKeyType KeyType>
  Result<View<Row, KeyType>> get(const Table<Row, KeyType>& table, const KeyArgument<KeyType>& key, const Columns<Row>& columns = {}) {
    RawView view;
    Status status = with_key<KeyType>(table, key, [&](detail::KeyRef ref) { return do_get(table, ref, columns, &view); });
    if (!status.ok()) [[unlikely]] return status;
    return View<Row, KeyType>(view);
  }
  template <class Row, ByteKeyType KeyType>
  Status multi_get(const Table<Row, KeyType>& table, std::span<const std::type_identity_t<KeyType>> keys,
                   std::span<View<Row, KeyType>> views, const Columns<Row>& columns = {}) {
    static_assert(sizeof(View<Row, KeyType>) == sizeof(RawView));
    if (keys.size() != views.size()) return Status::invalid_argument("multi_get: the number of views must equal the number of keys");
    const auto put = [&](size_t i, std::span<std::byte> to) { return put_key<KeyType>(table, keys[i], to); };
    return multi_get_bytes(table, keys.size(), put, columns, static_cast<RawView*>(views.data()));
  }
  // Calls visit(KeyType, const View<Row, KeyType>&) for each row.
  template <class Row, ByteKeyType KeyType, class Visitor>
  Status scan(const Table<Row, KeyType>& table, const ByteRange& range, const ScanOptions& options, Visitor&& visit) {
    const auto call = [&](detail::KeyRef key, const RawView& view) {
      return visit(detail::KeyFace<KeyType>::given(key), View<Row, KeyType>(view));
    };
    if (Status status = check_range(table, range); !status.ok()) [[unlikely]] return status;
    const detail::ByteRangeKeys keys(range);
    return visited<detail::KeyRef, RawView>(call, [&](EachRow each) { return do_scan(table, keys.range(), options, each); });
  }
  // Calls visit(KeyType, const View<Row, KeyType>&) for each row. Instead of the key, the visitor
  // may take a ByteIndexPosition.
  template <class Row, ByteKeyType KeyType, class Visitor>
  Status scan(const Index<Row, KeyType>& index, const ByteIndexRange& range, const ScanOptions& options, Visitor&& visit) {
    const auto call = [&](detail::KeyRef key, uint64_t value, const RawView& view) {
      if constexpr (std::is_invocable_v<Visitor&, KeyType, View<Row, KeyType>>)
        return visit(detail::KeyFace<KeyType>::given(key), View<Row, KeyType>(view));
      else return visit(ByteIndexPosition{value, detail::bytes_of(key)}, View<Row, KeyType>(view));
    };
    const detail::ByteIndexRangeKeys keys(range);
    return visited<detail::KeyRef, uint64_t, RawView>(
        call, [&](EachEntry each) { return do_scan_index(index, keys.range(), options, each); });
  }
  template <class Row, ByteKeyType KeyType>
  Status insert(const Table<Row, KeyType>& table, const KeyArgument<KeyType>& key, const std::type_identity_t<Row>& row) {
    return with_key<KeyType>(table, key, [&](detail::KeyRef ref) { return do_insert(table, ref, &row, sizeof(Row)); });
  }
  template <class Row, ByteKeyType KeyType>
  Status insert_many(const Table<Row, KeyType>& table, std::span<const std::type_identity_t<KeyType>> keys,
                     std::span<const std::type_identity_t<Row>> rows) {
    if (keys.size() != rows.size()) return detail::refuse_row_count(keys.size(), rows.size());
    const auto put = [&](size_t i, std::span<std::byte> to) { return put_key<KeyType>(table, keys[i], to); };
    return with_many_keys(table, keys.size(), put, [&](const detail::KeyRef* refs, size_t begin, size_t count) -> Status {
      do_look_ahead(table, refs, count);
      for (size_t i = 0; i < count; ++i)
        if (Status status = do_insert(table, refs[i], &rows[begin + i], sizeof(Row)); !status.ok()) [[unlikely]] return status;
      return {};
    });
  }
  template <class Row, ByteKeyType KeyType>
  Status put(const Table<Row, KeyType>& table, const KeyArgument<KeyType>& key, const std::type_identity_t<Row>& row) {
    return with_key<KeyType>(table, key, [&](detail::KeyRef ref) { return do_put(table, ref, &row, sizeof(Row)); });
  }
  template <class Row, ByteKeyType KeyType, class Change>
    requires std::is_invocable_v<Change, Row&>
  Status update(const Table<Row, KeyType>& table, const KeyArgument<KeyType>& key, const Columns<Row>& columns, Change&& change) {
    return with_key<KeyType>(table, key, [&](detail::KeyRef ref) -> Status {
      void* image = nullptr;
      if (Status status = do_edit(table, ref, columns, &image); !status.ok()) [[unlikely]] return status;
      apply(change, *static_cast<Row*>(image), table, ref);
      return do_edited(table, image);
    });
  }
  template <class Row, ByteKeyType KeyType, class Change>
    requires std::is_invocable_v<Change, Row&>
  Status update(const Table<Row, KeyType>& table, const View<Row, KeyType>& view, const Columns<Row>& columns, Change&& change) {
    void* image = nullptr;
    if (Status status = do_edit_view(table, view, columns, &image); !status.ok()) [[unlikely]] return status;
    apply(change, *static_cast<Row*>(image), table, view.header()->key);
    return do_edited(table, image);
  }
  template <class Row, ByteKeyType KeyType>
  Status write(const Table<Row, KeyType>& table, const KeyArgument<KeyType>& key, const Columns<Row>& columns,
               const std::type_identity_t<Row>& row) {
    return with_key<KeyType>(table, key, [&](detail::KeyRef ref) { return do_write(table, ref, columns, &row); });
  }
  template <class Row, ByteKeyType KeyType, class Member>
    requires std::is_arithmetic_v<Member>
  Status add(const Table<Row, KeyType>& table, const KeyArgument<KeyType>& key, Member Row::*member, std::type_identity_t<Member> delta) {
    return with_key<KeyType>(table, key,
                    [&](detail::KeyRef ref) { return do_add(table, ref, offset_of(member), column_type_of<Member>(), &delta); });
  }
  template <class Row, ByteKeyType KeyType>
  Status remove(const Table<Row, KeyType>& table, const KeyArgument<KeyType>& key) {
    return with_key<KeyType>(table, key, [&](detail::KeyRef ref) { return do_remove(table, ref); });
  }

  // -- the same operations without a row type -----------------------------------------------------
  // `row` has schema().row_bytes bytes, or at most that many in a table with Schema::sized_rows. A
  // call with a key of the wrong kind returns kInvalidArgument and does not change anything.

  Status get(const TableRef& table, Key key, const ColumnsRef& columns, RawView* view) {
    if (table.byte_keys()) [[unlikely]] return detail::refuse_number(table, key);
    return do_get(table, key, columns, view);
  }
  Status get(const TableRef& table, Bytes key, const ColumnsRef& columns, RawView* view) {
    return with_bytes(table, key, [&](detail::KeyRef ref) { return do_get(table, ref, columns, view); });
  }
  Status multi_get(const TableRef& table, const Key* keys, size_t count, const ColumnsRef& columns, RawView* views) {
    if (table.byte_keys()) [[unlikely]] return detail::refuse_number(table, count == 0 ? 0 : keys[0]);
    return do_multi_get(table, refs(keys), count, columns, views);
  }
  Status multi_get(const TableRef& table, const Bytes* keys, size_t count, const ColumnsRef& columns, RawView* views) {
    const auto put = [&](size_t i, std::span<std::byte> to) -> Result<size_t> {
      if (Status status = check_bytes(table, keys[i]); !status.ok()) [[unlikely]] return status;
      return put_key<Bytes>(table, keys[i], to);
    };
    return multi_get_bytes(table, count, put, columns, views);
  }
  Status scan(const TableRef& table, const ByteRange& range, const ScanOptions& options, FunctionRef<bool(Bytes, RawView)> visit) {
    if (!table.byte_keys()) [[unlikely]] return detail::check_bytes(table, {});
    if (Status status = check_range(table, range); !status.ok()) [[unlikely]] return status;
    const detail::ByteRangeKeys keys(range);
    return do_scan(table, keys.range(), options, [&](detail::KeyRef key, RawView view) { return visit(detail::bytes_of(key), view); });
  }
  Status scan(const IndexRef& index, const ByteIndexRange& range, const ScanOptions& options,
              FunctionRef<bool(ByteIndexPosition, RawView)> visit) {
    if (!index.table.byte_keys()) [[unlikely]] return detail::check_bytes(index.table, {});
    const detail::ByteIndexRangeKeys keys(range);
    return do_scan_index(index, keys.range(), options, [&](detail::KeyRef key, uint64_t value, RawView view) {
      return visit(ByteIndexPosition{value, detail::bytes_of(key)}, view);
    });
  }
  Status scan(const TableRef& table, KeyRange range, const ScanOptions& options, FunctionRef<bool(Key, RawView)> visit) {
    if (table.byte_keys()) [[unlikely]] return detail::refuse_number(table, range.first);
    return do_scan(table, range, options, [&](detail::KeyRef key, RawView view) { return visit(key.number(), view); });
  }
  Status scan(const IndexRef& index, const IndexRange& range, const ScanOptions& options, FunctionRef<bool(Key, RawView)> visit) {
    if (index.table.byte_keys()) [[unlikely]] return detail::refuse_number(index.table, 0);
    return do_scan_index(index, range, options, [&](detail::KeyRef key, uint64_t, RawView view) { return visit(key.number(), view); });
  }
  Status scan(const IndexRef& index, const IndexRange& range, const ScanOptions& options, FunctionRef<bool(IndexPosition, RawView)> visit) {
    if (index.table.byte_keys()) [[unlikely]] return detail::refuse_number(index.table, 0);
    return do_scan_index(index, range, options, [&](detail::KeyRef key, uint64_t value, RawView view) {
      return visit(IndexPosition{value, key.number()}, view);
    });
  }
  Status scan(const IndexRef& index, const ColumnRange& range, const ScanOptions& options,
              FunctionRef<bool(ColumnPosition, RawView)> visit) {
    return scan_columns(index, range, options, [&](detail::KeyRef, uint64_t value, RawView view) {
      return visit(detail::column_position(value), view);
    });
  }
  Status scan_rows(const TableRef& table, const RowScanOptions& options, FunctionRef<bool(Key, RawView, unsigned)> visit) {
    if (table.byte_keys()) [[unlikely]] return detail::refuse_number(table, 0);
    return do_scan_rows(table, options,
                        [&](detail::KeyRef key, RawView view, unsigned thread) { return visit(key.number(), view, thread); });
  }
  Status scan_rows(const TableRef& table, const RowScanOptions& options, FunctionRef<bool(Bytes, RawView, unsigned)> visit) {
    if (!table.byte_keys()) [[unlikely]] return detail::check_bytes(table, {});
    return do_scan_rows(table, options,
                        [&](detail::KeyRef key, RawView view, unsigned thread) { return visit(detail::bytes_of(key), view, thread); });
  }
  // A table of described rows accepts only bytes that its description allows; insert(),
  // insert_many() and put() check this.
  Status insert(const TableRef& table, Key key, std::span<const std::byte> row);
  Status insert(const TableRef& table, Bytes key, std::span<const std::byte> row);
  Status insert_many(const TableRef& table, std::span<const Key> keys, std::span<const Bytes> rows);
  Status insert_many(const TableRef& table, std::span<const Bytes> keys, std::span<const Bytes> rows);
  Status put(const TableRef& table, Key key, std::span<const std::byte> row);
  Status put(const TableRef& table, Bytes key, std::span<const std::byte> row);
  // These are templates so that overload resolution ignores them for tables with a row type.
  template <std::same_as<TableRef> Untyped>
  Status remove(const Untyped& table, Key key) {
    if (table.byte_keys()) [[unlikely]] return detail::refuse_number(table, key);
    return do_remove(table, key);
  }
  template <std::same_as<TableRef> Untyped>
  Status remove(const Untyped& table, Bytes key) {
    return with_bytes(table, key, [&](detail::KeyRef ref) { return do_remove(table, ref); });
  }
  // Sets *image to a buffer that has the layout of the row and contains the given columns. Modify
  // only these columns in the buffer, and then call edited() before you use this transaction for
  // anything else. If a secondary index reads the columns and edited() is not called, the commit
  // fails with kInvalidArgument. Described rows cannot be edited (kInvalidArgument).
  Status edit(const TableRef& table, Key key, const ColumnsRef& columns, void** image) {
    if (table.byte_keys()) [[unlikely]] return detail::refuse_number(table, key);
    if (table.described()) [[unlikely]] return detail::refuse_edit_of_described(table);
    return do_edit(table, key, columns, image);
  }
  Status edit(const TableRef& table, Bytes key, const ColumnsRef& columns, void** image) {
    if (table.described()) [[unlikely]] return detail::refuse_edit_of_described(table);
    return with_bytes(table, key, [&](detail::KeyRef ref) { return do_edit(table, ref, columns, image); });
  }
  // Like edit() by key, but takes a view that this transaction has read.
  Status edit(const TableRef& table, const RawView& view, const ColumnsRef& columns, void** image) {
    if (table.described()) [[unlikely]] return detail::refuse_edit_of_described(table);
    return do_edit_view(table, view, columns, image);
  }
  Status edited(const TableRef& table, void* image) { return do_edited(table, image); }
  //   kInvalidArgument  the table has variable-size rows and `columns` selects all columns, so that
  //                     the row's size would be unknown
  Status write(const TableRef& table, Key key, const ColumnsRef& columns, const void* row) {
    if (table.byte_keys()) [[unlikely]] return detail::refuse_number(table, key);
    return do_write(table, key, columns, row);
  }
  Status write(const TableRef& table, Bytes key, const ColumnsRef& columns, const void* row) {
    return with_bytes(table, key, [&](detail::KeyRef ref) { return do_write(table, ref, columns, row); });
  }
  Status add(const TableRef& table, Bytes key, uint32_t offset, ColumnType type, const void* delta) {
    return with_bytes(table, key, [&](detail::KeyRef ref) { return do_add(table, ref, offset, type, delta); });
  }
  Status add(const TableRef& table, Key key, uint32_t offset, ColumnType type, const void* delta) {
    if (table.byte_keys()) [[unlikely]] return detail::refuse_number(table, key);
    return do_add(table, key, offset, type, delta);
  }

  // -- encoded rows -------------------------------------------------------------------------------
  // These are the same operations for the tables whose handles encode and decode the rows:
  //
  //   table                                     reads return   insert() and put() take
  //   DescribedTable (elider/described.h)       RowReader      RowBuilder&
  //   StructTable (elider/struct_table.h)       StructView     the struct
  //   ValueTable (elider/value_table.h)         ValueView      Bytes, text, spans of bytes
  //
  // What a read returns is valid as long as a view, that is, until the transaction ends or the
  // visitor returns, and no longer than the table handle. A RowBuilder is finished, and its first
  // error returned. Reads and writes of described rows and structs may also return
  //   kCorrupt         the stored bytes are not a row of this schema
  //   kSchemaMismatch  the stored row has more columns than this schema, or a column of the struct
  //                    was dropped

  template <EncodedTableType Encoded>
  Result<typename Encoded::Reader> get(const Encoded& table, const typename Encoded::KeyParameter& key) {
    RawView view;
    Status status = with_key_of<Encoded>(table, key, [&](detail::KeyRef ref) { return do_get(table, ref, {}, &view); });
    if (!status.ok()) [[unlikely]] return status;
    return table.reader(view);
  }
  // Sets rows[i] to the row of keys[i], or to an empty reader if the key does not exist. The spans
  // must have the same size.
  template <EncodedTableType Encoded>
  Status multi_get(const Encoded& table, std::span<const typename Encoded::KeyType> keys, std::span<typename Encoded::Reader> rows) {
    if (keys.size() != rows.size()) return Status::invalid_argument("multi_get: the number of views must equal the number of keys");
    return with_many_keys_of(table, keys, [&](const detail::KeyRef* refs, size_t begin, size_t count) -> Status {
      RawView views[kKeysMax];
      if (Status status = do_multi_get(table, refs, count, {}, views); !status.ok()) [[unlikely]] return status;
      for (size_t i = 0; i < count; ++i) {
        rows[begin + i] = typename Encoded::Reader();
        if (!views[i]) continue;
        auto row = table.reader(views[i]);
        if (!row.ok()) [[unlikely]] return row.status();
        rows[begin + i] = *std::move(row);
      }
      return {};
    });
  }
  // Calls visit(KeyType, const Reader&) for each row of the range, which is a KeyRange or, in a
  // table with byte keys, a ByteRange.
  template <EncodedTableType Encoded, class Visitor>
  Status scan(const Encoded& table, const typename Encoded::Range& range, const ScanOptions& options, Visitor&& visit) {
    Status failed;
    const auto call = [&](detail::KeyRef key, RawView view) { return visit_encoded(table, visit, key, view, &failed); };
    const Status status = [&]() -> Status {
      if constexpr (ByteKeyType<typename Encoded::KeyType>) {
        if (Status refused = check_range(table, range); !refused.ok()) [[unlikely]] return refused;
        const detail::ByteRangeKeys keys(range);
        return do_scan(table, keys.range(), options, call);
      } else {
        return do_scan(table, range, options, call);
      }
    }();
    return failed.ok() || status.code() == Code::kFinished ? status : failed;
  }
  // Scans an index by columns. Calls visit(KeyType, const Reader&) or visit(ColumnPosition, const
  // Reader&) for each row. The range is a ColumnRange or an elider::prefix().
  template <EncodedIndexType Index, ColumnRangeType Range, class Visitor>
  Status scan(const Index& index, const Range& range, const ScanOptions& options, Visitor&& visit) {
    using Reader = typename Index::Encoded::Reader;
    Status failed;
    const auto call = [&](detail::KeyRef key, uint64_t value, RawView view) {
      if constexpr (!std::is_invocable_v<Visitor&, typename Index::Encoded::KeyType, const Reader&>)
        return visit_encoded_as(index.encoded, visit, [&] { return detail::column_position(value); }, view, &failed);
      else
        return visit_encoded(index.encoded, visit, key, view, &failed);
    };
    const Status status = scan_columns(index, range, options, call);
    return failed.ok() || status.code() == Code::kFinished ? status : failed;
  }
  // Calls visit(KeyType, const Reader&) for each row, in no particular order, in a read-only
  // transaction. This is the only scan of a hashed table.
  template <EncodedTableType Encoded, class Visitor>
  Status scan_rows(const Encoded& table, Visitor&& visit) {
    Status failed;
    const Status status = do_scan_rows(table, {}, [&](detail::KeyRef key, RawView view, unsigned) {
      return visit_encoded(table, visit, key, view, &failed);
    });
    return failed.ok() || status.code() == Code::kFinished ? status : failed;
  }
  template <EncodedTableType Encoded>
    requires TupleKeyType<typename Encoded::KeyType>
  Result<uint64_t> version(const Encoded& table, const typename Encoded::KeyParameter& key) {
    uint64_t version = 0;
    Status status = with_key_of<Encoded>(table, key, [&](detail::KeyRef ref) { return do_version(table, ref, &version); });
    if (!status.ok()) [[unlikely]] return status;
    return version;
  }
  template <EncodedTableType Encoded>
  Status insert(const Encoded& table, const typename Encoded::KeyParameter& key, typename Encoded::Argument row) {
    const auto bytes = table.finished(row);
    if (!bytes.ok()) [[unlikely]] return bytes.status();
    return with_key_of<Encoded>(table, key, [&](detail::KeyRef ref) { return do_insert(table, ref, bytes->data(), bytes->size()); });
  }
  // Inserts rows[i], which is a struct or a value, at keys[i], in this order.
  template <EncodedTableType Encoded>
  Status insert_many(const Encoded& table, std::span<const typename Encoded::KeyType> keys,
                     std::span<const typename Encoded::Element> rows) {
    if (keys.size() != rows.size()) return detail::refuse_row_count(keys.size(), rows.size());
    return insert_each(table, keys, [&](size_t i) { return table.finished(rows[i]); });
  }
  // Inserts described rows: for each key, begins a row in the builder, lets fill(RowBuilder&, i)
  // set its columns, and inserts it at keys[i]. The fill function returns nothing or a Status; an
  // error ends the call, and is returned.
  template <EncodedTableType Encoded, class Fill>
    requires std::is_invocable_v<Fill&, typename Encoded::Builder&, size_t>
  Status insert_many(const Encoded& table, std::span<const typename Encoded::KeyType> keys, typename Encoded::Builder& row, Fill&& fill) {
    return insert_each(table, keys, [&](size_t i) -> Result<std::span<const std::byte>> {
      row.begin();
      if constexpr (std::is_void_v<decltype(fill(row, i))>) fill(row, i);
      else if (Status status = fill(row, i); !status.ok()) return status;
      return table.finished(row);
    });
  }
  template <EncodedTableType Encoded>
  Status put(const Encoded& table, const typename Encoded::KeyParameter& key, typename Encoded::Argument row) {
    const auto bytes = table.finished(row);
    if (!bytes.ok()) [[unlikely]] return bytes.status();
    return with_key_of<Encoded>(table, key, [&](detail::KeyRef ref) { return do_put(table, ref, bytes->data(), bytes->size()); });
  }
  // Reads a described row into the builder, lets change(RowBuilder&) or change(RowBuilder&, const
  // RowReader& old) set some of its columns, and writes the row. The change function returns
  // nothing or a Status. If the status is an error, update() returns it and does not write. An
  // exception of the change function propagates to the caller, and the transaction can then only be
  // rolled back, as for other updates. Old rows are written with all columns of the schema.
  //   kNotFound  the key does not exist
  template <EncodedTableType Encoded, class Change>
  Status update(const Encoded& table, const typename Encoded::KeyParameter& key, typename Encoded::Builder& row, Change&& change) {
    return rewrite(table, key, [&](const RawView& view, detail::KeyRef ref) -> Result<std::span<const std::byte>> {
      const auto old = table.reader(view);
      if (!old.ok()) [[unlikely]] return old.status();
      row.edit(*old);
      const auto call = [&] {
        using Reader = typename Encoded::Reader;
        if constexpr (std::is_invocable_v<Change&, typename Encoded::Builder&, const Reader&>) return change(row, *old);
        else return change(row);
      };
      if (Status status = changed(table, ref, call); !status.ok()) [[unlikely]] return status;
      return table.finished(row);
    });
  }
  // Reads a row of a StructTable, lets change(Row&) change its members, and writes it. Text and
  // bytes that change() assigns to members must exist until update() returns. Otherwise like
  // update() of a described row.
  template <EncodedTableType Encoded, class Change>
    requires std::is_invocable_v<Change&, typename Encoded::Row&>
  Status update(const Encoded& table, const typename Encoded::KeyParameter& key, Change&& change) {
    static_assert(!std::is_invocable_v<Change&, typename Encoded::Row&&>,
                  "update() changes the row only if the function takes it as Row& (or auto&)");
    return rewrite(table, key, [&](const RawView& view, detail::KeyRef ref) -> Result<std::span<const std::byte>> {
      auto edit = table.edit(view);
      if (!edit.ok()) [[unlikely]] return edit.status();
      if (Status status = changed(table, ref, [&] { return change(edit->row); }); !status.ok()) [[unlikely]] return status;
      return table.finished(*edit);
    });
  }
  template <EncodedTableType Encoded>
  Status remove(const Encoded& table, const typename Encoded::KeyParameter& key) {
    return with_key_of<Encoded>(table, key, [&](detail::KeyRef ref) { return do_remove(table, ref); });
  }

  // -- the transaction itself ---------------------------------------------------------------------

  // The number of this attempt: 1 for the first run of a procedure, 2 after one conflict, ...
  uint32_t attempt() const { return attempt_; }
  bool read_only() const { return read_only_; }

  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

 protected:
  using EachRow = FunctionRef<bool(detail::KeyRef, RawView)>;
  using EachEntry = FunctionRef<bool(detail::KeyRef, uint64_t value, RawView)>;
  using EachScannedRow = FunctionRef<bool(detail::KeyRef, RawView, unsigned thread)>;

  Transaction() = default;
  virtual ~Transaction() = default;

  virtual Status do_get(const TableRef& table, detail::KeyRef key, const ColumnsRef& columns, RawView* view) = 0;
  virtual Status do_multi_get(const TableRef& table, const detail::KeyRef* keys, size_t count, const ColumnsRef& columns,
                              RawView* views) = 0;
  virtual Status do_scan(const TableRef& table, const detail::KeyRefRange& range, const ScanOptions& options, EachRow visit) = 0;
  virtual Status do_scan_index(const IndexRef& index, const detail::EntryRange& range, const ScanOptions& options, EachEntry visit) = 0;
  virtual Status do_scan_rows(const TableRef& table, const RowScanOptions& options, EachScannedRow visit) = 0;
  virtual Status do_insert(const TableRef& table, detail::KeyRef key, const void* row, size_t bytes) = 0;
  virtual Status do_put(const TableRef& table, detail::KeyRef key, const void* row, size_t bytes) = 0;
  virtual Status do_edit(const TableRef& table, detail::KeyRef key, const ColumnsRef& columns, void** image) = 0;
  virtual Status do_edit_view(const TableRef& table, const RawView& view, const ColumnsRef& columns, void** image) = 0;
  virtual Status do_edited(const TableRef& table, void* image) = 0;
  // Called instead of do_edited() if the change function threw. The transaction can then only be
  // rolled back.
  virtual void do_edit_threw(const TableRef& table, detail::KeyRef key) = 0;
  virtual Status do_write(const TableRef& table, detail::KeyRef key, const ColumnsRef& columns, const void* row) = 0;
  virtual Status do_add(const TableRef& table, detail::KeyRef key, uint32_t offset, ColumnType type, const void* delta) = 0;
  virtual Status do_remove(const TableRef& table, detail::KeyRef key) = 0;
  // Looks up these keys together, so that the next operations find their rows in the cache. Does
  // not track reads.
  virtual void do_look_ahead(const TableRef& table, const detail::KeyRef* keys, size_t count) = 0;
  // Sets *version to the version of the key's row, or to 0 if the key does not exist.
  virtual Status do_version(const TableRef& table, detail::KeyRef key, uint64_t* version) = 0;
  // The transactions that run in this object have consecutive numbers. do_serial() returns the
  // current transaction's number. do_first_serial() returns the number of the first attempt of the
  // procedure that is running; it differs from do_serial() if the procedure is repeated.
  virtual uint64_t do_serial() const = 0;
  virtual uint64_t do_first_serial() const = 0;

  uint32_t attempt_ = 1;
  bool read_only_ = false;

 private:
  friend class txn::DeclaredTransaction;  // forwards calls to another transaction
  friend class txn::Ranks;                // reads and writes the counts of ranked indexes
  template <class Range>
  friend class detail::PagedScan;
  static const detail::KeyRef* refs(const Key* keys) { return reinterpret_cast<const detail::KeyRef*>(keys); }
  // Calls scan(each), where `each` calls the caller's visitor and converts its result to a bool.
  // Returns the visitor's error if there is one, and otherwise the status of the scan.
  template <class... Arguments, class Call, class Scan>
  static Status visited(const Call& call, Scan&& scan) {
    using Answer = std::invoke_result_t<const Call&, Arguments...>;
    if constexpr (std::is_same_v<std::remove_cvref_t<Answer>, Status>) {
      Status answer;
      Status scanned = scan([&](Arguments... arguments) -> bool {
        answer = call(arguments...);
        return answer.ok();
      });
      return answer.ok() || scanned.code() == Code::kFinished ? scanned : answer;
    } else if constexpr (std::is_void_v<Answer>) {
      return scan([&](Arguments... arguments) -> bool {
        call(arguments...);
        return true;
      });
    } else {
      return scan([&](Arguments... arguments) -> bool { return call(arguments...); });
    }
  }
  // Returns an error if the table does not accept the key.
  static Status check_bytes(const TableRef& table, Bytes key) {
    if (!table.byte_keys() || key.size() > kKeyBytesMax || table.tuple_keys()) [[unlikely]] return detail::check_bytes(table, key);
    return {};
  }
  // Returns an error if the range was made from a prefix of tuples and does not fit the table.
  static Status check_range(const TableRef& table, const ByteRange& range) {
    if (range.refusal().ok() && range.fields().empty() && range.last_fields().empty()) return {};
    return detail::check_range(table, range);
  }
  Status scan_columns(const IndexRef& index, const ColumnRange& range, const ScanOptions& options, EachEntry visit) {
    if (Status status = detail::check_range(index, range); !status.ok()) [[unlikely]] return status;
    const detail::ByteRangeKeys entries(range.entries());
    if (options.skip != 0) [[unlikely]] return scan_after_skipping(index, entries.range(), options, visit);
    return do_scan_index(index, detail::EntryRange(entries.range()), options, visit);
  }
  Status scan_after_skipping(const IndexRef& index, const detail::KeyRefRange& entries, ScanOptions options, EachEntry visit);
  Status do_position(const IndexRef& index, detail::KeyRef key, ColumnPosition* position);
  Result<uint64_t> rank_at(const IndexRef& index, const Result<ColumnPosition>& position) {
    if (!position.ok()) [[unlikely]] return position.status();
    return rank(index, *position);
  }
  template <class KeyType>
  Result<ColumnPosition> position_of(const IndexRef& index, const KeyArgument<KeyType>& key) {
    ColumnPosition at;
    Status status = with_key<KeyType>(index.table, key, [&](detail::KeyRef ref) { return do_position(index, ref, &at); });
    if (!status.ok()) [[unlikely]] return status;
    return at;
  }
  // Converts `key` to the engine's format and returns operation(key). If the table does not accept
  // the key, returns an error instead.
  template <class Operation>
  static Status with_bytes(const TableRef& table, Bytes key, Operation&& operation) {
    if (Status status = check_bytes(table, key); !status.ok()) [[unlikely]] return status;
    const detail::KeyBuffer buffer(key);
    return operation(buffer.ref());
  }
  // Like with_bytes(), but takes a key of type KeyType. The types of a tuple's fields need not be
  // checked.
  template <class KeyType, class Operation>
  static Status with_key(const TableRef& table, const KeyArgument<KeyType>& key, Operation&& operation) {
    if constexpr (TupleKeyType<KeyType>) {
      detail::KeyBuffer buffer;
      const Result<size_t> size = put_key<KeyType>(table, key, buffer.room());
      if (!size.ok()) [[unlikely]] return size.status();
      buffer.set_size(*size);
      return operation(buffer.ref());
    } else {
      return with_bytes(table, key, operation);
    }
  }
  template <class Encoded, class Operation>
  static Status with_key_of(const Encoded& table, const typename Encoded::KeyParameter& key, Operation&& operation) {
    if constexpr (ByteKeyType<typename Encoded::KeyType>) return with_key<typename Encoded::KeyType>(table, key, operation);
    else return operation(detail::KeyRef(key));
  }
  // Calls change(), which is the caller's code, and returns its status, if it returns one. If it
  // throws, the transaction can only be rolled back.
  template <class Change>
  Status changed(const TableRef& table, detail::KeyRef key, Change&& change) {
    try {
      if constexpr (std::is_void_v<decltype(change())>) return change(), Status();
      else return change();
    } catch (...) {
      do_edit_threw(table, key);
      throw;
    }
  }
  // Reads the row and replaces it by the bytes that encode(const RawView&, KeyRef) returns.
  template <class Encoded, class Encode>
  Status rewrite(const Encoded& table, const typename Encoded::KeyParameter& key, Encode&& encode) {
    return with_key_of<Encoded>(table, key, [&](detail::KeyRef ref) -> Status {
      RawView view;
      if (Status status = do_get(table, ref, {}, &view); !status.ok()) [[unlikely]] return status;
      const Result<std::span<const std::byte>> bytes = encode(view, ref);
      if (!bytes.ok()) [[unlikely]] return bytes.status();
      if (bytes->size() != view.size()) return do_put(table, ref, bytes->data(), bytes->size());
      void* image = nullptr;  // a row that keeps its size is changed through the view, without another lookup
      if (Status status = do_edit_view(table, view, {}, &image); !status.ok()) [[unlikely]] return status;
      std::memcpy(image, bytes->data(), bytes->size());
      return do_edited(table, image);
    });
  }
  // Calls the visitor with the row that the view shows. Returns false if the scan must end, and
  // sets *failed if the reason is an error.
  template <class Encoded, class Visitor>
  static bool visit_encoded(const Encoded& table, Visitor& visit, detail::KeyRef key, const RawView& view, Status* failed) {
    using KeyType = typename Encoded::KeyType;
    const auto key_of = [&] {
      if constexpr (ByteKeyType<KeyType>) return detail::KeyFace<KeyType>::given(key);
      else return key.number();
    };
    return visit_encoded_as(table, visit, key_of, view, failed);
  }
  // Passes where() instead of the key.
  template <class Encoded, class Visitor, class Where>
  static bool visit_encoded_as(const Encoded& table, Visitor& visit, Where&& where, const RawView& view, Status* failed) {
    const auto row = table.reader(view);
    if (!row.ok()) [[unlikely]] return *failed = row.status(), false;
    const auto call = [&] { return visit(where(), *row); };
    using Answer = decltype(call());
    if constexpr (std::is_void_v<Answer>) return call(), true;
    else if constexpr (std::is_same_v<std::remove_cvref_t<Answer>, Status>) return *failed = call(), failed->ok();
    else return call();
  }
  // Writes the key to `to`, which has kKeyBytesMax bytes, and returns the key's size. If the table
  // does not accept the key, returns an error instead.
  template <class KeyType>
  static Result<size_t> put_key(const TableRef& table, const KeyArgument<KeyType>& key, std::span<std::byte> to) {
    if constexpr (TupleKeyType<KeyType>) {
      Result<size_t> size = detail::KeyFace<KeyType>::encode(key, to);
      if (!size.ok() || !table) [[unlikely]] return detail::refuse_tuple(table, size.status());
      return size;
    } else {
      if (Status status = check_bytes(table, key); !status.ok()) [[unlikely]] return status;
      if (!key.empty()) std::memcpy(to.data(), key.data(), key.size());
      return key.size();
    }
  }
  template <class Put>
  Status multi_get_bytes(const TableRef& table, size_t count, Put&& put, const ColumnsRef& columns, RawView* views) {
    return with_many_keys(table, count, put, [&](const detail::KeyRef* refs, size_t begin, size_t size) {
      return do_multi_get(table, refs, size, columns, views + begin);
    });
  }
  static constexpr size_t kKeysMax = 32;  // the number of keys that are looked up together
  // Calls operation(begin, end) for batches of the numbers below `count`.
  template <class Operation>
  static Status in_batches(const TableRef& table, size_t count, Operation&& operation) {
    if (table.byte_keys()) [[unlikely]] return detail::refuse_number(table, 0);
    for (size_t begin = 0; begin < count; begin += kKeysMax)
      if (Status status = operation(begin, std::min(begin + kKeysMax, count)); !status.ok()) return status;
    return {};
  }
  // put(i, to) writes key i to `to`, which has kKeyBytesMax bytes, and returns a Result<size_t>
  // with the key's size. Calls operation(refs, begin, size) for batches of keys that fit into a
  // buffer on the stack.
  template <class Put, class Operation>
  static Status with_many_keys(const TableRef& table, size_t count, Put&& put, Operation&& operation) {
    if (!table.byte_keys()) [[unlikely]] return detail::check_bytes(table, {});
    constexpr size_t kBufferBytes = 4096;
    static_assert(kBufferBytes >= sizeof(detail::KeyBuffer));
    alignas(8) std::byte buffer[kBufferBytes];
    detail::KeyRef refs[kKeysMax];
    size_t begin = 0;
    do {
      size_t size = 0, used = 0;
      for (; begin + size < count && size < kKeysMax && kBufferBytes - used >= sizeof(detail::KeyBuffer); ++size) {
        std::byte* const at = buffer + used;
        const Result<size_t> bytes = put(begin + size, std::span(at + sizeof(detail::KeyBytes), kKeyBytesMax));
        if (!bytes.ok()) [[unlikely]] {
          Status status = operation(refs, begin, size);  // of the keys before this one
          return status.ok() ? bytes.status() : status;
        }
        refs[size] = detail::KeyRef(new (at) detail::KeyBytes{static_cast<uint32_t>(*bytes)});
        used += (sizeof(detail::KeyBytes) + *bytes + 7) / 8 * 8;
      }
      if (Status status = operation(refs, begin, size); !status.ok()) return status;
      begin += size;
    } while (begin < count);
    return {};
  }
  // Calls operation(refs, begin, count) for batches of at most kKeysMax keys.
  template <class Encoded, class Operation>
  static Status with_many_keys_of(const Encoded& table, std::span<const typename Encoded::KeyType> keys, Operation&& operation) {
    using KeyType = typename Encoded::KeyType;
    if constexpr (ByteKeyType<KeyType>) {
      const auto put = [&](size_t i, std::span<std::byte> to) { return put_key<KeyType>(table, keys[i], to); };
      return with_many_keys(table, keys.size(), put, operation);
    } else {
      return in_batches(table, keys.size(),
                        [&](size_t begin, size_t end) { return operation(refs(keys.data() + begin), begin, end - begin); });
    }
  }
  // Inserts the rows that bytes_of(i) returns.
  template <class Encoded, class BytesOf>
  Status insert_each(const Encoded& table, std::span<const typename Encoded::KeyType> keys, BytesOf&& bytes_of) {
    return with_many_keys_of(table, keys, [&](const detail::KeyRef* refs, size_t begin, size_t count) -> Status {
      do_look_ahead(table, refs, count);
      for (size_t i = 0; i < count; ++i) {
        const Result<std::span<const std::byte>> bytes = bytes_of(begin + i);
        if (!bytes.ok()) [[unlikely]] return bytes.status();
        if (Status status = do_insert(table, refs[i], bytes->data(), bytes->size()); !status.ok()) [[unlikely]] return status;
      }
      return {};
    });
  }
  template <class Row, class Change>
  void apply(Change& change, Row& image, const TableRef& table, detail::KeyRef key) {
    static_cast<void>(changed(table, key, [&]() -> void { change(image); }));
  }
};

}  // namespace elider
