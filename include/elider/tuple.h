// Tuples as keys. A tuple is a list of typed fields. The encoding of a tuple is a byte string, and
// memcmp orders these strings as the tuples are ordered.
//
//   using OrderKey = std::tuple<std::string, uint32_t, elider::Descending<elider::Timestamp>>;
//   elider::EncodedTuple key;
//   ELIDER_TRY(key.set("eu", 17, elider::Descending{placed}));  // key.bytes()
//   ELIDER_ASSIGN(OrderKey order, elider::decode_tuple<OrderKey>(key.bytes()));
//
// Fields may be null, bool, integers of up to 8 bytes and enumerations, float, double, Timestamp,
// text, bytes, Uuid, and tuples of such fields. Each field is ascending, or descending if it is a
// Descending<T>.
//
//   C++ type                                           field
//   nullptr, std::nullopt                              null
//   bool                                               bool
//   (u)int8_t to (u)int64_t, enumerations              integer; the width is not stored
//   float; double                                      float or double, which are different types
//   elider::Timestamp                                  timestamp, in microseconds
//   std::string_view, std::string, const char*         text: UTF-8, which may contain U+0000
//   arrays of char                                     text up to the first zero character
//   std::span<const std::byte>, std::vector<std::byte> bytes
//   types with a span() of bytes                       bytes
//   elider::Uuid                                       UUID
//   std::tuple<...>                                    nested tuple
//   std::optional<T>                                   null or T
//
// Order. Tuples are compared field by field, and the first difference decides. If one tuple ends
// before a difference is found, it comes first. Integers are compared as numbers, whatever their
// C++ types. Text and bytes are compared bytewise. -0.0 is the same value as 0.0, and is decoded as
// 0.0. All NaNs are the same value, which comes after infinity. If the values in the same position
// have different types, they are in the order of TupleType. In the same position, ascending fields
// come before descending fields.
//
// A tuple has exactly one encoding, so two tuples are equal if and only if their encodings are
// equal. The decoders refuse bytes that are not the encoding of a tuple. The encoding never
// changes. docs/formats.md, "Tuple encoding", describes it.
//
// Errors. All functions return kInvalidArgument with a message that names the field and the reason.
// Fields are counted from 0. "Field 2.1" is the second field of the nested tuple in field 2.
//
//   encoding   text is not UTF-8, or a const char* is null
//              the encoding is longer than the buffer or than kTupleBytesMax
//   decoding   the bytes are not an encoded tuple; the message names the offset
//              the number, the types or the directions of the fields differ from the requested ones
//              an integer is out of the range of the C++ type
//
// A C++ type that is not in the table, or in which tuples are nested too deeply, does not compile.
//
// Only tuple_to_text(), errors, and decoding to std::string and std::vector allocate memory. Thread
// safety: functions are pure. Only one thread at a time may use an object.
#pragma once

#include "elider/language.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "elider/status.h"
#include "elider/tuple_codec.h"

namespace elider {

// Encodes the fields as a tuple at the beginning of `buffer` and returns the number of bytes. After
// an error, the contents of the buffer are unspecified. A buffer of kTupleBytesMax bytes is large
// enough for every tuple. The rest of the buffer may be overwritten up to that size.
template <class... Fields>
Result<size_t> encode_fields(std::span<std::byte> buffer, const Fields&... fields) {
  static_assert(detail::kTupleDepth<std::tuple<Fields...>> <= kTupleDepthMax + 1, "tuples nest too deeply");
  const size_t room = std::min(buffer.size(), kTupleBytesMax);
  std::byte none[1];
  std::byte* const begin = room == 0 ? none : buffer.data();  // not null, because a null result of put_fields() means failure
  detail::EncodeFailure failure;
  std::byte* const end = detail::put_fields<false>(begin, begin + room, failure, fields...);
  if (end == nullptr) [[unlikely]] return detail::encode_status(failure, room);
  return static_cast<size_t>(end - begin);
}
// Like encode_fields(), but encodes the elements of a std::tuple.
template <class... Fields>
Result<size_t> encode_tuple(std::span<std::byte> buffer, const std::tuple<Fields...>& tuple) {
  return std::apply([&](const auto&... fields) { return encode_fields(buffer, fields...); }, tuple);
}

// Holds an encoded tuple. The object occupies about 1 KiB, but copying it copies only the bytes in
// use.
class EncodedTuple {
 public:
  EncodedTuple() {}  // NOLINT: the empty tuple, whose encoding is empty
  EncodedTuple(const EncodedTuple& other) : size_(other.size_) { std::memcpy(bytes_, other.bytes_, size_); }
  EncodedTuple& operator=(const EncodedTuple& other) {
    size_ = other.size_;
    if (this != &other) std::memcpy(bytes_, other.bytes_, size_);
    return *this;
  }

