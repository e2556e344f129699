// Tuples as keys: an encoding of lists of typed fields to bytes whose order is the order of the
// tuples.
//
//   using OrderKey = std::tuple<std::string, uint32_t, elider::Descending<elider::Timestamp>>;
//   elider::EncodedTuple key;
//   ELIDER_TRY(key.set("eu", 17, elider::Descending{placed}));  // key.bytes()
//   ELIDER_ASSIGN(OrderKey order, elider::decode_tuple<OrderKey>(key.bytes()));
//
// Fields may be null, bool, integers of up to 8 bytes and enumerations, float, double, Timestamp,
// text, bytes, Uuid, and tuples of such fields. Each is ascending, or descending in Descending<T>.
//
//   C++ type                                           field
//   nullptr, std::nullopt                              null
//   bool                                               bool
//   (u)int8_t to (u)int64_t, enumerations              integer; its width is not stored
//   float; double                                      float; double, which are different types
//   elider::Timestamp                                  timestamp, in microseconds
//   std::string_view, std::string, const char*,        text: UTF-8, which may contain U+0000. An
//     arrays of char                                     array ends at its first zero character
//   std::span<const std::byte>, std::vector<std::byte>, bytes
//     types with a span() of bytes
//   elider::Uuid                                       UUID
//   std::tuple<...>                                    nested tuple
//   std::optional<T>                                   null or T
//
// The order. memcmp orders encodings as the tuples: by the first field in which they differ. A
// tuple comes before those that it is a prefix of. Integers compare as numbers whatever their C++
// types.
// Text and bytes compare bytewise. -0.0 and 0.0 are one value; all NaNs are one value, after
// infinity. Values of different types in one place are ordered as in TupleType: null, false, true,
// integers, floats, doubles, timestamps, text, bytes, UUIDs, tuples. Descending fields come after
// all ascending ones in the same place.
//
// A value has exactly one encoding, so equal keys are equal bytes. -0.0 is decoded as 0.0. Decoding
// refuses all other bytes. docs/formats.md, "Tuple encoding", describes the bytes; they will not
// change.
//
// Errors. All functions return kInvalidArgument, and the message names the field by its position,
// from 0 ("field 2.1" is the second field of the nested tuple at position 2) and the reason.
// Encoding refuses text that is not UTF-8, and tuples of more than kTupleBytesMax bytes. A C++ type
// that is not a field, or nests too deeply, does not compile.
//
// Nothing here allocates memory, except for std::string and std::vector that a tuple is decoded to,
// messages of errors, and tuple_to_text(). Thread safety: functions are pure; an object is used by
// one thread at a time.
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

// Encodes the fields as a tuple at the beginning of `buffer`. Returns the number of bytes. If the
// buffer is too small, or after another error, the contents of the buffer are not specified. A
// buffer of kTupleBytesMax bytes suffices for every tuple; of a larger one, the rest is not used.
template <class... Fields>
Result<size_t> encode_fields(std::span<std::byte> buffer, const Fields&... fields) {
  static_assert(detail::kTupleDepth<std::tuple<Fields...>> <= kTupleDepthMax + 1, "tuples nest too deeply");
  const size_t room = std::min(buffer.size(), kTupleBytesMax);
  std::byte none[1];
  std::byte* const begin = room == 0 ? none : buffer.data();  // not null, which means a failure
  detail::EncodeFailure failure;
  std::byte* const end = detail::put_fields<false>(begin, begin + room, failure, fields...);
  if (end == nullptr) [[unlikely]] return detail::encode_status(failure, room);
  return static_cast<size_t>(end - begin);
}
// The same for the elements of a std::tuple.
template <class... Fields>
Result<size_t> encode_tuple(std::span<std::byte> buffer, const std::tuple<Fields...>& tuple) {
  return std::apply([&](const auto&... fields) { return encode_fields(buffer, fields...); }, tuple);
}

// An encoded tuple with its bytes. The object has about 1 KiB, but copies only the bytes in use.
class EncodedTuple {
 public:
  EncodedTuple() {}  // the tuple without fields, which has no bytes  NOLINT
  EncodedTuple(const EncodedTuple& other) : size_(other.size_) { std::memcpy(bytes_, other.bytes_, size_); }
  EncodedTuple& operator=(const EncodedTuple& other) {
    size_ = other.size_;
    if (this != &other) std::memcpy(bytes_, other.bytes_, size_);
    return *this;
  }

  // Encodes these fields, or the elements of this tuple. After an error this is the tuple without
  // fields.
  template <class... Fields>
  Status set(const Fields&... fields) {
    return take(encode_fields(bytes_, fields...));
  }
  template <class... Fields>
  Status set_tuple(const std::tuple<Fields...>& tuple) {
    return take(encode_tuple(bytes_, tuple));
  }

  size_t size() const { return size_; }
  // Valid until this object changes or ends.
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

// The keys that begin with certain fields: from from() up to, but not including, to(), or to the
// end of all keys. Check status() first; an object whose status() is not ok() contains no keys.
class TuplePrefix {
 public:
  // Use prefix().
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
  // Every key of the range begins with these bytes. They are the smallest key of the range.
  // Views are valid as long as this object.
  std::span<const std::byte> from() const { return {from_, size_}; }
  // The first byte string after the range, which is not a tuple. Not to be used if to_end().
  std::span<const std::byte> to() const { return {to_, to_size_}; }
  bool to_end() const { return to_size_ == 0; }
  bool contains(std::span<const std::byte> key) const {
    return status_.ok() && key.size() >= size_ && (size_ == 0 || std::memcmp(key.data(), from_, size_) == 0);
  }

