#include "tools/rows/values.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "tools/rows/utf8.h"

namespace elider::tools {

namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

void append_hex(std::string& out, std::string_view bytes) {
  for (const char c : bytes) {
    out += kHexDigits[static_cast<unsigned char>(c) >> 4];
    out += kHexDigits[static_cast<unsigned char>(c) & 15];
  }
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Appends the bytes that the digits describe. Returns false if they are not pairs of digits.
bool parse_hex(std::string_view digits, std::string& bytes) {
  if (digits.size() % 2 != 0) return false;
  for (size_t i = 0; i < digits.size(); i += 2) {
    const int high = hex_digit(digits[i]), low = hex_digit(digits[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes += static_cast<char>(high << 4 | low);
  }
  return true;
}

template <class T>
void append_number(std::string& out, T number) {
  char digits[32];
  const char* const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, static_cast<size_t>(end - digits));
}

template <class T>
bool parse_number(std::string_view text, T* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc{} && end == text.data() + text.size();
}

template <class Float>
struct FloatBits;
template <>
struct FloatBits<float> {
  using Word = uint32_t;
  static constexpr Word kNan = 0x7fc00000, kSign = Word{1} << 31;
};
template <>
struct FloatBits<double> {
  using Word = uint64_t;
  static constexpr Word kNan = 0x7ff8000000000000, kSign = Word{1} << 63;
};

template <class Float>
void append_float(std::string& out, Float number) {
  using Bits = FloatBits<Float>;
  if (std::isnan(number)) {
    const auto bits = std::bit_cast<typename Bits::Word>(number);
    if (bits == Bits::kNan)
      out += "nan";
    else if (bits == (Bits::kNan | Bits::kSign))
      out += "-nan";
    else
      out += fmt::format("nan(0x{:x})", bits);
    return;
  }
  const size_t begin = out.size();
  append_number(out, number);
  const auto marks = [](char c) { return c == '.' || c == 'e' || c == 'i'; };  // 'i' is in inf
  if (std::none_of(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), marks)) out += ".0";
}

RowValue value_of(float number) { return float_value(number); }
RowValue value_of(double number) { return RowValue(number); }

template <class Float>
Result<RowValue> parse_float(std::string_view text) {
  using Bits = FloatBits<Float>;
  if (text == "nan") return value_of(std::bit_cast<Float>(Bits::kNan));
  if (text == "-nan") return value_of(std::bit_cast<Float>(Bits::kNan | Bits::kSign));
  if (text.starts_with("nan(0x") && text.ends_with(')')) {
    typename Bits::Word bits = 0;
    const auto [end, error] = std::from_chars(text.data() + 6, text.data() + text.size() - 1, bits, 16);
    if (error == std::errc{} && end == text.data() + text.size() - 1 && std::isnan(std::bit_cast<Float>(bits)))
      return value_of(std::bit_cast<Float>(bits));
  }
  Float number = 0;
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  if (!parse_number(text, &number)) return Status::invalid_argument("'" + shown(text) + "' is not a number, or is out of range");
  return RowValue(number);
}

void append_two(std::string& out, unsigned number) {
  out += static_cast<char>('0' + number / 10);
  out += static_cast<char>('0' + number % 10);
}

void append_timestamp(std::string& out, Timestamp time) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const int64_t since = day.time_since_epoch().count();
  if (since < -719162 || since > 2932896) {  // before the year 1 or after the year 9999
    out += "timestamp(";
    append_number(out, time.time_since_epoch().count());
    out += ')';
    return;
  }
  const year_month_day date(day);
  const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
  append_two(out, year / 100);
  append_two(out, year % 100);
  out += '-';
  append_two(out, static_cast<unsigned>(date.month()));
  out += '-';
  append_two(out, static_cast<unsigned>(date.day()));
  out += 'T';
  const auto us = static_cast<uint64_t>((time - day).count());
  const auto seconds = static_cast<unsigned>(us / 1'000'000);
  append_two(out, seconds / 3600);
  out += ':';
  append_two(out, seconds / 60 % 60);
  out += ':';
  append_two(out, seconds % 60);
  out += '.';
  const auto rest = static_cast<unsigned>(us % 1'000'000);
  append_two(out, rest / 10000);
  append_two(out, rest / 100 % 100);
  append_two(out, rest % 100);
  out += 'Z';
}

// Reads a fixed number of digits at the beginning of the text, and removes them.
bool take_digits(std::string_view& text, size_t digits, int64_t* number) {
  if (text.size() < digits) return false;
  *number = 0;
  for (size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    *number = *number * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return true;
}
bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

// Reads the time of a day and its offset from UTC: 22:16[:20[.123456]][Z or +01:00].
bool parse_time(std::string_view text, int64_t* us) {
  int64_t hour = 0, minute = 0, second = 0, fraction = 0;
  if (!take_digits(text, 2, &hour) || !take(text, ':') || !take_digits(text, 2, &minute) || hour > 23 || minute > 59) return false;
  if (take(text, ':')) {
    if (!take_digits(text, 2, &second) || second > 59) return false;
    if (take(text, '.')) {
      size_t digits = 0;
      for (int64_t digit = 0; take_digits(text, 1, &digit); ++digits) {
        if (digits < 6)
          fraction = fraction * 10 + digit;
        else if (digit != 0)
          return false;
      }
      if (digits == 0) return false;
      for (; digits < 6; ++digits) fraction *= 10;
    }
  }
  *us = ((hour * 60 + minute) * 60 + second) * 1'000'000 + fraction;
  if (take(text, 'Z') || text.empty()) return text.empty();
  const bool east = text.front() == '+';
  if (!take(text, '+') && !take(text, '-')) return false;
  if (!take_digits(text, 2, &hour)) return false;
  minute = 0;
  if (!text.empty() && (static_cast<void>(take(text, ':')), !take_digits(text, 2, &minute))) return false;
  *us += (east ? -1 : 1) * (hour * 60 + minute) * 60'000'000;
  return text.empty() && hour <= 23 && minute <= 59;
}

Result<RowValue> parse_timestamp(std::string_view text) {
  using namespace std::chrono;
  const auto refuse = [&] {
    return Status::invalid_argument("'" + shown(text) + "' is not a time; an example is 2026-11-29T22:16:20.000000Z");
  };
  int64_t count = 0;
  if (text.starts_with("timestamp(") && text.ends_with(')')) {
    if (!parse_number(text.substr(10, text.size() - 11), &count)) return refuse();
    return RowValue(Timestamp(microseconds(count)));
  }
  std::string_view rest = text;
  int64_t y = 0, m = 0, d = 0;
  if (!take_digits(rest, 4, &y) || !take(rest, '-') || !take_digits(rest, 2, &m) || !take(rest, '-') || !take_digits(rest, 2, &d))
    return refuse();
  const year_month_day date{year(static_cast<int>(y)), month(static_cast<unsigned>(m)), day(static_cast<unsigned>(d))};
  if (!date.ok()) return refuse();
  if (!rest.empty()) {
    if (!take(rest, 'T') && !take(rest, ' ')) return refuse();
    if (!parse_time(rest, &count)) return refuse();
  }
  return RowValue(Timestamp(sys_days(date)) + microseconds(count));
}

void append_uuid(std::string& out, const Uuid& uuid) {
  const std::string_view bytes(reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size());
  append_hex(out, bytes.substr(0, 4));
  for (const size_t from : {4, 6, 8}) {
    out += '-';
    append_hex(out, bytes.substr(from, 2));
  }
  out += '-';
  append_hex(out, bytes.substr(10));
}

Result<RowValue> parse_uuid(std::string_view text) {
  std::string digits, bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = text.size() == 36 && (i == 8 || i == 13 || i == 18 || i == 23);
    if (dash != (text[i] == '-')) break;
    if (!dash) digits += text[i];
  }
  if (digits.size() != 32 || !parse_hex(digits, bytes))
    return Status::invalid_argument("'" + shown(text) + "' is not a UUID; an example is 0e37df36-f698-11e6-8dd4-cb9ced3df976");
  Uuid uuid;
  std::memcpy(uuid.bytes.data(), bytes.data(), bytes.size());
  return RowValue(uuid);
}

Result<RowValue> parse_integer(RowType type, std::string_view text) {
  const unsigned bits = 8 * fixed_bytes_of(type);
  const bool is_signed = type <= RowType::kInt64;
  if (is_signed) {
    int64_t number = 0;
    const int64_t last = std::numeric_limits<int64_t>::max() >> (64 - bits);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end != text.data() + text.size() || error == std::errc::invalid_argument)
      return Status::invalid_argument("'" + shown(text) + "' is not a whole number");
    if (error == std::errc{} && number <= last && number >= -last - 1) return RowValue(number);
    return Status::invalid_argument(fmt::format("{} is out of range; the column holds {} to {}", text, -last - 1, last));
  }
  uint64_t number = 0;
  const uint64_t last = ~uint64_t{0} >> (64 - bits);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size() && number <= last) return RowValue(number);
  int64_t negative = 0;
  if ((error == std::errc::invalid_argument || end != text.data() + text.size()) && !parse_number(text, &negative))
    return Status::invalid_argument("'" + shown(text) + "' is not a whole number");
  return Status::invalid_argument(fmt::format("{} is out of range; the column holds 0 to {}", text, last));
}

