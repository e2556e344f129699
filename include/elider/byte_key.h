// Bytes, ByteRange: keys that are byte strings, and ranges of such keys.
//
// A table has number keys or byte keys (Schema::key_kind). A byte key has 0 to kKeyBytesMax bytes.
// Byte keys are compared byte by byte, as unsigned numbers. A key that is a prefix of another key
// is smaller. The empty key is valid, and is the smallest key.
//
// Bytes and ByteRange refer to the caller's bytes and do not own them. The bytes must remain valid
// until the call that takes the object returns. Thread safety: the types are values, and the
// functions are pure.
#pragma once

#include "elider/language.h"

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "elider/key.h"
#include "elider/key_field.h"
#include "elider/status.h"

namespace elider {

inline constexpr uint32_t kKeyBytesMax = 1024;

// A view of a byte string. Spans of std::byte, and all types that convert to std::string_view,
// convert to Bytes. As with std::string_view, a string literal ends at its first zero character.
class Bytes {
 public:
  constexpr Bytes() = default;  // an empty string
  constexpr Bytes(const std::byte* data, size_t size) : data_(data), size_(size) {}
  constexpr Bytes(std::span<const std::byte> bytes) : data_(bytes.data()), size_(bytes.size()) {}
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

// A range of byte keys.
class ByteRange {
 public:
  // Contains the keys from `first` to `last`, inclusive. Empty if first > last.
  ByteRange(Bytes first, Bytes last) : from_(first), to_(last), end_(End::kThrough) {}
  static ByteRange all() { return {Bytes(), Bytes(), End::kNone}; }
  static ByteRange from(Bytes first) { return {first, Bytes(), End::kNone}; }
  // Returns the range of all keys k with first <= k < end.
  static ByteRange until(Bytes first, Bytes end) { return {first, end, End::kBefore}; }
  // Returns the range of all keys that begin with `bytes`, including the key that equals `bytes`.
  static ByteRange prefix(Bytes bytes) { return {bytes, bytes, End::kPrefix}; }

  // Contains all encoded tuples that begin with the fields of `prefix`, which elider::prefix()
  // (elider/tuple.h) returned. The range refers to `prefix`, so `prefix` must outlive the range. If
  // prefix.status() is not ok, a scan of the range returns that status.
  template <class TuplePrefix>
    requires requires(const TuplePrefix& prefix) { Bytes(prefix.from()), Bytes(prefix.to()), prefix.to_end(), prefix.status(); }
  ByteRange(const TuplePrefix& prefix)
      : from_(prefix.from()), to_(prefix.to()), end_(prefix.to_end() ? End::kNone : End::kBefore),
        refusal_(prefix.status().ok() ? nullptr : &prefix.status()) {}

  // after() returns the part of this range with keys greater than `key`, from which a scan that has
  // reached `key` continues. before() returns the part with smaller keys, for a reverse scan. `key`
  // need not exist in the table.
  ByteRange after(Bytes key) const {
    ByteRange rest = *this;
    if (key < from_) return rest;
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

  // Returns the reason why the range cannot be scanned, or null.
  const Status* refusal() const { return refusal_; }

 private:
  friend class detail::ByteRangeKeys;
  enum class End : uint8_t { kNone, kBefore, kThrough, kPrefix };
  ByteRange(Bytes from, Bytes to, End end) : from_(from), to_(to), end_(end) {}
  // Returns whether `key` lies before the end of the range.
  bool below_end(Bytes key) const {
    if (end_ == End::kNone) return true;
    if (end_ == End::kBefore) return key < to_;
    if (end_ == End::kThrough) return key <= to_;
    return key <= to_ || key.text().starts_with(to_.text());
  }

  Bytes from_, to_;
  bool after_ = false;  // the range begins after `from_`, not at it
  End end_;
  const Status* refusal_ = nullptr;
};

// A row's position in a secondary index of a table with byte keys.
struct ByteIndexPosition {
  uint64_t value = 0;
  Bytes key;
};

// A range of a secondary index of a table with byte keys; see IndexRange.
class ByteIndexRange {
 public:
  ByteIndexRange() = default;  // the whole index
  // Contains all rows with a value from `first` to `last`, inclusive. Empty if first > last.
  ByteIndexRange(uint64_t first, uint64_t last) : first_(first), last_(last) {}
  ByteIndexRange(KeyRange values) : ByteIndexRange(values.first, values.last) {}

  // after() returns the part of this range after `position`, and before() the part before it.
  ByteIndexRange after(ByteIndexPosition position) const {
    ByteIndexRange rest = *this;
    if (position.value < first_ || (starts_after_ && position.value == first_ && position.key < from_)) return rest;
    rest.first_ = position.value;
    rest.from_ = position.key;
    rest.starts_after_ = true;
    return rest;
  }
  ByteIndexRange before(ByteIndexPosition position) const {
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
  Bytes from_, to_;
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
    const auto too_long = [](Bytes bytes) { return bytes.size() > kKeyBytesMax; };
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
