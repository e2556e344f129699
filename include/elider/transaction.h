// Transaction: reads and writes of many rows that take effect at one point in time, or not at all.
//
// A procedure gets one from Database::run; Database::begin gives one to interactive callers.
// Isolation is strict serializability, phantoms and reads of absent keys included
// (docs/isolation.md; DBX, section 5). Under the default protocol execution is optimistic: reads
// copy, writes are buffered, the commit validates. So a procedure may see, before the commit
// refuses it, rows that no single point in time held together; what it returns or throws then is
// discarded and it runs again.
// A transaction sees its own writes, in every operation, scans included.
//
// Statuses common to all operations:
//   kInvalidArgument  table or columns of another database, or a row of the wrong size
//   kConflict         this attempt cannot commit any more: return it, and the engine runs it again
//   kMemoryLimit      the transaction is undone; the database goes on
//   kProcedureThrew   a function that the caller gave (an update's change, an index's key) threw
//   kUnsupported      a write that concerns a secondary index which was left out
//                     (Options::leave_out_indexes)
//   kFinished         the transaction has ended
// After any of them but kInvalidArgument and kUnsupported the transaction can only be rolled back.
// Thread safety: one thread at a time uses a transaction; which one may change between calls.
#pragma once

#include "elider/language.h"

#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "elider/function_ref.h"
#include "elider/status.h"
#include "elider/table.h"

namespace elider {

namespace txn {
class DeclaredTransaction;
}

inline constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

struct ScanOptions {
  uint64_t limit = kNoLimit;  // rows visited at the most
  bool reverse = false;       // from the last key to the first
  ColumnsRef columns = {};    // filled in each view; all by default
};

struct RowScanOptions {
  ColumnsRef columns = {};  // filled in each view; all by default
  unsigned threads = 1;     // that visit rows: the caller's and others, which end with the scan; 1 to 256
};

class Transaction {
 public:
  // -- reading ------------------------------------------------------------------------------------

  // The row, or the columns asked for. kNotFound: no such key (and the
  // commit will make sure of it).
  template <class Row>
  Result<View<Row>> get(const Table<Row>& table, Key key, const Columns<Row>& columns = {}) {
    RawView view;
    if (Status status = do_get(table, key, columns, &view); !status.ok()) [[unlikely]] return status;
    return View<Row>(view);
  }

  // views[i] is the row of keys[i], or false if there is none. The lookups overlap their cache
  // misses: much quicker than get() one by one. The spans are of one size.
  template <class Row>
  Status multi_get(const Table<Row>& table, std::span<const Key> keys, std::span<View<Row>> views, const Columns<Row>& columns = {}) {
    static_assert(sizeof(View<Row>) == sizeof(RawView));
    if (keys.size() != views.size()) return Status::invalid_argument("multi_get: as many views as keys are needed");
    return do_multi_get(table, refs(keys.data()), keys.size(), columns, static_cast<RawView*>(views.data()));
  }

  // Calls visit(Key, const View<Row>&) for each row of the range, in key order. It returns
  // nothing; or a bool, and false ends the scan; or a Status, and a failure ends the scan and is
  // what scan() returns. The visitor may use this transaction. If it ends it,
  // scan() returns kFinished, whatever the visitor returned, and there is no further row.
  // kUnsupported: the table is hashed.
  template <class Row, class Visitor>
  Status scan(const Table<Row>& table, KeyRange range, const ScanOptions& options, Visitor&& visit) {
    const auto call = [&](detail::KeyRef key, const RawView& view) { return visit(key.number(), View<Row>(view)); };
    return visited<detail::KeyRef, RawView>(call, [&](EachRow each) { return do_scan(table, range, options, each); });
  }

  // Scans through a secondary index, in the order of (index value, primary key). The range is a
  // range of index values, such as {first, last} or a KeyRange. To go on where another scan has
  // ended, cut it with IndexRange::after() or, for a reverse scan, before(). The visitor is that of
  // a scan by key and is given the primary key. It may take the row's position in the index
  // instead: visit(IndexPosition, const View<Row>&).
  //   kInvalidArgument  an IndexRef whose table does not have an index at its position
  template <class Row, class Visitor>
  Status scan(const Index<Row>& index, const IndexRange& range, const ScanOptions& options, Visitor&& visit) {
    const auto call = [&](detail::KeyRef key, uint64_t value, const RawView& view) {
      if constexpr (std::is_invocable_v<Visitor&, Key, View<Row>>) return visit(key.number(), View<Row>(view));
      else return visit(IndexPosition{value, key.number()}, View<Row>(view));
    };
    return visited<detail::KeyRef, uint64_t, RawView>(call, [&](EachEntry each) { return do_scan_index(index, range, options, each); });
  }

