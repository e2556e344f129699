// A Key is an unsigned 64-bit number. KeyLayout packs the fields of a composite key into a Key.
//
// KeyLayout<16, 4, 28> describes a key with fields of 16, 4 and 28 bits. The first field is the
// most significant, so keys sort by the first field, then the second, then the third. pack()
// refuses a value that does not fit in its field, because the key would then identify another row.
// Thread safety: all functions are pure.
#pragma once

#include "elider/language.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "elider/status.h"

namespace elider {

using Key = uint64_t;
inline constexpr Key kKeyMax = ~Key{0};

// All keys k with first <= k <= last. Empty if first > last.
struct KeyRange {
  Key first = 0;
  Key last = kKeyMax;

  // after() returns the part of this range above `key`, from which an ascending scan that has
  // reached `key` continues. before() returns the part below `key`, for a descending scan.
  constexpr KeyRange after(Key key) const { return key == kKeyMax ? KeyRange{1, 0} : KeyRange{std::max(first, key + 1), last}; }
  constexpr KeyRange before(Key key) const { return key == 0 ? KeyRange{1, 0} : KeyRange{first, std::min(last, key - 1)}; }
};

// The position of a row in a secondary index. The index is sorted by value, then by primary key.
struct IndexPosition {
  uint64_t value = 0;
  Key key = 0;
  friend constexpr auto operator<=>(const IndexPosition&, const IndexPosition&) = default;
};

namespace detail {
struct EntryRange;
class ByteRangeKeys;
class ByteIndexRangeKeys;
}  // namespace detail

// A range of a secondary index: a range of values, which after() and before() can restrict further.
// A range of values contains either all rows with a given value or none of them. To continue a scan
// between rows with equal values, for example at the end of a page, use a position.
class IndexRange {
 public:
  constexpr IndexRange() = default;  // the whole index
  // All rows with a value from `first` to `last` inclusive. Empty if first > last.
  constexpr IndexRange(uint64_t first, uint64_t last) : from_{first, 0}, to_{last + 1, 0}, to_end_(last == ~uint64_t{0}) {}
  constexpr IndexRange(KeyRange values) : IndexRange(values.first, values.last) {}

  // after() returns the part of this range after `position`, from which an ascending scan that has
  // reached `position` continues. before() returns the part before it, for a descending scan. The
  // row at `position` may no longer exist: it may have been removed, or its value may have changed.
  constexpr IndexRange after(IndexPosition position) const {
    IndexRange rest = *this;
    if (position == IndexPosition{~uint64_t{0}, kKeyMax}) return {1, 0};
    const bool next_value = position.key == kKeyMax;
    rest.from_ = std::max(from_, IndexPosition{position.value + (next_value ? 1 : 0), position.key + 1});
    return rest;
  }
  constexpr IndexRange before(IndexPosition position) const {
    IndexRange rest = *this;
    rest.to_ = to_end_ ? position : std::min(to_, position);
    rest.to_end_ = false;
    return rest;
  }

 private:
  friend struct detail::EntryRange;
  IndexPosition from_, to_;  // the range ends before `to_`
  bool to_end_ = true;       // the range is unbounded, and `to_` is ignored
};

namespace detail {

// The header of a byte key, with its size. The bytes of the key follow the header in memory.
struct KeyBytes {
  uint32_t size = 0;

  const std::byte* data() const { return reinterpret_cast<const std::byte*>(this + 1); }
  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
  // Returns the first eight bytes, padded with zeros, as a big-endian number. If the numbers of two
  // keys differ, the key with the smaller number is smaller.
  uint64_t prefix() const {
    uint64_t number = 0;
    for (uint32_t i = 0; i < 8; ++i) number = number << 8 | (i < size ? std::to_integer<uint64_t>(data()[i]) : 0);
    return number;
  }
};

// The engine's representation of a key: a number, or a pointer to bytes that the caller owns.
// The table's Schema::key_kind determines which of the two it is.
class KeyRef {
 public:
  KeyRef() = default;
  KeyRef(Key number) : word_(number) {}
  explicit KeyRef(const KeyBytes* bytes) : word_(reinterpret_cast<uint64_t>(bytes)) {}
  Key number() const { return word_; }
  const KeyBytes* bytes() const { return reinterpret_cast<const KeyBytes*>(word_); }
  // Compares number keys by value, but byte keys only by address.
  bool operator==(const KeyRef&) const = default;

