#include <string>

#include "base/bytes.h"
#include "elider/row.h"
#include "rows/layout.h"

namespace elider {

using detail::RowLayout;
using detail::RowPlace;

namespace {
Status corrupt(const RowLayout& layout, const std::string& words) { return layout.refuse(Code::kCorrupt, "the row is damaged: " + words); }
Status corrupt(const RowLayout& layout, size_t column, const std::string& words) {
  return Status(Code::kCorrupt, layout.named(column) + ": the row is damaged: " + words);
}
Status empty_reader() { return Status::invalid_argument("a RowReader that does not show a row was used; open a row first"); }
}  // namespace

// Finds out why take() has failed.
Status RowReader::refuse(const RowLayout& layout, const std::byte* bytes, size_t size) {
  const std::string sized = "it has " + std::to_string(size) + " bytes";
  if (size < detail::kRowHeadBytes) return corrupt(layout, sized + "; a row has at least " + std::to_string(detail::kRowHeadBytes));
  if (size > kDescribedRowBytesMax) return corrupt(layout, sized + "; the maximum is " + std::to_string(kDescribedRowBytesMax));
  const auto version = static_cast<unsigned>(bytes[0]);
  if (version != kRowFormat)
    return corrupt(layout, "its format has version " + std::to_string(version) + ", but this program reads version " +
                               std::to_string(kRowFormat) + "; it is not a described row, or a newer program wrote it");
  const size_t written = elider::get<uint16_t>(bytes + 1), columns = layout.columns.size();
  if (written > kRowColumnsMax) return corrupt(layout, "it has " + std::to_string(written) + " columns");
  if (written > columns)
    return layout.refuse(Code::kSchemaMismatch, "a row has " + std::to_string(written) + " columns, but only " + std::to_string(columns) +
                                                    " are described; use the description that the database stores");
  const RowPlace totals = layout.places[written];
  const size_t head = detail::fixed_part_of(written) + totals.fixed + 4 * size_t{totals.variable};
  if (size < head) return corrupt(layout, sized + ", but its " + std::to_string(written) + " columns need " + std::to_string(head));
  return corrupt(layout, sized + ", but the last text or bytes do not end there");
}

bool RowReader::missing_is_null(size_t column) const {
  if (layout_ == nullptr || column >= layout_->columns.size()) return true;
  return !layout_->columns[column].default_bytes;
}

Result<size_t> RowReader::position(std::string_view name) const {
  if (layout_ == nullptr) return empty_reader();
  const auto found = layout_->positions.find(name);
  if (found == layout_->positions.end()) [[unlikely]] return rows::no_column(*layout_, name);
  return found->second;
}

Result<RowValue> RowReader::value(std::string_view name) const {
  const Result<size_t> column = position(name);
  if (!column.ok()) return column.status();
  return value(*column);
}

Result<RowValue> RowReader::value(size_t column) const {
  must_show();
  if (layout_ == nullptr) return empty_reader();
  if (!layout_->has(column)) return layout_->no_column(column);
  const RowPlace& place = places_[column];
  RowValue value;
  if (column >= written_) {
    const RowColumn& described = layout_->columns[column];
    if (described.default_bytes) rows::decode(place, *described.default_bytes, &value);
    else if (!described.nullable)
      return Status(Code::kSchemaMismatch, layout_->named(column) + ": the row was written with " + std::to_string(written_) +
                                               " columns, before this one was appended; describe it with a default or as nullable");
    return value;
  }
  if (null_bit(column)) {
    if (!place.nullable) return corrupt(*layout_, column, "it is null, but is not nullable");
    return value;
  }
  std::string_view text;
  if (const uint32_t fixed = fixed_bytes_of(place.type); fixed != 0) {
    text = {reinterpret_cast<const char*>(fixed_ + place.fixed), fixed};
  } else if (!find(column, &text)) {
    return corrupt(*layout_, column, "it does not end where the next column begins");
  }
  if (!rows::decode(place, text, &value)) return corrupt(*layout_, column, "its bytes are not a value of its type");
  return value;
}

Status RowReader::refuse_conversion(size_t column, const RowValue& value, const char* asked) const {
  const char* const cpp = rows::cpp_type_of(layout_->columns[column].type);
  if (value.is_null())
    return layout_->refuse(column, std::string("it is null, but ") + asked + " was asked for; read it as std::optional<" + cpp +
                                       ">, or ask is_null() first");
  return layout_->refuse(column, "it is " + value.to_text() + ", but " + asked + " was asked for; read it as " + cpp);
}

Status RowReader::check() const {
  must_show();
  if (layout_ == nullptr) return empty_reader();
  uint32_t last = 0;
  for (size_t column = 0; column < written_; ++column) {
    const RowPlace& place = places_[column];
    if (place.type == detail::kDroppedType) {
      if (fixed_bytes_of(layout_->columns[column].type) != 0) continue;
      const uint32_t end = elider::get<uint32_t>(ends_ + 4 * place.variable);
      if (end < last) return corrupt(*layout_, "a column does not end where the next one begins");
      last = end;
      continue;
    }
    const Result<RowValue> its = value(column);
    if (!its.ok()) return its.status();
    const uint32_t fixed = fixed_bytes_of(place.type);
    if (fixed == 0) {
      const uint32_t end = elider::get<uint32_t>(ends_ + 4 * place.variable);
      if (end < last || (null_bit(column) && end != last)) return corrupt(*layout_, column, "it is null, but has bytes");
      last = end;
      if (const std::string mistake = rows::mistake_in(place.type, its->text()); !its->is_null() && !mistake.empty())
        return corrupt(*layout_, column, mistake);
    } else if (null_bit(column)) {
      for (uint32_t i = 0; i < fixed; ++i)
        if (fixed_[place.fixed + i] != std::byte{0}) return corrupt(*layout_, column, "it is null, but has bytes");
    }
  }
  for (size_t column = written_; column % 8 != 0; ++column)
    if (null_bit(column)) return corrupt(*layout_, "an unused null bit is set");
  return {};
}

Status RowReader::check_for_write() const {
  if (Status status = check(); !status.ok()) return status;
  for (size_t column = written_; column < layout_->columns.size(); ++column) {
    if (!layout_->has(column)) continue;
    if (const Result<RowValue> its = value(column); !its.ok()) return its.status();
  }
  return {};
}

}  // namespace elider
