#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <new>
#include <string>

#include "base/bytes.h"
#include "elider/row.h"
#include "rows/layout.h"

namespace elider {

using detail::RowLayout;
using detail::RowPlace;

RowBuilder::RowBuilder(const RowSchema& schema) : RowBuilder(schema.layout()) {}
RowBuilder::RowBuilder(const CurrentRowSchema& table) : RowBuilder(table.row_schema().layout()) { follows_ = table.rows_; }

// Prepares the builder for another description of its table. Returns false if memory is exhausted;
// the builder then keeps its description, and records the error.
bool RowBuilder::adopt(std::shared_ptr<const RowLayout> layout) {
  try {
    RowBuilder prepared(std::move(layout));
    prepared.follows_ = follows_;
    *this = std::move(prepared);
    return true;
  } catch (const std::bad_alloc&) {
    fail(layout_->refuse(Code::kMemoryLimit, "the builder could not be prepared for the table's changed columns"));
    return false;
  }
}

RowBuilder::RowBuilder(std::shared_ptr<const RowLayout> layout) : layout_(std::move(layout)) {
  places_ = layout_->places.data();
  columns_ = layout_->columns.size();
  fixed_at_ = detail::fixed_part_of(columns_);
  ends_at_ = fixed_at_ + places_[columns_].fixed;
  head_bytes_ = ends_at_ + 4 * size_t{places_[columns_].variable};
  blank_.assign(head_bytes_, std::byte{0});
  blank_[0] = std::byte{kRowFormat};
  elider::put<uint16_t>(&blank_[1], static_cast<uint16_t>(columns_));
  blank_slots_.assign(places_[columns_].variable, Slot{static_cast<uint32_t>(head_bytes_), 0});
  default_texts_.assign(blank_slots_.size(), {});
  blank_live_bytes_ = 0;
  required_.assign(columns_ / 64 + 1, 0);
  set_.assign(required_.size(), 0);
  never_null_.assign((columns_ + 7) / 8, std::byte{0xff});
  for (size_t i = 0; i < columns_; ++i) {
    const RowColumn& column = layout_->columns[i];
    const auto bit = static_cast<std::byte>(1u << i % 8);
    if (column.nullable) never_null_[i / 8] &= ~bit;
    if (column.default_bytes) {
      const std::string& bytes = *column.default_bytes;
      if (fixed_bytes_of(column.type) != 0) {
        std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), blank_.data() + fixed_at_ + places_[i].fixed);
      } else {
        blank_slots_[places_[i].variable] = {kDefault, static_cast<uint32_t>(bytes.size())};
        default_texts_[places_[i].variable] = bytes;
        blank_live_bytes_ += bytes.size();
      }
    } else if (column.nullable) {
      blank_[detail::kRowHeadBytes + i / 8] |= bit;
    } else {
      required_[i / 64] |= uint64_t{1} << i % 64;
    }
  }
  begin_blank();
}

RowBuilder& RowBuilder::begin() {
  if (follows_ != nullptr)
    if (const auto& now = follows_->load(std::memory_order_acquire)->layout(); now != layout_ && !adopt(now)) [[unlikely]] return *this;
  return begin_blank();
}

RowBuilder& RowBuilder::begin_blank() {
  status_ = layout_->status;
  bytes_.resize(head_bytes_);
  std::memcpy(bytes_.data(), blank_.data(), head_bytes_);
  if (!slots_.empty() || !blank_slots_.empty()) slots_ = blank_slots_;
  live_bytes_ = blank_live_bytes_;
  std::fill(set_.begin(), set_.end(), 0);
  return *this;
}

bool RowBuilder::has_columns_of(const RowLayout& other) const { return rows::same_columns(*layout_, other); }

RowBuilder& RowBuilder::fail(Status status) {
  status_ = std::move(status);
  return *this;
}

size_t RowBuilder::position(std::string_view name) {
  if (!status_.ok()) return kNoColumn;
  const auto found = layout_->positions.find(name);
  if (found != layout_->positions.end()) [[likely]] return found->second;
  fail(rows::no_column(*layout_, name));
  return kNoColumn;
}

// An existing row.

namespace {
// Why edit() refuses a row.
Status damage_of(const RowReader& row) {
  Status status = row.check();
  return status.ok() ? Status(Code::kCorrupt, "the row is damaged") : status;
}
}  // namespace

