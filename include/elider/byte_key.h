// Bytes, OwnedBytes, ByteRange: keys that are byte strings, and ranges of such keys.
//
// A table has number keys or byte keys (Schema::key_kind). A byte key has 0 to kKeyBytesMax bytes.
// Byte keys are compared byte by byte, as unsigned numbers. A key that is a prefix of another key
// is smaller. The empty key is valid, and is the smallest key.
//
// A Bytes object refers to the caller's bytes. The bytes must remain valid until the call that
// takes the object returns. Ranges and positions own copies of their keys. Thread safety: the types
// are values, and the functions are pure.
#pragma once

#include "elider/language.h"

#include <algorithm>
#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "elider/key.h"
#include "elider/key_field.h"
#include "elider/status.h"

namespace elider {

inline constexpr uint32_t kKeyBytesMax = 1024;

// A view of a byte string. Spans of std::byte or unsigned char, encoded tuples, and all types that
// convert to std::string_view, convert to Bytes. As with std::string_view, a string literal ends at
// its first zero character.
class Bytes {
 public:
  constexpr Bytes() = default;  // an empty string
  constexpr Bytes(const std::byte* data, size_t size) : data_(data), size_(size) {}
  constexpr Bytes(std::span<const std::byte> bytes) : data_(bytes.data()), size_(bytes.size()) {}
  template <std::same_as<std::nullptr_t> Null>
  Bytes(Null) = delete;
  template <class Range>
    requires(std::convertible_to<const Range&, std::span<const unsigned char>> && !std::convertible_to<const Range&, std::string_view>)
  Bytes(const Range& range) : Bytes(std::as_bytes(std::span<const unsigned char>(range))) {}
  // An elider::EncodedTuple.
  template <class Encoded>
    requires requires(const Encoded& encoded) {
      { encoded.bytes() } -> std::same_as<std::span<const std::byte>>;
      { encoded.text() } -> std::same_as<std::string_view>;
    }
  Bytes(const Encoded& encoded) : Bytes(encoded.bytes()) {}
  template <class Range>
    requires(std::convertible_to<const Range&, std::span<const std::byte>> && !std::convertible_to<const Range&, std::string_view> &&
             !std::same_as<Range, Bytes>)
  Bytes(const Range& range) : Bytes(std::span<const std::byte>(range)) {}
  template <class Text>
    requires(std::convertible_to<const Text&, std::string_view> && !std::same_as<Text, Bytes>)
  Bytes(const Text& text) {
    const std::string_view view = text;
    data_ = reinterpret_cast<const std::byte*>(view.data());
    size_ = view.size();
  }

  constexpr const std::byte* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  std::string to_string() const { return std::string(text()); }
  constexpr std::span<const std::byte> span() const { return {data_, size_}; }

