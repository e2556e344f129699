// Schema: the columns, column groups, key index and secondary indexes of a table.
//
// A row is a trivially copyable struct. In a table of variable-size rows (Schema::sized_rows), a
// row is a sequence of bytes. The schema describes the columns (name, type, offset), so that tools
// and bindings can read the table without the struct. Columns can be divided into column groups
// (DBX-TC, section 4.3). Each group has its own commit word, so a transaction that
// changes a hot counter does not conflict with another transaction that reads the other columns.
// Thread safety: a Schema is a value.
#pragma once

#include "elider/language.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "elider/byte_key.h"
#include "elider/key.h"
#include "elider/key_field.h"
#include "elider/row_column.h"

namespace elider {

enum class ColumnType : uint8_t {
  kInt8, kInt16, kInt32, kInt64, kUInt8, kUInt16, kUInt32, kUInt64, kFloat, kDouble,
  kBytes,  // all other types: text, arrays, nested structs; copied byte by byte
};

struct Column {
  std::string name;
  ColumnType type = ColumnType::kBytes;
  uint32_t offset = 0;  // in bytes, from the start of the row
  uint32_t size = 0;    // in bytes
  uint32_t group = 0;   // column group, 0 to kColumnGroupsMax - 1
  friend bool operator==(const Column&, const Column&) = default;
};

// kOrdered: a B+-tree; supports range scans.
// kHashed: a hash table; faster, but supports only operations on single keys.
// kRadix: an adaptive radix tree; supports range scans, and is faster than the B+-tree for single
// rows.
enum class KeyIndex : uint8_t { kOrdered, kHashed, kRadix };
inline constexpr KeyIndex kKeyIndexes[] = {KeyIndex::kOrdered, KeyIndex::kHashed, KeyIndex::kRadix};
// Returns true if tables of this kind can be scanned by key.
constexpr bool is_ordered(KeyIndex kind) { return kind != KeyIndex::kHashed; }
std::string_view name_of(KeyIndex kind);  // "btree", "hash", "art"
bool parse(std::string_view name, KeyIndex* kind);  // returns false if the name is unknown

// The keys of a table are 64-bit numbers or byte strings (elider/byte_key.h).
enum class KeyKind : uint8_t { kNumbers, kBytes };

inline constexpr uint32_t kNameBytesMax = 255;  // of tables, columns and indexes
inline constexpr uint32_t kColumnsMax = 64;
inline constexpr uint32_t kColumnGroupsMax = 4;
inline constexpr uint32_t kRowBytesMax = 1u << 20;
inline constexpr uint32_t kSizedRowBytesMax = 16u << 20;  // Schema::sized_rows
inline constexpr uint32_t kRowAlignmentMax = 16;
inline constexpr uint32_t kInlineRowBytesMax = 256;
inline constexpr uint64_t kInlineRowsMax = uint64_t{1} << 33;
inline constexpr uint32_t kSecondaryIndexesMax = 64;
inline constexpr uint32_t kIndexColumnsMax = 64;     // columns of an index by columns
inline constexpr uint32_t kIndexEntryBytesMax = 1024;  // the encoded columns and the primary key of a row
inline constexpr uint32_t kRankedEntryBytesMax = kIndexEntryBytesMax - 2;  // the same, if the index is ranked

// A column of an index by columns, and its direction.
struct IndexColumn {
  template <class Name>
    requires std::convertible_to<const Name&, std::string_view>
  IndexColumn(const Name& its_name) : name(std::string_view(its_name)) {}

