// RowReader and RowBuilder: read and build rows that a RowSchema describes.
//
//   const size_t price = *schema.position("price");         // once
//   elider::RowBuilder row(schema);                          // once per thread; has a buffer
//   row.begin().set("customer", "Ada").set(price, elider::Decimal{1250, 2});
//   ELIDER_ASSIGN(std::span<const std::byte> bytes, row.finish());
//   ELIDER_ASSIGN(auto reader, elider::RowReader::open(schema, bytes));
//   ELIDER_ASSIGN(elider::Decimal cost, reader.get<elider::Decimal>(price));
//
// Access to a column by position takes constant time and does not allocate memory. A reader does
// not copy text and bytes: the returned views refer to the row. docs/described-rows.md describes
// the format, and elider/row_value.h lists which C++ types belong to which column types.
//
// Both classes refer to the schema's description. A builder keeps it alive. A reader must not
// outlive all copies of the schema, including those in tables and builders.
// Thread safety: different threads may use the same reader, but only one thread at a time may use a
// builder.
#pragma once

#include "elider/language.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "elider/byte_key.h"
#include "elider/row_schema.h"
#include "elider/row_value.h"
#include "elider/status.h"
#include "elider/table.h"

namespace elider {

// The version of the format of rows, which is the first byte of each row.
inline constexpr uint8_t kRowFormat = 1;

namespace detail {
// A row begins with its version and the number of its columns.
inline constexpr size_t kRowHeadBytes = 3;
// The offset of the fixed part, which follows the null bits.
constexpr size_t fixed_part_of(size_t columns) { return kRowHeadBytes + (columns + 7) / 8; }
template <class T>
T load_row(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
// Returns true if a column of this type can be read as a T.
template <class T>
constexpr bool may_hold(RowType type) {
  if constexpr (std::same_as<T, bool>) return type == RowType::kBool;
  else if constexpr (std::floating_point<T>) return type == RowType::kFloat || (type == RowType::kDouble && sizeof(T) == 8);
  else if constexpr (std::integral<T> || std::is_enum_v<T>) return type >= RowType::kInt8 && type <= RowType::kUInt64;
  else if constexpr (std::same_as<T, Timestamp>) return type == RowType::kTimestamp;
  else if constexpr (std::same_as<T, Decimal>) return type == RowType::kDecimal;
  else if constexpr (std::same_as<T, Uuid>) return type == RowType::kUuid;
  else if constexpr (std::same_as<T, std::string_view> || std::same_as<T, std::string>)
    return type == RowType::kText || type == RowType::kJson;
  else return type == RowType::kBytes;
}
}  // namespace detail

// Reads a row. open() checks the parts that determine where columns are, and the functions that
// read a column check its place. So arbitrary bytes lead to errors, but never to an access outside
// the row. The contents of columns, such as UTF-8, were checked when the row was built; check()
// checks them again.
class RowReader {
 public:
  // A default-constructed reader does not show a row.
  RowReader() = default;

  // Reads the row in `bytes`, which must exist as long as the reader.
  //   kCorrupt          the bytes are not a row of this schema; the message says why
  //   kSchemaMismatch   the row has more columns than the schema
  static Result<RowReader> open(const RowSchema& schema, std::span<const std::byte> bytes) {
    return open(*schema.layout(), bytes.data(), bytes.size());
  }
  // Reads the row that a view shows. The reader is valid as long as the view, and as long as the
  // schema, or a table or builder that was made from it, exists unchanged. Using it after the view
  // aborts the process in the cases in which using the view does.
  static Result<RowReader> open(const RowSchema& schema, const RawView& view) {
    Result<RowReader> reader = open(*schema.layout(), view.bytes(), view.size());
    if (reader.ok()) [[likely]] {
      reader->header_ = view.header();
      reader->generation_ = view.header()->generation;
    }
    return reader;
  }

  explicit operator bool() const { return bytes_ != nullptr; }
  // Returns false if the reader does not show a row, or if the view's memory has been reused.
  bool shows() const { return bytes_ != nullptr && header_->generation == generation_; }
  // The key of a row that was read from a table with number keys.
  Key key() const { return must_show(), header_->key.number(); }
  // The key of a row that was read from a table with byte keys. It is valid as long as the view.
  Bytes key_bytes() const { return must_show(), detail::bytes_of(header_->key); }

