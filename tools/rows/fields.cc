#include "tools/rows/fields.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include "tools/common/suggestion.h"

namespace elider::tools {

namespace {

template <class T>
RowValue load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return RowValue(value);
}

RowValue load_column(const Field& field, const std::byte* from) {
  switch (field.type.type) {
    case RowType::kInt8: return load<int8_t>(from);
    case RowType::kInt16: return load<int16_t>(from);
    case RowType::kInt32: return load<int32_t>(from);
    case RowType::kInt64: return load<int64_t>(from);
    case RowType::kUInt8: return load<uint8_t>(from);
    case RowType::kUInt16: return load<uint16_t>(from);
    case RowType::kUInt32: return load<uint32_t>(from);
    case RowType::kUInt64: return load<uint64_t>(from);
    case RowType::kFloat: {
      float number;
      std::memcpy(&number, from, sizeof number);
      return float_value(number);
    }
    case RowType::kDouble: return load<double>(from);
    default: return RowValue(Bytes(from, field.type.size));
  }
}

void store_column(const Field& field, const RowValue& value, std::byte* to) {
  const uint64_t word = value.word();  // little-endian, so that its first bytes are the smaller integers
  switch (field.type.type) {
    case RowType::kFloat: {
      const float number = float_of(value);
      std::memcpy(to, &number, sizeof number);
      break;
    }
    case RowType::kDouble: {
      const double number = value.number();
      std::memcpy(to, &number, sizeof number);
      break;
    }
    case RowType::kBytes:
      if (!value.text().empty()) std::memcpy(to, value.text().data(), std::min<size_t>(field.type.size, value.text().size()));
      break;
    default: std::memcpy(to, &word, fixed_bytes_of(field.type.type));
  }
}

}  // namespace

Result<TableFields> TableFields::of(const TableRef& table) {
  TableFields fields;
  fields.table_ = table;
  const Schema& schema = table.schema();
  fields.fields_.push_back({});
  if (!schema.row_columns.empty()) {
    Result<RowSchema> described = RowSchema::of(schema);
    if (!described.ok()) return described.status();
    for (size_t i = 0; i < schema.row_columns.size(); ++i) {
      const RowColumn& column = schema.row_columns[i];
      if (column.dropped) continue;
      fields.fields_.push_back({.kind = Field::Kind::kDescribed,
                                .name = column.name,
                                .type = value_type_of(column),
                                .nullable = column.nullable,
                                .position = i});
    }
    fields.described_ = *std::move(described);
  } else {
    for (const Column& column : schema.columns)
      fields.fields_.push_back({.kind = Field::Kind::kStruct, .name = column.name, .type = value_type_of(column), .offset = column.offset});
    fields.add_bytes();
  }
  Field& key = fields.fields_[0];
  key.name = fields.free_name("key");
  if (table.byte_keys())
    key.type = {.type = RowType::kBytes, .form = ValueType::Form::kOpen};
  else
    key.type = {.type = RowType::kUInt64};
  return fields;
}

// Adds the fields for bytes that no column describes.
void TableFields::add_bytes() {
  const Schema& schema = table_.schema();
  std::vector<Column> columns = schema.columns;
  std::sort(columns.begin(), columns.end(), [](const Column& a, const Column& b) { return a.offset < b.offset; });
  for (const Column& column : columns) {
    if (column.offset > columns_end_) padding_.push_back({columns_end_, column.offset - columns_end_});
    columns_end_ = column.offset + column.size;
  }
  if (!schema.sized_rows && columns_end_ < schema.row_bytes) padding_.push_back({columns_end_, schema.row_bytes - columns_end_});
  const ValueType bytes{.type = RowType::kBytes, .form = ValueType::Form::kOpen};
  if (schema.sized_rows)
    fields_.push_back({.kind = Field::Kind::kRest, .name = free_name(columns.empty() ? "value" : "rest"), .type = bytes});
  if (!padding_.empty())
    fields_.push_back({.kind = Field::Kind::kPadding,
                       .name = free_name(columns.empty() ? "value" : "padding"),
                       .type = bytes,
                       .hidden = !columns.empty()});
}

std::string TableFields::free_name(std::string name) const {
  const auto taken = [&] { return std::any_of(fields_.begin(), fields_.end(), [&](const Field& field) { return field.name == name; }); };
  while (taken()) name.insert(0, 1, '_');
  return name;
}

Result<const Field*> TableFields::find(std::string_view name) const {
  for (const Field& field : fields_)
    if (field.name == name) return &field;
  std::vector<std::string> known;
  for (const Field& field : fields_) known.push_back(field.name);
  const std::string similar = suggestion(std::string(name), known);
  return Status::invalid_argument(fmt::format("table '{}' does not have a column '{}'{}; the columns are {}", shown(schema().name),
                                              shown(name), similar, listed(known)));
}

Result<std::vector<const Field*>> TableFields::select(const std::vector<std::string>& names) const {
  std::vector<const Field*> selected;
  for (const std::string& name : names) {
    const Result<const Field*> field = find(name);
    if (!field.ok()) return field.status();
    selected.push_back(*field);
  }
  if (names.empty())
    for (const Field& field : fields_)
      if (!field.hidden) selected.push_back(&field);
  return selected;
}

