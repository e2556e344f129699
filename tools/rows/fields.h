// TableFields: what a row of a table shows: its key and its columns, whatever kind of row it is.
// RowFields reads the values of a row, and RowEditor makes a row from values.
//
//   row                       fields after the key
//   struct                    its columns; `padding`, the bytes that no column describes, which
//                             only dumps contain, and only if one of them is not zero
//   struct without columns    `value`, all bytes
//   sized row                 its columns; `rest`, the bytes after the last column; `padding`
//   sized row without columns `value`, all bytes
//   described row             its columns
//
// The key's field is named `key`. If a column has a name that is listed here, one or more `_` are
// put before the field's name.
// Thread safety: a TableFields is constant after construction. One thread at a time may use a
// RowFields or a RowEditor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "elider/row.h"
#include "elider/row_schema.h"
#include "elider/row_value.h"
#include "elider/status.h"
#include "elider/table.h"
#include "tools/rows/keys.h"
#include "tools/rows/values.h"

namespace elider::tools {

struct Field {
  enum class Kind : uint8_t { kKey, kStruct, kDescribed, kRest, kPadding };
  Kind kind = Kind::kKey;
  std::string name;
  ValueType type;
  bool nullable = false;
  uint32_t offset = 0;  // kStruct: in the row
  size_t position = 0;  // kDescribed: in the description
  bool hidden = false;  // shown only on request
};

// Some bytes of a row.
struct ByteSpan {
  uint32_t offset = 0, size = 0;
};

class TableFields {
 public:
  //   kInvalidArgument  the table's description is damaged
  static Result<TableFields> of(const TableRef& table);

  const TableRef& table() const { return table_; }
  const Schema& schema() const { return table_.schema(); }
  const std::vector<Field>& fields() const { return fields_; }  // the key first
  const Field& key() const { return fields_[0]; }
  bool described() const { return described_.has_value(); }
  const RowSchema& row_schema() const { return *described_; }  // only if described()
  const std::vector<ByteSpan>& padding() const { return padding_; }
  uint32_t columns_end() const { return columns_end_; }  // the offset after the last column

  //   kInvalidArgument  the table does not have such a field; the message lists them
  Result<const Field*> find(std::string_view name) const;
  // Returns the fields with these names or, without names, all fields that are not hidden.
  Result<std::vector<const Field*>> select(const std::vector<std::string>& names) const;
  // "table 'orders', column 'price' (decimal(2))"
  std::string named(const Field& field) const;

 private:
  void add_bytes();
  std::string free_name(std::string name) const;

  TableRef table_;
  std::vector<Field> fields_;
  std::optional<RowSchema> described_;
  std::vector<ByteSpan> padding_;
  uint32_t columns_end_ = 0;
};

class RowFields {
 public:
  explicit RowFields(const TableFields& fields) : fields_(fields) {}

  // Refers to the row until the next call.
  //   kCorrupt  the row does not have the table's format
  Status show(const RowKey& key, const RawView& row);
  const RowKey& key() const { return key_; }
  // Returns a value of the row; not the key. Text refers to the row or to this object.
  //   kCorrupt  the column is damaged
  Result<RowValue> value(const Field& field);
  // Calls use(value) with the field's value: an int64_t, uint64_t, float, double, Timestamp or
  // std::string_view (of text), or otherwise, and for null, a RowValue. This is faster than value()
  // for the most frequent types of described columns. Returns the statuses of value().
  template <class Use>
  Status with_value(const Field& field, Use&& use);
  // Returns true if a byte that no column describes is not zero.
  bool padded() const;

 private:
  Result<RowValue> described_value(const Field& field) const;

  const TableFields& fields_;
  RowKey key_;
  const std::byte* bytes_ = nullptr;
  size_t size_ = 0;
  RowReader reader_;
  std::string joined_;
};

template <class Use>
Status RowFields::with_value(const Field& field, Use&& use) {
  if (field.kind == Field::Kind::kDescribed && !reader_.is_null(field.position)) {
    const auto get = [&]<class T, class As>(T, As) -> Status {
      const Result<T> value = reader_.get<T>(field.position);
      if (value.ok()) [[likely]] use(static_cast<As>(*value));
      return value.status();
    };
    switch (field.type.type) {
      case RowType::kInt32: return get(int32_t(), int64_t());
      case RowType::kInt64: return get(int64_t(), int64_t());
      case RowType::kUInt32: return get(uint32_t(), uint64_t());
      case RowType::kUInt64: return get(uint64_t(), uint64_t());
      case RowType::kFloat: return get(float(), float());
      case RowType::kDouble: return get(double(), double());
      case RowType::kTimestamp: return get(Timestamp(), Timestamp());
      case RowType::kText: return get(std::string_view(), std::string_view());
      default: break;
    }
  }
  const Result<RowValue> other = value(field);
  if (other.ok()) use(*other);
  return other.status();
}

class RowEditor {
 public:
  explicit RowEditor(const TableFields& fields);

  // Begins a row in which all columns have their defaults: zeros in structs.
  void begin();
  // Begins with the contents of a row.
  Status edit(const RawView& row);
  // Sets a field; not the key. Text is copied.
  //   kInvalidArgument  the field cannot hold the value; the message names the column
  Status set(const Field& field, const RowValue& value);
  // Returns the row, which is valid until the next call.
  //   kInvalidArgument  a column must be set, and was not
  Result<std::span<const std::byte>> finish();

 private:
  Status set_padding(const Field& field, std::string_view bytes);

  const TableFields& fields_;
  std::optional<RowBuilder> builder_;
  std::vector<std::byte> image_;
};

}  // namespace elider::tools
