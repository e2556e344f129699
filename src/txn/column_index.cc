#include "txn/column_index.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/utf8.h"
#include "base/status_words.h"
#include "elider/column_range.h"
#include "elider/row.h"
#include "elider/transaction.h"
#include "elider/tuple.h"
#include "txn/any_table.h"
#include "txn/ranks.h"
#include "txn/refuse.h"

namespace elider::txn {

namespace {

using detail::EncodeFailure;

template <class T>
std::byte* put_column(std::byte* at, std::byte* end, const T& value, bool descending, EncodeFailure& failure) {
  return descending ? detail::put_field<true>(at, end, value, failure) : detail::put_field<false>(at, end, value, failure);
}
template <class T>
std::byte* put_loaded(std::byte* at, std::byte* end, const std::byte* from, bool descending, EncodeFailure& failure) {
  return put_column(at, end, detail::load_row<T>(from), descending, failure);
}
// Puts a column of a described row. Sets *trouble if the row is damaged.
template <class T>
std::byte* put_read(std::byte* at, std::byte* end, const RowReader& row, size_t column, bool descending, EncodeFailure& failure,
                    Status* trouble) {
  const Result<std::optional<T>> value = row.get<std::optional<T>>(column);
  if (!value.ok()) [[unlikely]] return *trouble = value.status(), nullptr;
  if constexpr (std::same_as<T, Decimal>) {
    if (!value->has_value()) return put_column(at, end, nullptr, descending, failure);
    return put_column(at, end, (*value)->units, descending, failure);
  } else {
    return put_column(at, end, *value, descending, failure);
  }
}

KeyFieldType field_type_of(ColumnType type) {
  switch (type) {
    case ColumnType::kInt8: return KeyFieldType::kInt8;
    case ColumnType::kInt16: return KeyFieldType::kInt16;
    case ColumnType::kInt32: return KeyFieldType::kInt32;
    case ColumnType::kInt64: return KeyFieldType::kInt64;
    case ColumnType::kUInt8: return KeyFieldType::kUInt8;
    case ColumnType::kUInt16: return KeyFieldType::kUInt16;
    case ColumnType::kUInt32: return KeyFieldType::kUInt32;
    case ColumnType::kUInt64: return KeyFieldType::kUInt64;
    case ColumnType::kFloat: return KeyFieldType::kFloat;
    case ColumnType::kDouble: return KeyFieldType::kDouble;
    case ColumnType::kBytes: break;
  }
  return KeyFieldType::kBytes;
}
KeyFieldType field_type_of(RowType type) {
  switch (type) {
    case RowType::kBool: return KeyFieldType::kBool;
    case RowType::kInt8: return KeyFieldType::kInt8;
    case RowType::kInt16: return KeyFieldType::kInt16;
    case RowType::kInt32: return KeyFieldType::kInt32;
    case RowType::kInt64: return KeyFieldType::kInt64;
    case RowType::kUInt8: return KeyFieldType::kUInt8;
    case RowType::kUInt16: return KeyFieldType::kUInt16;
    case RowType::kUInt32: return KeyFieldType::kUInt32;
    case RowType::kUInt64: return KeyFieldType::kUInt64;
    case RowType::kFloat: return KeyFieldType::kFloat;
    case RowType::kDouble: return KeyFieldType::kDouble;
    case RowType::kTimestamp: return KeyFieldType::kTimestamp;
    case RowType::kText:
    case RowType::kJson: return KeyFieldType::kText;
    case RowType::kBytes: return KeyFieldType::kBytes;
    case RowType::kUuid: return KeyFieldType::kUuid;
    case RowType::kDecimal: return KeyFieldType::kInt64;  // the number times 10^scale
  }
  return KeyFieldType::kBytes;
}

}  // namespace

ColumnIndex::ColumnIndex(const Schema& schema, const SecondaryIndex& index, const std::atomic<const RowSchema*>& rows, bool byte_keys)
    : name_(index.name), rows_(schema.row_columns.empty() ? nullptr : &rows),
      entry_bytes_max_(index.ranked ? kRankedEntryBytesMax : kIndexEntryBytesMax), byte_keys_(byte_keys) {
  for (size_t i = 0; i < index.columns.size(); ++i) {
    IndexedColumn& column = columns_.emplace_back();
    column.name = index.columns[i];
    column.descending = index.is_descending(i);
    KeyField& field = fields_.emplace_back();
    field.descending = column.descending;
    const auto named = [&](const auto& described) { return described.name == column.name; };
    if (rows_ != nullptr) {
      const auto found = std::find_if(schema.row_columns.begin(), schema.row_columns.end(),
                                      [&](const RowColumn& described) { return !described.dropped && named(described); });
      if (found == schema.row_columns.end()) continue;  // check_schema() refuses such an index
      column.place = static_cast<uint32_t>(found - schema.row_columns.begin());
      column.row_type = found->type;
      column.scale = found->scale;
      field.type = field_type_of(found->type);
      if (found->nullable) field.null = column.descending ? KeyFieldNull::kLast : KeyFieldNull::kFirst;
      nullable_ = nullable_ || found->nullable;
    } else {
      const auto found = std::find_if(schema.columns.begin(), schema.columns.end(), named);
      if (found == schema.columns.end()) continue;
      column.place = found->offset;
      column.size = found->size;
      column.type = found->type;
      field.type = field_type_of(found->type);
    }
  }
}

const std::string& ColumnIndex::column_name(size_t position) const {
  const IndexedColumn& column = columns_[position];
  return rows_ == nullptr ? column.name : rows_->load(std::memory_order_acquire)->column(column.place).name;
}

// Encodes the first `count` columns. If that fails, sets *position to the position of the column in
// the index and, if the row is damaged, *trouble to the reason.
std::byte* ColumnIndex::put_columns(RowImage row, size_t count, std::byte* at, std::byte* end, EncodeFailure& failure, size_t* position,
                                    Status* trouble) const {
  *position = 0;
  RowReader reader;
  if (rows_ != nullptr) {
    Result<RowReader> opened = RowReader::open(*rows_->load(std::memory_order_acquire), std::span(row.bytes, row.size));
    if (!opened.ok()) [[unlikely]] return *trouble = opened.status(), nullptr;
    reader = *opened;
  }
  for (; *position < count; ++*position) {
    const IndexedColumn& column = columns_[*position];
    const bool desc = column.descending;
    if (rows_ != nullptr) {
      const auto read = [&]<class T>(std::type_identity<T>) {
        return put_read<T>(at, end, reader, column.place, desc, failure, trouble);
      };
      switch (column.row_type) {
        case RowType::kBool: at = read(std::type_identity<bool>()); break;
        case RowType::kInt8: at = read(std::type_identity<int8_t>()); break;
        case RowType::kInt16: at = read(std::type_identity<int16_t>()); break;
        case RowType::kInt32: at = read(std::type_identity<int32_t>()); break;
        case RowType::kInt64: at = read(std::type_identity<int64_t>()); break;
        case RowType::kUInt8: at = read(std::type_identity<uint8_t>()); break;
        case RowType::kUInt16: at = read(std::type_identity<uint16_t>()); break;
        case RowType::kUInt32: at = read(std::type_identity<uint32_t>()); break;
        case RowType::kUInt64: at = read(std::type_identity<uint64_t>()); break;
        case RowType::kFloat: at = read(std::type_identity<float>()); break;
        case RowType::kDouble: at = read(std::type_identity<double>()); break;
        case RowType::kTimestamp: at = read(std::type_identity<Timestamp>()); break;
        case RowType::kText:
        case RowType::kJson: at = read(std::type_identity<std::string_view>()); break;
        case RowType::kBytes: at = read(std::type_identity<Bytes>()); break;
        case RowType::kUuid: at = read(std::type_identity<Uuid>()); break;
        case RowType::kDecimal: at = read(std::type_identity<Decimal>()); break;
      }
    } else {
      const std::byte* const from = row.bytes + column.place;
      switch (column.type) {
        case ColumnType::kInt8: at = put_loaded<int8_t>(at, end, from, desc, failure); break;
        case ColumnType::kInt16: at = put_loaded<int16_t>(at, end, from, desc, failure); break;
        case ColumnType::kInt32: at = put_loaded<int32_t>(at, end, from, desc, failure); break;
        case ColumnType::kInt64: at = put_loaded<int64_t>(at, end, from, desc, failure); break;
        case ColumnType::kUInt8: at = put_loaded<uint8_t>(at, end, from, desc, failure); break;
        case ColumnType::kUInt16: at = put_loaded<uint16_t>(at, end, from, desc, failure); break;
        case ColumnType::kUInt32: at = put_loaded<uint32_t>(at, end, from, desc, failure); break;
        case ColumnType::kUInt64: at = put_loaded<uint64_t>(at, end, from, desc, failure); break;
        case ColumnType::kFloat: at = put_loaded<float>(at, end, from, desc, failure); break;
        case ColumnType::kDouble: at = put_loaded<double>(at, end, from, desc, failure); break;
        case ColumnType::kBytes: at = put_column(at, end, std::span(from, column.size), desc, failure); break;
      }
    }
    if (at == nullptr) [[unlikely]] return nullptr;
  }
  return at;
}

const KeyBytes* ColumnIndex::encode(RowImage row, KeyRef key, EntryBuffer& buffer) const {
  const size_t of_key = key_bytes(key);
  std::byte* const begin = buffer.data();
  if (of_key > entry_bytes_max_) [[unlikely]] return nullptr;
  EncodeFailure failure;
  size_t column;
  Status trouble;
  std::byte* const at = put_columns(row, columns_.size(), begin, begin + entry_bytes_max_ - of_key, failure, &column, &trouble);
  if (at == nullptr) [[unlikely]] return nullptr;
  if (!byte_keys_) detail::store_big_endian(at, key.number());
  else if (of_key != 0) std::memcpy(at, key.bytes()->data(), of_key);
  return buffer.finish(static_cast<size_t>(at - begin) + of_key);
}

bool ColumnIndex::matches(RowImage row, KeyRef key, const KeyBytes& entry) const {
  EntryBuffer buffer;
  const KeyBytes* const own = encode(row, key, buffer);
  return own != nullptr && own->size == entry.size && std::memcmp(own->data(), entry.data(), own->size) == 0;
}

Status ColumnIndex::refuse(const detail::TableBase& table, RowImage row, KeyRef key) const {
  EntryBuffer buffer;
  EncodeFailure failure;
  size_t column = 0;
  Status trouble;
  const size_t of_key = std::min<size_t>(key_bytes(key), entry_bytes_max_);
  put_columns(row, columns_.size(), buffer.data(), buffer.data() + entry_bytes_max_ - of_key, failure, &column, &trouble);
  const std::string of_row = "the row of key " + table.key_text(key);
  const std::string named = "table '" + printable(table.schema().name) + "', index '" + printable(name_) + "'";
  if (!trouble.ok()) return reworded(Code::kInvalidArgument, named + ": " + of_row + " cannot be indexed: ", trouble);
  column = std::min(column, columns_.size() - 1);
  if (failure.reason == EncodeFailure::Reason::kNoRoom) column = longest_column(row, column);
  const std::string what = named + ", column '" + printable(column_name(column)) + "': ";
  if (failure.reason == EncodeFailure::Reason::kNoRoom)
    return Status::invalid_argument(what + "the value in " + of_row + " is too long; the encoded columns and the key have at most " +
                                    std::to_string(entry_bytes_max_) + " bytes together");
  failure.path.depth = 0;
  failure.path.add(column);
  return reworded(Code::kInvalidArgument, what + of_row + " cannot be indexed: ", detail::encode_status(failure, entry_bytes_max_));
}

// Called if an entry has not enough room for the column at the position `failed`. Returns the
// position of the longest column.
size_t ColumnIndex::longest_column(RowImage row, size_t failed) const {
  EntryBuffer buffer;
  size_t longest = failed, before = 0, largest = 0;
  for (size_t i = 0; i < failed; ++i) {
    EncodeFailure failure;
    size_t position;
    Status trouble;
    const std::byte* const end = put_columns(row, i + 1, buffer.data(), buffer.data() + entry_bytes_max_, failure, &position, &trouble);
    if (end == nullptr) return failed;
    const size_t size = static_cast<size_t>(end - buffer.data()) - before;
    before += size;
    if (size > largest) largest = size, longest = i;
  }
  return largest > entry_bytes_max_ - before ? longest : failed;
}

bool ColumnIndex::has_null(const KeyBytes& entry, KeyRef key) const {
  if (!nullable_) return false;
  TupleReader reader(tuple_of(entry, key).span());
  for (TupleField field; reader.next(&field);)
    if (field.type == TupleType::kNull) return true;
  return false;
}

namespace {

// Returns the decimal's number times 10^scale. Returns the number in its own scale, which fits no
// decimal of the column, if that would lose digits or overflow.
std::optional<int64_t> units_at(Decimal value, uint8_t scale) {
  for (; value.scale < scale; ++value.scale)
    if (__builtin_mul_overflow(value.units, 10, &value.units)) return {};
  for (; value.scale > scale; --value.scale) {
    if (value.units % 10 != 0) return {};
    value.units /= 10;
  }
  return value.units;
}

}  // namespace

std::byte* ColumnIndex::put_value(size_t position, const RowValue& value, std::byte* at, std::byte* end, EncodeFailure& failure) const {
  const IndexedColumn& column = columns_[position];
  const bool desc = column.descending;
  const KeyFieldType type = fields_[position].type;
  switch (value.kind()) {
    case RowValue::Kind::kNull: return put_column(at, end, nullptr, desc, failure);
    case RowValue::Kind::kBool: return put_column(at, end, value.boolean(), desc, failure);
    case RowValue::Kind::kInteger:
      if (rows_ != nullptr && column.row_type == RowType::kDecimal) break;  // as in RowBuilder::set()
      if (value.negative()) return put_column(at, end, static_cast<int64_t>(value.word()), desc, failure);
      return put_column(at, end, value.word(), desc, failure);
    case RowValue::Kind::kFloat:
    case RowValue::Kind::kDouble:
      if (type == KeyFieldType::kFloat) return put_column(at, end, static_cast<float>(value.number()), desc, failure);
      return put_column(at, end, value.number(), desc, failure);
    case RowValue::Kind::kTimestamp: return put_column(at, end, value.timestamp(), desc, failure);
    case RowValue::Kind::kUuid: return put_column(at, end, value.uuid(), desc, failure);
    case RowValue::Kind::kDecimal: {
      if (rows_ == nullptr || column.row_type != RowType::kDecimal) break;
      const std::optional<int64_t> units = units_at(value.decimal(), column.scale);
      if (units) return put_column(at, end, *units, desc, failure);
      break;
    }
    case RowValue::Kind::kText:
    case RowValue::Kind::kBytes: {
      // Text in a struct is usually followed by zeros.
      if (rows_ == nullptr && type == KeyFieldType::kBytes && value.text().size() <= column.size) {
        std::string padded(value.text());
        padded.resize(column.size);
        return put_column(at, end, std::as_bytes(std::span(padded)), desc, failure);
      }
      if (value.kind() == RowValue::Kind::kText) return put_column(at, end, value.text(), desc, failure);
      return put_column(at, end, value.bytes(), desc, failure);
    }
  }
  failure.path.add(position);
  return failure.set(EncodeFailure::Reason::kOutOfRange, TupleType::kInteger);
}

}  // namespace elider::txn

