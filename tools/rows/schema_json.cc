#include "tools/rows/schema_json.h"

#include <algorithm>

#include <fmt/format.h>

#include "elider/row_schema.h"
#include "tools/rows/utf8.h"

namespace elider::tools {

namespace {

const char* name_of_null(KeyFieldNull null) {
  return null == KeyFieldNull::kNever ? "never" : null == KeyFieldNull::kFirst ? "first" : "last";
}

Json fields_to_json(const std::vector<KeyField>& fields) {
  Json list = Json::array();
  for (const KeyField& field : fields) {
    Json one = {{"type", std::string(name_of(field.type))}};
    if (field.descending) one["descending"] = true;
    if (field.null != KeyFieldNull::kNever) one["null"] = name_of_null(field.null);
    if (field.type == KeyFieldType::kTuple) one["fields"] = fields_to_json(field.fields);
    list.push_back(one);
  }
  return list;
}

Status refuse(const std::string& why) { return Status::invalid_argument("the schema is malformed: " + why); }

Result<std::vector<KeyField>> fields_from_json(const Json& list, size_t depth) {
  if (depth > kTupleDepthMax) return refuse("the tuples of its keys nest too deeply");
  std::vector<KeyField> fields;
  for (const Json& one : list) {
    KeyField field;
    const std::string type = one.at("type").get<std::string>();
    size_t number = 0;
    while (number < kKeyFieldTypes && name_of(static_cast<KeyFieldType>(number)) != type) ++number;
    if (number == kKeyFieldTypes) return refuse("'" + shown(type) + "' is not a type of key fields");
    field.type = static_cast<KeyFieldType>(number);
    field.descending = one.value("descending", false);
    const std::string null = one.value("null", "never");
    field.null = null == "first" ? KeyFieldNull::kFirst : null == "last" ? KeyFieldNull::kLast : KeyFieldNull::kNever;
    if (one.contains("fields")) {
      Result<std::vector<KeyField>> inner = fields_from_json(one.at("fields"), depth + 1);
      if (!inner.ok()) return inner.status();
      field.fields = *std::move(inner);
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

bool parse_column_type(const std::string& name, ColumnType* type, uint32_t* size) {
  for (const ColumnType one : {ColumnType::kInt8, ColumnType::kInt16, ColumnType::kInt32, ColumnType::kInt64, ColumnType::kUInt8,
                               ColumnType::kUInt16, ColumnType::kUInt32, ColumnType::kUInt64, ColumnType::kFloat, ColumnType::kDouble}) {
    const ValueType value = value_type_of(Column{.name = {}, .type = one});
    *type = one;
    *size = fixed_bytes_of(value.type);
    if (name == name_of(value.type)) return true;
  }
  *type = ColumnType::kBytes;
  if (!name.starts_with("bytes(") || !name.ends_with(')')) return false;
  ValueType number{.type = RowType::kUInt32};
  std::string storage;
  const Result<RowValue> bytes = parse_value(number, std::string_view(name).substr(6, name.size() - 7), storage);
  *size = bytes.ok() ? static_cast<uint32_t>(bytes->word()) : 0;
  return bytes.ok();
}

Result<Schema> described_from_json(const Json& json) {
  RowSchema rows(json.at("name").get<std::string>());
  for (const Json& one : json.at("columns")) {
    const std::string type = one.at("type").get<std::string>();
    ValueType parsed;
    if (!parse_type(type, &parsed)) return refuse("'" + shown(type) + "' is not a type of columns; the types are " + known_types());
    RowColumnOptions options{.nullable = one.value("nullable", false), .default_value = {}, .scale = parsed.scale};
    std::string text, storage;
    if (one.contains("default")) {
      text = one.at("default").get<std::string>();
      const Result<RowValue> value = parse_value(parsed, text, storage);
      if (!value.ok()) return value.status();
      options.default_value = *value;
    }
    rows.column(one.at("name").get<std::string>(), parsed.type, options);
  }
  if (json.contains("row_bytes")) rows.row_bytes_max(json.at("row_bytes").get<uint32_t>());
  return rows.table_schema();
}

Result<Schema> struct_from_json(const Json& json) {
  Schema schema;
  schema.name = json.at("name").get<std::string>();
  schema.row_bytes = json.at("row_bytes").get<uint32_t>();
  schema.sized_rows = json.at("row").get<std::string>() == "sized";
  for (const Json& one : json.at("columns")) {
    Column column;
    column.name = one.at("name").get<std::string>();
    const std::string type = one.at("type").get<std::string>();
    if (!parse_column_type(type, &column.type, &column.size)) return refuse("'" + shown(type) + "' is not a type of struct columns");
    column.offset = one.at("offset").get<uint32_t>();
    column.group = one.value("group", 0u);
    schema.columns.push_back(std::move(column));
  }
  return schema;
}

}  // namespace

bool needs_program(const Schema& schema) {
  return std::any_of(schema.indexes.begin(), schema.indexes.end(), [](const SecondaryIndex& index) { return !index.by_columns; });
}

std::string text_of_index(const SecondaryIndex& index) {
  std::string text = fmt::format("{}{} of ", index.name,
                                 index.unique && index.ranked ? " (unique, ranked)"
                                 : index.unique               ? " (unique)"
                                 : index.ranked               ? " (ranked)"
                                                              : "");
  for (size_t i = 0; i < index.columns.size(); ++i)
    text += fmt::format("{}{}{}", i == 0 ? "" : ", ", index.columns[i], index.by_columns && index.is_descending(i) ? " descending" : "");
  return shown(text);
}

const char* row_kind(const Schema& schema) { return !schema.row_columns.empty() ? "described" : schema.sized_rows ? "sized" : "struct"; }

std::string default_text(const TableFields& table, const Field& field) {
  std::string text;
  if (field.kind == Field::Kind::kDescribed) append_text(text, field.type, table.row_schema().default_value(field.position));
  return text;
}

Json schema_to_json(const TableFields& table) {
  const Schema& schema = table.schema();
  Json json = {{"name", schema.name},
               {"key", schema.key_kind == KeyKind::kNumbers ? "number"
                       : schema.key_fields.empty()          ? "bytes"
                                                            : "tuple"}};
  if (!schema.key_fields.empty()) json["key_fields"] = fields_to_json(schema.key_fields);
  json["key_index"] = std::string(name_of(schema.key_index));
  json["row"] = row_kind(schema);
  if (!table.described() || schema.row_bytes != kRowBytesMax) json["row_bytes"] = schema.row_bytes;
  Json columns = Json::array();
  for (const Field& field : table.fields()) {
    if (field.kind != Field::Kind::kStruct && field.kind != Field::Kind::kDescribed) continue;
    Json one = {{"name", field.name}, {"type", type_name(field.type)}};
    if (field.kind == Field::Kind::kStruct) {
      one["offset"] = field.offset;
      for (const Column& column : schema.columns)
        if (column.name == field.name && column.group != 0) one["group"] = column.group;
    } else {
      if (field.nullable) one["nullable"] = true;
      if (!table.row_schema().default_value(field.position).is_null()) one["default"] = default_text(table, field);
    }
    columns.push_back(std::move(one));
  }
  json["columns"] = std::move(columns);
  if (!schema.indexes.empty()) {
    Json indexes = Json::array();
    for (const SecondaryIndex& index : schema.indexes) {
      Json one = {{"name", index.name}, {"unique", index.unique}, {"columns", index.columns}};
      if (index.by_columns) {
        Json descending = Json::array();
        for (size_t i = 0; i < index.columns.size(); ++i) descending.push_back(index.is_descending(i));
        one["descending"] = std::move(descending);
        if (index.ranked) one["ranked"] = true;
      }
      indexes.push_back(std::move(one));
    }
    json["indexes"] = std::move(indexes);
  }
  if (schema.zones != 0) json["zoned"] = true;
  if (schema.inline_rows != 0) json["inline_rows"] = schema.inline_rows;
  return json;
}

Result<Schema> schema_from_json(const Json& json) try {
  const std::string row = json.at("row").get<std::string>();
  if (row != "struct" && row != "sized" && row != "described") return refuse("'" + shown(row) + "' is not a kind of row");
  Result<Schema> schema = row == "described" ? described_from_json(json) : struct_from_json(json);
  if (!schema.ok()) return schema.status();
  const std::string key = json.at("key").get<std::string>();
  if (key != "number" && key != "bytes" && key != "tuple") return refuse("'" + shown(key) + "' is not a kind of key");
  if (key != "number") schema->key_kind = KeyKind::kBytes;
  if (key == "tuple") {
    Result<std::vector<KeyField>> fields = fields_from_json(json.at("key_fields"), 0);
    if (!fields.ok()) return fields.status();
    schema->key_fields = *std::move(fields);
  }
  const std::string index = json.at("key_index").get<std::string>();
  if (!parse(index, &schema->key_index)) return refuse("'" + shown(index) + "' is not a key index");
  if (json.contains("indexes"))
    for (const Json& one : json.at("indexes")) {
      SecondaryIndex index;
      index.name = one.at("name").get<std::string>();
      index.unique = one.value("unique", false);
      index.ranked = one.value("ranked", false);
      index.columns = one.at("columns").get<std::vector<std::string>>();
      if (one.contains("descending")) {
        index.by_columns = true;
        for (const Json& descending : one.at("descending")) index.descending.push_back(descending.get<bool>());
      }
      schema->indexes.push_back(std::move(index));
    }
  if (json.value("zoned", false)) schema->zones = kZonesAutomatic;
  schema->inline_rows = json.value("inline_rows", uint64_t{0});
  return schema;
} catch (const Json::exception& error) {
  return refuse(error.what());
}

}  // namespace elider::tools