Result<RowValue> parse_bool(std::string_view text) {
  std::string lower(text.substr(0, 6));
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (lower == "true" || lower == "1") return RowValue(true);
  if (lower == "false" || lower == "0") return RowValue(false);
  return Status::invalid_argument("'" + shown(text) + "' is neither true nor false");
}

// Returns true if the bytes are UTF-8 without control characters, and cannot be taken for
// hexadecimal.
bool is_text(std::string_view bytes, bool lines) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && !(lines && (c == '\t' || c == '\n' || c == '\r'))) || byte == 0x7f) return false;
  }
  return !bytes.starts_with("0x") && utf8_end(bytes) == bytes.size();
}

// Returns a padded column's text without the padding, or all its bytes if other bytes follow a zero
// byte.
std::string_view without_padding(std::string_view bytes) {
  const std::string_view text = bytes.substr(0, bytes.find('\0'));
  return bytes.find_first_not_of('\0', text.size()) == std::string_view::npos ? text : bytes;
}

}  // namespace

ValueType value_type_of(const Column& column) {
  ValueType type{.size = column.size};
  switch (column.type) {
    case ColumnType::kInt8: type.type = RowType::kInt8; break;
    case ColumnType::kInt16: type.type = RowType::kInt16; break;
    case ColumnType::kInt32: type.type = RowType::kInt32; break;
    case ColumnType::kInt64: type.type = RowType::kInt64; break;
    case ColumnType::kUInt8: type.type = RowType::kUInt8; break;
    case ColumnType::kUInt16: type.type = RowType::kUInt16; break;
    case ColumnType::kUInt32: type.type = RowType::kUInt32; break;
    case ColumnType::kUInt64: type.type = RowType::kUInt64; break;
    case ColumnType::kFloat: type.type = RowType::kFloat; break;
    case ColumnType::kDouble: type.type = RowType::kDouble; break;
    case ColumnType::kBytes:
      type.type = RowType::kBytes;
      type.form = ValueType::Form::kPadded;
      break;
  }
  return type;
}

