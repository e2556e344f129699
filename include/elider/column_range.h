// ColumnRange, ColumnPosition: a range of an index by columns (SecondaryIndex), and a row's
// position in it.
//
//   txn.scan(by_customer, elider::prefix("Ada"), {.reverse = true}, visitor);
//   ELIDER_ASSIGN(auto range, elider::index_prefix(by_customer, {"Ada"}));  // types from the index
//
// Thread safety: the types are values, and the functions are pure.
#pragma once

#include "elider/language.h"

#include <concepts>
#include <initializer_list>
#include <span>

#include "elider/byte_key.h"
#include "elider/key.h"
#include "elider/status.h"

namespace elider {

class RowValue;
struct IndexRef;

// A row's position in an index by columns: the encoded columns, followed by the row's key. A
// program may store a position and continue a scan there later, even if the row no longer exists.
struct ColumnPosition {
  OwnedBytes entry;
  friend bool operator==(const ColumnPosition& a, const ColumnPosition& b) { return a.entry == b.entry; }
};

// A part of an index by columns: the rows whose first columns have the values of an
// elider::prefix(). The values must have the types and the directions of the columns. For example,
// prefix("eu", Descending{5}) fits the columns {"region", descending("price")}. Otherwise a scan of
// the range returns kInvalidArgument. The value of a decimal column is its number times 10^scale:
// prefix(1250) for 12.50 in a column with two digits after the point. index_prefix() takes values
// without directions, and decimals.
class ColumnRange {
 public:
  ColumnRange() = default;  // the whole index
  template <TuplePrefixType Prefix>
  ColumnRange(const Prefix& prefix) : entries_(prefix) {}
  // Returns the range from the rows that begin with the values of `first` to those that begin with
  // the values of `last`, inclusive, in the order of the index: in a descending column, the larger
  // value comes first. Empty if first > last.
  template <TuplePrefixType First, TuplePrefixType Last>
  static ColumnRange between(const First& first, const Last& last) {
    ColumnRange range;
    range.entries_ = ByteRange::between(first, last);
    return range;
  }

  // after() returns the part of this range after `position`, from which an ascending scan that has
  // reached `position` continues. before() returns the part before it, for a reverse scan.
  ColumnRange after(const ColumnPosition& position) const {
    ColumnRange rest;
    rest.entries_ = entries_.after(position.entry.bytes());
    return rest;
  }
  ColumnRange before(const ColumnPosition& position) const {
    ColumnRange rest;
    rest.entries_ = entries_.before(position.entry.bytes());
    return rest;
  }

  // The range as a range of encoded entries.
  const ByteRange& entries() const { return entries_; }

 private:
  ByteRange entries_;
};

template <class T>
concept ColumnRangeType = std::same_as<T, ColumnRange> || TuplePrefixType<T>;

// Returns the range of all rows whose first columns in the index have these values. The values are
// converted to the types of the columns, as RowBuilder::set() does, and get their directions.
//   kInvalidArgument  the index is not by columns, it has fewer columns, or a value does not fit
//                     its column; the message names the column
Result<ColumnRange> index_prefix(const IndexRef& index, std::span<const RowValue> values);
Result<ColumnRange> index_prefix(const IndexRef& index, std::initializer_list<RowValue> values);

namespace detail {
// Returns the reason why the range cannot be scanned in this index, or ok.
Status check_range(const IndexRef& index, const ColumnRange& range);
// The engine passes the address of an entry as its value.
inline ColumnPosition column_position(uint64_t value) {
  return {OwnedBytes(bytes_of(KeyRef(reinterpret_cast<const KeyBytes*>(value))))};
}
}  // namespace detail

}  // namespace elider