 private:
  TuplePrefix() {}  // NOLINT: the bytes are left as they are

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

// The range of all tuples that begin with these fields, including the tuple of these fields alone.
// Without fields: all keys. A std::tuple is a nested tuple; for its elements use std::apply.
// The last field may be StartsWith{"ab"}: any text that begins with "ab". It is
// Descending{StartsWith{"ab"}} if the field is descending.
template <class... Fields>
TuplePrefix prefix(const Fields&... fields) {
  static_assert(detail::starts_with_is_last<Fields...>(), "StartsWith is the last field of a prefix");
  return TuplePrefix::of(fields...);
}

// Decodes a tuple of these types, such as std::tuple<std::string, std::optional<int32_t>>. The
// number, types and directions of the fields must match. An integer must be in the range of its
// type. The message of an error names the field, what is there, and what was asked for.
// With a scratch, text may be a std::string_view and bytes a std::span: they refer to `bytes` or to
// the scratch, and are valid as long as both and until the scratch is used again.
template <class Tuple>
Result<Tuple> decode_tuple(std::span<const std::byte> bytes, TupleScratch& scratch) {
  static_assert(detail::kIsTuple<Tuple>, "a tuple is decoded to a std::tuple");
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
// The same with types that hold their text and bytes: std::string and std::vector<std::byte>.
template <class Tuple>
Result<Tuple> decode_tuple(std::span<const std::byte> bytes) {
  static_assert(!detail::kIsView<Tuple>, "text is decoded to a std::string and bytes to a std::vector; views need a TupleScratch");
  TupleScratch scratch;
  return decode_tuple<Tuple>(bytes, scratch);
}

// A field as a TupleReader finds it. Which member holds the value depends on the type.
struct TupleField {
  TupleType type = TupleType::kNull;
  bool descending = false;  // in the tuple that it is a field of
  bool boolean = false;     // kBool
  bool negative = false;    // kInteger: `integer` is below zero, and in two's complement
  uint64_t integer = 0;     // kInteger
  float number32 = 0;       // kFloat
  double number = 0;        // kDouble
  Timestamp timestamp;      // kTimestamp
  Uuid uuid;                // kUuid
  std::string_view text;    // kText; and the bytes of kBytes

  // kInteger: whether it is in the range of int64_t, and then its value.
  bool fits_int64() const { return negative || integer >> 63 == 0; }
  int64_t as_int64() const { return static_cast<int64_t>(integer); }
  std::span<const std::byte> bytes() const { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }
};

// Walks over the fields of a tuple whose types are not known in advance.
//
//   elider::TupleReader reader(bytes);
//   for (elider::TupleField field; reader.next(&field);) ...
//   if (!reader.status().ok()) ...
//
// A nested tuple is a field of type kTuple; then come its fields, and then kTupleEnd. The object
// has about 1 KiB. Texts are valid as long as both the reader and `bytes`.
class TupleReader {
 public:
  explicit TupleReader(std::span<const std::byte> bytes);

  // The next field. False after the last one, or if the bytes are not an encoded tuple: status()
  // tells the two apart, and names the offset.
  bool next(TupleField* field);
  const Status& status() const { return status_; }
  // How many nested tuples have begun and not ended.
  size_t depth() const { return depth_; }
  // Bytes that have been read.
  size_t offset() const { return static_cast<size_t>(input_.at - begin_); }

 private:
  bool take(TupleField* field, uint8_t tag, uint8_t flip);
  bool refuse(size_t offset, const char* why);

  const std::byte* const begin_;
  detail::TupleInput input_;
  size_t depth_ = 0;
  uint64_t flips_ = 0;  // a bit for each level, the lowest for the innermost: its bytes are inverted
  Status status_;
  TupleScratch scratch_;
};

// Encodes a tuple field by field, where the fields are not known when the program is compiled. The
// first error is kept, and later calls do nothing.
class TupleWriter {
 public:
  // Uses at most kTupleBytesMax bytes of the buffer.
  explicit TupleWriter(std::span<std::byte> buffer)
      : begin_(buffer.data()), at_(buffer.data()), end_(buffer.data() + std::min(buffer.size(), kTupleBytesMax)) {}

  // A field of any type that encode_fields() takes.
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
  // A field of another tuple. kTuple begins a nested tuple and kTupleEnd ends it.
  TupleWriter& add(const TupleField& field);
  TupleWriter& begin_tuple(bool descending = false);
  TupleWriter& end_tuple();

  // The number of bytes, or the first error. A nested tuple that has not ended is an error.
  Result<size_t> finish();

 private:
  bool has_depth(size_t more);
  TupleWriter& fail();

  std::byte* const begin_;
  std::byte* at_;
  std::byte* const end_;
  size_t depth_ = 0;
  uint64_t flips_ = 0;  // as in TupleReader
  std::array<uint32_t, kTupleDepthMax + 1> fields_{};  // how many fields each open tuple has
  detail::EncodeFailure failure_;
  Status status_;
};

// Whether the bytes are an encoded tuple; if not, why and at which offset.
Status check_tuple(std::span<const std::byte> bytes);

// The tuple for people: ("eu", 17, null, 2026-11-29T22:16:20.000000Z desc, 0x00ff, (1.5, true)).
// In text, control characters and the characters " and \ follow a backslash. Bytes that are not an
// encoded tuple are shown in hexadecimal: 0x0102.
std::string tuple_to_text(std::span<const std::byte> bytes);

}  // namespace elider
