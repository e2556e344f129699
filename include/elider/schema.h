// Schema: what a table is: its columns, commit groups, key index and secondary indexes.
//
// A row is a trivially copyable struct, or, in a table of sized rows, bytes of a length of its own.
// The schema describes its columns (name, type, offset), so that tools and bindings can read the
// table without the struct. Columns may be split
// into commit groups (DBX-TC, section 4.3: column groups): each group has a commit word of its own,
// so a transaction that changes a hot counter does not conflict with one that reads the rest.
// Thread safety: a Schema is a value.
#pragma once

#include "elider/language.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "elider/key.h"

namespace elider {

enum class ColumnType : uint8_t {
  kInt8, kInt16, kInt32, kInt64, kUInt8, kUInt16, kUInt32, kUInt64, kFloat, kDouble,
  kBytes,  // anything else: text, arrays, nested structs; copied as it is
};

struct Column {
  std::string name;
  ColumnType type = ColumnType::kBytes;
  uint32_t offset = 0;  // bytes from the row's begin
  uint32_t size = 0;    // bytes
  uint32_t group = 0;   // commit group, 0 to kCommitGroupsMax - 1
  friend bool operator==(const Column&, const Column&) = default;
};

// kOrdered: B+-tree, with range scans. kHashed: hash table, point operations alone, faster.
// kRadix: adaptive radix tree, with range scans; faster than the B+-tree for single rows.
enum class KeyIndex : uint8_t { kOrdered, kHashed, kRadix };
inline constexpr KeyIndex kKeyIndexes[] = {KeyIndex::kOrdered, KeyIndex::kHashed, KeyIndex::kRadix};
// Whether tables of this kind can be scanned by key.
constexpr bool is_ordered(KeyIndex kind) { return kind != KeyIndex::kHashed; }
std::string_view name_of(KeyIndex kind);  // "btree", "hash", "art"
bool parse(std::string_view name, KeyIndex* kind);  // false: nothing has this name

inline constexpr uint32_t kColumnsMax = 64;
inline constexpr uint32_t kCommitGroupsMax = 4;
inline constexpr uint32_t kRowBytesMax = 1u << 20;
inline constexpr uint32_t kRowAlignmentMax = 16;
inline constexpr uint32_t kInlineRowBytesMax = 256;
inline constexpr uint64_t kInlineRowsMax = uint64_t{1} << 33;
inline constexpr uint32_t kSecondaryIndexesMax = 8;

// A second way to find rows: by the value that `key` gives for a row. The engine keeps it in the
// same transaction. Rows are found in the order of (value, primary key).
struct SecondaryIndex {
  std::string name;
  bool unique = false;
  // The columns that `key` reads; no others. create_table() tests this with made-up rows that
  // differ only in the others, and refuses a `key` whose result changes.
  std::vector<std::string> columns;
  // Pure: the same columns give the same value. Empty in the schema of a table that was opened
  // without its indexes (Options::leave_out_indexes). What it throws goes to the caller of the
  // operation, and the transaction can then only be rolled back (kProcedureThrew).
  std::function<uint64_t(const void* row)> key;
};

inline constexpr uint32_t kZonesAutomatic = ~uint32_t{0};  // Schema::zones

struct Schema {
  std::string name;
  KeyIndex key_index = KeyIndex::kOrdered;
  uint32_t row_bytes = 0;
  std::vector<Column> columns;
  std::vector<SecondaryIndex> indexes;
  // Each row has a size of its own, such as that of a text: from the last byte that a column
  // describes up to row_bytes. For the calls without a row type; all columns are in group 0.
  bool sized_rows = false;
  // Of a hashed table of rows of one size, up to kInlineRowBytesMax bytes: places for about so many
  // rows are laid out by key, so that a lookup finds a row at once, in one cache miss instead of
  // two. Seven of eight rows find such a place; others, and rows beyond that number, are kept as
  // those of other tables. 0: none. Memory for all places is taken when the table is made
  // (docs/tables.md). Two schemas that differ here alone are the same.
  uint64_t inline_rows = 0;
  // Rows stand side by side, so that Transaction::scan_rows runs over memory and not through the
  // index; new ones in so many zones, so that threads which insert do not meet. For rows of one
  // size. 0: rows stand wherever there is room; else up to 1024, or kZonesAutomatic: twice the
  // processors. Whether a table is zoned is a part of its schema, how many zones it has is not.
  uint32_t zones = 0;

  // Whether two schemas lay out and index rows alike (key functions cannot be compared).
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
// Mistakes (a column named twice, an unknown one in a group) are reported
// by Database::create_table.
template <class Row>
class SchemaOf {
  static_assert(std::is_trivially_copyable_v<Row>, "a row is copied byte by byte");
  static_assert(sizeof(Row) <= kRowBytesMax);
  static_assert(alignof(Row) <= kRowAlignmentMax, "copies of a row are not aligned more strictly");

 public:
  explicit SchemaOf(std::string name) {
    schema_.name = std::move(name);
    schema_.row_bytes = sizeof(Row);
  }
  SchemaOf& ordered() { schema_.key_index = KeyIndex::kOrdered; return *this; }
  SchemaOf& hashed() { schema_.key_index = KeyIndex::kHashed; return *this; }
  SchemaOf& radix() { schema_.key_index = KeyIndex::kRadix; return *this; }
  SchemaOf& key_index(KeyIndex kind) { schema_.key_index = kind; return *this; }
  // Schema::zones.
  SchemaOf& zoned(uint32_t zones = kZonesAutomatic) { schema_.zones = zones; return *this; }
  // Schema::inline_rows. Of a hashed table.
  SchemaOf& inline_rows(uint64_t rows) { schema_.inline_rows = rows; return *this; }
  template <class Member>
  SchemaOf& column(std::string name, Member Row::*member) {
    schema_.columns.push_back({std::move(name), column_type_of<Member>(), offset_of(member), sizeof(Member), 0});
    return *this;
  }
  // Puts these columns, named before, into one new commit group; the others stay in group 0.
  SchemaOf& group(std::initializer_list<const char*> names) {
    ++groups_;
    for (const char* name : names) {
      bool found = false;
      for (Column& column : schema_.columns)
        if (column.name == name) { column.group = groups_; found = true; }
      if (!found) schema_.columns.push_back({name, ColumnType::kBytes, 0, 0, groups_});  // size 0: refused with its name
    }
    return *this;
  }
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
