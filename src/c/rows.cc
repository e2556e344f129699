// Reads and writes of single rows, and the builders and readers of described rows.
#include "c/handles.h"

#include <limits>
#include <optional>

using elider::Bytes;
using elider::ColumnsRef;
using elider::Key;
using elider::RawView;
using elider::RowReader;
using elider::Status;
using elider::Transaction;
using elider::c::check_kind;
using elider::c::check_memory;
using elider::c::columns_of;
using elider::c::entry;
using elider::c::operation;
using elider::c::refuse_null;
using elider::c::row_of;
using elider::c::span_of;
using elider::c::with_key;

namespace {

constexpr size_t kTogether = 32;  // keys that are looked up together

Status refuse(const elider_table& table, const std::string& words) {
  return Status::invalid_argument("table '" + table.name + "': " + words);
}
Status check_fixed(const elider_table& table, const char* call) {
  if (!table.sized) return {};
  return refuse(table, std::string(call) + "() needs a table of fixed rows (ELIDER_ROWS_FIXED)");
}
Status check_builder(const elider_table& table, const elider_builder* builder) {
  if (builder == nullptr) return refuse_null("the builder");
  if (builder->table == &table) return {};
  return refuse(table, "the builder was made for table '" + builder->table->name + "'");
}

// Calls use(table, key) with the described table that has the kind of the key.
template <class Use>
Status with_described(const elider_table& table, elider_key key, Use&& use) {
  if (!table.ref.described()) return refuse(table, "the rows are not described rows");
  if (Status status = check_kind(table, key); !status.ok()) return status;
  if (key.data == nullptr) return use(table.numbered, Key{key.size_or_number});
  return use(table.keyed, Bytes(static_cast<const std::byte*>(key.data), key.size_or_number));
}

// Calls write(Transaction&, key, bytes).
template <class Write>
elider_code write_bytes(elider_transaction* transaction, elider_table* table, elider_key key, const void* row, size_t size,
                        elider_error* error, Write&& write) {
  return operation(transaction, table, error, [&](Transaction& txn) -> Status {
    if (Status status = check_memory(row, size, "the row"); !status.ok()) [[unlikely]] return status;
    return with_key(key, [&](const auto& its) { return write(txn, its, span_of(row, size)); });
  });
}

Status multi_get(Transaction& txn, const elider_table& table, const elider_key* keys, size_t count, const ColumnsRef& columns,
                 elider_row* rows) {
  for (size_t i = 0; i < count; ++i)
    if (Status status = check_kind(table, keys[i]); !status.ok()) return status;
  for (size_t begin = 0; begin < count; begin += kTogether) {
    const size_t size = std::min(count - begin, kTogether);
    RawView views[kTogether];
    Key numbers[kTogether];
    Bytes bytes[kTogether];
    for (size_t i = 0; i < size; ++i) {
      const elider_key& key = keys[begin + i];
      numbers[i] = key.size_or_number;
      bytes[i] = Bytes(static_cast<const std::byte*>(key.data), key.size_or_number);
    }
    Status status = table.ref.byte_keys() ? txn.multi_get(table.ref, bytes, size, columns, views)
                                          : txn.multi_get(table.ref, numbers, size, columns, views);
    if (!status.ok()) return status;
    for (size_t i = 0; i < size; ++i) {
      rows[begin + i] = row_of(table, views[i]);
      if (!views[i]) rows[begin + i].key = keys[begin + i];
    }
  }
  return {};
}

template <class T>
Status add_as(Transaction& txn, const elider_table& table, elider_key key, const elider::Column& column, const elider_value& delta) {
  T number{};
  bool fits = false;
  if constexpr (std::is_floating_point_v<T>) {
    fits = delta.kind == ELIDER_FLOAT || delta.kind == ELIDER_DOUBLE;
    number = static_cast<T>(delta.real);
  } else {
    // A negative number that is added to an unsigned column is its two's complement.
    number = static_cast<T>(delta.integer);
    const int64_t lowest = -static_cast<int64_t>(std::numeric_limits<T>::max() / 2) - 1;
    if (delta.kind == ELIDER_INT64) fits = std::in_range<T>(delta.integer) || (delta.integer < 0 && delta.integer >= lowest);
    else if (delta.kind == ELIDER_UINT64) fits = std::in_range<T>(static_cast<uint64_t>(delta.integer));
  }
  if (!fits) return refuse(table, "column '" + column.name + "': the value that elider_add() adds does not fit the column");
  return with_key(key, [&](const auto& its) { return txn.add(table.ref, its, column.offset, column.type, &number); });
}
Status add(Transaction& txn, const elider_table& table, elider_key key, uint32_t position, const elider_value& delta) {
  const auto& columns = table.ref.schema().columns;
  if (Status status = check_fixed(table, "elider_add"); !status.ok()) return status;
  if (position >= columns.size()) return refuse(table, "column " + std::to_string(position) + " does not exist");
  const elider::Column& column = columns[position];
  switch (column.type) {
    case elider::ColumnType::kInt8: return add_as<int8_t>(txn, table, key, column, delta);
    case elider::ColumnType::kInt16: return add_as<int16_t>(txn, table, key, column, delta);
    case elider::ColumnType::kInt32: return add_as<int32_t>(txn, table, key, column, delta);
    case elider::ColumnType::kInt64: return add_as<int64_t>(txn, table, key, column, delta);
    case elider::ColumnType::kUInt8: return add_as<uint8_t>(txn, table, key, column, delta);
    case elider::ColumnType::kUInt16: return add_as<uint16_t>(txn, table, key, column, delta);
    case elider::ColumnType::kUInt32: return add_as<uint32_t>(txn, table, key, column, delta);
    case elider::ColumnType::kUInt64: return add_as<uint64_t>(txn, table, key, column, delta);
    case elider::ColumnType::kFloat: return add_as<float>(txn, table, key, column, delta);
    case elider::ColumnType::kDouble: return add_as<double>(txn, table, key, column, delta);
    case elider::ColumnType::kBytes: break;
  }
  return refuse(table, "column '" + column.name + "' is not a number");
}

elider::Result<RowReader> reader_of(const elider_table* table, const elider_row* row) {
  if (table == nullptr || row == nullptr) return refuse_null("the table or the row");
  if (!table->ref.described()) return refuse(*table, "the rows are not described rows");
  if (row->data == nullptr) return refuse(*table, "the elider_row does not show a row");
  return RowReader::open(table->numbered.row_schema(), span_of(row->data, row->size));
}

// Reads a column as a T.
template <class T>
elider_code read_column(const elider_table* table, const elider_row* row, uint32_t column, bool* null, elider_error* error, T* value) {
  return entry(error, [&]() -> Status {
    if (value == nullptr) return refuse_null("the place for the value");
    const auto reader = reader_of(table, row);
    if (!reader.ok()) return reader.status();
    if (null == nullptr) {
      const auto read = reader->get<T>(column);
      if (read.ok()) *value = *read;
      return read.status();
    }
    const auto read = reader->get<std::optional<T>>(column);
    if (!read.ok()) return read.status();
    *null = !read->has_value();
    if (read->has_value()) *value = **read;
    return {};
  });
}

Status set_column(elider::RowBuilder& builder, uint32_t column, const elider_value& value) {
  if (value.kind == ELIDER_INT64) builder.set(column, value.integer);
  else {
    const auto converted = elider::c::row_value(value);
    if (!converted.ok()) return converted.status();
    builder.set(column, *converted);
  }
  return builder.status();
}

}  // namespace

