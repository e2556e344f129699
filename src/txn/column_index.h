// ColumnIndex: computes the entries of an index by columns (SecondaryIndex) from rows.
//
// An entry is a byte string: the encoded tuple of the columns (elider/tuple.h), followed by the
// row's primary key. A number key has eight bytes, most significant byte first. The tuples of an
// index have the same number of fields, so a tuple is never a prefix of another one. Hence the
// entries are ordered by (columns, primary key), and the entries of one value are those that begin
// with its tuple.
//
// Thread safety: constant after construction. All functions are pure.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "elider/byte_key.h"
#include "elider/key_field.h"
#include "elider/row_schema.h"
#include "elider/schema.h"
#include "elider/status.h"
#include "storage/table.h"

namespace elider::txn {

using detail::KeyBytes;
using detail::KeyRef;

// A row in its own layout. If it is not a described row, only the columns that an index reads need
// to be filled in, and `size` is not used.
struct RowImage {
  const std::byte* bytes = nullptr;
  size_t size = 0;
};

// Memory for one entry. Not initialized.
class EntryBuffer {
 public:
  EntryBuffer() {}  // NOLINT: the bytes remain uninitialized
  std::byte* data() { return memory_ + sizeof(KeyBytes); }
  const KeyBytes* finish(size_t size) { return new (memory_) KeyBytes{static_cast<uint32_t>(size)}; }

 private:
  alignas(8) std::byte memory_[sizeof(KeyBytes) + kIndexEntryBytesMax];
};

class ColumnIndex {
 public:
  // `index` is an index by columns of a table with this schema. `rows` is the current description
  // of the table's described rows, which must outlive the object. `byte_keys` says whether the
  // table's rows have byte keys.
  ColumnIndex(const Schema& schema, const SecondaryIndex& index, const std::atomic<const RowSchema*>& rows, bool byte_keys);

  // True if entries are computed from whole described rows.
  bool reads_described_rows() const { return rows_ != nullptr; }
  // Encodes the entry of the row with this key. Returns null if the entry is too long, or if the
  // bytes are not a row of the table; refuse() then returns the reason.
  const KeyBytes* encode(RowImage row, KeyRef key, EntryBuffer& buffer) const;
  // Returns true if this is the entry of the row with this key.
  bool matches(RowImage row, KeyRef key, const KeyBytes& entry) const;
  //   kInvalidArgument  the row cannot be indexed; the message names the index, the column and the
  //                     key
  [[gnu::cold]] Status refuse(const detail::TableBase& table, RowImage row, KeyRef key) const;

  // The part of the entry that precedes the key. `key` is the row's key.
  Bytes tuple_of(const KeyBytes& entry, KeyRef key) const { return {entry.data(), entry.size - key_bytes(key)}; }
  // The number key of the entry's row.
  static Key number_key_of(const KeyBytes& entry) { return detail::load_big_endian(entry.data() + entry.size - sizeof(Key)); }
  // Returns true if one of the columns of the entry is null.
  bool has_null(const KeyBytes& entry, KeyRef key) const;

  const std::string& name() const { return name_; }
  // The current name of the column at this position of the index.
  const std::string& column_name(size_t position) const;
  // The types of the columns, as the fields of a tuple.
  const std::vector<KeyField>& fields() const { return fields_; }
  // Encodes a value as it is stored for the column at this position of the index. Returns null if
  // there is not enough room. The type of the value need not fit the column.
  std::byte* put_value(size_t position, const RowValue& value, std::byte* at, std::byte* end, detail::EncodeFailure& failure) const;

 private:
  struct IndexedColumn {
    std::string name;
    bool descending = false;
    uint32_t place = 0;  // the offset in the row or, in a described row, the column's position
    uint32_t size = 0;   // of a kBytes column
    ColumnType type = ColumnType::kBytes;  // of a struct's column
    RowType row_type = RowType::kBool;     // of a described row's column
    uint8_t scale = 0;
  };

  size_t key_bytes(KeyRef key) const {
    if (!byte_keys_) return sizeof(Key);
    return key.bytes() == nullptr ? 0 : key.bytes()->size;
  }
  std::byte* put_columns(RowImage row, size_t count, std::byte* at, std::byte* end, detail::EncodeFailure& failure, size_t* position,
                         Status* trouble) const;
  size_t longest_column(RowImage row, size_t failed) const;

  std::string name_;
  std::vector<IndexedColumn> columns_;
  std::vector<KeyField> fields_;
  const std::atomic<const RowSchema*>* rows_;  // null: the rows are structs, or have the columns of Schema::columns
  size_t entry_bytes_max_;
  bool byte_keys_;
  bool nullable_ = false;
};

}  // namespace elider::txn
