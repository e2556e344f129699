// ValueSchema, ValueTable: tables whose rows are byte strings without columns, such as the entries
// of a cache, or messages in a format of the program's own.
//
//   ELIDER_ASSIGN(auto cache, db.create_table(elider::ValueSchema<std::string_view>("cache")));
//   ELIDER_TRY(txn.put(cache, "page/1", "<html>..."));
//   ELIDER_ASSIGN(auto page, txn.get(cache, "page/1"));
//   std::cout << page.text();
//
// The operations are those of Transaction, "encoded rows". A value has 0 to value_bytes_max()
// bytes. Values cannot have secondary indexes. To the engine, the table is a table of variable-size
// rows without columns (Schema::sized_rows).
// Thread safety: ValueSchema and ValueView are values. All threads may use a ValueTable.
#pragma once

#include "elider/language.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "elider/byte_key.h"
#include "elider/described.h"
#include "elider/schema.h"
#include "elider/status.h"
#include "elider/table.h"

namespace elider {

template <class KeyType = Key>
class ValueTable;

// Describes a table of values. KeyType is the type of the keys, as for SchemaOf.
template <class KeyType = Key>
class ValueSchema {
  static_assert(std::same_as<KeyType, Key> || ByteKeyType<KeyType>,
                "the key type must be uint64_t, std::string_view, elider::Bytes, or a std::tuple (elider/tuple_key.h)");

 public:
  using TableType = ValueTable<KeyType>;

  explicit ValueSchema(std::string table_name) {
    schema_.name = std::move(table_name);
    schema_.sized_rows = true;
    schema_.row_bytes = kRowBytesMax;
    if constexpr (ByteKeyType<KeyType>) {
      schema_.key_kind = KeyKind::kBytes;
      schema_.key_index = KeyIndex::kRadix;
      schema_.key_fields = detail::KeyFace<KeyType>::fields();
    }
  }
  // The table's key index. By default kOrdered for number keys, and kRadix for others.
  ValueSchema& key_index(KeyIndex kind) { return schema_.key_index = kind, *this; }
  ValueSchema& ordered() { return key_index(KeyIndex::kOrdered); }
  ValueSchema& hashed() { return key_index(KeyIndex::kHashed); }
  ValueSchema& radix() { return key_index(KeyIndex::kRadix); }
  // The maximum size of a value, from 1 to kSizedRowBytesMax. kRowBytesMax by default.
  ValueSchema& value_bytes_max(uint32_t bytes) { return schema_.row_bytes = bytes, *this; }

  // Returns the schema of the table, for Options::schemas.
  Result<Schema> table_schema() const { return schema_; }
  // Uses a table that exists, of whose schema only the types of the rows and keys must match.
  //   kSchemaMismatch  the table's rows are not byte strings without columns, or its keys are of
  //                    another kind or are tuples of other types
  Result<TableType> open(const TableRef& table) const {
    if (Status status = detail::check_opened(table, schema_); !status.ok()) return status;
    return TableType(table.base());
  }

 private:
  Schema schema_;
};

// A value as it was read. It is valid as long as a View: until the transaction ends or, if it was
// passed to a scan's visitor, until the visitor returns. Using an empty ValueView, or one whose
// memory has been reused, aborts the process with a message.
template <class KeyType = Key>
class ValueView : View<std::byte, KeyType> {
  using Base = View<std::byte, KeyType>;

 public:
  ValueView() = default;  // empty
  explicit ValueView(const RawView& view) : Base(view) {}
  explicit operator bool() const { return Base::operator bool(); }
  using Base::shows;
  using Base::key;
  using Base::size;
  // The views refer to the row.
  Bytes bytes() const { return {Base::bytes(), size()}; }
  std::string_view text() const { return bytes().text(); }
  operator Bytes() const { return bytes(); }
};

// A table of values. Database::create_table() and ValueSchema::open() return it.
template <class KeyType_>
class ValueTable : public TableRef {
 public:
  using KeyType = KeyType_;
  using KeyParameter = typename detail::EncodedKeys<KeyType>::Parameter;
  using Range = typename detail::EncodedKeys<KeyType>::Range;
  using Reader = ValueView<KeyType>;
  using Argument = Bytes;
  using Element = Bytes;

  ValueTable() = default;
  explicit ValueTable(detail::TableBase* table) : TableRef(table), bytes_max_(schema().row_bytes) {}

  // The functions below are used by Transaction.
  Result<Reader> reader(const RawView& view) const { return Reader(view); }
  Result<std::span<const std::byte>> finished(Bytes value) const {
    if (value.size() > bytes_max_ && *this) [[unlikely]] return detail::refuse_value(*this, value.size());
    return value.span();
  }

 private:
  uint32_t bytes_max_ = 0;
};

}  // namespace elider