  // Calls visit(Key, const View<Row>&), or visit(Key, const View<Row>&, unsigned thread), for
  // each row of a zoned table (SchemaOf::zoned), in the order in which rows stand in memory, as
  // they are in the snapshot: only in a read-only transaction. With several threads the visitor
  // is called by all of them at once, each with its number from 0 on, and must not use the
  // transaction. It returns nothing, or a bool, and false ends the scan (other threads may visit
  // a few more rows); what it throws, scan_rows() throws. A view holds until the visitor
  // returns.
  //   kInvalidArgument  the table is not zoned, the transaction is not read-only, or `threads` is
  //                     no number from 1 to 256
  //   kFinished         the visitor has ended the transaction, and with it the scan
  template <class Row, class Visitor>
  Status scan_rows(const Table<Row>& table, const RowScanOptions& options, Visitor&& visit) {
    if constexpr (std::is_invocable_v<Visitor&, Key, View<Row>>)
      static_assert(!std::is_same_v<std::invoke_result_t<Visitor&, Key, View<Row>>, Status>,
                    "the visitor of scan_rows returns a bool or nothing");
    const auto call = [&](Key key, RawView view, unsigned thread) {
      if constexpr (std::is_invocable_v<Visitor&, Key, View<Row>, unsigned>) return visit(key, View<Row>(view), thread);
      else return visit(key, View<Row>(view));
    };
    return do_scan_rows(table, options, [&](Key key, RawView view, unsigned thread) -> bool {
      if constexpr (std::is_void_v<decltype(call(key, view, thread))>) return call(key, view, thread), true;
      else return call(key, view, thread);
    });
  }

  // -- writing ------------------------------------------------------------------------------------

  // kDuplicateKey: the key is there, or a unique index holds the row's value; nothing is changed.
  template <class Row>
  Status insert(const Table<Row>& table, Key key, const std::type_identity_t<Row>& row) { return do_insert(table, key, &row, sizeof(Row)); }

  // The row of this key becomes `row`, whether or not there was one.
  // kDuplicateKey: by a unique index.
  template <class Row>
  Status put(const Table<Row>& table, Key key, const std::type_identity_t<Row>& row) { return do_put(table, key, &row, sizeof(Row)); }

  // Reads these columns, lets change(Row&) alter them (only them), and writes them back. One
  // lookup.
  //   kNotFound      no such key
  //   kDuplicateKey  by a unique index
  // What change() throws goes on to the caller; the transaction can then only be rolled back,
  // also where the exception is caught: every further operation, and the commit, gives
  // kProcedureThrew. change() may not use this transaction where the columns are a secondary
  // index's: kInvalidArgument.
  template <class Row, class Change>
    requires std::is_invocable_v<Change, Row&>
  Status update(const Table<Row>& table, Key key, const Columns<Row>& columns, Change&& change) {
    void* image = nullptr;
    if (Status status = do_edit(table, key, columns, &image); !status.ok()) [[unlikely]] return status;
    apply(change, *static_cast<Row*>(image), table, key);
    return do_edited(table, image);
  }
  // The same for a row this transaction has read: no lookup at all. kInvalidArgument: the
  // view is of another transaction, another table, or a read-only transaction. Do not
  // keep a view beyond the end of its transaction: such a view is refused where its memory
  // still tells, which is not always.
  template <class Row, class Change>
    requires std::is_invocable_v<Change, Row&>
  Status update(const Table<Row>& table, const View<Row>& view, const Columns<Row>& columns, Change&& change) {
    void* image = nullptr;
    if (Status status = do_edit_view(table, view, columns, &image); !status.ok()) [[unlikely]] return status;
    apply(change, *static_cast<Row*>(image), table, view.key());
    return do_edited(table, image);
  }
  // Sets these columns to those of `row` without reading them. kNotFound: no such key.
  template <class Row>
  Status write(const Table<Row>& table, Key key, const Columns<Row>& columns, const std::type_identity_t<Row>& row) {
    return do_write(table, key, columns, &row);
  }

  // column += delta, at commit. Under kOcc it conflicts with no other add (DBX-TC: commutative), so
  // many transactions may add to one hot row. Numeric columns; integers wrap around.
  //   kNotFound         no such key
  //   kInvalidArgument  the column is not numeric, or a secondary index reads it
  template <class Row, class Member>
    requires std::is_arithmetic_v<Member>
  Status add(const Table<Row>& table, Key key, Member Row::*member, std::type_identity_t<Member> delta) {
    return do_add(table, key, offset_of(member), column_type_of<Member>(), &delta);
  }

  // kNotFound: no such key.
  Status remove(const TableRef& table, Key key) { return do_remove(table, key); }

  // -- the same without a row type ----------------------------------------------------------------
  // `row` has schema().row_bytes bytes, or under Schema::sized_rows as many as it has.

