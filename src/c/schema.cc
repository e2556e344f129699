// Schemas, tables, columns and indexes of the C interface, and the handles of the latter.
#include "c/handles.h"

using elider::KeyField;
using elider::KeyFieldNull;
using elider::KeyKind;
using elider::Result;
using elider::RowColumnOptions;
using elider::RowSchema;
using elider::RowType;
using elider::Schema;
using elider::SecondaryIndex;
using elider::Status;
using elider::c::entry;
using elider::c::refuse_null;

struct elider_schema {
  elider_keys keys;
  elider_rows rows;
  Schema schema;
  RowSchema described;
  std::optional<elider::KeyIndex> key_index;
  std::optional<uint32_t> bytes;
  Status mistake;

  Result<Schema> complete() const;
};

namespace {

Result<RowType> row_type(elider_type type) {
  if (static_cast<unsigned>(type) >= elider::kRowTypes)
    return Status::invalid_argument("elider_type " + std::to_string(static_cast<int>(type)) + " does not exist");
  return static_cast<RowType>(type);
}

Result<RowColumnOptions> column_options(unsigned flags, const elider_value* default_value, int scale) {
  RowColumnOptions options;
  if ((flags & ~unsigned{ELIDER_NULLABLE}) != 0) return Status::invalid_argument("the flags of a column can only be ELIDER_NULLABLE");
  if (scale < 0 || scale > elider::kDecimalScaleMax)
    return Status::invalid_argument("the scale " + std::to_string(scale) + " is not from 0 to " + std::to_string(elider::kDecimalScaleMax));
  options.nullable = flags != 0;
  options.scale = static_cast<uint8_t>(scale);
  if (default_value == nullptr) return options;
  auto value = elider::c::row_value(*default_value);
  if (!value.ok()) return value.status();
  options.default_value = *value;
  return options;
}

// Calls change(), and keeps the first mistake, which elider_create_table() reports.
template <class Change>
void describe(elider_schema* schema, Change&& change) {
  if (schema == nullptr || !schema->mistake.ok()) return;
  try {
    schema->mistake = change();
  } catch (...) {
    schema->mistake = elider::c::caught();
  }
}

// Checks the arguments of a change of a table.
template <class Change>
elider_code change_table(elider_database* database, std::initializer_list<const char*> names, elider_error* error, Change&& change) {
  return entry(error, [&]() -> Status {
    if (database == nullptr) return refuse_null("the database");
    for (const char* name : names)
      if (name == nullptr) return refuse_null("a name");
    return change(database->database);
  });
}

}  // namespace

Result<Schema> elider_schema::complete() const {
  if (!mistake.ok()) return mistake;
  Schema complete = schema;
  if (rows == ELIDER_ROWS_DESCRIBED) {
    RowSchema with = described;
    if (key_index.has_value()) with.key_index(*key_index);
    if (bytes.has_value()) with.row_bytes_max(*bytes);
    auto made = keys == ELIDER_KEYS_NUMBERS ? with.table_schema<elider::Key>() : with.table_schema<elider::Bytes>();
    if (!made.ok()) return made.status();
    complete = *std::move(made);
    complete.key_fields = schema.key_fields;
    complete.indexes = schema.indexes;
  } else {
    complete.sized_rows = rows == ELIDER_ROWS_VALUES;
    complete.row_bytes = bytes.value_or(rows == ELIDER_ROWS_VALUES ? elider::kRowBytesMax : 0);
    if (keys != ELIDER_KEYS_NUMBERS) {
      complete.key_kind = KeyKind::kBytes;
      complete.key_index = elider::KeyIndex::kRadix;
    }
    if (key_index.has_value()) complete.key_index = *key_index;
  }
  if ((keys == ELIDER_KEYS_TUPLES) != !complete.key_fields.empty())
    return Status::invalid_argument("table '" + schema.name +
                                    "': tuple keys need elider_schema_key_field(), and other keys do not have fields");
  return complete;
}