extern "C" {

elider_code elider_get(elider_transaction* transaction, elider_table* table, elider_key key, const elider_columns* columns, elider_row* row,
                       elider_error* error) {
  return operation(transaction, table, error, [&](Transaction& txn) -> Status {
    if (row == nullptr) [[unlikely]] return refuse_null("the place for the row");
    const auto its = columns_of(*table, columns);
    if (!its.ok()) [[unlikely]] return its.status();
    RawView view;
    Status status = with_key(key, [&](const auto& given) { return txn.get(table->ref, given, *its, &view); });
    if (status.ok()) [[likely]] *row = row_of(*table, view);
    return status;
  });
}
elider_code elider_multi_get(elider_transaction* transaction, elider_table* table, const elider_key* keys, size_t count,
                             const elider_columns* columns, elider_row* rows, elider_error* error) {
  return operation(transaction, table, error, [&](Transaction& txn) -> Status {
    if (count != 0 && (keys == nullptr || rows == nullptr)) return refuse_null("the keys or the place for the rows");
    const auto its = columns_of(*table, columns);
    return its.ok() ? multi_get(txn, *table, keys, count, *its, rows) : its.status();
  });
}
elider_code elider_row_version(elider_transaction* transaction, elider_table* table, elider_key key, uint64_t* version,
                               elider_error* error) {
  return operation(transaction, table, error, [&](Transaction& txn) -> Status {
    if (version == nullptr) return refuse_null("the place for the version");
    const auto its = with_key(key, [&](const auto& given) { return txn.version(table->ref, given); });
    if (its.ok()) *version = *its;
    return its.status();
  });
}

elider_code elider_insert(elider_transaction* transaction, elider_table* table, elider_key key, const void* row, size_t size,
                          elider_error* error) {
  return write_bytes(transaction, table, key, row, size, error,
                     [&](Transaction& txn, const auto& its, std::span<const std::byte> bytes) {
                       return txn.insert(table->ref, its, bytes);
                     });
}
elider_code elider_put(elider_transaction* transaction, elider_table* table, elider_key key, const void* row, size_t size,
                       elider_error* error) {
  return write_bytes(transaction, table, key, row, size, error,
                     [&](Transaction& txn, const auto& its, std::span<const std::byte> bytes) { return txn.put(table->ref, its, bytes); });
}
elider_code elider_remove(elider_transaction* transaction, elider_table* table, elider_key key, elider_error* error) {
  return operation(transaction, table, error, [&](Transaction& txn) {
    return with_key(key, [&](const auto& its) { return txn.remove(table->ref, its); });
  });
}
elider_code elider_write(elider_transaction* transaction, elider_table* table, elider_key key, const elider_columns* columns,
                         const void* row, size_t size, elider_error* error) {
  return operation(transaction, table, error, [&](Transaction& txn) -> Status {
    if (row == nullptr) return refuse_null("the row");
    if (Status status = check_fixed(*table, "elider_write"); !status.ok()) return status;
    if (const uint32_t bytes = table->ref.schema().row_bytes; size != bytes)
      return refuse(*table, "the row has " + std::to_string(size) + " bytes instead of " + std::to_string(bytes));
    const auto its = columns_of(*table, columns);
    if (!its.ok()) return its.status();
    return with_key(key, [&](const auto& given) { return txn.write(table->ref, given, *its, row); });
  });
}
elider_code elider_edit(elider_transaction* transaction, elider_table* table, elider_key key, const elider_columns* columns,
                        elider_change change, void* context, elider_error* error) {
  return operation(transaction, table, error, [&](Transaction& txn) -> Status {
    if (change == nullptr) return refuse_null("the function that changes the row");
    if (Status status = check_fixed(*table, "elider_edit"); !status.ok()) return status;
    const auto its = columns_of(*table, columns);
    if (!its.ok()) return its.status();
    void* image = nullptr;
    Status status = with_key(key, [&](const auto& given) { return txn.edit(table->ref, given, *its, &image); });
    if (!status.ok()) return status;
    change(image, table->ref.schema().row_bytes, context);
    return txn.edited(table->ref, image);
  });
}
elider_code elider_add(elider_transaction* transaction, elider_table* table, elider_key key, uint32_t column, elider_value delta,
                       elider_error* error) {
  return operation(transaction, table, error, [&](Transaction& txn) { return add(txn, *table, key, column, delta); });
}

elider_builder* elider_builder_new(elider_table* table) try {
  return table == nullptr || !table->ref.described() ? nullptr : new elider_builder(table);
} catch (const std::bad_alloc&) {
  return nullptr;
}
void elider_builder_free(elider_builder* builder) { delete builder; }
elider_code elider_builder_begin(elider_builder* builder, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (builder == nullptr) return refuse_null("the builder");
    return builder->builder.begin().status();
  });
}
elider_code elider_builder_edit(elider_builder* builder, const elider_row* row, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (builder == nullptr) return refuse_null("the builder");
    const auto reader = reader_of(builder->table, row);
    return reader.ok() ? builder->builder.edit(*reader).status() : reader.status();
  });
}
elider_code elider_set(elider_builder* builder, uint32_t column, elider_value value, elider_error* error) {
  return entry(error, [&] { return builder == nullptr ? refuse_null("the builder") : set_column(builder->builder, column, value); });
}

