#include "elider/row_value.h"

#include <charconv>

#include "base/utf8.h"
#include "elider/tuple.h"

namespace elider {

// Decimals.

Result<Decimal> Decimal::parse(std::string_view text) {
  const auto refuse = [&](const char* why) {
    return Status::invalid_argument("'" + printable(text.substr(0, 64)) + "' is not a decimal: " + why + "; an example is -12.50");
  };
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  uint64_t units = 0;
  size_t digits = 0, scale = 0;
  bool point = false;
  for (const char c : rest) {
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') return refuse("it contains another character");
    const auto digit = static_cast<uint64_t>(c - '0');
    const uint64_t most = negative ? uint64_t{1} << 63 : ~uint64_t{0} >> 1;
    if (units > (most - digit) / 10) return refuse("it does not fit in 64 bits");
    units = units * 10 + digit;
    ++digits;
    scale += point ? 1 : 0;
  }
  if (digits == 0) return refuse("it does not contain a digit");
  if (scale > kDecimalScaleMax) return refuse("it has more than 18 digits after the point");
  return Decimal{static_cast<int64_t>(negative ? -units : units), static_cast<uint8_t>(scale)};
}

std::string Decimal::text() const {
  std::string digits = std::to_string(units);
  if (scale == 0) return digits;
  const size_t sign = units < 0 ? 1 : 0;
  if (digits.size() - sign <= scale) digits.insert(sign, scale + 1 - (digits.size() - sign), '0');
  digits.insert(digits.size() - scale, 1, '.');
  return digits;
}

// Values as text.

namespace {

constexpr size_t kShownMax = 40;

std::string shortened(std::string_view text) {
  size_t end = text.size();
  if (end > kShownMax) {
    end = kShownMax;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // do not split a UTF-8 character
  }
  std::string words = '"' + printable(text.substr(0, end)) + '"';
  if (end < text.size()) words += "... of " + std::to_string(text.size()) + " bytes";
  return words;
}

std::string in_hexadecimal(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string words = "0x";
  for (const char c : bytes.substr(0, kShownMax / 2)) {
    words += kDigits[static_cast<unsigned char>(c) >> 4];
    words += kDigits[static_cast<unsigned char>(c) & 15];
  }
  if (bytes.size() > kShownMax / 2) words += "... of " + std::to_string(bytes.size()) + " bytes";
  return words;
}

// The text of a tuple with this field, without the parentheses.
template <class T>
std::string as_field(const T& value) {
  std::byte bytes[64];
  const Result<size_t> size = encode_fields(bytes, value);
  if (!size.ok()) return "unknown";
  const std::string words = tuple_to_text(std::span<const std::byte>(bytes).first(*size));
  return words.substr(1, words.size() - 2);
}

}  // namespace

std::string RowValue::to_text() const {
  switch (kind_) {
    case Kind::kNull: return "null";
    case Kind::kBool: return boolean() ? "true" : "false";
    case Kind::kInteger: return negative_ ? std::to_string(static_cast<int64_t>(word_)) : std::to_string(word_);
    case Kind::kFloat: return as_field(static_cast<float>(number_));
    case Kind::kDouble: return as_field(number_);
    case Kind::kTimestamp: return as_field(timestamp());
    case Kind::kText: return shortened(text_);
    case Kind::kBytes: return in_hexadecimal(text_);
    case Kind::kUuid: return as_field(uuid_);
    case Kind::kDecimal: return decimal().text();
  }
  return "unknown";
}

}  // namespace elider