ValueType value_type_of(const RowColumn& column) { return {.type = column.type, .scale = column.scale}; }

std::string type_name(const ValueType& type) {
  std::string name(name_of(type.type));
  if (type.type == RowType::kDecimal) return name + fmt::format("({})", type.scale);
  if (type.form == ValueType::Form::kPadded) return name + fmt::format("({})", type.size);
  return name;
}

bool parse_type(std::string_view name, ValueType* type) {
  *type = {};
  if (name.starts_with("decimal(") && name.ends_with(')')) {
    type->type = RowType::kDecimal;
    return parse_number(name.substr(8, name.size() - 9), &type->scale) && type->scale <= kDecimalScaleMax;
  }
  for (size_t i = 0; i < kRowTypes; ++i) {
    type->type = static_cast<RowType>(i);
    if (name == name_of(type->type)) return true;
  }
  return false;
}

std::string known_types() {
  std::string names;
  for (size_t i = 0; i < kRowTypes; ++i) {
    const auto type = static_cast<RowType>(i);
    names += fmt::format("{}{}{}", i == 0 ? "" : ", ", name_of(type), type == RowType::kDecimal ? "(SCALE)" : "");
  }
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kListedMax = 10;
  std::string words;
  for (size_t i = 0; i < std::min(names.size(), kListedMax); ++i) words += fmt::format("{}'{}'", i == 0 ? "" : ", ", shown(names[i]));
  const size_t others = names.size() - std::min(names.size(), kListedMax);
  return others == 0 ? words : fmt::format("{} and {} {}", words, others, others == 1 ? "other" : "others");
}