namespace elider::c {

elider_table* handle_of(elider_database& database, const TableRef& table) {
  const std::lock_guard lock(database.mutex);
  auto& place = database.tables[table.base()];
  if (place == nullptr) place = std::make_unique<elider_table>(&database, table, table.schema().name);
  return place.get();
}
elider_index* handle_of(elider_table& table, const IndexRef& index) {
  const std::lock_guard lock(table.database->mutex);
  auto& place = table.database->indexes[{index.table.base(), index.position}];
  if (place == nullptr) place = std::make_unique<elider_index>(elider_index{&table, index});
  return place.get();
}
const elider_columns* handle_of(elider_table& table, const ColumnsRef& columns) {
  const std::lock_guard lock(table.database->mutex);
  auto& place = table.database->columns[{table.ref.base(), columns.set()}];
  if (place == nullptr) place = std::make_unique<elider_columns>(elider_columns{&table, columns});
  return place.get();
}

Result<std::vector<std::string>> names_of(const char* const* names, size_t count, const char* what) {
  if (names == nullptr && count != 0) return refuse_null(what);
  std::vector<std::string> list;
  for (size_t i = 0; i < count; ++i) {
    if (names[i] == nullptr) return refuse_null(what);
    list.emplace_back(names[i]);
  }
  return list;
}

Result<SecondaryIndex> index_of(const char* name, const char* const* columns, const unsigned* column_flags, size_t count, unsigned flags) {
  if (name == nullptr) return refuse_null("the name of the index");
  if ((flags & ~unsigned{ELIDER_UNIQUE | ELIDER_RANKED}) != 0)
    return Status::invalid_argument("index '" + std::string(name) + "': the flags can only be ELIDER_UNIQUE and ELIDER_RANKED");
  if (count > kIndexColumnsMax)
    return Status::invalid_argument("index '" + std::string(name) + "' has " + std::to_string(count) + " columns; it can have up to " +
                                    std::to_string(kIndexColumnsMax));
  const auto names = names_of(columns, count, "the columns of the index");
  if (!names.ok()) return names.status();
  std::vector<IndexColumn> list;
  for (size_t i = 0; i < count; ++i) {
    list.emplace_back((*names)[i]);
    if (column_flags == nullptr) continue;
    if ((column_flags[i] & ~unsigned{ELIDER_DESCENDING}) != 0)
      return Status::invalid_argument("index '" + std::string(name) + "': the flags of a column can only be ELIDER_DESCENDING");
    list.back().descending = column_flags[i] != 0;
  }
  SecondaryIndex index = SecondaryIndex::of_columns(name, list, (flags & ELIDER_UNIQUE) != 0);
  index.ranked = (flags & ELIDER_RANKED) != 0;
  return index;
}

}  // namespace elider::c

