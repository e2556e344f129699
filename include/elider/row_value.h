// RowValue, Decimal: the values of the columns of described rows (elider/described.h). The types
// are in elider/row_column.h.
//
//   RowType      stored as                     C++ types that set() accepts    get() returns, e.g.
//   kBool        1 byte, 0 or 1                bool                            bool
//   kInt8 ...    1, 2, 4 or 8 bytes            integers and enumerations       int32_t, uint64_t
//   kFloat       4 bytes                       float, double                   float, double
//   kDouble      8 bytes                       double, float                   double
//   kTimestamp   8 bytes, microseconds         elider::Timestamp               elider::Timestamp
//   kDecimal     8 bytes, number * 10^scale    elider::Decimal                 elider::Decimal
//   kUuid        16 bytes                      elider::Uuid                    elider::Uuid
//   kText        its bytes, which are UTF-8    string_view, string, literals   std::string_view
//   kJson        its bytes, one JSON text      string_view, string, literals   std::string_view
//   kBytes       its bytes                     elider::Bytes, spans of bytes   elider::Bytes
//
// Values are converted only if the result is the same value: an integer must be in the range of the
// column's type, and a decimal must not lose digits. The one exception is a double that is set in a
// float column, which is rounded. Everything else is an error, never a cast.
//
// A RowValue refers to the caller's text and bytes. Thread safety: the types are values.
#pragma once

#include "elider/language.h"

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "elider/byte_key.h"
#include "elider/row_column.h"
#include "elider/status.h"
#include "elider/tuple_codec.h"

namespace elider {

// A decimal number: units / 10^scale. Decimal{1250, 2} is 12.50. The comparison compares the
// members, so 12.5 and 12.50 are different.
struct Decimal {
  int64_t units = 0;
  uint8_t scale = 0;  // digits after the point, 0 to kDecimalScaleMax

  // Parses digits with an optional sign and point: "-12.50". The scale is the number of digits
  // after the point.
  //   kInvalidArgument  the text is not such a number, or the number does not fit
  static Result<Decimal> parse(std::string_view text);
  std::string text() const;
  friend constexpr bool operator==(const Decimal&, const Decimal&) = default;
};

// A value of any type, or null, for programs that do not know the types at compile time.
class RowValue {
 public:
  enum class Kind : uint8_t { kNull, kBool, kInteger, kFloat, kDouble, kTimestamp, kText, kBytes, kUuid, kDecimal };

  constexpr RowValue() = default;  // null
  template <class T>
    requires(detail::TupleNull<T>)
  constexpr RowValue(const T&) {}
  template <class T>
    requires(std::same_as<T, bool>)
  constexpr RowValue(const T& value) : kind_(Kind::kBool), word_(value ? 1 : 0) {}
  template <class T>
    requires(detail::TupleNumber<T> || detail::TupleEnum<T>)
  constexpr RowValue(const T& value) : kind_(Kind::kInteger), negative_(value < T{}), word_(static_cast<uint64_t>(value)) {}
  template <class T>
    requires(std::same_as<T, float>)
  constexpr RowValue(const T& value) : kind_(Kind::kFloat), number_(value) {}
  template <class T>
    requires(std::same_as<T, double>)
  constexpr RowValue(const T& value) : kind_(Kind::kDouble), number_(value) {}
  RowValue(const Timestamp& value) : kind_(Kind::kTimestamp), word_(static_cast<uint64_t>(value.time_since_epoch().count())) {}
  RowValue(const Decimal& value) : kind_(Kind::kDecimal), scale_(value.scale), word_(static_cast<uint64_t>(value.units)) {}
  RowValue(const Uuid& value) : kind_(Kind::kUuid), uuid_(value) {}
  // A null const char* is null.
  template <class T>
    requires(detail::TupleText<T> && !std::same_as<T, Bytes>)
  RowValue(const T& value) : kind_(Kind::kText) {
    if constexpr (std::is_pointer_v<T>) {
      if (value == nullptr) kind_ = Kind::kNull;
      else text_ = value;
    } else {
      text_ = value;
    }
  }
  template <class T>
    requires(detail::TupleBytes<T>)
  RowValue(const T& value) : RowValue(kBytesTag, detail::span_of(value)) {}
  template <class T>
    requires(!detail::TupleBytes<T> && !detail::TupleText<T> && std::convertible_to<const T&, std::span<const unsigned char>>)
  RowValue(const T& value) : RowValue(kBytesTag, std::as_bytes(std::span<const unsigned char>(value))) {}
  template <class T>
    requires(detail::kIsOptional<T>)
  RowValue(const T& value) {
    if (value.has_value()) *this = RowValue(*value);
  }

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::kNull; }
  // Call only the function of the value's kind.
  bool boolean() const { return word_ != 0; }
  uint64_t word() const { return word_; }        // kInteger: the number or, if negative(), its two's complement
  bool negative() const { return negative_; }    // kInteger
  double number() const { return number_; }      // kFloat, kDouble
  Timestamp timestamp() const { return Timestamp(std::chrono::microseconds(static_cast<int64_t>(word_))); }
  Decimal decimal() const { return {static_cast<int64_t>(word_), scale_}; }
  const Uuid& uuid() const { return uuid_; }
  std::string_view text() const { return text_; }  // kText; and the bytes of kBytes
  Bytes bytes() const { return Bytes(text_); }     // kText, kBytes

  // Prints the value for messages: "text", 0x01ff, 12.50, null. Long values are shortened.
  std::string to_text() const;

 private:
  enum BytesTag { kBytesTag };
  RowValue(BytesTag, std::span<const std::byte> bytes)
      : kind_(Kind::kBytes), text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {}

  Kind kind_ = Kind::kNull;
  bool negative_ = false;
  uint8_t scale_ = 0;
  uint64_t word_ = 0;
  double number_ = 0;
  std::string_view text_;
  Uuid uuid_{};
};

namespace detail {

// A C++ type whose values have the same bytes as the values of one RowType.
template <class T>
inline constexpr int kRowTypeOf = -1;
template <>
inline constexpr int kRowTypeOf<bool> = static_cast<int>(RowType::kBool);
template <TupleNumber T>
inline constexpr int kRowTypeOf<T> = (std::is_signed_v<T> ? 1 : 5) + std::countr_zero(sizeof(T));
template <>
inline constexpr int kRowTypeOf<float> = static_cast<int>(RowType::kFloat);
template <>
inline constexpr int kRowTypeOf<double> = static_cast<int>(RowType::kDouble);
template <>
inline constexpr int kRowTypeOf<Timestamp> = static_cast<int>(RowType::kTimestamp);
template <>
inline constexpr int kRowTypeOf<Uuid> = static_cast<int>(RowType::kUuid);
static_assert(sizeof(Timestamp) == 8 && sizeof(Uuid) == 16 && sizeof(bool) == 1);

// A type that a column can be read as.
template <class T>
concept RowReadable = (kRowTypeOf<T> >= 0) || TupleEnum<T> || std::same_as<T, Decimal> || std::same_as<T, std::string_view> ||
                      std::same_as<T, std::string> || std::same_as<T, Bytes> || std::same_as<T, std::span<const std::byte>>;

}  // namespace detail
}  // namespace elider
