#include "tools/rows/keys.h"

#include <array>
#include <cstring>

#include <fmt/format.h>

#include "elider/tuple.h"
#include "tools/rows/status_words.h"
#include "tools/rows/values.h"

namespace elider::tools {

namespace {

RowType row_type_of(KeyFieldType type) {
  switch (type) {
    case KeyFieldType::kBool: return RowType::kBool;
    case KeyFieldType::kInt8: return RowType::kInt8;
    case KeyFieldType::kInt16: return RowType::kInt16;
    case KeyFieldType::kInt32: return RowType::kInt32;
    case KeyFieldType::kInt64: return RowType::kInt64;
    case KeyFieldType::kUInt8: return RowType::kUInt8;
    case KeyFieldType::kUInt16: return RowType::kUInt16;
    case KeyFieldType::kUInt32: return RowType::kUInt32;
    case KeyFieldType::kUInt64: return RowType::kUInt64;
    case KeyFieldType::kFloat: return RowType::kFloat;
    case KeyFieldType::kDouble: return RowType::kDouble;
    case KeyFieldType::kTimestamp: return RowType::kTimestamp;
    case KeyFieldType::kText: return RowType::kText;
    case KeyFieldType::kBytes: return RowType::kBytes;
    case KeyFieldType::kUuid: return RowType::kUuid;
    case KeyFieldType::kTuple: break;
  }
  return RowType::kText;
}

// Reads the text of a tuple. The fields of the table decide the types.
class TupleParser {
 public:
  TupleParser(const Schema& schema, std::string_view text) : schema_(schema), text_(text), rest_(text), writer_(bytes_) {}

  // With `partial`, the tuple may have fewer fields.
  Result<Bytes> parse(bool partial) {
    if (Status status = parse_fields(schema_.key_fields, partial); !status.ok()) return status;
    skip_spaces();
    if (!rest_.empty()) return refuse("text follows the closing parenthesis");
    const Result<size_t> size = writer_.finish();
    if (!size.ok()) return refuse(words_of(size.status()));
    return Bytes(bytes_.data(), *size);
  }

 private:
  Status refuse(std::string_view why) const {
    return Status::invalid_argument(fmt::format("'{}' is not a key of table '{}', whose keys are tuples {}: {}", shown(text_),
                                                shown(schema_.name), text_of(schema_.key_fields), why));
  }
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }
  bool take(std::string_view words) {
    skip_spaces();
    if (!rest_.starts_with(words)) return false;
    rest_.remove_prefix(words.size());
    return true;
  }

  Status parse_fields(std::span<const KeyField> fields, bool partial) {
    if (!take("(")) return refuse("a tuple begins with a parenthesis, as in (1, \"eu\")");
    for (size_t i = 0; i < fields.size(); ++i) {
      if (partial && take(")")) return {};
      if (i != 0 && !take(",")) {
        skip_spaces();
        return refuse(rest_.starts_with(')') ? fmt::format("it has {} fields instead of {}", i, fields.size())
                                             : std::string("a comma is missing between fields"));
      }
      if (Status status = parse_field(fields[i], i); !status.ok()) return status;
      take("desc");
    }
    if (!take(")")) return refuse(rest_.starts_with(',') ? "it has too many fields" : "the closing parenthesis is missing");
    return {};
  }