extern "C" {

elider_schema* elider_schema_new(const char* table, elider_keys keys, elider_rows rows) try {
  auto schema = std::make_unique<elider_schema>(elider_schema{keys, rows, {}, RowSchema(table == nullptr ? "" : table), {}, {}, {}});
  if (table == nullptr) schema->mistake = refuse_null("the name of the table");
  else schema->schema.name = table;
  if (static_cast<unsigned>(keys) > ELIDER_KEYS_TUPLES || static_cast<unsigned>(rows) > ELIDER_ROWS_FIXED)
    schema->mistake = Status::invalid_argument("elider_schema_new(): the kind of the keys or of the rows does not exist");
  return schema.release();
} catch (const std::bad_alloc&) {
  return nullptr;
}
void elider_schema_free(elider_schema* schema) { delete schema; }
void elider_schema_key_index(elider_schema* schema, const char* kind) {
  describe(schema, [&]() -> Status {
    if (kind == nullptr) return refuse_null("the kind of the key index");
    elider::KeyIndex index{};
    if (!elider::parse(kind, &index))
      return Status::invalid_argument("the key index '" + std::string(kind) + "' is not btree, hash or art");
    schema->key_index = index;
    return {};
  });
}
void elider_schema_key_field(elider_schema* schema, elider_type type, unsigned flags) {
  describe(schema, [&]() -> Status {
    if (static_cast<unsigned>(type) > ELIDER_TYPE_UUID)
      return Status::invalid_argument("a field of a key cannot have the elider_type " + std::to_string(static_cast<int>(type)));
    KeyField field;
    field.type = static_cast<elider::KeyFieldType>(type);
    field.descending = (flags & ELIDER_DESCENDING) != 0;
    if ((flags & ELIDER_NULLABLE) != 0) field.null = KeyFieldNull::kFirst;
    if ((flags & ELIDER_NULL_LAST) != 0) field.null = KeyFieldNull::kLast;
    schema->schema.key_fields.push_back(field);
    return {};
  });
}
void elider_schema_column(elider_schema* schema, const char* name, elider_type type, unsigned flags, const elider_value* default_value,
                          int scale) {
  describe(schema, [&]() -> Status {
    if (name == nullptr) return refuse_null("the name of a column");
    if (schema->rows != ELIDER_ROWS_DESCRIBED)
      return Status::invalid_argument("table '" + schema->schema.name + "', column '" + name + "': the rows are not described rows");
    const auto its = row_type(type);
    if (!its.ok()) return its.status();
    const auto options = column_options(flags, default_value, scale);
    if (!options.ok()) return options.status();
    schema->described.column(name, *its, *options);
    return schema->described.status();
  });
}
void elider_schema_row_bytes(elider_schema* schema, size_t bytes) {
  describe(schema, [&]() -> Status {
    if (bytes > elider::kSizedRowBytesMax)
      return Status::invalid_argument("table '" + schema->schema.name + "': rows cannot have " + std::to_string(bytes) + " bytes");
    schema->bytes = static_cast<uint32_t>(bytes);
    return {};
  });
}
void elider_schema_fixed_column(elider_schema* schema, const char* name, elider_type type, size_t offset, size_t size, unsigned group) {
  describe(schema, [&]() -> Status {
    if (name == nullptr) return refuse_null("the name of a column");
    elider::Column column;
    if (type >= ELIDER_TYPE_INT8 && type <= ELIDER_TYPE_DOUBLE) column.type = static_cast<elider::ColumnType>(type - ELIDER_TYPE_INT8);
    else if (type != ELIDER_TYPE_BYTES || schema->rows != ELIDER_ROWS_FIXED)
      return Status::invalid_argument("table '" + schema->schema.name + "', column '" + name +
                                      "': only fixed rows have such columns, which are numbers or ELIDER_TYPE_BYTES");
    if (offset > elider::kRowBytesMax || size > elider::kRowBytesMax || group >= elider::kColumnGroupsMax)
      return Status::invalid_argument("table '" + schema->schema.name + "', column '" + name + "': the offset, size or group is too large");
    column.name = name;
    column.offset = static_cast<uint32_t>(offset);
    column.size = static_cast<uint32_t>(size);
    column.group = group;
    schema->schema.columns.push_back(std::move(column));
    return {};
  });
}
void elider_schema_index(elider_schema* schema, const char* name, const char* const* columns, const unsigned* column_flags, size_t count,
                         unsigned flags) {
  describe(schema, [&]() -> Status {
    auto index = elider::c::index_of(name, columns, column_flags, count, flags);
    if (index.ok()) schema->schema.indexes.push_back(*std::move(index));
    return index.status();
  });
}

elider_code elider_create_table(elider_database* database, const elider_schema* schema, elider_table** table, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (database == nullptr || schema == nullptr) return refuse_null("the database or the schema");
    if (table != nullptr) *table = nullptr;
    const auto complete = schema->complete();
    if (!complete.ok()) return complete.status();
    const auto created = database->database.create_table(*complete);
    if (created.ok() && table != nullptr) *table = elider::c::handle_of(*database, *created);
    return created.status();
  });
}
elider_code elider_find_table(elider_database* database, const char* name, elider_table** table, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (database == nullptr) return refuse_null("the database");
    if (name == nullptr || table == nullptr) return refuse_null("the name or the place for the table");
    *table = nullptr;
    const auto found = database->database.table(name);
    if (found.ok()) *table = elider::c::handle_of(*database, *found);
    return found.status();
  });
}
elider_code elider_tables(elider_database* database, elider_table** tables, size_t room, size_t* count, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (database == nullptr || count == nullptr) return refuse_null("the database or the place for the number of tables");
    if (Status status = elider::c::check_memory(tables, room, "the place for the tables"); !status.ok()) return status;
    const auto all = database->database.tables();
    *count = all.size();
    for (size_t i = 0; i < all.size() && i < room; ++i) tables[i] = elider::c::handle_of(*database, all[i]);
    return {};
  });
}