RowValue float_value(float number) {
  if (std::isnan(number)) [[unlikely]] return RowValue(std::bit_cast<uint32_t>(number));
  return RowValue(number);
}

float float_of(const RowValue& value) {
  return value.kind() == RowValue::Kind::kInteger ? std::bit_cast<float>(static_cast<uint32_t>(value.word()))
                                                  : static_cast<float>(value.number());
}

void append_text(std::string& out, const ValueType& type, const RowValue& value) {
  switch (value.kind()) {
    case RowValue::Kind::kNull: break;
    case RowValue::Kind::kBool: out += value.boolean() ? "true" : "false"; break;
    case RowValue::Kind::kInteger:
      if (type.type == RowType::kFloat)
        append_float(out, float_of(value));
      else if (value.negative())
        append_number(out, static_cast<int64_t>(value.word()));
      else
        append_number(out, value.word());
      break;
    case RowValue::Kind::kFloat: append_float(out, float_of(value)); break;
    case RowValue::Kind::kDouble: append_float(out, value.number()); break;
    case RowValue::Kind::kTimestamp: append_timestamp(out, value.timestamp()); break;
    case RowValue::Kind::kDecimal: out += value.decimal().text(); break;
    case RowValue::Kind::kUuid: append_uuid(out, value.uuid()); break;
    case RowValue::Kind::kText: out += value.text(); break;
    case RowValue::Kind::kBytes:
      if (type.form == ValueType::Form::kPadded) {
        const std::string_view text = without_padding(value.text());
        append_bytes(out, is_text(text, true) ? text : value.text(), true);
      } else if (type.form == ValueType::Form::kOpen) {
        append_bytes(out, value.text(), true);
      } else {
        out += "0x";
        append_hex(out, value.text());
      }
      break;
  }
}

void append_text(std::string& out, int64_t number) { append_number(out, number); }
void append_text(std::string& out, uint64_t number) { append_number(out, number); }
void append_text(std::string& out, float number) { append_float(out, number); }
void append_text(std::string& out, double number) { append_float(out, number); }
void append_text(std::string& out, Timestamp time) { append_timestamp(out, time); }

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  size_t copied = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\') [[likely]] continue;
    out.append(text, copied, i - copied);
    copied = i + 1;
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default: out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    }
  }
  out.append(text, copied);
  out += '"';
}

void append_json(std::string& out, const ValueType& type, const RowValue& value, bool exact) {
  switch (value.kind()) {
    case RowValue::Kind::kNull: out += "null"; break;
    case RowValue::Kind::kBool:
    case RowValue::Kind::kInteger:
    case RowValue::Kind::kDecimal:
    case RowValue::Kind::kFloat:
    case RowValue::Kind::kDouble: {
      const bool finite = type.type == RowType::kFloat ? std::isfinite(float_of(value)) : std::isfinite(value.number());
      if (!finite) out += '"';
      append_text(out, type, value);
      if (!finite) out += '"';
      break;
    }
    case RowValue::Kind::kTimestamp:
    case RowValue::Kind::kUuid:
      out += '"';
      append_text(out, type, value);
      out += '"';
      break;
    case RowValue::Kind::kText:
      if (type.type != RowType::kJson || exact) {
        append_json_string(out, value.text());
      } else {  // a document contains ends of lines only between tokens, so they can be spaces
        for (const char c : value.text()) out += c == '\n' || c == '\r' ? ' ' : c;
      }
      break;
    case RowValue::Kind::kBytes: {
      std::string text;
      append_text(text, type, value);
      append_json_string(out, text);
      break;
    }
  }
}

std::string shown(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t valid = utf8_end(text);
    for (const char c : text.substr(0, valid)) {
      if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)
        out += c;
      else
        append_hex(out += "\\x", std::string_view(&c, 1));
    }
    text.remove_prefix(valid);
    if (text.empty()) break;
    append_hex(out += "\\x", text.substr(0, 1));
    text.remove_prefix(1);
  }
  return out;
}

void append_bytes(std::string& out, std::string_view bytes, bool lines) {
  if (is_text(bytes, lines)) {
    out += bytes;
    return;
  }
  out += "0x";
  append_hex(out, bytes);
}