  Status parse_field(const KeyField& field, size_t position) {
    skip_spaces();
    TupleField value;
    value.descending = field.descending;
    if (rest_.starts_with("null")) {
      take("null");
      if (field.null == KeyFieldNull::kNever) return refuse(fmt::format("field {} cannot be null", position));
      value.descending = field.null == KeyFieldNull::kLast;
      writer_.add(value);
      return {};
    }
    if (field.type == KeyFieldType::kTuple) {
      writer_.begin_tuple(field.descending);
      if (Status status = parse_fields(field.fields, false); !status.ok()) return status;
      writer_.end_tuple();
      return {};
    }
    const std::string_view token = take_token();
    std::string storage;
    std::string_view text = token;
    if (token.starts_with('"')) {
      const Result<std::string_view> unquoted = parse_quoted(token, unquoted_);
      if (!unquoted.ok()) return refuse(words_of(unquoted.status()));
      text = *unquoted;
    } else if (field.type == KeyFieldType::kFloat && text.ends_with('f') && !text.ends_with("inf")) {
      text.remove_suffix(1);
    }
    const Result<RowValue> parsed = parse_value({.type = row_type_of(field.type)}, text, storage);
    if (!parsed.ok()) return refuse(fmt::format("field {} ({}): {}", position, name_of(field.type), words_of(parsed.status())));
    fill(field.type, *parsed, &value);
    writer_.add(value);
    return {};
  }
  static void fill(KeyFieldType type, const RowValue& from, TupleField* to) {
    switch (type) {
      case KeyFieldType::kBool:
        to->type = TupleType::kBool;
        to->boolean = from.boolean();
        break;
      case KeyFieldType::kFloat:
        to->type = TupleType::kFloat;
        to->number32 = float_of(from);
        break;
      case KeyFieldType::kDouble:
        to->type = TupleType::kDouble;
        to->number = from.number();
        break;
      case KeyFieldType::kTimestamp:
        to->type = TupleType::kTimestamp;
        to->timestamp = from.timestamp();
        break;
      case KeyFieldType::kText:
      case KeyFieldType::kBytes:
        to->type = type == KeyFieldType::kText ? TupleType::kText : TupleType::kBytes;
        to->text = from.text();
        break;
      case KeyFieldType::kUuid:
        to->type = TupleType::kUuid;
        to->uuid = from.uuid();
        break;
      default:
        to->type = TupleType::kInteger;
        to->integer = from.word();
        to->negative = from.negative();
    }
  }
  // Takes a quoted text, or everything up to the end of the field.
  std::string_view take_token() {
    size_t end = 0;
    if (rest_.starts_with('"')) {
      for (end = 1; end < rest_.size() && rest_[end] != '"'; ++end)
        if (rest_[end] == '\\') ++end;
      end = std::min(end + 1, rest_.size());
    } else {
      if (rest_.starts_with("timestamp(")) end = std::min(rest_.find(')'), rest_.size() - 1) + 1;
      if (rest_.starts_with("nan(")) end = std::min(rest_.find(')'), rest_.size() - 1) + 1;
      end = std::min(rest_.find_first_of(",)", end), rest_.size());
    }
    std::string_view token = rest_.substr(0, end);
    rest_.remove_prefix(end);
    const auto trim = [&] { token = token.substr(0, token.find_last_not_of(" \t") + 1); };
    trim();
    if (token.ends_with(" desc")) token.remove_suffix(5), trim();
    return token;
  }

  const Schema& schema_;
  const std::string_view text_;
  std::string_view rest_;
  std::string unquoted_;
  std::array<std::byte, kTupleBytesMax> bytes_{};
  TupleWriter writer_;
};

// The range of the tuples that begin with certain fields, which elider::prefix() makes for types
// that are known at compile time.
class FieldsPrefix {
 public:
  explicit FieldsPrefix(std::string_view bytes) : from_(bytes), to_(bytes) {
    while (!to_.empty() && to_.back() == '\xff') to_.pop_back();
    if (!to_.empty()) to_.back() = static_cast<char>(static_cast<unsigned char>(to_.back()) + 1);
  }
  Bytes from() const { return from_; }
  Bytes to() const { return to_; }
  bool to_end() const { return to_.empty(); }
  const Status& status() const { return status_; }