RowBuilder& RowBuilder::edit(const RowReader& row) {
  row.must_show();
  if (row.layout_ == nullptr) {
    status_ = Status::invalid_argument("edit() was given a RowReader that does not show a row; open a row first");
    return *this;
  }
  const auto owned = [&](const std::vector<std::byte>& bytes) {
    return std::less_equal<>()(bytes.data(), row.bytes_) && std::less<>()(row.bytes_, bytes.data() + bytes.size());
  };
  if (owned(bytes_) || owned(other_)) {  // a row that this builder has finished: begin() would overwrite it
    const std::vector<std::byte> copy(row.bytes_, row.bytes_ + row.size());
    const Result<RowReader> again = RowReader::open(*row.layout_, copy.data(), copy.size());
    return again.ok() ? edit(*again) : fail(again.status());
  }
  status_ = Status();
  if (follows_ != nullptr && row.layout_ != layout_.get() && row.layout_->is_of_same_table(*layout_)) [[unlikely]]
    if (!adopt(row.layout_->shared_from_this())) return *this;  // the columns of the table have changed
  if (row.layout_ != layout_.get() && !has_columns_of(*row.layout_))
    return fail(layout_->refuse("edit() was given a row of table '" + row.layout_->table + "' or of another description of this table"));
  try {
    if (row.written_ == columns_) {  // the row has the parts that this builder writes
      bytes_.assign(row.bytes_, row.bytes_ + row.size());
      live_bytes_ = row.variable_bytes_;
    } else {
      copy_old(row);
    }
  } catch (const std::bad_alloc&) {
    return fail(layout_->refuse(Code::kMemoryLimit, "a row of " + std::to_string(row.size()) + " bytes could not be copied"));
  }
  const size_t written = row.written_;
  for (size_t i = 0; i < (written + 7) / 8; ++i) {  // null bits that must be 0
    const std::byte mask = written - 8 * i >= 8 ? std::byte{0xff} : static_cast<std::byte>((1u << (written - 8 * i)) - 1);
    if ((row.bytes_[detail::kRowHeadBytes + i] & (never_null_[i] | ~mask)) != std::byte{0}) [[unlikely]] return fail(damage_of(row));
  }
  uint32_t last = 0;
  for (size_t i = 0; i < places_[written].variable; ++i) {
    const auto end = get<uint32_t>(row.ends_ + 4 * i);
    if (end < last || end > row.variable_bytes_) [[unlikely]] return fail(damage_of(row));
    slots_[i] = {static_cast<uint32_t>(head_bytes_) + last, end - last};
    last = end;
  }
  std::fill(set_.begin(), set_.end(), 0);
  for (size_t i = 0; 64 * i < written; ++i)
    set_[i] = written - 64 * i >= 64 ? ~uint64_t{0} : (uint64_t{1} << (written - 64 * i)) - 1;
  if (!layout_->dropped.empty()) [[unlikely]] clear_dropped();
  return *this;
}

// Removes the values of dropped columns, which the row was written with.
void RowBuilder::clear_dropped() {
  for (const size_t column : layout_->dropped) clear(column);
}

// Copies the columns of a row that was written with fewer columns. May throw std::bad_alloc.
void RowBuilder::copy_old(const RowReader& row) {
  begin_blank();
  const size_t written = row.written_;
  for (size_t i = 0; i < written; ++i) set_null_bit(i, row.null_bit(i));
  std::memcpy(bytes_.data() + fixed_at_, row.fixed_, places_[written].fixed);
  for (size_t i = 0; i < places_[written].variable; ++i) live_bytes_ -= slots_[i].size;
  live_bytes_ += row.variable_bytes_;
  bytes_.insert(bytes_.end(), row.variable_, row.variable_ + row.variable_bytes_);
}

// Values.

template <class T>
RowBuilder& RowBuilder::put(size_t column, T value) {
  std::memcpy(bytes_.data() + fixed_at_ + places_[column].fixed, &value, sizeof value);
  return *this;
}

RowBuilder& RowBuilder::refuse_type(size_t column, const RowValue& value) {
  constexpr const char* kKinds[] = {"null",        "a bool", "an integer", "a float", "a double",
                                    "a timestamp", "text",   "bytes",      "a UUID",  "a decimal"};
  return fail(layout_->refuse(column, std::string("the value is ") + kKinds[static_cast<size_t>(value.kind())] + ", " + value.to_text() +
                                          "; pass a value of type " + rows::cpp_type_of(places_[column].type)));
}