Result<std::string_view> parse_bytes_text(std::string_view text, std::string& storage) {
  if (!text.starts_with("0x")) return text;
  storage.clear();
  if (!parse_hex(text.substr(2), storage))
    return Status::invalid_argument("'" + shown(text.substr(0, 64)) + "' is not hexadecimal; after 0x, each byte has two digits");
  return std::string_view(storage);
}

Result<std::string_view> parse_quoted(std::string_view text, std::string& storage) {
  storage.clear();
  const auto refuse = [&](const char* why) { return Status::invalid_argument(shown(text) + ": " + why); };
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      if (i + 1 != text.size()) return refuse("text follows the closing quotation mark");
      return std::string_view(storage);
    }
    if (text[i] != '\\') {
      storage += text[i];
      continue;
    }
    if (++i < text.size() && (text[i] == '"' || text[i] == '\\'))
      storage += text[i];
    else if (i + 2 < text.size() && text[i] == 'x' && parse_hex(text.substr(i + 1, 2), storage))
      i += 2;
    else
      return refuse("after a backslash, write \", \\ or xNN");
  }
  return refuse("the closing quotation mark is missing");
}

Result<RowValue> parse_value(const ValueType& type, std::string_view text, std::string& storage) {
  switch (type.type) {
    case RowType::kBool: return parse_bool(text);
    case RowType::kInt8:
    case RowType::kInt16:
    case RowType::kInt32:
    case RowType::kInt64:
    case RowType::kUInt8:
    case RowType::kUInt16:
    case RowType::kUInt32:
    case RowType::kUInt64: return parse_integer(type.type, text);
    case RowType::kFloat: return parse_float<float>(text);
    case RowType::kDouble: return parse_float<double>(text);
    case RowType::kTimestamp: return parse_timestamp(text);
    case RowType::kUuid: return parse_uuid(text);
    case RowType::kDecimal: {
      const Result<Decimal> decimal = Decimal::parse(text);
      if (!decimal.ok()) return Status::invalid_argument("'" + shown(text) + "' is not a decimal of at most 64 bits, such as -12.50");
      return RowValue(*decimal);
    }
    case RowType::kText:
    case RowType::kJson: return RowValue(text);
    case RowType::kBytes: break;
  }
  if (type.form == ValueType::Form::kPlain && !text.starts_with("0x"))
    return Status::invalid_argument("'" + shown(text.substr(0, 64)) + "' is not in hexadecimal; write bytes as 0x01ff");
  const Result<std::string_view> bytes = parse_bytes_text(text, storage);
  if (!bytes.ok()) return bytes.status();
  if (type.form != ValueType::Form::kPadded) return RowValue(Bytes(*bytes));
  if (bytes->size() > type.size)
    return Status::invalid_argument(fmt::format("{} bytes do not fit; the column holds {}", bytes->size(), type.size));
  if (bytes->data() != storage.data()) storage = *bytes;
  storage.resize(type.size);
  return RowValue(Bytes(storage));
}

bool same_value(const ValueType& type, const RowValue& a, const RowValue& b) {
  if (type.type == RowType::kFloat && !a.is_null() && !b.is_null()) {
    const float x = float_of(a), y = float_of(b);
    return x == y || (std::isnan(x) && std::isnan(y));
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case RowValue::Kind::kNull: return true;
    case RowValue::Kind::kBool:
    case RowValue::Kind::kInteger: return a.word() == b.word() && a.negative() == b.negative();
    case RowValue::Kind::kFloat:
    case RowValue::Kind::kDouble: return a.number() == b.number() || (std::isnan(a.number()) && std::isnan(b.number()));
    case RowValue::Kind::kTimestamp: return a.word() == b.word();
    case RowValue::Kind::kDecimal: {
      Decimal x = a.decimal(), y = b.decimal();
      if (x.scale > y.scale) std::swap(x, y);
      while (x.scale < y.scale) {
        if (__builtin_mul_overflow(x.units, 10, &x.units)) return false;
        ++x.scale;
      }
      return x == y;
    }
    case RowValue::Kind::kUuid: return a.uuid() == b.uuid();
    case RowValue::Kind::kText:
    case RowValue::Kind::kBytes: return a.text() == b.text();
  }
  return false;
}

}  // namespace elider::tools
