// Table, Columns, View: typed faces over what the engine keeps; none of them owns anything.
//
// A Table<Row> names a table of an open Database; a Columns<Row> names some of its columns; a
// View<Row> is a consistent copy of a row (or of those columns), made by a transaction.
// All are small values, copied freely. They live as long as the Database (View: see there).
// Thread safety: tables and columns may be used by all threads; a view belongs to its transaction.
#pragma once

#include "elider/language.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "elider/key.h"
#include "elider/schema.h"

namespace elider {

namespace detail {
class TableBase;  // the engine's table
struct ColumnSet; // some columns of it, compiled

// What the transaction knows of a view's row beside its bytes.
struct ImageHeader {
  void* row = nullptr;      // the engine's row
  KeyRef key;
  uint32_t read_index = 0;  // where the transaction tracks this read; ~0: nowhere
  uint32_t groups = 0;      // the commit groups that were read, a bit each
  uint32_t bytes = 0;       // of the row
  uint32_t generation = 1;  // which transaction of its worker made it: a view of it has the same number
};
// What a view without a row points to. No view has its generation.
inline constexpr ImageHeader kNoImage{};

// Finds the columns whose [offset, offset + size) is exactly a column of the table. The set lives
// as long as the table; an unknown column gives a set that every operation refuses.
struct ColumnSpan { uint32_t offset, size; };
const ColumnSet* compile_columns(TableBase& table, const ColumnSpan* spans, size_t count);
const ColumnSet* all_columns(const TableBase& table);
const Schema& schema_of(const TableBase& table);

// A view was used that is empty, or whose transaction has ended: prints which, and aborts.
[[noreturn, gnu::cold]] void wrong_view(bool empty) noexcept;
}  // namespace detail

// A table without its row type, for tools and bindings: rows are bytes, columns are found by name.
class TableRef {
 public:
  TableRef() = default;
  explicit TableRef(detail::TableBase* table) : table_(table) {}
  explicit operator bool() const { return table_ != nullptr; }
  const Schema& schema() const { return detail::schema_of(*table_); }
  detail::TableBase* base() const { return table_; }

 private:
  detail::TableBase* table_ = nullptr;
};

// Some columns of a table, without its row type.
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

// A secondary index of a table: its place in the table's schema.
struct IndexRef {
  TableRef table;
  uint32_t position = 0;
};
template <class Row>
struct Index : IndexRef {};

template <class Row>
class Table : public TableRef {
 public:
  Table() = default;
  explicit Table(detail::TableBase* table) : TableRef(table) {}

  // These columns; each must have been described in the schema. Compile once, outside the hot path.
  template <class... Members>
  Columns<Row> columns(Members Row::*... members) const {
    const detail::ColumnSpan spans[] = {{offset_of(members), static_cast<uint32_t>(sizeof(std::declval<Row>().*members))}...};
    return Columns<Row>(detail::compile_columns(*base(), spans, sizeof...(Members)));
  }
};

// A copy of a row as it was read, in the layout of its struct. If fewer columns were asked for,
// only these are filled in. A view does not show writes that its own transaction makes later.
//
// A view is valid until its transaction ends; in a scan's visitor, until the visitor returns.
// Using an empty view (one that is false) aborts the process with a message. So does using a view
// after its transaction has ended, at the latest when another transaction has taken its memory: it
// never shows the bytes of another row. With assertions, most such uses abort earlier.
class RawView {
 public:
  RawView() = default;
  RawView(const std::byte* bytes, const detail::ImageHeader* header) : bytes_(bytes), header_(header), generation_(header->generation) {}
  explicit operator bool() const { return bytes_ != nullptr; }
  const std::byte* bytes() const { return bytes_; }
  uint32_t size() const { return must_show(), header_->bytes; }  // of the row, in bytes
  Key key() const { return must_show(), header_->key.number(); }
  const detail::ImageHeader* header() const { return header_; }
  // False for an empty view, and once the memory of its transaction has been used again.
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

template <class Row>
class View : public RawView {
 public:
  View() = default;
  explicit View(RawView raw) : RawView(raw) {}
  [[gnu::always_inline]] const Row& operator*() const { return must_show(), *reinterpret_cast<const Row*>(bytes()); }
  [[gnu::always_inline]] const Row* operator->() const { return must_show(), reinterpret_cast<const Row*>(bytes()); }
};

}  // namespace elider