RowBuilder& RowBuilder::set_value(size_t column, const RowValue& value) {
  using Kind = RowValue::Kind;
  if (!status_.ok()) return *this;
  if (!layout_->has(column)) return fail(layout_->no_column(column));
  const RowPlace& place = places_[column];
  const Kind kind = value.kind();
  if (value.is_null()) {
    if (!place.nullable)
      return fail(layout_->refuse(column, "the value is null, but the column is not nullable; set a value, or describe it as nullable"));
    clear(column);
    return *this;
  }
  const auto is = [&](Kind one) { return kind == one; };
  switch (place.type) {
    case RowType::kBool:
      if (!is(Kind::kBool)) return refuse_type(column, value);
      put<uint8_t>(column, value.boolean() ? 1 : 0);
      break;
    case RowType::kFloat: {
      if (!is(Kind::kFloat) && !is(Kind::kDouble)) return refuse_type(column, value);
      constexpr double kMost = std::numeric_limits<float>::max();
      if (std::isfinite(value.number()) && std::abs(value.number()) > kMost)
        return fail(layout_->refuse(column, value.to_text() + " is out of the range of float; use a double column"));
      put(column, static_cast<float>(value.number()));
      break;
    }
    case RowType::kDouble:
      if (!is(Kind::kFloat) && !is(Kind::kDouble)) return refuse_type(column, value);
      put(column, value.number());
      break;
    case RowType::kTimestamp:
      if (!is(Kind::kTimestamp)) return refuse_type(column, value);
      put(column, value.timestamp());
      break;
    case RowType::kUuid:
      if (!is(Kind::kUuid)) return refuse_type(column, value);
      put(column, value.uuid());
      break;
    case RowType::kDecimal:
      if (!is(Kind::kDecimal)) return refuse_type(column, value);
      put_decimal(column, value.decimal());
      break;
    case RowType::kText:
    case RowType::kJson:
      if (!is(Kind::kText)) return refuse_type(column, value);
      put_text(column, value.text());
      break;
    case RowType::kBytes:
      if (!is(Kind::kBytes)) return refuse_type(column, value);
      put_text(column, value.text());
      break;
    default:
      if (!is(Kind::kInteger)) return refuse_type(column, value);
      put_integer(column, value);
  }
  if (!status_.ok()) return *this;
  set_null_bit(column, false);
  set_[column / 64] |= uint64_t{1} << column % 64;
  return *this;
}

// Sets a column to null.
void RowBuilder::clear(size_t column) {
  const RowPlace& place = places_[column];
  if (const uint32_t fixed = fixed_bytes_of(layout_->columns[column].type); fixed != 0) {
    std::memset(bytes_.data() + fixed_at_ + place.fixed, 0, fixed);
  } else {
    live_bytes_ -= slots_[place.variable].size;
    slots_[place.variable] = {static_cast<uint32_t>(head_bytes_), 0};
  }
  set_null_bit(column, true);
  set_[column / 64] |= uint64_t{1} << column % 64;
}

RowBuilder& RowBuilder::put_integer(size_t column, const RowValue& value) {
  const RowType type = places_[column].type;
  const uint32_t bits = 8 * fixed_bytes_of(type);
  const bool is_signed = type >= RowType::kInt8 && type <= RowType::kInt64;
  const uint64_t most = ~uint64_t{0} >> (64 - bits + (is_signed ? 1 : 0));
  const uint64_t word = value.word();
  if (value.negative() ? !is_signed || ~word > most : word > most) {
    const std::string least = is_signed ? std::to_string(-static_cast<int64_t>(most) - 1) : "0";
    return fail(layout_->refuse(column, value.to_text() + " is out of range; the column holds " + least + " to " + std::to_string(most)));
  }
  std::memcpy(bytes_.data() + fixed_at_ + places_[column].fixed, &word, bits / 8);
  return *this;
}

RowBuilder& RowBuilder::put_decimal(size_t column, Decimal value) {
  const uint8_t scale = places_[column].scale;
  const std::string shown = value.scale == scale ? "" : value.scale <= kDecimalScaleMax ? value.text() : "the decimal";
  if (value.scale > kDecimalScaleMax)
    return fail(layout_->refuse(column, "the scale of the decimal is " + std::to_string(value.scale) + "; the maximum is " +
                                            std::to_string(kDecimalScaleMax)));
  int64_t units = value.units;
  for (uint8_t at = value.scale; at < scale; ++at)
    if (__builtin_mul_overflow(units, int64_t{10}, &units))
      return fail(layout_->refuse(column, shown + " is out of range; with this scale, the column holds 64-bit numbers"));
  for (uint8_t at = scale; at < value.scale; ++at) {
    if (units % 10 != 0)
      return fail(layout_->refuse(column, shown + " has more digits after the point than the column; round it before it is set"));
    units /= 10;
  }
  return put(column, units);
}

