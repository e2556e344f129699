// Internals of elider/tuple.h: how C++ values are encoded as fields of a tuple, and decoded.
//
// Encoding and decoding are in one long file, because they must agree for every type. Programs
// include elider/tuple.h instead. docs/formats.md, "Tuple encoding", describes the bytes.
// All bytes of a descending field are inverted. The template parameter kFlip is true for such
// fields. Thread safety: all functions are pure.
#pragma once

#include "elider/language.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "elider/status.h"

namespace elider {

// The maximum size of an encoded tuple, and of a key, in bytes.
inline constexpr size_t kTupleBytesMax = 1024;
// The maximum nesting depth of tuples. The depth of a tuple without nested tuples is 0.
inline constexpr size_t kTupleDepthMax = 32;

// A time in microseconds since 1970-01-01 00:00 UTC. Earlier times are negative. To convert a time
// with a finer resolution, use std::chrono::floor<std::chrono::microseconds>.
using Timestamp = std::chrono::sys_time<std::chrono::microseconds>;

// A UUID in the byte order of its text form. UUIDs are ordered by these bytes.
struct Uuid {
  std::array<std::byte, 16> bytes{};
  friend constexpr auto operator<=>(const Uuid&, const Uuid&) = default;
};

// A field in descending order, in which larger values come first. Its comparison operators use that
// order, so a std::tuple<uint32_t, Descending<Timestamp>> compares as its encoding does. In
// Descending<std::optional<T>> null comes last; in std::optional<Descending<T>> it comes first.
template <class T>
struct Descending {
  T value{};
  template <class U>
    requires(std::convertible_to<const T&, U> && !std::same_as<T, U>)
  constexpr operator Descending<U>() const { return {value}; }
  friend constexpr bool operator==(const Descending& a, const Descending& b) { return a.value == b.value; }
  friend constexpr auto operator<=>(const Descending& a, const Descending& b) { return b.value <=> a.value; }
};
template <class T>
Descending(T) -> Descending<T>;

// The last field of a prefix(). It matches all text that begins with this text, or all bytes that
// begin with these bytes.
template <class T>
struct StartsWith {
  T value{};
};
template <class T>
StartsWith(T) -> StartsWith<T>;

// The types of fields, in the order of their values in ascending fields.
enum class TupleType : uint8_t {
  kNull = 0,
  kBool = 1,
  kInteger = 2,
  kFloat = 3,
  kDouble = 4,
  kTimestamp = 5,
  kText = 6,
  kBytes = 7,
  kUuid = 8,
  kTuple = 9,
  kTupleEnd = 10,  // not a field: the end of a nested tuple, for a TupleReader and a TupleWriter
};
std::string_view name_of(TupleType type);  // "null", "bool", "integer", ...

// Memory for decoded text and bytes. If text or bytes contain the bytes 0 or 1, or are descending,
// they differ from their encoding, so a view of them cannot refer to the encoded key. The scratch
// has 1 KiB, which is enough for every tuple, and is not initialized.
class TupleScratch {
 public:
  TupleScratch() {}  // NOLINT: the bytes are not initialized
  TupleScratch(const TupleScratch&) = delete;
  TupleScratch& operator=(const TupleScratch&) = delete;

  void clear() { used_ = 0; }
  // The memory is always sufficient, because decoded text is not longer than its encoding.
  std::byte* take(size_t bytes) { return bytes_ + std::exchange(used_, used_ + bytes); }