  size_t size() const { return bytes_ == nullptr ? 0 : static_cast<size_t>(variable_ - bytes_) + variable_bytes_; }
  std::span<const std::byte> bytes() const { return {bytes_, size()}; }
  // The number of columns that the row was written with. All later columns read as defaults.
  size_t columns_written() const { return written_; }
  const detail::RowLayout& layout() const { return *layout_; }  // only if the reader shows a row

  // Returns the column's value. T is a type that elider/row_value.h lists, or std::optional<T>,
  // which is empty if the column is null. Numbers may be read as any type that can represent the
  // value. Views refer to the row.
  //   kInvalidArgument  the schema does not have the column, or it was dropped; the column has
  //                     another type; the number is out of the range of T; the column is null and T
  //                     is not optional
  //   kCorrupt          the column's place or value is damaged
  template <class T>
  Result<T> get(size_t column) const {
    must_show();
    if constexpr (detail::kIsOptional<T>) {
      using Present = typename T::value_type;
      static_assert(detail::RowReadable<Present>, "elider/row_value.h lists the types that columns can be read as");
      Present value;
      if (load(column, &value)) [[likely]] return T(value);
      if (column < written_ && null_bit(column) && places_[column].nullable && detail::may_hold<Present>(places_[column].type)) [[likely]]
        return T();
      return convert<Present>(column, true);
    } else {
      static_assert(detail::RowReadable<T>, "elider/row_value.h lists the types that columns can be read as");
      T value;
      if (load(column, &value)) [[likely]] return value;
      Result<std::optional<T>> converted = convert<T>(column, false);
      if (!converted.ok()) return converted.status();
      return *std::move(*converted);
    }
  }
  template <class T>
  Result<T> get(std::string_view name) const {
    const Result<size_t> column = position(name);
    if (!column.ok()) [[unlikely]] return column.status();
    return get<T>(*column);
  }
  // Returns the column's value for programs that do not know its type. Text refers to the row, or
  // to the schema if it is a default.
  Result<RowValue> value(size_t column) const;
  Result<RowValue> value(std::string_view name) const;

  // Returns true if the column reads as null. Also returns true for a column that does not exist or
  // was dropped, which get() refuses.
  bool is_null(size_t column) const {
    must_show();
    return column < written_ ? null_bit(column) || places_[column].type == detail::kDroppedType : missing_is_null(column);
  }
  //   kInvalidArgument  the schema does not have the column
  Result<bool> is_null(std::string_view name) const {
    const Result<size_t> column = position(name);
    if (!column.ok()) [[unlikely]] return column.status();
    return is_null(*column);
  }

  // Checks everything about the row: that it is exactly what a builder writes for its values.
  //   kCorrupt  the message says which column is damaged, and how
  Status check() const;
  // Like check(), and also checks that the row may be stored: a column that the row was written
  // without must have a default or be nullable.
  Status check_for_write() const;

 private:
  friend class RowBuilder;
  static Result<RowReader> open(const detail::RowLayout& layout, const std::byte* bytes, size_t size) {
    RowReader reader;
    if (!reader.take(layout, bytes, size)) [[unlikely]] return refuse(layout, bytes, size);
    return reader;
  }
  bool take(const detail::RowLayout& layout, const std::byte* bytes, size_t size) {
    if (size < detail::kRowHeadBytes || size > kDescribedRowBytesMax || static_cast<uint8_t>(bytes[0]) != kRowFormat) return false;
    const size_t written = detail::load_row<uint16_t>(bytes + 1);
    if (written >= layout.places.size()) return false;
    const detail::RowPlace totals = layout.places[written];
    const size_t ends = detail::fixed_part_of(written) + totals.fixed, head = ends + 4 * size_t{totals.variable};
    if (size < head) return false;
    if ((totals.variable == 0 ? 0 : detail::load_row<uint32_t>(bytes + head - 4)) != size - head) return false;
    layout_ = &layout;
    places_ = layout.places.data();
    bytes_ = bytes;
    fixed_ = bytes + detail::fixed_part_of(written);
    ends_ = bytes + ends;
    variable_ = bytes + head;
    variable_bytes_ = static_cast<uint32_t>(size - head);
    written_ = static_cast<uint32_t>(written);
    return true;
  }
  [[gnu::cold]] static Status refuse(const detail::RowLayout& layout, const std::byte* bytes, size_t size);