elider_code elider_insert_row(elider_transaction* transaction, elider_table* table, elider_key key, elider_builder* builder,
                              elider_error* error) {
  return operation(transaction, table, error, [&](Transaction& txn) -> Status {
    if (Status status = check_builder(*table, builder); !status.ok()) return status;
    return with_described(*table, key, [&](const auto& its, const auto& given) { return txn.insert(its, given, builder->builder); });
  });
}
elider_code elider_put_row(elider_transaction* transaction, elider_table* table, elider_key key, elider_builder* builder,
                           elider_error* error) {
  return operation(transaction, table, error, [&](Transaction& txn) -> Status {
    if (Status status = check_builder(*table, builder); !status.ok()) return status;
    return with_described(*table, key, [&](const auto& its, const auto& given) { return txn.put(its, given, builder->builder); });
  });
}
elider_code elider_update(elider_transaction* transaction, elider_table* table, elider_key key, elider_builder* builder,
                          const uint32_t* columns, const elider_value* values, size_t count, elider_error* error) {
  return operation(transaction, table, error, [&](Transaction& txn) -> Status {
    if (Status status = check_builder(*table, builder); !status.ok()) return status;
    if (count != 0 && (columns == nullptr || values == nullptr)) return refuse_null("the columns or the values");
    const auto change = [&](elider::RowBuilder& row) -> Status {
      for (size_t i = 0; i < count; ++i)
        if (Status status = set_column(row, columns[i], values[i]); !status.ok()) return status;
      return {};
    };
    return with_described(*table, key,
                          [&](const auto& its, const auto& given) { return txn.update(its, given, builder->builder, change); });
  });
}