  // set() encodes these fields, and set_tuple() the elements of a std::tuple. After an error, this
  // object holds the empty tuple.
  template <class... Fields>
  Status set(const Fields&... fields) {
    return take(encode_fields(bytes_, fields...));
  }
  template <class... Fields>
  Status set_tuple(const std::tuple<Fields...>& tuple) {
    return take(encode_tuple(bytes_, tuple));
  }

  size_t size() const { return size_; }
  // The returned views are valid until this object is changed or destroyed.
  std::span<const std::byte> bytes() const { return {bytes_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes_), size_}; }

 private:
  Status take(const Result<size_t>& size) {
    size_ = size.ok() ? *size : 0;
    return size.status();
  }

  size_t size_ = 0;
  std::byte bytes_[kTupleBytesMax];
};

// The range of all keys that begin with certain fields. These are the keys k with from() <= k <
// to() or, if to_end() is true, all keys k >= from(). Check status() first. If status() is not
// ok(), the range is not valid, and contains() returns false.
class TuplePrefix {
 public:
  // Do not call this function directly; use prefix() instead.
  template <class... Fields>
  static TuplePrefix of(const Fields&... fields) {
    TuplePrefix prefix;
    prefix.set(fields...);
    return prefix;
  }
  TuplePrefix(const TuplePrefix& other) : status_(other.status_), size_(other.size_), to_size_(other.to_size_) {
    std::memcpy(from_, other.from_, size_);
    std::memcpy(to_, other.to_, to_size_);
  }
  TuplePrefix& operator=(const TuplePrefix&) = delete;

  const Status& status() const { return status_; }
  // Every key of the range begins with these bytes. The returned spans are valid as long as this
  // object.
  std::span<const std::byte> from() const { return {from_, size_}; }
  // The first byte string after the range, which need not be an encoded tuple. Empty if to_end().
  std::span<const std::byte> to() const { return {to_, to_size_}; }
  bool to_end() const { return to_size_ == 0; }
  bool contains(std::span<const std::byte> key) const {
    return status_.ok() && key.size() >= size_ && (size_ == 0 || std::memcmp(key.data(), from_, size_) == 0);
  }

 private:
  TuplePrefix() {}  // NOLINT: the bytes remain uninitialized

  template <class... Fields>
  void set(const Fields&... fields) {
    detail::EncodeFailure failure;
    std::byte* at = from_;
    size_t field = 0;
    [[maybe_unused]] const auto put = [&](const auto& value) {
      at = put_part(at, value, failure);
      if (at == nullptr) [[unlikely]] return failure.path.add(field), false;
      ++field;
      return true;
    };
    const bool done = (put(fields) && ...);
    if (done) [[likely]] set_size(static_cast<size_t>(at - from_));
    else status_ = detail::encode_status(failure, kTupleBytesMax);
  }
  template <class T>
  std::byte* put_part(std::byte* at, const T& value, detail::EncodeFailure& failure) {
    if constexpr (detail::kIsStartsWith<T>) return detail::put_text_of<false>(at, from_ + kTupleBytesMax, value.value, false, failure);
    else return detail::put_field<false>(at, from_ + kTupleBytesMax, value, failure);
  }
  template <class T>
  std::byte* put_part(std::byte* at, const Descending<StartsWith<T>>& value, detail::EncodeFailure& failure) {
    return detail::put_text_of<true>(at, from_ + kTupleBytesMax, value.value.value, false, failure);
  }
  void set_size(size_t size);