 private:
  std::string from_, to_;
  Status status_;
};
static_assert(TuplePrefixType<FieldsPrefix>);

Result<Key> parse_number_key(const Schema& schema, std::string_view text) {
  std::string storage;
  const Result<RowValue> number = parse_value({.type = RowType::kUInt64}, text, storage);
  if (number.ok()) return number->word();
  return Status::invalid_argument(
      fmt::format("'{}' is not a key of table '{}', whose keys are numbers from 0 to {}", shown(text), shown(schema.name), kKeyMax));
}

Result<std::string> parse_byte_key(const Schema& schema, std::string_view text) {
  std::string storage;
  const Result<std::string_view> bytes = text.starts_with('"') ? parse_quoted(text, storage) : parse_bytes_text(text, storage);
  if (!bytes.ok()) return bytes.status();
  if (bytes->size() <= kKeyBytesMax) return std::string(*bytes);
  return Status::invalid_argument(
      fmt::format("a key of {} bytes is too long for table '{}'; a key has at most {}", bytes->size(), shown(schema.name), kKeyBytesMax));
}

Result<std::string> parse_tuple(const Schema& schema, std::string_view text, bool partial) {
  TupleParser parser(schema, text);
  const Result<Bytes> bytes = parser.parse(partial);
  if (!bytes.ok()) return bytes.status();
  return bytes->to_string();
}

Result<RowRange> number_range(const Schema& schema, const KeyBounds& bounds) {
  if (bounds.prefix.has_value())
    return Status::invalid_argument(
        fmt::format("--prefix: the keys of table '{}' are numbers, which do not have prefixes; use --from and --to", shown(schema.name)));
  KeyRange range;
  for (const auto& [text, end] : {std::pair{&bounds.from, &range.first}, std::pair{&bounds.to, &range.last}}) {
    if (!text->has_value()) continue;
    const Result<Key> key = parse_number_key(schema, **text);
    if (!key.ok()) return key.status();
    *end = *key;
  }
  return RowRange(range);
}

Result<RowRange> tuple_range(const Schema& schema, const KeyBounds& bounds) {
  const std::optional<std::string>& first = bounds.prefix.has_value() ? bounds.prefix : bounds.from;
  const std::optional<std::string>& last = bounds.prefix.has_value() ? bounds.prefix : bounds.to;
  std::string from, to;
  for (const auto& [text, bytes] : {std::pair{&first, &from}, std::pair{&last, &to}}) {
    if (!text->has_value()) continue;
    Result<std::string> parsed = parse_tuple(schema, **text, true);
    if (!parsed.ok()) return parsed.status();
    *bytes = *std::move(parsed);
  }
  return RowRange(ByteRange::between(FieldsPrefix(from), FieldsPrefix(to)));
}

Result<RowRange> byte_range(const Schema& schema, const KeyBounds& bounds) {
  std::string from, to;
  for (const auto& [text, bytes] : {std::pair{&bounds.prefix, &from}, std::pair{&bounds.from, &from}, std::pair{&bounds.to, &to}}) {
    if (!text->has_value()) continue;
    Result<std::string> parsed = parse_byte_key(schema, **text);
    if (!parsed.ok()) return parsed.status();
    *bytes = *std::move(parsed);
  }
  if (bounds.prefix.has_value()) return RowRange(ByteRange::prefix(from));
  if (bounds.to.has_value()) return RowRange(ByteRange(Bytes(from), Bytes(to)));
  return RowRange(ByteRange::from(from));
}

}  // namespace

std::string key_type_name(const Schema& schema) {
  if (schema.key_kind == KeyKind::kNumbers) return "number";
  return schema.key_fields.empty() ? "bytes" : text_of(schema.key_fields);
}

void append_key_text(std::string& out, const Schema& schema, const RowKey& key) {
  if (schema.key_kind == KeyKind::kNumbers) {
    append_text(out, {.type = RowType::kUInt64}, RowValue(key.number));
  } else if (!schema.key_fields.empty()) {
    out += tuple_to_text(key.bytes.span());
  } else if (key.bytes.text().starts_with('"')) {
    append_text(out, {.type = RowType::kBytes}, RowValue(key.bytes));
  } else {
    append_bytes(out, key.bytes.text(), false);
  }
}

void append_key_json(std::string& out, const Schema& schema, const RowKey& key) {
  if (schema.key_kind == KeyKind::kNumbers)
    append_key_text(out, schema, key);
  else
    append_json_string(out, key_text(schema, key));
}

std::string key_text(const Schema& schema, const RowKey& key) {
  std::string text;
  append_key_text(text, schema, key);
  return text;
}

Result<OwnedKey> parse_key(const Schema& schema, std::string_view text) {
  OwnedKey key;
  if (schema.key_kind == KeyKind::kNumbers) {
    const Result<Key> number = parse_number_key(schema, text);
    if (!number.ok()) return number.status();
    key.number = *number;
    return key;
  }
  const Result<std::string> bytes = schema.key_fields.empty() ? parse_byte_key(schema, text) : parse_tuple(schema, text, false);
  if (!bytes.ok()) return bytes.status();
  key.bytes = OwnedBytes(*bytes);
  return key;
}

Result<RowRange> parse_range(const Schema& schema, const KeyBounds& bounds) {
  if (bounds.prefix.has_value() && (bounds.from.has_value() || bounds.to.has_value()))
    return Status::invalid_argument("--prefix cannot be combined with --from and --to");
  if (schema.key_kind == KeyKind::kNumbers) return number_range(schema, bounds);
  return schema.key_fields.empty() ? byte_range(schema, bounds) : tuple_range(schema, bounds);
}

}  // namespace elider::tools