elider_code elider_row_value(elider_table* table, const elider_row* row, uint32_t column, elider_value* value, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (value == nullptr) return refuse_null("the place for the value");
    const auto reader = reader_of(table, row);
    if (!reader.ok()) return reader.status();
    const auto read = reader->value(column);
    if (read.ok()) *value = elider::c::value_of(*read);
    return read.status();
  });
}
elider_code elider_row_int64(elider_table* table, const elider_row* row, uint32_t column, int64_t* number, bool* null,
                             elider_error* error) {
  return read_column(table, row, column, null, error, number);
}
elider_code elider_row_double(elider_table* table, const elider_row* row, uint32_t column, double* number, bool* null,
                              elider_error* error) {
  return read_column(table, row, column, null, error, number);
}
elider_code elider_row_bytes(elider_table* table, const elider_row* row, uint32_t column, const void** data, size_t* size, bool* null,
                             elider_error* error) {
  return entry(error, [&]() -> Status {
    if (data == nullptr || size == nullptr) return refuse_null("the place for the bytes");
    elider_value value = elider_null();
    elider_error its;
    if (elider_row_value(table, row, column, &value, &its) != ELIDER_OK) return its.status;
    if (null != nullptr) *null = value.kind == ELIDER_NULL;
    if (value.kind == ELIDER_NULL && null != nullptr) return {};
    if (value.kind != ELIDER_TEXT && value.kind != ELIDER_BYTES)
      return refuse(*table, "column " + std::to_string(column) + (value.kind == ELIDER_NULL ? " is null" : " is neither text nor bytes"));
    *data = value.data;
    *size = value.size;
    return {};
  });
}

}  // extern "C"