  // Compares byte by byte, as unsigned numbers.
  friend std::strong_ordering operator<=>(const Bytes& a, const Bytes& b) {
    const size_t common = std::min(a.size_, b.size_);
    if (const int order = common == 0 ? 0 : std::memcmp(a.data_, b.data_, common); order != 0) return order <=> 0;
    return a.size_ <=> b.size_;
  }
  friend bool operator==(const Bytes& a, const Bytes& b) { return (a <=> b) == 0; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// A copy of a byte string. Short strings are stored in the object, longer ones are allocated.
class OwnedBytes {
 public:
  OwnedBytes() = default;  // an empty string
  OwnedBytes(Bytes bytes) : size_(bytes.size()) {
    if (size_ > kShort) long_ = bytes.text();
    else if (size_ != 0) std::memcpy(short_.data(), bytes.data(), size_);
  }
  template <class Text>
    requires(std::convertible_to<const Text&, Bytes> && !std::same_as<Text, OwnedBytes> && !std::same_as<Text, Bytes>)
  OwnedBytes(const Text& text) : OwnedBytes(Bytes(text)) {}

  // The views are valid until this object is changed or destroyed.
  Bytes bytes() const { return size_ > kShort ? Bytes(long_) : Bytes(short_.data(), size_); }
  operator Bytes() const { return bytes(); }
  std::string_view text() const { return bytes().text(); }
  std::string to_string() const { return bytes().to_string(); }
  size_t size() const { return bytes().size(); }
  bool empty() const { return size() == 0; }

  template <std::convertible_to<Bytes> Other>
  friend std::strong_ordering operator<=>(const OwnedBytes& a, const Other& b) {
    return a.bytes() <=> Bytes(b);
  }
  template <std::convertible_to<Bytes> Other>
  friend bool operator==(const OwnedBytes& a, const Other& b) {
    return a.bytes() == Bytes(b);
  }

 private:
  static constexpr size_t kShort = 48;
  size_t size_ = 0;
  std::array<std::byte, kShort> short_{};
  std::string long_;
};

// What elider::prefix() (elider/tuple.h) returns: a range of encoded tuples.
template <class T>
concept TuplePrefixType = requires(const T& prefix) { Bytes(prefix.from()), Bytes(prefix.to()), prefix.to_end(), prefix.status(); };

// A range of byte keys. A range of encoded tuples is made from elider::prefix(). If the tuple
// cannot be encoded, or if its fields do not have the types of the table's fields, a scan of the
// range returns kInvalidArgument.
class ByteRange {
 public:
  ByteRange() : ByteRange(OwnedBytes(), OwnedBytes(), End::kNone) {}  // all keys
  // Contains the keys from `first` to `last`, inclusive. Empty if first > last.
  ByteRange(Bytes first, Bytes last) : from_(first), to_(last), end_(End::kThrough) {}
  static ByteRange all() { return {}; }
  static ByteRange from(Bytes first) { return {first, OwnedBytes(), End::kNone}; }
  // Returns the range of all keys k with first <= k < end.
  static ByteRange until(Bytes first, Bytes end) { return {first, end, End::kBefore}; }
  // Returns the range of all keys that begin with `bytes`, including the key that equals `bytes`.
  static ByteRange prefix(Bytes bytes) { return {bytes, bytes, End::kPrefix}; }

  // Contains all encoded tuples that begin with the fields of `prefix`.
  template <TuplePrefixType Prefix>
  ByteRange(const Prefix& prefix) : ByteRange(between(prefix, prefix)) {}
  // Returns the range of all encoded tuples from those that begin with the fields of `first` to
  // those that begin with the fields of `last`, inclusive. Empty if first > last. after() and
  // before() do not check the types of their tuples.
  template <TuplePrefixType First, TuplePrefixType Last>
  static ByteRange between(const First& first, const Last& last) {
    ByteRange range(Bytes(first.from()), Bytes(last.to()), last.to_end() ? End::kNone : End::kBefore);
    range.fields_bytes_ = static_cast<uint32_t>(range.from_.size());
    if (Bytes(first.from()) != Bytes(last.from())) range.last_fields_ = Bytes(last.from());
    range.refusal_ = first.status().ok() ? last.status() : first.status();
    return range;
  }

  // after() returns the part of this range with keys greater than `key`, from which a scan that has
  // reached `key` continues. before() returns the part with smaller keys, for a reverse scan. `key`
  // need not exist in the table. It can also be a std::tuple (elider/tuple_key.h).
  ByteRange after(Bytes key) const {
    ByteRange rest = *this;
    if (key < from_.bytes()) return rest;
    if (key.size() < fields_bytes_ || key.text().substr(0, fields_bytes_) != fields().text()) rest.fields_bytes_ = 0;
    rest.from_ = key;
    rest.after_ = true;
    return rest;
  }
  ByteRange before(Bytes key) const {
    ByteRange rest = *this;
    if (!below_end(key)) return rest;
    rest.to_ = key;
    rest.end_ = End::kBefore;
    return rest;
  }
  template <class... Fields>
  ByteRange after(const std::tuple<Fields...>& key) const;
  template <class... Fields>
  ByteRange before(const std::tuple<Fields...>& key) const;

  // The reason why the range cannot be scanned. Ok if it can.
  const Status& refusal() const { return refusal_; }
  // The encoded fields with which the first tuple of the range begins; empty if the range was not
  // made from a prefix of tuples. Valid as long as this object.
  Bytes fields() const { return {from_.bytes().data(), std::min<size_t>(fields_bytes_, from_.size())}; }
  // Like fields(), for the last tuple of a range that between() has made of two prefixes.
  Bytes last_fields() const { return last_fields_.bytes(); }

 private:
  friend class detail::ByteRangeKeys;
  enum class End : uint8_t { kNone, kBefore, kThrough, kPrefix };
  ByteRange(OwnedBytes from, OwnedBytes to, End end) : from_(std::move(from)), to_(std::move(to)), end_(end) {}
  // Returns whether `key` lies before the end of the range.
  bool below_end(Bytes key) const {
    const Bytes to = to_;
    if (end_ == End::kNone) return true;
    if (end_ == End::kBefore) return key < to;
    if (end_ == End::kThrough) return key <= to;
    return key <= to || key.text().starts_with(to.text());
  }

  OwnedBytes from_, to_, last_fields_;
  uint32_t fields_bytes_ = 0;  // size of fields()
  bool after_ = false;         // the range begins after `from_`, not at it
  End end_;
  Status refusal_;
};

// A row's position in a secondary index of a table with byte keys.
struct ByteIndexPosition {
  uint64_t value = 0;
  OwnedBytes key;
};

// A range of a secondary index of a table with byte keys; see IndexRange.
class ByteIndexRange {
 public:
  ByteIndexRange() = default;  // the whole index
  // Contains all rows with a value from `first` to `last`, inclusive. Empty if first > last.
  ByteIndexRange(uint64_t first, uint64_t last) : first_(first), last_(last) {}
  ByteIndexRange(KeyRange values) : ByteIndexRange(values.first, values.last) {}

  // after() returns the part of this range after `position`, and before() the part before it.
  ByteIndexRange after(const ByteIndexPosition& position) const {
    ByteIndexRange rest = *this;
    if (position.value < first_ || (starts_after_ && position.value == first_ && position.key < from_)) return rest;
    rest.first_ = position.value;
    rest.from_ = position.key;
    rest.starts_after_ = true;
    return rest;
  }
  ByteIndexRange before(const ByteIndexPosition& position) const {
    ByteIndexRange rest = *this;
    if (position.value > last_ || (ends_before_ && position.value == last_ && position.key > to_)) return rest;
    rest.last_ = position.value;
    rest.to_ = position.key;
    rest.ends_before_ = true;
    return rest;
  }

 private:
  friend class detail::ByteIndexRangeKeys;
  uint64_t first_ = 0, last_ = ~uint64_t{0};
  OwnedBytes from_, to_;
  bool starts_after_ = false;  // the range starts after (first_, from_); if false, with the first row of value first_
  bool ends_before_ = false;   // the range ends before (last_, to_); if false, with the last row of value last_
};

namespace detail {

// A buffer for a byte key in the engine's format. It also has room for the end of a range, which
// may be one byte longer than the longest key.
class KeyBuffer {
 public:
  KeyBuffer() {}  // NOLINT: the bytes remain uninitialized
  explicit KeyBuffer(Bytes key) { set(key); }
  // Stores `key`, truncated to kKeyBytesMax bytes, followed by `zeros` (0 or 1) zero bytes.
  void set(Bytes key, uint32_t zeros = 0) {
    const auto size = static_cast<uint32_t>(std::min<size_t>(key.size(), kKeyBytesMax));
    auto* bytes = new (memory_) KeyBytes{size + zeros};
    if (size != 0) std::memcpy(bytes->data(), key.data(), size);
    if (zeros != 0) bytes->data()[size] = std::byte{0};
  }
  // Stores the smallest byte string that is greater than every key that begins with `prefix`.
  // Returns false if such a string does not exist, because `prefix` contains only 0xff bytes or is
  // empty.
  bool set_after_prefix(Bytes prefix) {
    size_t size = std::min<size_t>(prefix.size(), kKeyBytesMax);
    while (size > 0 && prefix.data()[size - 1] == std::byte{0xff}) --size;
    set(Bytes(prefix.data(), size));
    if (size == 0) return false;
    std::byte& last = reinterpret_cast<KeyBytes*>(memory_)->data()[size - 1];
    last = static_cast<std::byte>(std::to_integer<unsigned>(last) + 1);
    return true;
  }
  KeyRef ref() const { return KeyRef(reinterpret_cast<const KeyBytes*>(memory_)); }
  // Returns a buffer of kKeyBytesMax bytes. The caller writes a key to the buffer, and then calls
  // set_size().
  std::span<std::byte> room() { return {memory_ + sizeof(KeyBytes), kKeyBytesMax}; }
  void set_size(size_t size) { new (memory_) KeyBytes{static_cast<uint32_t>(size)}; }

 private:
  alignas(8) std::byte memory_[(sizeof(KeyBytes) + kKeyBytesMax + 1 + 7) / 8 * 8];
};

inline Bytes bytes_of(KeyRef key) { return key.bytes() == nullptr ? Bytes() : Bytes(key.bytes()->data(), key.bytes()->size); }

// The two ends of a range in the engine's format. If an end is longer than the longest key, its
// first kKeyBytesMax bytes and a zero byte are stored, so that it remains greater than the key with
// the same first bytes.
class ByteRangeKeys {
 public:
  explicit ByteRangeKeys(const ByteRange& range) {
    using End = ByteRange::End;
    const auto too_long = [](const OwnedBytes& bytes) { return bytes.size() > kKeyBytesMax; };
    from_.set(range.from_, range.after_ || too_long(range.from_) ? 1 : 0);
    switch (range.end_) {
      case End::kNone: to_end_ = true; to_.set(Bytes()); break;
      case End::kBefore: to_.set(range.to_, too_long(range.to_) ? 1 : 0); break;
      case End::kThrough: to_.set(range.to_, 1); break;
      case End::kPrefix:
        if (too_long(range.to_)) to_.set(Bytes());  // the range is empty, because no key is as long as this prefix
        else to_end_ = !to_.set_after_prefix(range.to_);
        break;
    }
  }
  KeyRefRange range() const { return {from_.ref(), to_.ref(), to_end_}; }

 private:
  KeyBuffer from_, to_;
  bool to_end_ = false;
};

class ByteIndexRangeKeys {
 public:
  explicit ByteIndexRangeKeys(const ByteIndexRange& range) : values_(range.first_, range.last_) {
    from_.set(range.from_, range.starts_after_ || range.from_.size() > kKeyBytesMax ? 1 : 0);
    to_.set(range.to_, range.to_.size() > kKeyBytesMax ? 1 : 0);
    ends_before_ = range.ends_before_;
  }
  EntryRange range() const {
    EntryRange range(EntryRange(values_), from_.ref(), to_.ref());
    if (ends_before_) {
      range.to_value = last();
      range.to_end = false;
    }
    return range;
  }

 private:
  uint64_t last() const { return EntryRange(values_).to_value - 1; }
  const IndexRange values_;
  KeyBuffer from_, to_;
  bool ends_before_;
};

// Converts between keys of type KeyType and the engine's keys. The primary template is empty,
// because number keys do not need a conversion. Argument is the parameter type for keys. given()
// converts a key of the engine to KeyType. fields() returns Schema::key_fields. elider/tuple_key.h
// has the specialization for tuples, which also has encode().
template <class KeyType>
struct KeyFace {};
template <>
struct KeyFace<Bytes> {
  using Argument = Bytes;
  static Bytes given(KeyRef key) { return bytes_of(key); }
  static std::vector<KeyField> fields() { return {}; }
};
template <>
struct KeyFace<std::string_view> {
  using Argument = Bytes;
  static std::string_view given(KeyRef key) { return bytes_of(key).text(); }
  static std::vector<KeyField> fields() { return {}; }
};

}  // namespace detail

// A type for byte keys: std::string_view, Bytes or std::tuple<...> (elider/tuple_key.h). Scans and
// views of a table return keys of the table's key type.
template <class KeyType>
concept ByteKeyType = requires(detail::KeyRef key) { detail::KeyFace<KeyType>::given(key); };
template <class KeyType>
concept TupleKeyType = ByteKeyType<KeyType> && requires { &detail::KeyFace<KeyType>::encode; };
// The parameter type for keys.
template <class KeyType>
using KeyArgument = typename detail::KeyFace<KeyType>::Argument;

}  // namespace elider