 private:
  uint64_t word_ = 0;
};
static_assert(sizeof(KeyRef) == sizeof(Key));

// All keys k with from <= k < to or, if `to_end` is true, all keys k >= from.
struct KeyRefRange {
  KeyRefRange(KeyRange keys) : from(keys.first), to(keys.last + 1), to_end(keys.last == kKeyMax) {}
  KeyRefRange(KeyRef its_from, KeyRef its_to, bool its_end) : from(its_from), to(its_to), to_end(its_end) {}
  KeyRef from, to;
  bool to_end;
};

// The entries of a secondary index from (from_value, from) up to, but not including, (to_value, to)
// or, if `to_end` is true, up to the end of the index.
struct EntryRange {
  EntryRange(const IndexRange& range)
      : from_value(range.from_.value), to_value(range.to_.value), from(range.from_.key), to(range.to_.key), to_end(range.to_end_) {}
  EntryRange(const EntryRange& range, KeyRef its_from, KeyRef its_to)
      : from_value(range.from_value), to_value(range.to_value), from(its_from), to(its_to), to_end(range.to_end) {}
  // A range of an index by columns, whose entries are byte strings. The values are not used.
  explicit EntryRange(const KeyRefRange& entries)
      : from_value(0), to_value(0), from(entries.from), to(entries.to), to_end(entries.to_end), by_columns(true) {}
  uint64_t from_value, to_value;
  KeyRef from, to;
  bool to_end;
  bool by_columns = false;
};

}  // namespace detail

template <unsigned... Widths>
class KeyLayout {
  static_assert(sizeof...(Widths) >= 1, "a key must have at least one field");
  static_assert(((Widths >= 1 && Widths <= 64) && ...), "a field must have 1 to 64 bits");
  static_assert((Widths + ...) <= 64, "a key must not have more than 64 bits");

 public:
  static constexpr size_t kFields = sizeof...(Widths);
  static constexpr unsigned kBits = (Widths + ...);

  // Packs the fields into a key.
  //   kInvalidArgument  a field does not fit; the message names the field, its value and its width
  template <std::convertible_to<uint64_t>... Fields>
    requires(sizeof...(Fields) == kFields)
  static Result<Key> pack(Fields... fields) {
    const std::array<uint64_t, kFields> values{static_cast<uint64_t>(fields)...};
    for (size_t i = 0; i < kFields; ++i)
      if (!fits(values[i], kWidths[i])) [[unlikely]] return refuse(i, values[i]);
    return join(values);
  }

  // Packs the fields without a check. The caller guarantees that they fit.
  template <std::convertible_to<uint64_t>... Fields>
    requires(sizeof...(Fields) == kFields)
  static constexpr Key pack_unchecked(Fields... fields) {
    const std::array<uint64_t, kFields> values{static_cast<uint64_t>(fields)...};
    for (size_t i = 0; i < kFields; ++i) assert(fits(values[i], kWidths[i]));
    return join(values);
  }

  // Returns the range of all keys with these leading fields. Empty (first > last) if a field does
  // not fit.
  template <std::convertible_to<uint64_t>... Fields>
    requires(sizeof...(Fields) >= 1 && sizeof...(Fields) < kFields)
  static constexpr KeyRange prefix(Fields... fields) {
    std::array<uint64_t, kFields> first{static_cast<uint64_t>(fields)...};
    for (size_t i = 0; i < sizeof...(Fields); ++i)
      if (!fits(first[i], kWidths[i])) [[unlikely]] return {1, 0};
    std::array<uint64_t, kFields> last = first;
    for (size_t i = sizeof...(Fields); i < kFields; ++i) last[i] = max_of(kWidths[i]);
    return {join(first), join(last)};
  }

  static constexpr std::array<uint64_t, kFields> unpack(Key key) {
    std::array<uint64_t, kFields> values{};
    for (size_t i = kFields; i-- > 0;) {
      values[i] = key & max_of(kWidths[i]);
      key = kWidths[i] == 64 ? 0 : key >> kWidths[i];
    }
    return values;
  }

 private:
  static constexpr std::array<unsigned, kFields> kWidths{Widths...};
  static constexpr uint64_t max_of(unsigned width) { return width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1; }
  static constexpr bool fits(uint64_t value, unsigned width) { return value <= max_of(width); }
  static constexpr Key join(const std::array<uint64_t, kFields>& values) {
    Key key = values[0];
    for (size_t i = 1; i < kFields; ++i) key = key << kWidths[i] | values[i];
    return key;
  }
  static Status refuse(size_t field, uint64_t value) {
    return Status::invalid_argument("key field " + std::to_string(field) + " is " + std::to_string(value) + ", which does not fit in " +
                                    std::to_string(kWidths[field]) + " bits");
  }
};

}  // namespace elider
