#include "elider/row_schema.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/name_list.h"
#include "base/utf8.h"
#include "elider/row.h"
#include "rows/json.h"
#include "rows/layout.h"

namespace elider {

namespace rows {

std::string type_text(RowType type, uint8_t scale) {
  std::string words(name_of(type));
  if (type == RowType::kDecimal) words += '(' + std::to_string(scale) + ')';
  return words;
}

const char* cpp_type_of(RowType type) {
  constexpr const char* kNames[kRowTypes] = {"bool",     "int8_t", "int16_t", "int32_t",           "int64_t",          "uint8_t",
                                             "uint16_t", "uint32_t", "uint64_t", "float",          "double",           "elider::Timestamp",
                                             "std::string_view", "elider::Bytes", "elider::Uuid", "elider::Decimal", "std::string_view"};
  return kNames[static_cast<size_t>(type)];
}

bool decode(const detail::RowPlace& place, std::string_view text, RowValue* value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  if (const uint32_t size = fixed_bytes_of(place.type); size != 0 && text.size() != size) return false;
  switch (place.type) {
    case RowType::kBool: {
      const auto byte = static_cast<uint8_t>(*bytes);
      *value = byte == 1;
      return byte <= 1;
    }
    case RowType::kInt8: *value = get<int8_t>(bytes); return true;
    case RowType::kInt16: *value = get<int16_t>(bytes); return true;
    case RowType::kInt32: *value = get<int32_t>(bytes); return true;
    case RowType::kInt64: *value = get<int64_t>(bytes); return true;
    case RowType::kUInt8: *value = get<uint8_t>(bytes); return true;
    case RowType::kUInt16: *value = get<uint16_t>(bytes); return true;
    case RowType::kUInt32: *value = get<uint32_t>(bytes); return true;
    case RowType::kUInt64: *value = get<uint64_t>(bytes); return true;
    case RowType::kFloat: *value = detail::load_row<float>(bytes); return true;
    case RowType::kDouble: *value = detail::load_row<double>(bytes); return true;
    case RowType::kTimestamp: *value = Timestamp(std::chrono::microseconds(get<int64_t>(bytes))); return true;
    case RowType::kDecimal: *value = Decimal{get<int64_t>(bytes), place.scale}; return true;
    case RowType::kUuid: *value = detail::load_row<Uuid>(bytes); return true;
    case RowType::kText:
    case RowType::kJson: *value = text; return true;
    case RowType::kBytes: *value = Bytes(bytes, text.size()); return true;
  }
  return false;
}

std::string mistake_in(RowType type, std::string_view text) {
  if (type != RowType::kText && type != RowType::kJson) return {};
  if (const size_t end = utf8_end(text); end != text.size())
    return "byte " + std::to_string(end) + " of " + std::to_string(text.size()) + " is not UTF-8";
  if (type == RowType::kText) return {};
  const JsonMistake mistake = check_json(text);
  if (mistake.reason == nullptr) return {};
  return "the text is not JSON at byte " + std::to_string(mistake.offset) + " of " + std::to_string(text.size()) + ": " + mistake.reason;
}

Status no_column(const detail::RowLayout& layout, std::string_view name) {
  NameList columns;
  for (const RowColumn& each : layout.columns)
    if (!each.dropped) columns.add(each.name);
  if (columns.size() == 0) return layout.refuse("the table does not have columns");
  return layout.refuse("column '" + printable(name.substr(0, 64)) + "' does not exist; the columns are " + columns.words());
}

bool same_columns(const detail::RowLayout& a, const detail::RowLayout& b) {
  return a.bytes_max == b.bytes_max && a.columns == b.columns && a.table == b.table;
}

}  // namespace rows

namespace detail {

std::string RowLayout::named(size_t column) const {
  const RowColumn& its = columns[column];
  return "table '" + printable(table) + "', column '" + printable(its.name) + "' (" + rows::type_text(its.type, its.scale) + ')';
}
Status RowLayout::refuse(Code code, const std::string& words) const { return Status(code, "table '" + printable(table) + "': " + words); }
Status RowLayout::refuse(const std::string& words) const { return refuse(Code::kInvalidArgument, words); }
Status RowLayout::refuse(size_t column, const std::string& words) const { return Status::invalid_argument(named(column) + ": " + words); }
Status RowLayout::no_column(size_t column) const {
  if (column < columns.size())
    return refuse("column " + std::to_string(column) + " ('" + printable(columns[column].name) + "') was dropped");
  return refuse("column " + std::to_string(column) + " does not exist; the table has " + std::to_string(columns.size()) +
                " columns, counted from 0");
}

}  // namespace detail

CurrentRowSchema::CurrentRowSchema() {
  static const RowSchema none;
  static const std::atomic<const RowSchema*> rows{&none};
  rows_ = &rows;
}

RowSchema::RowSchema(std::string table_name) {
  auto layout = std::make_shared<detail::RowLayout>();
  layout->table = std::move(table_name);
  layout_ = std::move(layout);
}

// Tables, readers and builders refer to the description, so one that is shared is copied.
detail::RowLayout& RowSchema::change() {
  if (layout_.use_count() != 1) layout_ = std::make_shared<detail::RowLayout>(*layout_);
  return const_cast<detail::RowLayout&>(*layout_);
}

namespace {

std::string mistake_in_name(const std::string& name) {
  bool all_text = true;
  const std::string shown = printable(std::string_view(name).substr(0, 64), &all_text);
  if (name.empty()) return "its name is empty";
  if (name.size() > kRowColumnNameBytesMax)
    return "its name has " + std::to_string(name.size()) + " bytes; the maximum is " + std::to_string(kRowColumnNameBytesMax);
  printable(name, &all_text);
  return all_text ? "" : "its name is not UTF-8, or contains control characters";
}

// Encodes a default with the builder, which also checks it.
Status encode_default(const std::string& table, const RowColumn& column, const RowValue& value, std::string* bytes) {
  RowSchema alone(table);
  alone.column(column.name, column.type, {.scale = column.scale}).row_bytes_max(kDescribedRowBytesMax);
  RowBuilder row(alone);
  const auto built = row.set(0, value).finish();
  if (!built.ok()) return built.status();
  const bool variable = fixed_bytes_of(column.type) == 0;
  const auto stored = built->subspan(detail::fixed_part_of(1) + (variable ? 4 : 0));
  bytes->assign(reinterpret_cast<const char*>(stored.data()), stored.size());
  return {};
}

}  // namespace

Result<RowSchema> RowSchema::of(const Schema& table, const void* family) {
  if (table.row_columns.empty()) return Status(Code::kSchemaMismatch, "table '" + printable(table.name) + "' does not have described rows");
  RowSchema schema(table.name);
  for (const RowColumn& column : table.row_columns) schema.column(column);
  schema.row_bytes_max(table.row_bytes).key_index(table.key_index);
  schema.change().family = family;
  schema.change().indexes = table.indexes;
  if (!schema.status().ok()) return schema.status();
  return schema;
}

RowSchema& RowSchema::column(const RowColumn& described) {
  if (!status().ok()) return *this;
  const auto refuse = [&](Code code, const char* words) -> RowSchema& {
    detail::RowLayout& layout = change();
    layout.status = layout.refuse(code, "column '" + printable(described.name) + "' has " + words);
    return *this;
  };
  if (static_cast<size_t>(described.type) >= kRowTypes) return refuse(Code::kUnsupported, "a type that this program does not know");
  if (described.dropped) {
    detail::RowLayout& layout = change();
    if (layout.columns.size() == kRowColumnsMax) return refuse(Code::kCorrupt, "a position above the maximum");
    layout.dropped.push_back(static_cast<uint16_t>(layout.columns.size()));
    return append({described.name, described.type, true, described.scale, {}, true});
  }
  RowColumnOptions options{.nullable = described.nullable, .scale = described.scale};
  const detail::RowPlace place{.type = described.type, .scale = described.scale, .nullable = described.nullable};
  if (described.default_bytes && !rows::decode(place, *described.default_bytes, &options.default_value))
    return refuse(Code::kCorrupt, "a malformed default");
  return column(described.name, described.type, options);
}

RowSchema& RowSchema::column(std::string name, RowType type, const RowColumnOptions& options) {
  if (!status().ok()) return *this;
  detail::RowLayout& layout = change();
  const auto refuse = [&](const std::string& words) -> RowSchema& {
    layout.status = layout.refuse("column " + std::to_string(layout.columns.size()) + " ('" +
                                  printable(std::string_view(name).substr(0, 64)) + "'): " + words);
    return *this;
  };
  if (layout.columns.size() == kRowColumnsMax) return refuse("a table has at most " + std::to_string(kRowColumnsMax) + " columns");
  if (const std::string mistake = mistake_in_name(name); !mistake.empty()) return refuse(mistake);
  if (layout.positions.contains(name)) return refuse("another column has this name");
  if (static_cast<size_t>(type) >= kRowTypes) return refuse("its type is unknown");
  if (options.scale != 0 && type != RowType::kDecimal) return refuse("only a decimal column has a scale");
  if (options.scale > kDecimalScaleMax)
    return refuse("its scale is " + std::to_string(options.scale) + "; the maximum is " + std::to_string(kDecimalScaleMax));
  RowColumn column{std::move(name), type, options.nullable, options.scale, {}};
  if (!options.default_value.is_null()) {
    std::string bytes;
    if (Status wrong = encode_default(layout.table, column, options.default_value, &bytes); !wrong.ok()) {
      layout.status = std::move(wrong);
      return *this;
    }
    column.default_bytes = std::move(bytes);
  }
  return append(std::move(column));
}

// Gives the column its place. The column has been checked.
RowSchema& RowSchema::append(RowColumn column) {
  detail::RowLayout& layout = change();
  detail::RowPlace& place = layout.places.back();
  place.type = column.dropped ? detail::kDroppedType : column.type;
  place.scale = column.scale;
  place.nullable = column.nullable;
  detail::RowPlace totals;
  const uint32_t fixed = fixed_bytes_of(column.type);
  totals.fixed = static_cast<uint16_t>(place.fixed + fixed);
  totals.variable = static_cast<uint16_t>(place.variable + (fixed == 0 ? 1 : 0));
  layout.places.push_back(totals);
  if (!column.dropped) layout.positions.emplace(column.name, layout.columns.size());
  layout.columns.push_back(std::move(column));
  return *this;
}

RowSchema& RowSchema::key_index(KeyIndex kind) {
  change().key_index = kind;
  return *this;
}

RowSchema& RowSchema::index(std::string name, const std::vector<IndexColumn>& columns) {
  change().indexes.push_back(SecondaryIndex::of_columns(std::move(name), columns, false));
  return *this;
}

RowSchema& RowSchema::ranked_index(std::string name, const std::vector<IndexColumn>& columns) {
  change().indexes.push_back(SecondaryIndex::ranked_of_columns(std::move(name), columns, false));
  return *this;
}

RowSchema& RowSchema::unique_ranked_index(std::string name, const std::vector<IndexColumn>& columns) {
  change().indexes.push_back(SecondaryIndex::ranked_of_columns(std::move(name), columns, true));
  return *this;
}

RowSchema& RowSchema::unique_index(std::string name, const std::vector<IndexColumn>& columns) {
  change().indexes.push_back(SecondaryIndex::of_columns(std::move(name), columns, true));
  return *this;
}

RowSchema& RowSchema::row_bytes_max(uint32_t bytes) {
  if (!status().ok()) return *this;
  detail::RowLayout& layout = change();
  if (bytes < detail::kRowHeadBytes || bytes > kDescribedRowBytesMax)
    layout.status = layout.refuse("row_bytes_max is " + std::to_string(bytes) + "; " + std::to_string(detail::kRowHeadBytes) + " to " +
                                  std::to_string(kDescribedRowBytesMax) + " are possible");
  else layout.bytes_max = bytes;
  return *this;
}

RowValue RowSchema::default_value(size_t position) const {
  RowValue value;
  const RowColumn& column = layout_->columns[position];
  if (column.default_bytes) rows::decode(layout_->places[position], *column.default_bytes, &value);
  return value;
}

Result<size_t> RowSchema::position(std::string_view name) const {
  const auto found = layout_->positions.find(name);
  if (found != layout_->positions.end()) return found->second;
  return rows::no_column(*layout_, name);
}

bool RowSchema::same_as(const RowSchema& other) const {
  return rows::same_columns(*layout_, *other.layout_) && layout_->key_index == other.layout_->key_index;
}

Result<Schema> RowSchema::complete(Schema schema) const {
  if (layout_->columns.empty()) return layout_->refuse("described rows need at least one column");
  const detail::RowPlace& totals = layout_->places.back();
  size_t blank = detail::fixed_part_of(columns()) + totals.fixed + 4 * size_t{totals.variable};
  for (const RowColumn& column : layout_->columns)
    if (fixed_bytes_of(column.type) == 0 && column.default_bytes) blank += column.default_bytes->size();
  if (blank > layout_->bytes_max)
    return layout_->refuse("a row of defaults has " + std::to_string(blank) + " bytes, but the maximum is " +
                           std::to_string(layout_->bytes_max));
  schema.name = layout_->table;
  schema.sized_rows = true;
  schema.row_columns = layout_->columns;
  schema.row_bytes = layout_->bytes_max;
  schema.indexes = layout_->indexes;
  if (layout_->key_index) schema.key_index = *layout_->key_index;
  return schema;
}

}  // namespace elider