RowBuilder& RowBuilder::put_text(size_t column, std::string_view text) {
  if (const std::string mistake = rows::mistake_in(places_[column].type, text); !mistake.empty()) {
    const bool json = places_[column].type == RowType::kJson;
    return fail(layout_->refuse(column, mistake + (json ? "; correct it, or use a text column" : "; convert it, or use a bytes column")));
  }
  append(column, text);
  return *this;
}

void RowBuilder::append(size_t column, std::string_view text) {
  Slot& slot = slots_[places_[column].variable];
  const size_t live = live_bytes_ - slot.size + text.size();
  if (text.size() > kDescribedRowBytesMax || head_bytes_ + live > layout_->bytes_max) {
    fail(layout_->refuse(column, "with this value of " + std::to_string(text.size()) + " bytes, the row has " +
                                     std::to_string(head_bytes_ + live) + " bytes, but the maximum is " +
                                     std::to_string(layout_->bytes_max) + "; store less, or raise RowSchema::row_bytes_max()"));
    return;
  }
  try {
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    std::vector<std::byte> copy;  // if the text is a part of this builder's own row
    const auto owned = [&](const std::vector<std::byte>& bytes) {
      return !text.empty() && std::less_equal<>()(bytes.data(), from) && std::less<>()(from, bytes.data() + bytes.size());
    };
    if (owned(bytes_) || owned(other_)) [[unlikely]] {
      copy.assign(from, from + text.size());
      from = copy.data();
    }
    if (slot.at != kDefault && slot.size == text.size()) {
      if (!text.empty()) std::memcpy(bytes_.data() + slot.at, from, text.size());
    } else {
      // A column that is set again and again leaves its old values behind.
      if (bytes_.size() + text.size() > head_bytes_ + 2 * size_t{layout_->bytes_max}) compact();
      const auto at = static_cast<uint32_t>(bytes_.size());
      bytes_.insert(bytes_.end(), from, from + text.size());
      slot = {at, static_cast<uint32_t>(text.size())};
    }
  } catch (const std::bad_alloc&) {
    fail(layout_->refuse(Code::kMemoryLimit, "a row of " + std::to_string(head_bytes_ + live) + " bytes could not be built"));
    return;
  }
  live_bytes_ = live;
}

// Puts the values into the order of their columns, without gaps. May throw std::bad_alloc.
void RowBuilder::compact() {
  other_.resize(head_bytes_ + live_bytes_);
  std::memcpy(other_.data(), bytes_.data(), head_bytes_);
  size_t at = head_bytes_;
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    const auto* from = slot.at == kDefault ? reinterpret_cast<const std::byte*>(default_texts_[i].data()) : bytes_.data() + slot.at;
    if (slot.size != 0) std::memcpy(other_.data() + at, from, slot.size);
    slot.at = static_cast<uint32_t>(at);
    at += slot.size;
  }
  bytes_.swap(other_);
}

Result<std::span<const std::byte>> RowBuilder::finish() {
  if (!status_.ok()) return status_;
  for (size_t i = 0; i < required_.size(); ++i) {
    const uint64_t missing = required_[i] & ~set_[i];
    if (missing == 0) [[likely]] continue;
    const size_t column = 64 * i + static_cast<size_t>(std::countr_zero(missing));
    fail(layout_->refuse(column, "the column was not set; set it, or describe it with a default or as nullable"));
    return status_;
  }
  if (head_bytes_ + live_bytes_ > layout_->bytes_max) {
    fail(layout_->refuse("the row has " + std::to_string(head_bytes_ + live_bytes_) + " bytes, but the maximum is " +
                         std::to_string(layout_->bytes_max) + "; raise RowSchema::row_bytes_max()"));
    return status_;
  }
  uint32_t end = 0;
  bool in_order = true;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    in_order = in_order && (slot.size == 0 || slot.at == head_bytes_ + end);
    end += slot.size;
    elider::put<uint32_t>(bytes_.data() + ends_at_ + 4 * i, end);
  }
  try {
    if (!in_order || head_bytes_ + end != bytes_.size()) compact();
  } catch (const std::bad_alloc&) {
    fail(layout_->refuse(Code::kMemoryLimit, "a row of " + std::to_string(head_bytes_ + end) + " bytes could not be built"));
    return status_;
  }
  return std::span<const std::byte>(bytes_);
}

}  // namespace elider