const char* elider_table_name(const elider_table* table) { return table == nullptr ? "" : table->name.c_str(); }
elider_keys elider_table_keys(const elider_table* table) {
  if (table == nullptr || !table->ref.byte_keys()) return ELIDER_KEYS_NUMBERS;
  return table->ref.tuple_keys() ? ELIDER_KEYS_TUPLES : ELIDER_KEYS_BYTES;
}
elider_rows elider_table_rows(const elider_table* table) {
  if (table == nullptr) return ELIDER_ROWS_VALUES;
  return table->ref.described() ? ELIDER_ROWS_DESCRIBED : table->sized ? ELIDER_ROWS_VALUES : ELIDER_ROWS_FIXED;
}
size_t elider_table_columns(const elider_table* table) {
  if (table == nullptr) return 0;
  return table->ref.described() ? table->numbered.row_schema().columns() : table->ref.schema().columns.size();
}
elider_code elider_table_column(const elider_table* table, size_t column, elider_column_info* info, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (table == nullptr || info == nullptr) return refuse_null("the table or the place for the column");
    if (info->size < sizeof *info) return Status::invalid_argument("elider_column_info.size must be sizeof(elider_column_info)");
    if (column >= elider_table_columns(table))
      return Status::invalid_argument("table '" + table->name + "' does not have a column " + std::to_string(column));
    const size_t size = info->size;
    if (table->ref.described()) {
      const elider::RowColumn& its = table->numbered.row_schema().column(column);
      *info = {size,      its.name.c_str(), static_cast<elider_type>(its.type), its.nullable ? unsigned{ELIDER_NULLABLE} : 0,
               its.scale, its.dropped};
    } else {
      const elider::Column& its = table->ref.schema().columns[column];
      const auto type = its.type == elider::ColumnType::kBytes ? ELIDER_TYPE_BYTES
                                                               : static_cast<elider_type>(static_cast<int>(its.type) + ELIDER_TYPE_INT8);
      *info = {size, its.name.c_str(), type, 0, 0, false};
    }
    return {};
  });
}
elider_code elider_column_position(const elider_table* table, const char* name, uint32_t* column, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (table == nullptr || name == nullptr || column == nullptr) return refuse_null("the table, the name or the place for the position");
    if (table->ref.described()) {
      const auto position = table->numbered.position(name);
      if (position.ok()) *column = static_cast<uint32_t>(*position);
      return position.status();
    }
    const auto& columns = table->ref.schema().columns;
    for (size_t i = 0; i < columns.size(); ++i)
      if (columns[i].name == name) return *column = static_cast<uint32_t>(i), Status();
    return Status::invalid_argument("table '" + table->name + "' does not have a column '" + name + "'");
  });
}
elider_code elider_find_columns(elider_table* table, const char* const* names, size_t count, const elider_columns** columns,
                                elider_error* error) {
  return entry(error, [&]() -> Status {
    if (table == nullptr || columns == nullptr) return refuse_null("the table or the place for the columns");
    *columns = nullptr;
    const auto list = elider::c::names_of(names, count, "the names of the columns");
    if (!list.ok()) return list.status();
    const auto found = table->database->database.columns(table->ref, *list);
    if (found.ok()) *columns = elider::c::handle_of(*table, *found);
    return found.status();
  });
}
elider_code elider_find_index(elider_table* table, const char* name, elider_index** index, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (table == nullptr || name == nullptr || index == nullptr) return refuse_null("the table, the name or the place for the index");
    *index = nullptr;
    const auto found = table->database->database.index(table->ref, name);
    if (found.ok()) *index = elider::c::handle_of(*table, *found);
    return found.status();
  });
}

elider_code elider_drop_table(elider_database* database, const char* table, uint64_t wait_us, elider_error* error) {
  return change_table(database, {table}, error, [&](elider::Database& its) {
    return wait_us == 0 ? its.drop_table(table) : its.drop_table(table, wait_us);
  });
}
elider_code elider_rename_table(elider_database* database, const char* table, const char* name, elider_error* error) {
  return change_table(database, {table, name}, error, [&](elider::Database& its) { return its.rename_table(table, name); });
}
elider_code elider_add_column(elider_database* database, const char* table, const char* name, elider_type type, unsigned flags,
                              const elider_value* default_value, int scale, elider_error* error) {
  return change_table(database, {table, name}, error, [&](elider::Database& its) -> Status {
    const auto its_type = row_type(type);
    if (!its_type.ok()) return its_type.status();
    const auto options = column_options(flags, default_value, scale);
    if (!options.ok()) return options.status();
    return its.add_column(table, name, *its_type, *options);
  });
}
elider_code elider_rename_column(elider_database* database, const char* table, const char* column, const char* name, elider_error* error) {
  return change_table(database, {table, column, name}, error,
                      [&](elider::Database& its) { return its.rename_column(table, column, name); });
}
elider_code elider_drop_column(elider_database* database, const char* table, const char* column, elider_error* error) {
  return change_table(database, {table, column}, error, [&](elider::Database& its) { return its.drop_column(table, column); });
}
elider_code elider_create_index(elider_database* database, const char* table, const char* name, const char* const* columns,
                                const unsigned* column_flags, size_t count, unsigned flags, uint64_t wait_us, elider_progress progress,
                                void* context, elider_error* error) {
  return change_table(database, {table, name}, error, [&](elider::Database& its) -> Status {
    const auto index = elider::c::index_of(name, columns, column_flags, count, flags);
    if (!index.ok()) return index.status();
    elider::CreateIndexOptions options;
    if (wait_us != 0) options.wait_us = wait_us;
    if (progress != nullptr) options.progress = [=](uint64_t visited, uint64_t all) { return progress(visited, all, context); };
    return its.create_index(table, *index, options);
  });
}
elider_code elider_drop_index(elider_database* database, const char* table, const char* name, elider_error* error) {
  return change_table(database, {table, name}, error, [&](elider::Database& its) { return its.drop_index(table, name); });
}

}  // extern "C"