  [[gnu::always_inline]] void must_show() const {
    if (header_->generation != generation_) [[unlikely]] detail::wrong_view(false);
  }
  bool null_bit(size_t column) const {
    return (static_cast<unsigned>(bytes_[detail::kRowHeadBytes + column / 8]) >> column % 8 & 1) != 0;
  }
  bool missing_is_null(size_t column) const;
  Result<size_t> position(std::string_view name) const;
  // Finds a column of variable size that the row contains. Returns false if its ends are damaged.
  bool find(size_t column, std::string_view* text) const {
    const size_t index = places_[column].variable;
    const uint32_t begin = index == 0 ? 0 : detail::load_row<uint32_t>(ends_ + 4 * (index - 1));
    const uint32_t end = detail::load_row<uint32_t>(ends_ + 4 * index);
    if (begin > end || end > variable_bytes_) [[unlikely]] return false;
    *text = {reinterpret_cast<const char*>(variable_) + begin, end - begin};
    return true;
  }
  // Reads a column of exactly this type. Returns false in all other cases.
  template <class T>
  bool load(size_t column, T* value) const {
    if (column >= written_ || null_bit(column)) [[unlikely]] return false;
    const detail::RowPlace& place = places_[column];
    if constexpr (std::same_as<T, bool>) {
      if (place.type != RowType::kBool) [[unlikely]] return false;
      const auto byte = static_cast<uint8_t>(fixed_[place.fixed]);
      *value = byte == 1;
      return byte <= 1;
    } else if constexpr (detail::kRowTypeOf<T> >= 0) {
      if (place.type != static_cast<RowType>(detail::kRowTypeOf<T>)) [[unlikely]] return false;
      std::memcpy(static_cast<void*>(value), fixed_ + place.fixed, sizeof *value);
      return true;
    } else if constexpr (std::same_as<T, Decimal>) {
      if (place.type != RowType::kDecimal) [[unlikely]] return false;
      *value = {detail::load_row<int64_t>(fixed_ + place.fixed), place.scale};
      return true;
    } else if constexpr (std::same_as<T, std::string_view> || std::same_as<T, std::string>) {
      std::string_view text;
      if ((place.type != RowType::kText && place.type != RowType::kJson) || !find(column, &text)) [[unlikely]] return false;
      *value = text;
      return true;
    } else if constexpr (detail::TupleEnum<T>) {
      return false;
    } else {
      std::string_view text;
      if (place.type != RowType::kBytes || !find(column, &text)) [[unlikely]] return false;
      *value = T(reinterpret_cast<const std::byte*>(text.data()), text.size());
      return true;
    }
  }
  // Reads a column as a T, or nothing if it is null and `may_be_null` is true.
  template <class T>
  Result<std::optional<T>> convert(size_t column, bool may_be_null) const {
    const Result<RowValue> value = this->value(column);
    if (!value.ok()) return value.status();
    if (value->is_null() && may_be_null && detail::may_hold<T>(places_[column].type)) return std::optional<T>();
    const auto fail = [&](const char* asked) { return refuse_conversion(column, *value, asked); };
    if constexpr (std::same_as<T, bool>) {
      if (value->kind() != RowValue::Kind::kBool) return fail("bool");
      return std::optional<T>(value->boolean());
    } else if constexpr (detail::TupleEnum<T>) {
      using Number = std::underlying_type_t<T>;
      if (!fits<Number>(*value)) return fail(detail::integer_name<Number>());
      return std::optional<T>(static_cast<T>(value->word()));
    } else if constexpr (detail::TupleNumber<T>) {
      if (!fits<T>(*value)) return fail(detail::integer_name<T>());
      return std::optional<T>(static_cast<T>(value->word()));
    } else if constexpr (std::floating_point<T>) {
      const bool same = value->kind() == RowValue::Kind::kFloat || (value->kind() == RowValue::Kind::kDouble && sizeof(T) == 8);
      if (!same) return fail(sizeof(T) == 8 ? "double" : "float");
      return std::optional<T>(static_cast<T>(value->number()));
    } else if constexpr (std::same_as<T, Timestamp>) {
      if (value->kind() != RowValue::Kind::kTimestamp) return fail("timestamp");
      return std::optional<T>(value->timestamp());
    } else if constexpr (std::same_as<T, Decimal>) {
      if (value->kind() != RowValue::Kind::kDecimal) return fail("decimal");
      return std::optional<T>(value->decimal());
    } else if constexpr (std::same_as<T, Uuid>) {
      if (value->kind() != RowValue::Kind::kUuid) return fail("uuid");
      return std::optional<T>(value->uuid());
    } else if constexpr (std::same_as<T, std::string_view> || std::same_as<T, std::string>) {
      if (value->kind() != RowValue::Kind::kText) return fail("text");
      return std::optional<T>(T(value->text()));
    } else {
      if (value->kind() != RowValue::Kind::kBytes) return fail("bytes");
      return std::optional<T>(T(value->bytes().data(), value->bytes().size()));
    }
  }
  template <class T>
  static bool fits(const RowValue& value) {
    if (value.kind() != RowValue::Kind::kInteger) return false;
    if (value.negative())
      return std::is_signed_v<T> && static_cast<int64_t>(value.word()) >= static_cast<int64_t>(std::numeric_limits<T>::min());
    return value.word() <= static_cast<uint64_t>(std::numeric_limits<T>::max());
  }
  [[gnu::cold]] Status refuse_conversion(size_t column, const RowValue& value, const char* asked) const;