  std::string name;
  bool descending = false;
};
// A column in descending order: {"customer", descending("price")}.
inline IndexColumn descending(std::string_view name) {
  IndexColumn column(name);
  column.descending = true;
  return column;
}

// An additional index that finds rows by a value, in the order of (value, primary key). The engine
// updates the index in the same transaction as the row. There are two kinds of indexes.
//
// The value of an index by columns is the tuple of its columns (elider/tuple.h). The columns are
// those of Schema::columns or, if the rows are described, Schema::row_columns. The files contain
// the description of the index, so every program can open, verify and write the table. A column of
// Schema::columns with type kBytes is compared byte by byte, over its whole size. A column of a
// described row that the row does not contain has its default. JSON columns cannot be indexed.
//
// Null sorts before all other values, or after them in a descending column. In a unique index,
// rows with a null in one of its columns do not conflict with any row, as in SQL. -0.0 is equal to
// 0.0, and all NaNs are equal.
//
// The encoded columns and the row's key must have at most kIndexEntryBytesMax bytes together. In
// text and bytes, a byte 0 or 1 takes two bytes, so a kBytes column that is mostly zeros should
// have at most 500 bytes. A write of a row for which this is not the case returns kInvalidArgument,
// with a message that names the index, the column and the key, and does not change the row.
//
// An index by columns may be ranked. The number of rows in a range (Transaction::count), the number
// of rows before a row (Transaction::rank) and the n-th row (ScanOptions::skip) then take
// logarithmic time. A write of the index's columns costs more (docs/indexes.md), and an entry has
// at most kRankedEntryBytesMax bytes. Procedures with operations cannot write the columns of a
// ranked index, or insert or remove rows of its table.
//
// The value of the other kind of index is a number that the C++ function `key` computes from a row.
// Files do not contain the function.
struct SecondaryIndex {
  std::string name;
  bool unique = false;
  // The columns of an index by columns, in this order. Otherwise all columns that `key` reads.
  // create_table() tests this with generated rows that differ only in the other columns, and
  // refuses a `key` whose result changes.
  std::vector<std::string> columns;
  // Must be a pure function, which returns the same value for the same columns. If it throws, the
  // exception propagates to the caller of the operation, and the transaction can only be rolled
  // back (kProcedureThrew). Empty in an index by columns, and in the schema of a table that was
  // opened without its indexes (Options::leave_out_indexes).
  std::function<uint64_t(const void* row)> key = {};
  bool by_columns = false;
  // If not empty: for each of the columns of an index by columns, whether it is descending.
  std::vector<bool> descending = {};
  // The engine also keeps the counts of the rows of an index by columns.
  bool ranked = false;

  bool is_descending(size_t column) const { return column < descending.size() && descending[column]; }
  static SecondaryIndex of_columns(std::string name, const std::vector<IndexColumn>& columns, bool unique = false) {
    SecondaryIndex index{std::move(name), unique, {}, {}, true, {}, false};
    for (const IndexColumn& column : columns) {
      index.columns.push_back(column.name);
      index.descending.push_back(column.descending);
    }
    return index;
  }
  static SecondaryIndex ranked_of_columns(std::string name, const std::vector<IndexColumn>& columns, bool unique = false) {
    SecondaryIndex index = of_columns(std::move(name), columns, unique);
    index.ranked = true;
    return index;
  }
};

inline constexpr uint32_t kZonesAutomatic = ~uint32_t{0};  // Schema::zones

struct Schema {
  std::string name;
  KeyIndex key_index = KeyIndex::kOrdered;
  // A table with byte keys cannot have zones or inline_rows.
  KeyKind key_kind = KeyKind::kNumbers;
  // If not empty, the byte keys are encoded tuples (elider/tuple.h) with these fields. Operations
  // refuse all other keys.
  std::vector<KeyField> key_fields = {};
  uint32_t row_bytes = 0;
  std::vector<Column> columns;
  std::vector<SecondaryIndex> indexes;
  // Rows have variable sizes, for example because they contain text. A row extends at least to the
  // end of the last described column, and has at most row_bytes bytes. Use a ValueTable
  // (elider/value_table.h), or the Transaction functions that do not need a row type. All columns
  // are in group 0.
  bool sized_rows = false;
  // If not empty, the rows are described rows with these columns (elider/described.h). The engine
  // only stores them.
  std::vector<RowColumn> row_columns = {};
  // The approximate number of rows to store inline, that is, in the hash table itself, at a
  // position that the key determines. Only hashed tables of fixed-size rows of at most
  // kInlineRowBytesMax bytes support inline rows. A lookup of an inline row takes one cache miss
  // instead of two. About seven out of eight rows find a free position. The others, and rows beyond
  // this number, are stored as in other tables. 0 turns inline rows off. The memory for all
  // positions is allocated when the table is created (docs/tables.md). same_as() ignores this
  // member.
  uint64_t inline_rows = 0;
  // Stores rows contiguously in this number of zones, so that Transaction::scan_rows reads memory
  // sequentially and not through the index. Several zones let threads insert without contention.
  // Only for fixed-size rows. 0 turns zones off; otherwise up to 1024, or kZonesAutomatic (twice
  // the number of processors). Whether a table is zoned is part of its schema, but the number of
  // zones is not.
  uint32_t zones = 0;