  Status status_;
  size_t size_ = 0;
  size_t to_size_ = 0;
  std::byte from_[kTupleBytesMax];
  std::byte to_[kTupleBytesMax];
};

namespace detail {
template <class T>
inline constexpr bool kMayEndPrefixOnly = kIsStartsWith<T>;
template <class T>
inline constexpr bool kMayEndPrefixOnly<Descending<T>> = kIsStartsWith<T>;
template <class... Fields>
constexpr bool starts_with_is_last() {
  const bool partial[] = {kMayEndPrefixOnly<Fields>..., false};
  for (size_t i = 0; i + 1 < sizeof...(Fields); ++i)
    if (partial[i]) return false;
  return true;
}
}  // namespace detail

// Returns the range of all tuples that begin with these fields, including the tuple that consists
// of exactly these fields. Without fields, it is the range of all keys. A std::tuple counts as one
// field, a nested tuple; to pass its elements as separate fields, use std::apply. The last field
// may be StartsWith{"ab"}, which matches any text that begins with "ab". If the field is
// descending, use Descending{StartsWith{"ab"}}.
template <class... Fields>
TuplePrefix prefix(const Fields&... fields) {
  static_assert(detail::starts_with_is_last<Fields...>(), "StartsWith can only be the last field of a prefix");
  return TuplePrefix::of(fields...);
}

// Decodes a tuple, for example to a std::tuple<std::string, std::optional<int32_t>>. The number,
// the types and the directions of the fields must match, and integers must be in the range of their
// C++ type. The message of an error says which field does not match, what type it has, and what was
// requested. Text may be decoded to a std::string_view, and bytes to a std::span. Such views refer
// to `bytes` or to the scratch. They are valid as long as both exist and the scratch is not used
// again.
template <class Tuple>
Result<Tuple> decode_tuple(std::span<const std::byte> bytes, TupleScratch& scratch) {
  static_assert(detail::kIsTuple<Tuple>, "the template argument of decode_tuple must be a std::tuple");
  static_assert(detail::kTupleDepth<Tuple> <= kTupleDepthMax + 1, "tuples nest too deeply");
  Tuple tuple{};
  detail::DecodeFailure failure;
  scratch.clear();
  detail::TupleInput input{bytes.data(), bytes.data() + bytes.size(), &scratch};
  size_t field = 0;
  [[maybe_unused]] const auto take = [&](auto& value) {
    if (!detail::take_field<false>(input, &value, failure)) [[unlikely]] return failure.path.add(field), false;
    ++field;
    return true;
  };
  if (bytes.size() > kTupleBytesMax || !std::apply([&](auto&... fields) { return (take(fields) && ...); }, tuple)) [[unlikely]]
    return detail::decode_status(failure, bytes);
  if (input.at != input.end) [[unlikely]] {
    failure.asked = "no field";
    failure.path.add(field);
    return detail::decode_status(failure, bytes);
  }
  return tuple;
}
// Like the function above, but without a scratch. Text and bytes must be decoded to std::string and
// std::vector<std::byte>.
template <class Tuple>
Result<Tuple> decode_tuple(std::span<const std::byte> bytes) {
  static_assert(!detail::kIsView<Tuple>, "text is decoded to a std::string and bytes to a std::vector; views need a TupleScratch");
  TupleScratch scratch;
  return decode_tuple<Tuple>(bytes, scratch);
}

// A field that a TupleReader has read. The type determines which member holds the value.
struct TupleField {
  TupleType type = TupleType::kNull;
  bool descending = false;  // the field is descending in its tuple
  bool boolean = false;     // kBool
  bool negative = false;    // kInteger: the number is below 0, and `integer` is its two's complement
  uint64_t integer = 0;     // kInteger
  float number32 = 0;       // kFloat
  double number = 0;        // kDouble
  Timestamp timestamp;      // kTimestamp
  Uuid uuid;                // kUuid
  std::string_view text;    // kText; and the bytes of kBytes