  Status get(const TableRef& table, Key key, const ColumnsRef& columns, RawView* view) { return do_get(table, key, columns, view); }
  Status multi_get(const TableRef& table, const Key* keys, size_t count, const ColumnsRef& columns, RawView* views) {
    return do_multi_get(table, refs(keys), count, columns, views);
  }
  Status scan(const TableRef& table, KeyRange range, const ScanOptions& options, FunctionRef<bool(Key, RawView)> visit) {
    return do_scan(table, range, options, [&](detail::KeyRef key, RawView view) { return visit(key.number(), view); });
  }
  Status scan(const IndexRef& index, const IndexRange& range, const ScanOptions& options, FunctionRef<bool(Key, RawView)> visit) {
    return do_scan_index(index, range, options, [&](detail::KeyRef key, uint64_t, RawView view) { return visit(key.number(), view); });
  }
  Status scan(const IndexRef& index, const IndexRange& range, const ScanOptions& options, FunctionRef<bool(IndexPosition, RawView)> visit) {
    return do_scan_index(index, range, options, [&](detail::KeyRef key, uint64_t value, RawView view) {
      return visit(IndexPosition{value, key.number()}, view);
    });
  }
  Status scan_rows(const TableRef& table, const RowScanOptions& options, FunctionRef<bool(Key, RawView, unsigned)> visit) {
    return do_scan_rows(table, options, visit);
  }
  Status insert(const TableRef& table, Key key, std::span<const std::byte> row);
  Status put(const TableRef& table, Key key, std::span<const std::byte> row);
  // Sets *image to a buffer of a row's layout in which these columns are filled in. Change only
  // them, before your next call on this transaction, then call edited(). If you change columns that
  // a secondary index reads and do not call edited(), the commit fails with kInvalidArgument.
  Status edit(const TableRef& table, Key key, const ColumnsRef& columns, void** image) { return do_edit(table, key, columns, image); }
  // The same for a row this transaction has read.
  Status edit(const TableRef& table, const RawView& view, const ColumnsRef& columns, void** image) {
    return do_edit_view(table, view, columns, image);
  }
  Status edited(const TableRef& table, void* image) { return do_edited(table, image); }
  // kInvalidArgument: all columns of a table of sized rows, whose size would be missing.
  Status write(const TableRef& table, Key key, const ColumnsRef& columns, const void* row) { return do_write(table, key, columns, row); }
  Status add(const TableRef& table, Key key, uint32_t offset, ColumnType type, const void* delta) {
    return do_add(table, key, offset, type, delta);
  }

  // -- the transaction itself ---------------------------------------------------------------------

  // 1 the first time a procedure runs, 2 after one conflict, ...
  uint32_t attempt() const { return attempt_; }
  bool read_only() const { return read_only_; }

  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

 protected:
  using EachRow = FunctionRef<bool(detail::KeyRef, RawView)>;
  using EachEntry = FunctionRef<bool(detail::KeyRef, uint64_t value, RawView)>;

  Transaction() = default;
  virtual ~Transaction() = default;

  virtual Status do_get(const TableRef& table, detail::KeyRef key, const ColumnsRef& columns, RawView* view) = 0;
  virtual Status do_multi_get(const TableRef& table, const detail::KeyRef* keys, size_t count, const ColumnsRef& columns,
                              RawView* views) = 0;
  virtual Status do_scan(const TableRef& table, const detail::KeyRefRange& range, const ScanOptions& options, EachRow visit) = 0;
  virtual Status do_scan_index(const IndexRef& index, const detail::EntryRange& range, const ScanOptions& options, EachEntry visit) = 0;
  virtual Status do_scan_rows(const TableRef& table, const RowScanOptions& options, FunctionRef<bool(Key, RawView, unsigned)> visit) = 0;
  virtual Status do_insert(const TableRef& table, detail::KeyRef key, const void* row, size_t bytes) = 0;
  virtual Status do_put(const TableRef& table, detail::KeyRef key, const void* row, size_t bytes) = 0;
  virtual Status do_edit(const TableRef& table, detail::KeyRef key, const ColumnsRef& columns, void** image) = 0;
  virtual Status do_edit_view(const TableRef& table, const RawView& view, const ColumnsRef& columns, void** image) = 0;
  virtual Status do_edited(const TableRef& table, void* image) = 0;
  // Instead of do_edited: the image is half changed. Nothing but a rollback is left.
  virtual void do_edit_threw(const TableRef& table, detail::KeyRef key) = 0;
  virtual Status do_write(const TableRef& table, detail::KeyRef key, const ColumnsRef& columns, const void* row) = 0;
  virtual Status do_add(const TableRef& table, detail::KeyRef key, uint32_t offset, ColumnType type, const void* delta) = 0;
  virtual Status do_remove(const TableRef& table, detail::KeyRef key) = 0;

  uint32_t attempt_ = 1;
  bool read_only_ = false;

 private:
  friend class txn::DeclaredTransaction;  // which passes on to another one
  static const detail::KeyRef* refs(const Key* keys) { return reinterpret_cast<const detail::KeyRef*>(keys); }
  // Returns scan(each), where `each` calls the caller's visitor and makes its answer a bool.
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
  template <class Row, class Change>
  void apply(Change& change, Row& image, const TableRef& table, Key key) {
    try {
      change(image);
    } catch (...) {
      do_edit_threw(table, key);
      throw;
    }
  }
};

}  // namespace elider