 private:
  size_t used_ = 0;
  std::byte bytes_[kTupleBytesMax];
};

namespace detail {

// The first byte of an ascending field. Other values up to 0x7f are reserved. The first byte of a
// descending field is inverted, so it is at least 0x80.
inline constexpr uint8_t kTagEnd = 0x00;       // the end of a nested tuple: below all others, so that a prefix comes first
inline constexpr uint8_t kTagNull = 0x04;
inline constexpr uint8_t kTagFalse = 0x08;
inline constexpr uint8_t kTagTrue = 0x09;
inline constexpr uint8_t kTagNegative = 0x18;  // the tag is this value minus the integer's number of bytes, 1 to 8
inline constexpr uint8_t kTagSmall = 0x18;     // the tag is this value plus the integer itself, 0 to kSmallMax
inline constexpr uint8_t kTagPositive = 0x57;  // the tag is this value plus the integer's number of bytes, 1 to 8
inline constexpr uint8_t kTagFloat = 0x62;
inline constexpr uint8_t kTagDouble = 0x63;
inline constexpr uint8_t kTagTimestamp = 0x66;
inline constexpr uint8_t kTagText = 0x6a;
inline constexpr uint8_t kTagBytes = 0x6c;
inline constexpr uint8_t kTagUuid = 0x70;
inline constexpr uint8_t kTagTuple = 0x74;
inline constexpr uint64_t kSmallMax = 63;
static_assert(kTagSmall + kSmallMax == kTagPositive);

// The position of a field that was refused, in its tuple and in each enclosing tuple.
struct TuplePath {
  uint32_t depth = 0;
  std::array<uint32_t, kTupleDepthMax + 1> fields;  // the innermost first
  void add(size_t field) { fields[depth++] = static_cast<uint32_t>(field); }
  std::string text() const;  // "tuple field 2.1"
};

// Why a tuple could not be encoded.
struct EncodeFailure {
  enum class Reason : uint8_t { kNoRoom, kNotUtf8, kNullPointer, kOutOfRange };
  Reason reason;
  TupleType type;
  size_t bytes;   // size of the text or bytes
  size_t offset;  // of the first byte that is not UTF-8
  uint64_t number;           // the integer that is out of range, if it is not negative; otherwise its two's complement
  bool negative;             // `number` is negative
  const char* integer_type;  // the type that cannot hold it
  TuplePath path;

  // Returns null, which the caller then returns as well.
  [[gnu::cold]] std::byte* set(Reason its_reason, TupleType its_type, size_t its_bytes = 0, size_t its_offset = 0) {
    reason = its_reason;
    type = its_type;
    bytes = its_bytes;
    offset = its_offset;
    return nullptr;
  }
};
// `room` is the size of the buffer.
[[gnu::cold]] Status encode_status(const EncodeFailure& failure, size_t room);

// An integer that a call takes as a key field of type T. It accepts every integer, and encoding
// fails if T cannot represent the value. A plain T would convert the integer without a check.
template <class T>
class CheckedInteger {
 public:
  constexpr CheckedInteger() = default;
  template <class U>
    requires((std::integral<U> || std::is_enum_v<U>) && sizeof(U) <= sizeof(uint64_t))
  constexpr CheckedInteger(U value) : word_(static_cast<uint64_t>(value)), negative_(value < U{}) {}

  constexpr bool fits() const {
    if (negative_) return std::is_signed_v<T> && static_cast<int64_t>(word_) >= static_cast<int64_t>(std::numeric_limits<T>::min());
    return word_ <= static_cast<uint64_t>(std::numeric_limits<T>::max());
  }
  constexpr T value() const { return static_cast<T>(word_); }  // only if fits()
  constexpr uint64_t word() const { return word_; }
  constexpr bool negative() const { return negative_; }

