#include "elider/key_field.h"

#include <iterator>
#include <limits>

#include "elider/tuple.h"

namespace elider {

std::string_view name_of(KeyFieldType type) {
  constexpr std::string_view kNames[] = {"bool",   "int8",   "int16", "int32",  "int64",     "uint8", "uint16", "uint32",
                                         "uint64", "float", "double", "timestamp", "text", "bytes", "UUID",   "tuple"};
  static_assert(std::size(kNames) == kKeyFieldTypes);
  const auto i = static_cast<size_t>(type);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

namespace {

// Checks the fields, and adds their number, including the fields of nested tuples, to *count.
Status check_fields(std::span<const KeyField> fields, size_t depth, size_t* count) {
  if (depth > kTupleDepthMax) return Status::invalid_argument("the tuples of its keys nest too deeply");
  for (const KeyField& field : fields) {
    if (++*count > kKeyFieldsMax)
      return Status::invalid_argument("its keys have more than " + std::to_string(kKeyFieldsMax) + " fields");
    if (static_cast<size_t>(field.type) >= kKeyFieldTypes || field.null > KeyFieldNull::kLast)
      return Status::invalid_argument("a field of its keys has an unknown type");
    if (field.type != KeyFieldType::kTuple && !field.fields.empty())
      return Status::invalid_argument("a field of its keys is " + std::string(name_of(field.type)) + " but has fields");
    if (Status status = check_fields(field.fields, depth + 1, count); !status.ok()) return status;
  }
  return {};
}

// An integer type, given by its range.
struct Range {
  KeyFieldType type;
  int64_t min;
  uint64_t max;
};
template <class T>
constexpr Range range_of(KeyFieldType type) {
  return {type, static_cast<int64_t>(std::numeric_limits<T>::min()), static_cast<uint64_t>(std::numeric_limits<T>::max())};
}
constexpr Range kRanges[] = {range_of<int8_t>(KeyFieldType::kInt8),     range_of<int16_t>(KeyFieldType::kInt16),
                             range_of<int32_t>(KeyFieldType::kInt32),   range_of<int64_t>(KeyFieldType::kInt64),
                             range_of<uint8_t>(KeyFieldType::kUInt8),   range_of<uint16_t>(KeyFieldType::kUInt16),
                             range_of<uint32_t>(KeyFieldType::kUInt32), range_of<uint64_t>(KeyFieldType::kUInt64)};

bool accepts(KeyFieldType type, const TupleField& value) {
  switch (type) {
    case KeyFieldType::kBool: return value.type == TupleType::kBool;
    case KeyFieldType::kFloat: return value.type == TupleType::kFloat;
    case KeyFieldType::kDouble: return value.type == TupleType::kDouble;
    case KeyFieldType::kTimestamp: return value.type == TupleType::kTimestamp;
    case KeyFieldType::kText: return value.type == TupleType::kText;
    case KeyFieldType::kBytes: return value.type == TupleType::kBytes;
    case KeyFieldType::kUuid: return value.type == TupleType::kUuid;
    case KeyFieldType::kTuple: return value.type == TupleType::kTuple;
    default: break;
  }
  if (value.type != TupleType::kInteger) return false;
  for (const Range& range : kRanges)
    if (range.type == type) return value.negative ? value.as_int64() >= range.min : value.integer <= range.max;
  return false;
}

bool accepts(const KeyField& field, const TupleField& value) {
  if (value.type == TupleType::kNull)
    return field.null == (value.descending ? KeyFieldNull::kLast : KeyFieldNull::kFirst);
  return value.descending == field.descending && accepts(field.type, value);
}

std::string text_of(const KeyField& field) {
  std::string text = field.type == KeyFieldType::kTuple ? elider::text_of(field.fields) : std::string(name_of(field.type));
  if (field.descending) text += " desc";
  if (field.null == KeyFieldNull::kFirst) text += " or null first";
  if (field.null == KeyFieldNull::kLast) text += " or null last";
  return text;
}

// Returns why `value` cannot be the field at this position, or ok.
Status check_field(std::span<const KeyField> fields, size_t position, const TupleField& value, const std::string& where) {
  if (position < fields.size() && accepts(fields[position], value)) [[likely]] return {};
  std::string text = "field " + where + std::to_string(position) + " is ";
  text += name_of(value.type);
  if (value.descending) text += " desc";
  if (position >= fields.size()) return Status::invalid_argument(text + ", but there should be no such field");
  if (value.type == TupleType::kInteger)
    text += " " + (value.negative ? std::to_string(value.as_int64()) : std::to_string(value.integer));
  return Status::invalid_argument(text + " instead of " + text_of(fields[position]));
}

// Checks the fields of one tuple: the outermost tuple or, if the reader has just entered a nested
// tuple, that one. `where` is the tuple's path in messages, such as "2.".
Status check_fields(TupleReader& reader, std::span<const KeyField> fields, const std::string& where) {
  const size_t depth = reader.depth();
  size_t position = 0;
  for (TupleField value; reader.next(&value); ++position) {
    if (reader.depth() < depth) break;  // the end of the nested tuple
    if (Status status = check_field(fields, position, value, where); !status.ok()) [[unlikely]] return status;
    if (value.type != TupleType::kTuple) continue;
    const KeyField& field = fields[position];
    if (Status status = check_fields(reader, field.fields, where + std::to_string(position) + "."); !status.ok()) return status;
  }
  if (!reader.status().ok()) return reader.status();
  if (position < fields.size())
    return Status::invalid_argument("field " + where + std::to_string(position) + " is missing; it should be " + text_of(fields[position]));
  return {};
}

}  // namespace

Status check_key_fields(std::span<const KeyField> fields) {
  if (fields.empty()) return Status::invalid_argument("its tuple keys do not have fields");
  size_t count = 0;
  return check_fields(fields, 0, &count);
}

Status check_tuple_key(std::span<const KeyField> fields, std::span<const std::byte> key) {
  TupleReader reader(key);
  return check_fields(reader, fields, "");
}

Status check_tuple_prefix(std::span<const KeyField> fields, std::span<const std::byte> prefix) {
  TupleReader reader(prefix);
  size_t position = 0;
  TupleField value;
  for (; reader.next(&value); ++position) {
    if (Status status = check_field(fields, position, value, ""); !status.ok()) [[unlikely]] return status;
    if (value.type != TupleType::kTuple) continue;
    if (Status status = check_fields(reader, fields[position].fields, std::to_string(position) + "."); !status.ok()) return status;
  }
  const bool cut_off = value.type == TupleType::kText || value.type == TupleType::kBytes;
  if (!reader.status().ok() && cut_off && reader.depth() == 0) return check_field(fields, position, value, "");
  return reader.status();
}

std::string text_of(std::span<const KeyField> fields) {
  std::string text;
  for (const KeyField& field : fields) text += (text.empty() ? "(" : ", ") + text_of(field);
  return text.empty() ? "()" : text + ")";
}

}  // namespace elider
