// Table, Columns, View: typed handles to tables, columns and rows.
//
// A Table<Row> refers to a table of an open Database, and a Columns<Row> refers to some of its
// columns. A View<Row> is a transaction's copy of a row, or of some of its columns. All of these
// types are small, non-owning values. Tables and columns are valid until the Database closes. Views
// are valid only until their transaction ends.
// Thread safety: all threads may use tables and columns; a view belongs to its transaction.
#pragma once

#include "elider/language.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "elider/byte_key.h"
#include "elider/key.h"
#include "elider/schema.h"
#include "elider/status.h"

namespace elider {

class RowSchema;

namespace detail {
class TableBase;  // the engine's table
struct ColumnSet; // a compiled set of columns of a table

// What a transaction knows about the row of a view, apart from the row's bytes.
struct ImageHeader {
  void* row = nullptr;      // the engine's row
  KeyRef key;
  uint32_t read_index = 0;  // where the transaction tracks this read; ~0 if the read is not tracked
  uint32_t groups : 8 = 0;  // bit set of the column groups that were read
  uint32_t table : 24 = 0;  // the table's id plus 1 if the view may be used by another piece of a chopped call; otherwise may be 0
  uint32_t bytes = 0;       // size of the row
  uint32_t generation = 1;  // the worker's number for the transaction that made the image; views of the image store the same number
};
static_assert(sizeof(ImageHeader) == 32, "a transaction stores a header before each image");
// The header of empty views. Its generation differs from that of every view, so an empty view is
// detected in the same way as one whose memory has been reused.
inline constexpr ImageHeader kNoImage{};

// Returns the set of the columns whose bytes are exactly these spans. The set is valid as long as
// the table. If a span does not match any column, every operation refuses the set.
struct ColumnSpan { uint32_t offset, size; };
const ColumnSet* compile_columns(TableBase& table, const ColumnSpan* spans, size_t count);
const ColumnSet* all_columns(const TableBase& table);
const Schema& schema_of(const TableBase& table);
// The description of the table's rows, which is replaced when columns change.
const std::atomic<const RowSchema*>& row_schema_of(const TableBase& table);
// The kind of a table's keys. key_shape_of() returns kNumbers for a null table.
enum class KeyShape : uint8_t { kNumbers, kBytes, kTuples };
KeyShape key_shape_of(const TableBase* table);
// Returns true if the table exists and has described rows.
bool has_described_rows(const TableBase* table);

// Prints that the view is empty, or that its transaction has ended, and aborts the process.
[[noreturn, gnu::cold]] void wrong_view(bool empty) noexcept;
}  // namespace detail

// A table without a row type, for tools and bindings. Rows are bytes, and columns are found by
// name.
class TableRef {
 public:
  TableRef() = default;
  explicit TableRef(detail::TableBase* table)
      : table_(table), key_shape_(detail::key_shape_of(table)), described_(detail::has_described_rows(table)) {}
  explicit operator bool() const { return table_ != nullptr; }
  const Schema& schema() const { return detail::schema_of(*table_); }
  bool byte_keys() const { return key_shape_ != detail::KeyShape::kNumbers; }  // Schema::key_kind is kBytes
  bool tuple_keys() const { return key_shape_ == detail::KeyShape::kTuples; }  // Schema::key_fields is not empty
  bool described() const { return described_; }  // the rows are described (elider/described.h)
  detail::TableBase* base() const { return table_; }

 private:
  detail::TableBase* table_ = nullptr;
  detail::KeyShape key_shape_ = detail::KeyShape::kNumbers;
  bool described_ = false;
};

namespace detail {
// Reports that the caller passed a number key to a table with byte keys.
[[gnu::cold]] Status refuse_number(const TableRef& table, Key key);
// Checks a byte key: the table must have byte keys, the key has at most kKeyBytesMax bytes, and a
// key of a table with tuple keys is a tuple of the right types. Otherwise returns the reason.
[[gnu::cold]] Status check_bytes(const TableRef& table, Bytes key);
// Checks a range that was made from a prefix of tuples: the prefix could be encoded and, if the
// table has tuple keys, its fields have the types of the table's fields. Otherwise returns the
// reason.
Status check_range(const TableRef& table, const ByteRange& range);
// Checks that bytes are a row that the description of the table's rows allows. Otherwise returns
// kInvalidArgument, with a message that names the table and the key.
Status check_described_row(const TableBase& table, KeyRef key, std::span<const std::byte> row);
// Reports that a described row was to be edited as bytes.
[[gnu::cold]] Status refuse_edit_of_described(const TableRef& table);
// Reports that a call was given different numbers of keys and rows.
[[gnu::cold]] Status refuse_row_count(size_t keys, size_t rows);
// Reports that a tuple could not be encoded, for the reason `why`.
[[gnu::cold]] Status refuse_tuple(const TableRef& table, const Status& why);
}  // namespace detail

// Some columns of a table without a row type.
class ColumnsRef {
 public:
  ColumnsRef() = default;
  explicit ColumnsRef(const detail::ColumnSet* set) : set_(set) {}
  static ColumnsRef all(TableRef table) { return ColumnsRef(detail::all_columns(*table.base())); }
  const detail::ColumnSet* set() const { return set_; }