  // Returns whether a number (kInteger) is in the range of int64_t, so that as_int64() can return
  // it.
  bool fits_int64() const { return negative || integer >> 63 == 0; }
  int64_t as_int64() const { return static_cast<int64_t>(integer); }
  std::span<const std::byte> bytes() const { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }
};

// Reads the fields of a tuple one after the other. Their types need not be known in advance.
//
//   elider::TupleReader reader(bytes);
//   for (elider::TupleField field; reader.next(&field);) ...
//   if (!reader.status().ok()) ...
//
// If a field is a nested tuple, next() returns a field of type kTuple, then the fields of the
// nested tuple, and then kTupleEnd. The object occupies about 1 KiB. The text of a field is valid
// as long as both the reader and `bytes` exist.
class TupleReader {
 public:
  explicit TupleReader(std::span<const std::byte> bytes);

  // Reads the next field. Returns false after the last field, with an ok status(). Also returns
  // false if the bytes are not an encoded tuple; status() then says why, and at which offset.
  bool next(TupleField* field);
  const Status& status() const { return status_; }
  // The number of nested tuples that have begun but not ended.
  size_t depth() const { return depth_; }
  // The number of bytes read.
  size_t offset() const { return static_cast<size_t>(input_.at - begin_); }

 private:
  bool take(TupleField* field, uint8_t tag, uint8_t flip);
  bool refuse(size_t offset, const char* why);

  const std::byte* const begin_;
  detail::TupleInput input_;
  size_t depth_ = 0;
  uint64_t flips_ = 0;  // one bit per nested tuple, the lowest for the innermost tuple; set if the bytes of the tuple are inverted
  Status status_;
  TupleScratch scratch_;
};

// Encodes a tuple field by field, if the fields are not known at compile time. After an error,
// further calls do nothing, and finish() returns the first error.
class TupleWriter {
 public:
  // Uses at most kTupleBytesMax bytes of the buffer.
  explicit TupleWriter(std::span<std::byte> buffer)
      : begin_(buffer.data()), at_(buffer.data()), end_(buffer.data() + std::min(buffer.size(), kTupleBytesMax)) {}

  // Adds a field of any type that encode_fields() accepts.
  template <class T>
  TupleWriter& add(const T& value) {
    static_assert(detail::kTupleDepth<T> <= kTupleDepthMax, "tuples nest too deeply");
    if (!status_.ok() || (detail::kTupleDepth<T> != 0 && !has_depth(detail::kTupleDepth<T>))) return *this;
    std::byte* const at =
        (flips_ & 1) != 0 ? detail::put_field<true>(at_, end_, value, failure_) : detail::put_field<false>(at_, end_, value, failure_);
    if (at == nullptr) [[unlikely]] return fail();
    at_ = at;
    ++fields_[depth_];
    return *this;
  }
  // Adds a field that a TupleReader has read. kTuple begins a nested tuple, and kTupleEnd ends it.
  TupleWriter& add(const TupleField& field);
  TupleWriter& begin_tuple(bool descending = false);
  TupleWriter& end_tuple();

  // Returns the number of bytes. Fails if a nested tuple has not ended.
  Result<size_t> finish();

 private:
  bool has_depth(size_t more);
  TupleWriter& fail();

  std::byte* const begin_;
  std::byte* at_;
  std::byte* const end_;
  size_t depth_ = 0;
  uint64_t flips_ = 0;  // as in TupleReader
  std::array<uint32_t, kTupleDepthMax + 1> fields_{};  // the number of fields of each open tuple
  detail::EncodeFailure failure_;
  Status status_;
};

// Returns ok if the bytes are an encoded tuple. Otherwise, the message says what is wrong, and at
// which offset.
Status check_tuple(std::span<const std::byte> bytes);

// Prints a tuple for messages: ("eu", 17, null, 2026-11-29T22:16:20.000000Z desc, 0xff, (1.5,
// true)). Control characters, " and \ in text are escaped with a backslash. Bytes that are not an
// encoded tuple are printed in hexadecimal: 0x0102.
std::string tuple_to_text(std::span<const std::byte> bytes);

}  // namespace elider