 private:
  uint64_t word_ = 0;  // the number, or its two's complement
  bool negative_ = false;
};
template <class T>
inline constexpr bool kIsCheckedInteger = false;
template <class T>
inline constexpr bool kIsCheckedInteger<CheckedInteger<T>> = true;
template <class T>
constexpr const char* integer_name() {
  constexpr const char* kNames[2][4] = {{"uint8", "uint16", "uint32", "uint64"}, {"int8", "int16", "int32", "int64"}};
  return kNames[std::is_signed_v<T> ? 1 : 0][std::countr_zero(sizeof(T))];
}

// Traits that classify the C++ types of fields.
template <class T>
inline constexpr bool kIsDescending = false;
template <class T>
inline constexpr bool kIsDescending<Descending<T>> = true;
template <class T>
inline constexpr bool kIsStartsWith = false;
template <class T>
inline constexpr bool kIsStartsWith<StartsWith<T>> = true;
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsTuple = false;
template <class... Ts>
inline constexpr bool kIsTuple<std::tuple<Ts...>> = true;
template <class T>
inline constexpr bool kIsCharacter = std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
                                     std::same_as<T, char16_t> || std::same_as<T, char32_t>;
template <class T>
concept TupleNull = std::same_as<T, std::nullptr_t> || std::same_as<T, std::nullopt_t>;
template <class T>
concept TupleNumber = std::integral<T> && !std::same_as<T, bool> && !kIsCharacter<T> && sizeof(T) <= 8;
template <class T>
concept TupleEnum = std::is_enum_v<T> && !std::same_as<T, std::byte>;
template <class T>
concept TupleText = std::convertible_to<const T&, std::string_view> && !TupleNull<T>;
template <class T>
concept HasByteSpan = requires(const T& value) {
  { value.span() } -> std::convertible_to<std::span<const std::byte>>;
};
template <class T>
concept TupleBytes = (std::convertible_to<const T&, std::span<const std::byte>> || HasByteSpan<T>) && !TupleText<T>;
template <TupleBytes T>
std::span<const std::byte> span_of(const T& bytes) {
  if constexpr (HasByteSpan<T>) return bytes.span();
  else return bytes;
}

// The nesting depth of tuples in a field of this type; 1 for a tuple without nested tuples.
template <class T>
inline constexpr size_t kTupleDepth = 0;
template <class T>
inline constexpr size_t kTupleDepth<Descending<T>> = kTupleDepth<T>;
template <class T>
inline constexpr size_t kTupleDepth<std::optional<T>> = kTupleDepth<T>;
template <class... Ts>
inline constexpr size_t kTupleDepth<std::tuple<Ts...>> = [] {
  size_t depth = 0;
  ((depth = std::max(depth, kTupleDepth<std::remove_cvref_t<Ts>>)), ...);
  return depth + 1;
}();

template <class T>
inline constexpr bool kNoTupleField = false;

// These functions store and load numbers in big-endian byte order, so that memcmp orders the bytes
// like the numbers.
inline void store_big_endian(std::byte* to, uint64_t value) {
  if constexpr (std::endian::native == std::endian::little) value = __builtin_bswap64(value);
  std::memcpy(to, &value, sizeof value);
}
inline uint64_t load_big_endian(const std::byte* from) {
  uint64_t value;
  std::memcpy(&value, from, sizeof value);
  return std::endian::native == std::endian::little ? __builtin_bswap64(value) : value;
}

// Encoding. Each function writes a field at `at`, and nothing at or after `end`. It returns the
// position after the field. If it fails, it sets `failure` and returns null.

template <bool kFlip>
constexpr std::byte flipped(uint8_t byte) {
  return static_cast<std::byte>(kFlip ? byte ^ 0xff : byte);
}

template <bool kFlip>
std::byte* put_tag(std::byte* at, const std::byte* end, uint8_t tag, TupleType type, EncodeFailure& failure) {
  if (at == end) [[unlikely]] return failure.set(EncodeFailure::Reason::kNoRoom, type);
  *at = flipped<kFlip>(tag);
  return at + 1;
}

// Writes the tag and the upper `bytes` bytes of `payload`. `bytes` is 1 to 8.
template <bool kFlip>
std::byte* put_word(std::byte* at, const std::byte* end, uint8_t tag, uint64_t payload, unsigned bytes, TupleType type,
                    EncodeFailure& failure) {
  if (kFlip) payload = ~payload;
  if (end - at >= 9) [[likely]] {
    *at = flipped<kFlip>(tag);
    store_big_endian(at + 1, payload);  // also writes bytes after the field, which the next field overwrites
    return at + 1 + bytes;
  }
  if (end - at < static_cast<std::ptrdiff_t>(bytes) + 1) return failure.set(EncodeFailure::Reason::kNoRoom, type);
  *at = flipped<kFlip>(tag);
  std::byte word[8];
  store_big_endian(word, payload);
  std::memcpy(at + 1, word, bytes);
  return at + 1 + bytes;
}

// Returns the number of bytes that `number` needs, which is at least 1.
constexpr unsigned bytes_of_number(uint64_t number) { return (71 - static_cast<unsigned>(std::countl_zero(number | 1))) / 8; }

template <bool kFlip, TupleNumber T>
std::byte* put_number(std::byte* at, const std::byte* end, T value, EncodeFailure& failure) {
  if constexpr (std::signed_integral<T>) {
    if (value < 0) {
      const auto word = static_cast<uint64_t>(static_cast<int64_t>(value));
      const unsigned bytes = bytes_of_number(~word);
      return put_word<kFlip>(at, end, static_cast<uint8_t>(kTagNegative - bytes), word << (64 - 8 * bytes), bytes, TupleType::kInteger,
                             failure);
    }
  }
  const auto word = static_cast<uint64_t>(value);
  if (word <= kSmallMax) return put_tag<kFlip>(at, end, static_cast<uint8_t>(kTagSmall + word), TupleType::kInteger, failure);
  const unsigned bytes = bytes_of_number(word);
  return put_word<kFlip>(at, end, static_cast<uint8_t>(kTagPositive + bytes), word << (64 - 8 * bytes), bytes, TupleType::kInteger,
                         failure);
}

// Maps the bits of floating-point numbers to unsigned numbers in the same order. -0.0 is mapped
// like 0.0, and all NaNs are mapped to one number above that of infinity. The function compares
// bits only, so it also works in programs that are compiled with -ffast-math.
template <class Bits>
constexpr Bits ordered_bits(Bits bits, Bits infinity) {
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  if ((bits & ~kSign) > infinity) bits = infinity | (infinity >> 1 & ~infinity);  // the quiet NaN
  if (bits == kSign) bits = 0;
  return bits & kSign ? static_cast<Bits>(~bits) : bits | kSign;
}
inline constexpr uint32_t kInfinity32 = 0x7f800000;
inline constexpr uint64_t kInfinity64 = 0x7ff0000000000000;

// `type` is kText or kBytes. If `ended` is false, no end marker is written, because the text is the
// last field of a prefix.
std::byte* put_text(std::byte* at, std::byte* end, std::string_view text, TupleType type, bool flip, bool ended,
                    EncodeFailure& failure);
template <bool kFlip, class T>
std::byte* put_text_of(std::byte* at, std::byte* end, const T& value, bool ended, EncodeFailure& failure) {
  if constexpr (TupleText<T>) {
    if constexpr (std::is_array_v<T>) {  // the text is the characters before the first zero
      const std::string_view whole(value, std::extent_v<T>);
      return put_text(at, end, whole.substr(0, whole.find('\0')), TupleType::kText, kFlip, ended, failure);
    } else {
      if constexpr (std::is_pointer_v<T>)
        if (value == nullptr) [[unlikely]] return failure.set(EncodeFailure::Reason::kNullPointer, TupleType::kText);
      return put_text(at, end, std::string_view(value), TupleType::kText, kFlip, ended, failure);
    }
  } else {
    static_assert(TupleBytes<T>, "StartsWith has text or bytes");
    const std::span<const std::byte> bytes = span_of(value);
    return put_text(at, end, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, TupleType::kBytes, kFlip, ended, failure);
  }
}

template <bool kFlip, class... Ts>
std::byte* put_fields(std::byte* at, std::byte* end, EncodeFailure& failure, const Ts&... fields);

template <bool kFlip, class T>
std::byte* put_field(std::byte* at, std::byte* end, const T& value, EncodeFailure& failure) {
  if constexpr (TupleNull<T>) {
    return put_tag<kFlip>(at, end, kTagNull, TupleType::kNull, failure);
  } else if constexpr (std::same_as<T, bool>) {
    return put_tag<kFlip>(at, end, value ? kTagTrue : kTagFalse, TupleType::kBool, failure);
  } else if constexpr (TupleNumber<T>) {
    return put_number<kFlip>(at, end, value, failure);
  } else if constexpr (kIsCheckedInteger<T>) {
    if (!value.fits()) [[unlikely]] {
      failure.number = value.word();
      failure.negative = value.negative();
      failure.integer_type = integer_name<decltype(value.value())>();
      return failure.set(EncodeFailure::Reason::kOutOfRange, TupleType::kInteger);
    }
    return put_number<kFlip>(at, end, value.value(), failure);
  } else if constexpr (TupleEnum<T>) {
    static_assert(TupleNumber<std::underlying_type_t<T>>, "the underlying type of an enumeration is a number");
    return put_number<kFlip>(at, end, static_cast<std::underlying_type_t<T>>(value), failure);
  } else if constexpr (std::same_as<T, float>) {
    const uint32_t bits = ordered_bits(std::bit_cast<uint32_t>(value), kInfinity32);
    return put_word<kFlip>(at, end, kTagFloat, uint64_t{bits} << 32, 4, TupleType::kFloat, failure);
  } else if constexpr (std::same_as<T, double>) {
    return put_word<kFlip>(at, end, kTagDouble, ordered_bits(std::bit_cast<uint64_t>(value), kInfinity64), 8, TupleType::kDouble, failure);
  } else if constexpr (std::same_as<T, Timestamp>) {
    const auto word = static_cast<uint64_t>(value.time_since_epoch().count()) ^ uint64_t{1} << 63;
    return put_word<kFlip>(at, end, kTagTimestamp, word, 8, TupleType::kTimestamp, failure);
  } else if constexpr (std::same_as<T, Uuid>) {
    if (end - at < 17) [[unlikely]] return failure.set(EncodeFailure::Reason::kNoRoom, TupleType::kUuid);
    *at = flipped<kFlip>(kTagUuid);
    for (size_t i = 0; i < 16; ++i) at[1 + i] = kFlip ? ~value.bytes[i] : value.bytes[i];
    return at + 17;
  } else if constexpr (kIsDescending<T>) {
    static_assert(!kIsDescending<std::remove_cvref_t<decltype(value.value)>>, "Descending<Descending<T>> is T");
    return put_field<!kFlip>(at, end, value.value, failure);
  } else if constexpr (kIsOptional<T>) {
    static_assert(!TupleNull<typename T::value_type> && !kIsOptional<typename T::value_type>, "there is one null only");
    return value.has_value() ? put_field<kFlip>(at, end, *value, failure) : put_field<kFlip>(at, end, nullptr, failure);
  } else if constexpr (kIsTuple<T>) {
    at = put_tag<kFlip>(at, end, kTagTuple, TupleType::kTuple, failure);
    if (at == nullptr) [[unlikely]] return nullptr;
    at = std::apply([&](const auto&... fields) { return put_fields<kFlip>(at, end, failure, fields...); }, value);
    return at == nullptr ? nullptr : put_tag<kFlip>(at, end, kTagEnd, TupleType::kTuple, failure);
  } else if constexpr (TupleText<T> || TupleBytes<T>) {
    return put_text_of<kFlip>(at, end, value, true, failure);
  } else {
    static_assert(kNoTupleField<T>,
                  "this type cannot be a field of a tuple: use bool, integers of up to 8 bytes, enumerations, float, double, text "
                  "(std::string_view), bytes (std::span<const std::byte>), elider::Timestamp, elider::Uuid, nullptr, std::optional, "
                  "std::tuple or elider::Descending; for other times, std::chrono::floor<std::chrono::microseconds>");
  }
}

template <bool kFlip, class... Ts>
std::byte* put_fields(std::byte* at, std::byte* end, EncodeFailure& failure, const Ts&... fields) {
  size_t field = 0;
  [[maybe_unused]] const auto put = [&](const auto& value) {
    std::byte* const next = put_field<kFlip>(at, end, value, failure);
    if (next == nullptr) [[unlikely]] {
      failure.path.add(field);
      return false;
    }
    at = next;
    ++field;
    return true;
  };
  return (put(fields) && ...) ? at : nullptr;
}

// Decoding. Each function reads a field, or only its value, at `input.at`, and advances `input.at`
// past it. It returns false if the input does not contain a value of the requested type, or
// if the encoding of the value is not canonical. The caller then reads the tuple again, to describe
// in its error message what the input contains.

struct TupleInput {
  const std::byte* at;
  const std::byte* end;
  TupleScratch* scratch;  // for views only
};

// What the caller requested for the field that could not be decoded.
struct DecodeFailure {
  const char* asked = "";
  bool asked_descending = false;
  TuplePath path;
};
[[gnu::cold]] Status decode_status(const DecodeFailure& failure, std::span<const std::byte> bytes);

// The bits of a negative integer are its two's complement.
struct TupleInteger {
  uint64_t bits = 0;
  bool negative = false;
};

// Reads the rest of an integer after its tag. `flip` is 0xff in a descending field, otherwise 0.
inline bool is_integer_tag(uint8_t tag) { return tag >= kTagNegative - 8 && tag <= kTagPositive + 8; }
inline bool take_integer(TupleInput& input, uint8_t tag, uint8_t flip, TupleInteger* integer) {
  *integer = {};
  if (tag >= kTagSmall && tag <= kTagPositive) {
    integer->bits = static_cast<uint64_t>(tag - kTagSmall);
    return true;
  }
  integer->negative = tag < kTagSmall;
  const auto bytes = static_cast<unsigned>(integer->negative ? kTagNegative - tag : tag - kTagPositive);
  if (input.end - input.at < static_cast<std::ptrdiff_t>(bytes)) [[unlikely]] return false;
  std::byte word[8] = {};
  std::memcpy(word, input.at, input.end - input.at >= 8 ? 8 : bytes);
  input.at += bytes;
  uint64_t bits = (load_big_endian(word) ^ (flip == 0 ? 0 : ~uint64_t{0})) >> (64 - 8 * bytes);
  if (integer->negative) {
    if (bytes < 8) bits |= ~uint64_t{0} << (8 * bytes);
    if (bits >> 63 == 0) return false;  // below -2^63
  }
  integer->bits = bits;
  return bytes_of_number(integer->negative ? ~bits : bits) == bytes && (integer->negative || bits > kSmallMax);
}

// Reads a number of 1 to 8 bytes.
inline bool take_word(TupleInput& input, unsigned bytes, uint8_t flip, uint64_t* word) {
  if (input.end - input.at < static_cast<std::ptrdiff_t>(bytes)) [[unlikely]] return false;
  std::byte copy[8] = {};
  std::memcpy(copy, input.at, bytes);
  input.at += bytes;
  *word = (load_big_endian(copy) ^ (flip == 0 ? 0 : ~uint64_t{0})) >> (64 - 8 * bytes);
  return true;
}

template <class Float, class Bits>
bool take_float(TupleInput& input, uint8_t flip, Bits infinity, Float* value) {
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  uint64_t word;
  if (!take_word(input, sizeof(Bits), flip, &word)) return false;
  const auto ordered = static_cast<Bits>(word);
  const Bits bits = ordered & kSign ? ordered ^ kSign : static_cast<Bits>(~ordered);
  *value = std::bit_cast<Float>(bits);
  return ordered_bits(bits, infinity) == ordered;  // false for -0.0 and for NaNs with other bits
}
constexpr Timestamp timestamp_of(uint64_t word) {
  return Timestamp(std::chrono::microseconds(static_cast<int64_t>(word ^ uint64_t{1} << 63)));
}
bool take_uuid(TupleInput& input, uint8_t flip, Uuid* uuid);

// Encoded text or bytes in the input, without the end marker.
struct TextPart {
  const std::byte* encoded = nullptr;
  size_t encoded_bytes = 0;
  size_t bytes = 0;  // decoded
};
bool take_text(TupleInput& input, uint8_t flip, TextPart* part);
// Writes the decoded bytes to `to`, which must have room for part.bytes bytes. Returns false if
// text is not UTF-8.
bool copy_text(const TextPart& part, uint8_t flip, TupleType type, std::byte* to);
// Sets *view to the decoded bytes, in the input if possible, otherwise in the scratch. Returns
// false if text is not UTF-8.
bool view_text(const TextPart& part, uint8_t flip, TupleType type, TupleScratch& scratch, std::string_view* view);

template <class T>
constexpr const char* asked_name() {
  if constexpr (TupleNull<T>) return "null";
  else if constexpr (std::same_as<T, bool>) return "a bool";
  else if constexpr (TupleEnum<T>) return asked_name<std::underlying_type_t<T>>();
  else if constexpr (TupleNumber<T> && std::signed_integral<T>)
    return sizeof(T) == 1 ? "an int8_t" : sizeof(T) == 2 ? "an int16_t" : sizeof(T) == 4 ? "an int32_t" : "an int64_t";
  else if constexpr (TupleNumber<T>)
    return sizeof(T) == 1 ? "a uint8_t" : sizeof(T) == 2 ? "a uint16_t" : sizeof(T) == 4 ? "a uint32_t" : "a uint64_t";
  else if constexpr (std::same_as<T, float>) return "a float";
  else if constexpr (std::same_as<T, double>) return "a double";
  else if constexpr (std::same_as<T, Timestamp>) return "a timestamp";
  else if constexpr (std::same_as<T, Uuid>) return "a UUID";
  else if constexpr (kIsTuple<T>) return "a tuple";
  else if constexpr (TupleText<T>) return "text";
  else return "bytes";
}

// Whether the type is a view of the decoded bytes, and therefore needs a scratch.
template <class T>
inline constexpr bool kIsView = std::same_as<T, std::string_view> || (TupleBytes<T> && !std::same_as<T, std::vector<std::byte>>);
template <class T>
inline constexpr bool kIsView<Descending<T>> = kIsView<T>;
template <class T>
inline constexpr bool kIsView<std::optional<T>> = kIsView<T>;
template <class... Ts>
inline constexpr bool kIsView<std::tuple<Ts...>> = (kIsView<Ts> || ...);

template <bool kFlip, class... Ts>
bool take_fields(TupleInput& input, std::tuple<Ts...>* tuple, DecodeFailure& failure);

template <bool kFlip, class T>
bool take_value(TupleInput& input, T* value, DecodeFailure& failure) {
  constexpr uint8_t kMask = kFlip ? 0xff : 0;
  if (input.at == input.end) [[unlikely]] return false;
  const auto tag = static_cast<uint8_t>(std::to_integer<uint8_t>(*input.at++) ^ kMask);
  if constexpr (TupleNull<T>) {
    return tag == kTagNull;
  } else if constexpr (std::same_as<T, bool>) {
    *value = tag == kTagTrue;
    return tag == kTagTrue || tag == kTagFalse;
  } else if constexpr (TupleNumber<T> || TupleEnum<T>) {
    using Number = typename std::conditional_t<TupleEnum<T>, std::underlying_type<T>, std::type_identity<T>>::type;
    static_assert(TupleNumber<Number>, "the underlying type of an enumeration is a number");
    TupleInteger integer;
    if (!is_integer_tag(tag) || !take_integer(input, tag, kMask, &integer)) return false;
    const auto number = static_cast<Number>(integer.bits);
    *value = static_cast<T>(number);
    if constexpr (std::signed_integral<Number>) {
      if ((number < 0) != integer.negative) return false;
    } else {
      if (integer.negative) return false;
    }
    return static_cast<uint64_t>(number) == integer.bits;
  } else if constexpr (std::same_as<T, float>) {
    return tag == kTagFloat && take_float(input, kMask, kInfinity32, value);
  } else if constexpr (std::same_as<T, double>) {
    return tag == kTagDouble && take_float(input, kMask, kInfinity64, value);
  } else if constexpr (std::same_as<T, Timestamp>) {
    uint64_t word;
    if (tag != kTagTimestamp || !take_word(input, 8, kMask, &word)) return false;
    *value = timestamp_of(word);
    return true;
  } else if constexpr (std::same_as<T, Uuid>) {
    return tag == kTagUuid && take_uuid(input, kMask, value);
  } else if constexpr (kIsTuple<T>) {
    if (tag != kTagTuple) return false;
    return take_fields<kFlip>(input, value, failure);
  } else {
    constexpr TupleType kType = TupleText<T> ? TupleType::kText : TupleType::kBytes;
    TextPart part;
    if (tag != (kType == TupleType::kText ? kTagText : kTagBytes) || !take_text(input, kMask, &part)) return false;
    if constexpr (std::same_as<T, std::string> || std::same_as<T, std::vector<std::byte>>) {
      value->resize(part.bytes);
      return copy_text(part, kMask, kType, reinterpret_cast<std::byte*>(value->data()));
    } else {
      std::string_view view;
      if (!view_text(part, kMask, kType, *input.scratch, &view)) return false;
      static_assert(std::same_as<T, std::string_view> || std::constructible_from<T, std::span<const std::byte>>,
                    "decode text to std::string or std::string_view, and bytes to std::vector<std::byte> or std::span<const std::byte>");
      if constexpr (std::same_as<T, std::string_view>) *value = view;
      else *value = T(std::span<const std::byte>(reinterpret_cast<const std::byte*>(view.data()), view.size()));
      return true;
    }
  }
}

template <bool kFlip, class T>
bool take_field(TupleInput& input, T* value, DecodeFailure& failure) {
  if constexpr (kIsDescending<T>) {
    const uint32_t depth = failure.path.depth;
    if (take_field<!kFlip>(input, &value->value, failure)) [[likely]] return true;
    if (failure.path.depth == depth) failure.asked_descending = true;
    return false;
  } else if constexpr (kIsOptional<T>) {
    if (input.at != input.end && *input.at == flipped<kFlip>(kTagNull)) {
      ++input.at;
      value->reset();
      return true;
    }
    return take_field<kFlip>(input, &value->emplace(), failure);
  } else {
    const uint32_t depth = failure.path.depth;
    if (take_value<kFlip>(input, value, failure)) [[likely]] return true;
    if (failure.path.depth == depth) failure.asked = asked_name<T>();  // otherwise, a field of this nested tuple was refused
    return false;
  }
}

// Reads the fields of a nested tuple and its end marker.
template <bool kFlip, class... Ts>
bool take_fields(TupleInput& input, std::tuple<Ts...>* tuple, DecodeFailure& failure) {
  size_t field = 0;
  [[maybe_unused]] const auto take = [&](auto& value) {
    if (!take_field<kFlip>(input, &value, failure)) [[unlikely]] return failure.path.add(field), false;
    ++field;
    return true;
  };
  if (!std::apply([&](auto&... fields) { return (take(fields) && ...); }, *tuple)) return false;
  if (input.at != input.end && *input.at == flipped<kFlip>(kTagEnd)) {
    ++input.at;
    return true;
  }
  failure.asked = "no field";
  failure.path.add(field);
  return false;
}

}  // namespace detail
}  // namespace elider