namespace elider {

namespace {

std::string index_named(const IndexRef& index, const std::string& name) {
  return "table '" + printable(index.table.schema().name) + "', index '" + printable(name) + "'";
}
// Returns null if the index is not by columns; *status then contains the reason.
const txn::ColumnIndex* column_index(const IndexRef& index, Status* status) {
  if (!index.table) {
    *status = Status::invalid_argument("the operation was given an empty IndexRef");
    return nullptr;
  }
  const auto& table = static_cast<const txn::AnyTable&>(*index.table.base());
  const txn::IndexSlot* const slot = table.usable_index(index.position);
  if (slot == nullptr) *status = txn::refuse_index(index.table, index.position);
  else if (slot->columns == nullptr) *status = txn::refuse_range_of_columns(index.table, slot->definition);
  return slot == nullptr ? nullptr : slot->columns.get();
}

// A tuple prefix whose fields have been encoded one by one.
class ValuePrefix {
 public:
  ValuePrefix(const std::byte* begin, const std::byte* end) : from_(begin, end) {
    to_end_ = !after_.set_after_prefix(Bytes(from_));
  }
  Status status() const { return {}; }
  Bytes from() const { return from_; }
  Bytes to() const { return detail::bytes_of(after_.ref()); }
  bool to_end() const { return to_end_; }