 private:
  const detail::ColumnSet* set_ = nullptr;  // null: all columns
};

template <class Row>
class Columns : public ColumnsRef {
 public:
  Columns() = default;  // all columns
  explicit Columns(const detail::ColumnSet* set) : ColumnsRef(set) {}
};

// A secondary index of a table. `position` identifies the index. The indexes with which the table
// was created, or found when the database was opened, have the positions 0, 1 and so on, in the
// order of the schema. A position is not used again when its index is dropped.
struct IndexRef {
  TableRef table;
  uint32_t position = 0;
};
namespace detail {
// Returns true if the index exists and is by columns.
bool is_by_columns(const IndexRef& index);
}  // namespace detail
template <class Row, class KeyType = Key>
struct Index : IndexRef {};

// The key type is uint64_t (elider::Key), std::string_view, Bytes or std::tuple<...>. Except with
// the first type, the table has byte keys. Scans and views return keys of that type.
template <class Row, class KeyType = Key>
class Table : public TableRef {
 public:
  Table() = default;
  explicit Table(detail::TableBase* table) : TableRef(table) {}

  // Selects these columns, which must be described in the schema. Call it once, outside hot paths.
  template <class... Members>
  Columns<Row> columns(Members Row::*... members) const {
    const detail::ColumnSpan spans[] = {{offset_of(members), static_cast<uint32_t>(sizeof(std::declval<Row>().*members))}...};
    return Columns<Row>(detail::compile_columns(*base(), spans, sizeof...(Members)));
  }
};

// A copy of a row as it was read, in the layout of its struct. If only some columns were read, the
// other columns are not filled in. A view does not show writes that its own transaction makes
// later.
//
// A view is valid until its transaction ends or, if it was passed to a scan's visitor, until the
// visitor returns. Using an empty view, which converts to false, aborts the process with a message.
// Using a view after its transaction has ended also aborts the process if the view's memory has
// been reused, so a view never shows the bytes of another row. In builds with assertions, most such
// uses abort even before the memory is reused.
class RawView {
 public:
  RawView() = default;
  RawView(const std::byte* bytes, const detail::ImageHeader* header) : bytes_(bytes), header_(header), generation_(header->generation) {}
  explicit operator bool() const { return bytes_ != nullptr; }
  const std::byte* bytes() const { return bytes_; }
  uint32_t size() const { return must_show(), header_->bytes; }  // size of the row in bytes
  Key key() const { return must_show(), header_->key.number(); }  // only for tables with number keys
  // Returns the row's key in a table with byte keys. The key is valid as long as the view.
  Bytes key_bytes() const { return must_show(), detail::bytes_of(header_->key); }
  const detail::ImageHeader* header() const { return header_; }
  // Returns false for an empty view, and after the view's memory has been reused.
  bool shows() const { return header_->generation == generation_; }

 protected:
  [[gnu::always_inline]] void must_show() const {
    if (!shows()) [[unlikely]] detail::wrong_view(bytes_ == nullptr);
  }

 private:
  const std::byte* bytes_ = nullptr;
  const detail::ImageHeader* header_ = &detail::kNoImage;
  uint32_t generation_ = 0;
};

template <class Row, class KeyType = Key>
class View : public RawView {
 public:
  View() = default;
  explicit View(RawView raw) : RawView(raw) {}
  // A byte key is valid as long as the view.
  KeyType key() const {
    if constexpr (ByteKeyType<KeyType>) return must_show(), detail::KeyFace<KeyType>::given(header()->key);
    else return RawView::key();
  }
  [[gnu::always_inline]] const Row& operator*() const { return must_show(), *reinterpret_cast<const Row*>(bytes()); }
  [[gnu::always_inline]] const Row* operator->() const { return must_show(), reinterpret_cast<const Row*>(bytes()); }
};

}  // namespace elider