  // Returns true if both schemas store and index rows in the same way. Key functions cannot be
  // compared.
  bool same_as(const Schema& other) const;
};

template <class T>
constexpr ColumnType column_type_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_enum_v<U>) return column_type_of<std::underlying_type_t<U>>();
  else if constexpr (std::is_same_v<U, float>) return ColumnType::kFloat;
  else if constexpr (std::is_same_v<U, double>) return ColumnType::kDouble;
  else if constexpr (std::is_integral_v<U> && sizeof(U) == 1) return std::is_signed_v<U> ? ColumnType::kInt8 : ColumnType::kUInt8;
  else if constexpr (std::is_integral_v<U> && sizeof(U) == 2) return std::is_signed_v<U> ? ColumnType::kInt16 : ColumnType::kUInt16;
  else if constexpr (std::is_integral_v<U> && sizeof(U) == 4) return std::is_signed_v<U> ? ColumnType::kInt32 : ColumnType::kUInt32;
  else if constexpr (std::is_integral_v<U> && sizeof(U) == 8) return std::is_signed_v<U> ? ColumnType::kInt64 : ColumnType::kUInt64;
  else return ColumnType::kBytes;
}

template <class Row, class Member>
uint32_t offset_of(Member Row::*member) {
  alignas(Row) static constexpr std::byte kRow[sizeof(Row)]{};
  const Row* row = reinterpret_cast<const Row*>(kRow);
  return static_cast<uint32_t>(reinterpret_cast<const std::byte*>(&(row->*member)) - kRow);
}

// Describes a table of Row:
//
//   SchemaOf<Account>("accounts")
//       .column("owner", &Account::owner)
//       .column("balance", &Account::balance)
//       .group({"balance"})
//       .index("by_owner", {"owner"}, [](const Account& a) { return a.owner; })
//
// SchemaOf<Account, std::string_view> describes a table whose keys are byte strings, and
// SchemaOf<Account, std::tuple<uint32_t, std::string>> one whose keys are tuples
// (elider/tuple_key.h). The key index of such a table is kRadix, unless hashed() is called.
//
// Mistakes, such as a column that is named twice or an unknown column in a group, are reported by
// Database::create_table.
template <class Row, class KeyType = Key>
class SchemaOf {
  static_assert(std::same_as<KeyType, Key> || ByteKeyType<KeyType>,
                "the key type must be uint64_t, std::string_view, elider::Bytes, or a std::tuple (elider/tuple_key.h)");
  static_assert(std::is_trivially_copyable_v<Row>, "a row must be trivially copyable, because it is copied byte by byte");
  static_assert(sizeof(Row) <= kRowBytesMax);
  static_assert(alignof(Row) <= kRowAlignmentMax, "the alignment of a row must not exceed kRowAlignmentMax");

