// RowSchema: the columns of a table whose rows do not have a C++ struct (elider/described.h).
//
//   const auto schema = elider::RowSchema("orders")
//                           .column("customer", elider::RowType::kText)
//                           .column("price", elider::RowType::kDecimal, {.scale = 2})
//                           .column("quantity", elider::RowType::kInt32, {.default_value = 1})
//                           .column("note", elider::RowType::kText, {.nullable = true});
//
// A row that has fewer columns than the description reads the others as their defaults, or as null
// if they are nullable. Rows do not contain names and types.
//
// Mistakes, such as a name that is used twice, are reported by status() and by
// Database::create_table(). The columns are part of the table's schema, which the files contain. A
// program that describes other columns gets kSchemaMismatch, unless it only appends columns and
// sets Options::upgrade. Database::add_column(), rename_column() and drop_column() change the
// columns of a table (docs/schema-changes.md).
//
// The position of a column does not change, and is not used again. A dropped column keeps its
// position: columns() counts it, and column(i).dropped is true, but it has neither a name by which
// position() finds it nor values.
//
// Thread safety: a RowSchema is a value. Copies share the description, so copying is cheap.
#pragma once

#include "elider/language.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elider/byte_key.h"
#include "elider/row_column.h"
#include "elider/row_value.h"
#include "elider/schema.h"
#include "elider/status.h"
#include "elider/tuple_key.h"

namespace elider {

template <class KeyType>
class DescribedTable;

// The largest row that the codec builds and reads, and that a table accepts.
inline constexpr uint32_t kDescribedRowBytesMax = kSizedRowBytesMax;

struct RowColumnOptions {
  bool nullable = false;
  // The value of a column that is not set, and of old rows without the column. Null: no default.
  RowValue default_value = {};
  uint8_t scale = 0;  // kDecimal: digits after the point, 0 to kDecimalScaleMax
};

namespace detail {

// Where a column is stored. There is one more place than columns, for the totals.
struct RowPlace {
  uint16_t fixed = 0;     // bytes of the fixed part before this column
  uint16_t variable = 0;  // columns of variable size before this column
  RowType type = RowType::kBool;  // kDroppedType if the column has been dropped
  uint8_t scale = 0;
  bool nullable = false;
};
// Differs from the type of every column, so that functions that check the type refuse a dropped
// column. RowLayout::columns has the type that it had.
inline constexpr RowType kDroppedType{255};

struct RowLayout : std::enable_shared_from_this<RowLayout> {
  RowLayout() = default;
  RowLayout(const RowLayout&) = default;
  // Returns true if both describe rows of one table of a database, perhaps at different times.
  bool is_of_same_table(const RowLayout& other) const { return family != nullptr && family == other.family; }
  const void* family = nullptr;  // the table's versions; null if the description does not come from a table
  std::string table;
  std::vector<RowColumn> columns;
  std::vector<RowPlace> places{RowPlace()};
  std::map<std::string, size_t, std::less<>> positions;
  std::vector<uint16_t> dropped;  // the positions of dropped columns
  std::optional<KeyIndex> key_index;
  std::vector<SecondaryIndex> indexes = {};  // by columns; create_table() checks them
  uint32_t bytes_max = kRowBytesMax;
  Status status;

  // Return kInvalidArgument, or `code`, with a message that begins with the table and, if a column
  // is given, the column.
  Status refuse(const std::string& words) const;
  Status refuse(size_t column, const std::string& words) const;
  Status refuse(Code code, const std::string& words) const;
  // Reports that the column does not exist, or has been dropped.
  Status no_column(size_t column) const;
  bool has(size_t column) const { return column < columns.size() && !columns[column].dropped; }
  std::string named(size_t column) const;  // "table 'orders', column 'price' (decimal(2))"
};

}  // namespace detail

class RowSchema;

// Refers to the current description of a table, which schema changes replace (DescribedTable).
// Thread safety: all threads may use it.
class CurrentRowSchema {
 public:
  CurrentRowSchema();  // refers to an empty description
  explicit CurrentRowSchema(const std::atomic<const RowSchema*>& rows) : rows_(&rows) {}
  // Returns the description, which is valid as long as the database. After a schema change, the
  // function returns another one.
  // acquire: pairs with the store of a new description, which precedes all rows that it describes.
  const RowSchema& row_schema() const { return *rows_->load(std::memory_order_acquire); }