  const detail::RowLayout* layout_ = nullptr;
  const detail::RowPlace* places_ = nullptr;
  const std::byte* bytes_ = nullptr;
  const std::byte* fixed_ = nullptr;
  const std::byte* ends_ = nullptr;
  const std::byte* variable_ = nullptr;
  uint32_t variable_bytes_ = 0;
  uint32_t written_ = 0;
  const detail::ImageHeader* header_ = &detail::kNoImage;  // of the view; a row without a view is always shown
  uint32_t generation_ = detail::kNoImage.generation;
};

// Builds rows, one after the other, in its own buffer. Once the buffer is large enough for the
// program's rows, building a row does not allocate memory.
//
// The set functions record the first error and then do nothing until the next begin() or edit().
// finish() returns this error. A builder that has failed does not pass on a row.
class RowBuilder {
 public:
  // Refers to the schema as it is now. Begins a row.
  explicit RowBuilder(const RowSchema& schema);
  // Builds rows of a table (elider/described.h), whose database must stay open. After a change of
  // the table's columns, begin() and edit() adopt the new ones. A row that was begun before can
  // still be finished and written.
  explicit RowBuilder(const CurrentRowSchema& table);

  // Begins a new row. Each column has its default or, without one, is null. A column that has
  // neither a default nor may be null must be set.
  RowBuilder& begin();
  // Begins with the columns of an existing row, to change some of them. Columns that the row was
  // written without have their defaults. The row is copied.
  //   kInvalidArgument  the reader has another schema, or is empty
  //   kCorrupt          the row is damaged
  RowBuilder& edit(const RowReader& row);