std::string TableFields::named(const Field& field) const {
  const std::string type = field.kind == Field::Kind::kKey ? key_type_name(schema()) : type_name(field.type);
  return fmt::format("table '{}', column '{}' ({})", shown(schema().name), shown(field.name), type);
}

Status RowFields::show(const RowKey& key, const RawView& row) {
  key_ = key;
  bytes_ = row.bytes();
  size_ = row.size();
  if (fields_.described()) {
    Result<RowReader> reader = RowReader::open(fields_.row_schema(), row);
    if (!reader.ok()) return reader.status();
    reader_ = *reader;
  } else if (size_ < fields_.columns_end()) {
    return Status(Code::kCorrupt,
                  fmt::format("table '{}': a row of {} bytes ends before its columns", shown(fields_.schema().name), size_));
  }
  return {};
}

Result<RowValue> RowFields::value(const Field& field) {
  switch (field.kind) {
    case Field::Kind::kKey: break;
    case Field::Kind::kStruct: return load_column(field, bytes_ + field.offset);
    case Field::Kind::kDescribed: return described_value(field);
    case Field::Kind::kRest: return RowValue(Bytes(bytes_ + fields_.columns_end(), size_ - fields_.columns_end()));
    case Field::Kind::kPadding:
      joined_.clear();
      for (const ByteSpan& span : fields_.padding()) joined_.append(reinterpret_cast<const char*>(bytes_) + span.offset, span.size);
      return RowValue(Bytes(joined_));
  }
  return RowValue();
}

// RowReader::value() would change some NaNs.
Result<RowValue> RowFields::described_value(const Field& field) const {
  if (field.type.type != RowType::kFloat) return reader_.value(field.position);
  const Result<std::optional<float>> number = reader_.get<std::optional<float>>(field.position);
  if (!number.ok()) return number.status();
  return number->has_value() ? float_value(**number) : RowValue();
}

bool RowFields::padded() const {
  for (const ByteSpan& span : fields_.padding())
    if (std::any_of(bytes_ + span.offset, bytes_ + span.offset + span.size, [](std::byte byte) { return byte != std::byte{0}; }))
      return true;
  return false;
}

RowEditor::RowEditor(const TableFields& fields) : fields_(fields) {
  if (fields.described()) builder_.emplace(fields.row_schema());
}

void RowEditor::begin() {
  if (builder_.has_value())
    builder_->begin();
  else
    image_.assign(fields_.schema().sized_rows ? fields_.columns_end() : fields_.schema().row_bytes, std::byte{0});
}

Status RowEditor::edit(const RawView& row) {
  if (!builder_.has_value()) {
    image_.assign(row.bytes(), row.bytes() + row.size());
    return {};
  }
  const Result<RowReader> reader = RowReader::open(fields_.row_schema(), row);
  if (!reader.ok()) return reader.status();
  return builder_->edit(*reader).status();
}

Status RowEditor::set(const Field& field, const RowValue& value) {
  const auto refuse = [&](const std::string& why) { return Status::invalid_argument(fields_.named(field) + ": " + why); };
  switch (field.kind) {
    case Field::Kind::kKey: return refuse("the key of a row cannot be changed");
    case Field::Kind::kDescribed:
      if (field.type.type == RowType::kFloat && !value.is_null()) return builder_->set(field.position, float_of(value)).status();
      return builder_->set(field.position, value).status();
    case Field::Kind::kStruct:
      if (value.is_null()) return refuse("columns of structs cannot be null");
      store_column(field, value, image_.data() + field.offset);
      return {};
    case Field::Kind::kRest: {
      const std::string_view bytes = value.text();
      if (fields_.columns_end() + bytes.size() > fields_.schema().row_bytes)
        return refuse(
            fmt::format("{} bytes are too many; a row has at most {}", fields_.columns_end() + bytes.size(), fields_.schema().row_bytes));
      image_.resize(fields_.columns_end());
      const auto* from = reinterpret_cast<const std::byte*>(bytes.data());
      image_.insert(image_.end(), from, from + bytes.size());
      return {};
    }
    case Field::Kind::kPadding: return set_padding(field, value.text());
  }
  return {};
}

Status RowEditor::set_padding(const Field& field, std::string_view bytes) {
  size_t size = 0;
  for (const ByteSpan& span : fields_.padding()) size += span.size;
  if (bytes.size() > size)
    return Status::invalid_argument(fmt::format("{}: {} bytes are too many; there are {}", fields_.named(field), bytes.size(), size));
  std::string padded(bytes);
  padded.resize(size);
  size_t at = 0;
  for (const ByteSpan& span : fields_.padding()) {
    std::memcpy(image_.data() + span.offset, padded.data() + at, span.size);
    at += span.size;
  }
  return {};
}

Result<std::span<const std::byte>> RowEditor::finish() {
  if (builder_.has_value()) return builder_->finish();
  return std::span<const std::byte>(image_);
}

}  // namespace elider::tools