 public:
  explicit SchemaOf(std::string name) {
    schema_.name = std::move(name);
    schema_.row_bytes = sizeof(Row);
    if constexpr (ByteKeyType<KeyType>) {
      schema_.key_kind = KeyKind::kBytes;
      schema_.key_index = KeyIndex::kRadix;
      schema_.key_fields = detail::KeyFace<KeyType>::fields();
    }
  }
  SchemaOf& ordered() { schema_.key_index = KeyIndex::kOrdered; return *this; }
  SchemaOf& hashed() { schema_.key_index = KeyIndex::kHashed; return *this; }
  SchemaOf& radix() { schema_.key_index = KeyIndex::kRadix; return *this; }
  SchemaOf& key_index(KeyIndex kind) { schema_.key_index = kind; return *this; }
  // Sets Schema::zones.
  SchemaOf& zoned(uint32_t zones = kZonesAutomatic) { schema_.zones = zones; return *this; }
  // Sets Schema::inline_rows. Only for hashed tables.
  SchemaOf& inline_rows(uint64_t rows) { schema_.inline_rows = rows; return *this; }
  template <class Member>
  SchemaOf& column(std::string name, Member Row::*member) {
    static_assert(!std::is_same_v<Member, std::string_view> && !std::is_same_v<Member, Bytes>,
                  "SchemaOf stores the bytes of the struct, so text and bytes in other memory would be lost; use elider::RowsOf "
                  "(elider/struct_table.h), or std::array<char, N>");
    schema_.columns.push_back({std::move(name), column_type_of<Member>(), offset_of(member), sizeof(Member), 0});
    return *this;
  }
  // Moves these columns, which must already have been described, into a new column group. Columns
  // that are not in a group belong to group 0.
  SchemaOf& group(std::initializer_list<const char*> names) {
    ++groups_;
    for (const char* name : names) {
      bool found = false;
      for (Column& column : schema_.columns)
        if (column.name == name) { column.group = groups_; found = true; }
      if (!found) schema_.columns.push_back({name, ColumnType::kBytes, 0, 0, groups_});  // size 0, which create_table() refuses
    }
    return *this;
  }
  // Adds an index by columns, such as index("by_owner", {"owner", descending("balance")}).
  SchemaOf& index(std::string name, const std::vector<IndexColumn>& columns) {
    schema_.indexes.push_back(SecondaryIndex::of_columns(std::move(name), columns, false));
    return *this;
  }
  SchemaOf& unique_index(std::string name, const std::vector<IndexColumn>& columns) {
    schema_.indexes.push_back(SecondaryIndex::of_columns(std::move(name), columns, true));
    return *this;
  }
  // Adds a ranked index by columns, such as ranked_index("by_score", {descending("score")}).
  SchemaOf& ranked_index(std::string name, const std::vector<IndexColumn>& columns) {
    schema_.indexes.push_back(SecondaryIndex::ranked_of_columns(std::move(name), columns, false));
    return *this;
  }
  SchemaOf& unique_ranked_index(std::string name, const std::vector<IndexColumn>& columns) {
    schema_.indexes.push_back(SecondaryIndex::ranked_of_columns(std::move(name), columns, true));
    return *this;
  }
  // Adds an index of the value that key(const Row&) computes from these columns.
  template <class F>
  SchemaOf& index(std::string name, std::vector<std::string> columns, F key) {
    return add_index(std::move(name), std::move(columns), std::move(key), false);
  }
  template <class F>
  SchemaOf& unique_index(std::string name, std::vector<std::string> columns, F key) {
    return add_index(std::move(name), std::move(columns), std::move(key), true);
  }
  const Schema& schema() const { return schema_; }
  operator const Schema&() const { return schema_; }  // for Options::schemas

 private:
  template <class F>
  SchemaOf& add_index(std::string name, std::vector<std::string> columns, F key, bool unique) {
    schema_.indexes.push_back({std::move(name), unique, std::move(columns),
                               [key = std::move(key)](const void* row) -> uint64_t { return key(*static_cast<const Row*>(row)); }});
    return *this;
  }
  Schema schema_;
  uint32_t groups_ = 0;
};

}  // namespace elider