 private:
  friend class RowBuilder;
  const std::atomic<const RowSchema*>* rows_;
};

class RowSchema {
 public:
  RowSchema() : RowSchema(std::string()) {}  // without a name, which no table accepts
  explicit RowSchema(std::string table_name);
  // Returns the description of a table that has one.
  //   kSchemaMismatch  the table does not have described rows
  static Result<RowSchema> of(const Schema& table) { return of(table, nullptr); }
  static Result<RowSchema> of(const Schema& table, const void* family);  // for the engine

  // Appends a column. Its name has 1 to kRowColumnNameBytesMax bytes of UTF-8.
  RowSchema& column(std::string name, RowType type, const RowColumnOptions& options = {});
  // The table's key index. By default kOrdered for number keys, and kRadix for others.
  RowSchema& key_index(KeyIndex kind);
  RowSchema& ordered() { return key_index(KeyIndex::kOrdered); }
  RowSchema& hashed() { return key_index(KeyIndex::kHashed); }
  RowSchema& radix() { return key_index(KeyIndex::kRadix); }
  // Adds an index by columns, such as index("by_customer", {"customer", descending("price")}).
  // SecondaryIndex describes the order and the limits. Database::create_table() reports mistakes.
  RowSchema& index(std::string name, const std::vector<IndexColumn>& columns);
  RowSchema& unique_index(std::string name, const std::vector<IndexColumn>& columns);
  // Adds a ranked index by columns, such as ranked_index("by_score", {descending("score")}).
  RowSchema& ranked_index(std::string name, const std::vector<IndexColumn>& columns);
  RowSchema& unique_ranked_index(std::string name, const std::vector<IndexColumn>& columns);
  const std::vector<SecondaryIndex>& indexes() const { return layout_->indexes; }
  // The maximum size of a row, up to kDescribedRowBytesMax. kRowBytesMax by default.
  RowSchema& row_bytes_max(uint32_t bytes);

  // Returns the first mistake in the description.
  const Status& status() const { return layout_->status; }
  const std::string& table_name() const { return layout_->table; }
  size_t columns() const { return layout_->columns.size(); }  // includes dropped columns
  const RowColumn& column(size_t position) const { return layout_->columns[position]; }  // position < columns()
  RowValue default_value(size_t position) const;  // null without a default; valid as long as the schema
  uint32_t row_bytes_max() const { return layout_->bytes_max; }
  // Returns the position of a column, counted from 0. Look it up once, outside hot paths.
  //   kInvalidArgument  the table does not have this column; the message lists the columns
  Result<size_t> position(std::string_view name) const;
  // Appends a column as it is described in a table, including its default as it is stored.
  RowSchema& column(const RowColumn& described);
  // Returns true if the columns, the name and the key index are the same.
  bool same_as(const RowSchema& other) const;

  // The engine's schema of the table: rows of variable size without columns.
  template <class KeyType = Key>
  Result<Schema> table_schema() const {
    if (!status().ok()) return status();
    Schema schema;
    if constexpr (ByteKeyType<KeyType>) {
      schema.key_kind = KeyKind::kBytes;
      schema.key_index = KeyIndex::kRadix;
      schema.key_fields = detail::KeyFace<KeyType>::fields();
    }
    return complete(std::move(schema));
  }
  template <class KeyType>
  using TableOf = DescribedTable<KeyType>;

  const std::shared_ptr<const detail::RowLayout>& layout() const { return layout_; }

 private:
  Result<Schema> complete(Schema schema) const;
  RowSchema& append(RowColumn column);
  detail::RowLayout& change();
  std::shared_ptr<const detail::RowLayout> layout_;
};

}  // namespace elider