 private:
  std::span<const std::byte> from_;
  detail::KeyBuffer after_;
  bool to_end_;
};

}  // namespace

Result<ColumnRange> index_prefix(const IndexRef& index, std::span<const RowValue> values) {
  Status status;
  const txn::ColumnIndex* const by = column_index(index, &status);
  if (by == nullptr) return status;
  if (values.size() > by->fields().size())
    return Status::invalid_argument(index_named(index, by->name()) + " has " + std::to_string(by->fields().size()) + " columns; " +
                                    std::to_string(values.size()) + " values were given");
  std::byte buffer[kIndexEntryBytesMax];
  std::byte* at = buffer;
  detail::EncodeFailure failure;
  for (size_t i = 0; i < values.size(); ++i) {
    at = by->put_value(i, values[i], at, buffer + sizeof buffer, failure);
    if (at == nullptr)
      return Status::invalid_argument(index_named(index, by->name()) + ", column '" +
                                      printable(by->column_name(i)) + "': the value " +
                                      values[i].to_text() + " does not fit");
  }
  ColumnRange range = ValuePrefix(buffer, at);
  status = detail::check_range(index, range);
  if (!status.ok()) return status;
  return range;
}
Result<ColumnRange> index_prefix(const IndexRef& index, std::initializer_list<RowValue> values) {
  return index_prefix(index, std::span(values.begin(), values.size()));
}

namespace detail {
bool is_by_columns(const IndexRef& index) {
  const auto& table = static_cast<const txn::AnyTable&>(*index.table.base());
  const txn::IndexSlot* const slot = table.usable_index(index.position);
  return slot != nullptr && slot->columns != nullptr;
}
Status check_range(const IndexRef& index, const ColumnRange& range) {
  Status status;
  const txn::ColumnIndex* const by = column_index(index, &status);
  if (by == nullptr) return status;
  const ByteRange& entries = range.entries();
  if (!entries.refusal().ok())
    return reworded(Code::kInvalidArgument, index_named(index, by->name()) + ": the range cannot be encoded: ", entries.refusal());
  if (!entries.fields().empty()) status = check_tuple_prefix(by->fields(), entries.fields().span());
  if (status.ok() && !entries.last_fields().empty()) status = check_tuple_prefix(by->fields(), entries.last_fields().span());
  if (status.ok()) return {};
  return reworded(Code::kInvalidArgument,
                  index_named(index, by->name()) + " has the columns " + text_of(by->fields()) + ", but in the range's prefix ", status);
}
}  // namespace detail

namespace {

// Returns the index's table if the index is ranked. Otherwise returns null, and *status is set to
// the reason.
txn::AnyTable* ranked_table(const IndexRef& index, const char* operation, Status* status) {
  if (column_index(index, status) == nullptr) return nullptr;
  auto& table = static_cast<txn::AnyTable&>(*index.table.base());
  const uint32_t slot = txn::AnyTable::slot_of(index.position);
  if (table.ranks(slot) != nullptr) return &table;
  *status = txn::refuse_unranked(index.table, table.index_definition(slot), operation);
  return nullptr;
}

// A scan with a limit up to this one reads fewer rows than the counts.
constexpr uint64_t kScannedRowsMax = 64;

}  // namespace

Result<uint64_t> Transaction::count(const IndexRef& index, const ColumnRange& range, uint64_t limit) {
  uint64_t rows = 0;
  if (!index.table) return Status::invalid_argument("count was given an empty IndexRef");
  auto& table = static_cast<txn::AnyTable&>(*index.table.base());
  const uint32_t slot = txn::AnyTable::slot_of(index.position);
  // If the table is being dropped, the scan below refuses it.
  if (limit > kScannedRowsMax && table.usable() && table.usable_index(index.position) != nullptr && table.ranks(slot) != nullptr) {
    Status status = detail::check_range(index, range);
    const detail::ByteRangeKeys entries(range.entries());
    if (status.ok()) status = txn::Ranks(*this, table, slot).count(entries.range(), &rows);
    if (!status.ok()) return status;
    return std::min(rows, limit);
  }
  const ScanOptions options{.limit = limit, .columns = ColumnsRef(&index.table.base()->layout().none())};
  Status status = scan_columns(index, range, options, [&](detail::KeyRef, uint64_t, RawView) { return ++rows, true; });
  if (!status.ok()) return status;
  return rows;
}
Result<uint64_t> Transaction::rank(const IndexRef& index, const ColumnPosition& position) {
  Status status;
  txn::AnyTable* const table = ranked_table(index, "rank()", &status);
  if (table == nullptr) return status;
  uint64_t rows = 0;
  const detail::ByteRangeKeys before(ByteRange().before(position.entry));
  status = txn::Ranks(*this, *table, txn::AnyTable::slot_of(index.position)).count(before.range(), &rows);
  if (!status.ok()) return status;
  return rows;
}

Status Transaction::do_position(const IndexRef& index, detail::KeyRef key, ColumnPosition* position) {
  Status status;
  const txn::ColumnIndex* const by = column_index(index, &status);
  if (by == nullptr) return status;
  auto& table = static_cast<txn::AnyTable&>(*index.table.base());
  RawView view;
  status = do_get(index.table, key, ColumnsRef(&table.index_columns(txn::AnyTable::slot_of(index.position))), &view);
  if (!status.ok()) return status;
  const detail::KeyRef own = table.key_of(static_cast<const storage::Row*>(view.header()->row), key);
  const txn::RowImage row{view.bytes(), view.size()};
  txn::EntryBuffer buffer;
  const detail::KeyBytes* const entry = by->encode(row, own, buffer);
  if (entry == nullptr) return by->refuse(table, row, own);
  *position = detail::column_position(reinterpret_cast<uint64_t>(entry));
  return {};
}

Status Transaction::scan_after_skipping(const IndexRef& index, const detail::KeyRefRange& entries, ScanOptions options, EachEntry visit) {
  Status status;
  txn::AnyTable* const table = ranked_table(index, "ScanOptions::skip", &status);
  if (table == nullptr || options.limit == 0) return status;
  if (!table->usable()) return do_scan_index(index, detail::EntryRange(entries), options, visit);
  detail::KeyBuffer position;
  bool found = false;
  txn::Ranks ranks(*this, *table, txn::AnyTable::slot_of(index.position));
  status = ranks.skip(entries, options.skip, options.reverse, &position, &found);
  if (!status.ok() || !found) return status;
  options.skip = 0;
  if (!options.reverse) return do_scan_index(index, detail::EntryRange({position.ref(), entries.to, entries.to_end}), options, visit);
  detail::KeyBuffer after;
  after.set(detail::bytes_of(position.ref()), 1);
  return do_scan_index(index, detail::EntryRange({entries.from, after.ref(), false}), options, visit);
}

Result<uint64_t> Transaction::count(const IndexRef& index, const IndexRange& range, uint64_t limit) {
  uint64_t rows = 0;
  if (!index.table) return Status::invalid_argument("count was given an empty IndexRef");
  if (index.table.byte_keys()) return detail::refuse_number(index.table, 0);
  const ScanOptions options{.limit = limit, .columns = ColumnsRef(&index.table.base()->layout().none())};
  Status status = do_scan_index(index, range, options, [&](detail::KeyRef, uint64_t, RawView) { return ++rows, true; });
  if (!status.ok()) return status;
  return rows;
}
Result<uint64_t> Transaction::count(const IndexRef& index, const ByteIndexRange& range, uint64_t limit) {
  uint64_t rows = 0;
  if (!index.table) return Status::invalid_argument("count was given an empty IndexRef");
  if (!index.table.byte_keys()) return detail::check_bytes(index.table, {});
  const ScanOptions options{.limit = limit, .columns = ColumnsRef(&index.table.base()->layout().none())};
  const detail::ByteIndexRangeKeys keys(range);
  Status status = do_scan_index(index, keys.range(), options, [&](detail::KeyRef, uint64_t, RawView) { return ++rows, true; });
  if (!status.ok()) return status;
  return rows;
}

}  // namespace elider