  // Sets a column. A column may be set more than once; the last value counts. `value` has a type
  // that elider/row_value.h lists, or is nullptr, std::nullopt, a std::optional or a RowValue.
  //   kInvalidArgument  the column does not exist, or was dropped; the value has another type; a
  //                     number is out of range; text is not UTF-8; JSON is malformed; null in a
  //                     column that is not nullable; the row is longer than
  //                     RowSchema::row_bytes_max()
  //   kMemoryLimit      the process is out of memory
  template <class T>
  RowBuilder& set(size_t column, const T& value) {
    if constexpr (detail::kRowTypeOf<T> >= 0) {
      if (column < columns_ && places_[column].type == static_cast<RowType>(detail::kRowTypeOf<T>) && status_.ok()) [[likely]] {
        std::memcpy(bytes_.data() + fixed_at_ + places_[column].fixed, static_cast<const void*>(&value), sizeof value);
        set_null_bit(column, false);
        set_[column / 64] |= uint64_t{1} << column % 64;
        return *this;
      }
    }
    return set_value(column, RowValue(value));
  }
  RowBuilder& set(size_t column, const RowValue& value) { return set_value(column, value); }
  template <class T>
  RowBuilder& set(std::string_view name, const T& value) {
    const size_t column = position(name);
    return column == kNoColumn ? *this : set(column, value);
  }
  RowBuilder& set_null(size_t column) { return set_value(column, RowValue()); }
  RowBuilder& set_null(std::string_view name) { return set(name, RowValue()); }

  // Returns the first error since begin() or edit().
  const Status& status() const { return status_; }
  // Completes the row. The bytes are valid until the next call of a function of this builder. The
  // row may be changed further and finished again.
  //   kInvalidArgument  the first error; or a column must be set, and was not
  Result<std::span<const std::byte>> finish();

  // Returns true if the builder's rows have this description.
  bool builds(const RowSchema& schema) const { return layout_ == schema.layout() || has_columns_of(*schema.layout()); }
  const std::string& table_name() const { return layout_->table; }
  const detail::RowLayout& layout() const { return *layout_; }
  size_t memory_bytes() const { return bytes_.capacity() + other_.capacity(); }  // of the buffers

 private:
  static constexpr size_t kNoColumn = ~size_t{0};
  struct Slot {  // a value of variable size
    uint32_t at;    // its offset in bytes_, or kDefault
    uint32_t size;
  };
  static constexpr uint32_t kDefault = ~uint32_t{0};

  explicit RowBuilder(std::shared_ptr<const detail::RowLayout> layout);
  bool adopt(std::shared_ptr<const detail::RowLayout> layout);
  RowBuilder& begin_blank();
  void clear(size_t column);
  void clear_dropped();
  bool has_columns_of(const detail::RowLayout& other) const;
  size_t position(std::string_view name);
  RowBuilder& set_value(size_t column, const RowValue& value);
  RowBuilder& fail(Status status);
  RowBuilder& put_integer(size_t column, const RowValue& value);
  RowBuilder& put_decimal(size_t column, Decimal value);
  RowBuilder& put_text(size_t column, std::string_view text);
  template <class T>
  RowBuilder& put(size_t column, T value);
  RowBuilder& refuse_type(size_t column, const RowValue& value);
  void append(size_t column, std::string_view text);
  void copy_old(const RowReader& row);
  void compact();
  void set_null_bit(size_t column, bool null) {
    std::byte& byte = bytes_[detail::kRowHeadBytes + column / 8];
    const auto bit = static_cast<std::byte>(1u << column % 8);
    byte = null ? byte | bit : byte & ~bit;
  }

  const std::atomic<const RowSchema*>* follows_ = nullptr;  // the current schema of the builder's table
  std::shared_ptr<const detail::RowLayout> layout_;
  const detail::RowPlace* places_ = nullptr;
  size_t columns_ = 0, fixed_at_ = 0, ends_at_ = 0, head_bytes_ = 0;
  size_t live_bytes_ = 0;             // the sum of the sizes of all slots
  std::vector<std::byte> bytes_;      // the head, then values in the order in which they were set
  std::vector<std::byte> other_;      // the second buffer of compact()
  std::vector<Slot> slots_;
  std::vector<uint64_t> set_;         // a bit per column that was set
  std::vector<std::byte> blank_;      // the head of a row of defaults
  std::vector<Slot> blank_slots_;
  std::vector<uint64_t> required_;    // a bit per column that must be set
  std::vector<std::byte> never_null_; // null bits of columns that are not nullable, and the unused bits
  std::vector<std::string_view> default_texts_;
  size_t blank_live_bytes_ = 0;
  Status status_;
};

}  // namespace elider
