// Conversions between elider_value and the values of rows and tuples, and the tuples of the C
// interface.
#include <array>
#include <optional>

#include "c/handles.h"

namespace elider::c {

namespace {

Status refuse_kind(int32_t kind, const char* where) {
  return Status::invalid_argument("elider_value.kind is " + std::to_string(kind) + ", which " + where + " does not have");
}

elider_value integer_value(uint64_t word, bool negative) {
  return negative || word >> 63 == 0 ? elider_int64(static_cast<int64_t>(word)) : elider_uint64(word);
}
elider_value text_value(elider_kind kind, std::string_view text) { return elider_value_of(kind, 0, 0, text.data(), text.size()); }
elider_value uuid_value(const Uuid& uuid) { return elider_uuid(reinterpret_cast<const uint8_t*>(uuid.bytes.data())); }
Uuid uuid_of(const elider_value& value) {
  Uuid uuid;
  std::memcpy(uuid.bytes.data(), value.uuid, sizeof value.uuid);
  return uuid;
}
Timestamp timestamp_of(const elider_value& value) { return Timestamp(std::chrono::microseconds(value.integer)); }
int64_t us_of(Timestamp timestamp) { return timestamp.time_since_epoch().count(); }

}  // namespace

Result<RowValue> row_value(const elider_value& value) {
  if (value.kind == ELIDER_TEXT || value.kind == ELIDER_BYTES)
    if (Status status = check_memory(value.data, value.size, "elider_value.data"); !status.ok()) return status;
  const char* const text = value.size == 0 ? "" : static_cast<const char*>(value.data);
  switch (value.kind) {
    case ELIDER_NULL: return RowValue();
    case ELIDER_BOOL: return RowValue(value.integer != 0);
    case ELIDER_INT64: return RowValue(value.integer);
    case ELIDER_UINT64: return RowValue(static_cast<uint64_t>(value.integer));
    case ELIDER_FLOAT: return RowValue(static_cast<float>(value.real));
    case ELIDER_DOUBLE: return RowValue(value.real);
    case ELIDER_TIMESTAMP: return RowValue(timestamp_of(value));
    case ELIDER_TEXT: return RowValue(std::string_view(text, value.size));
    case ELIDER_BYTES: return RowValue(Bytes(std::string_view(text, value.size)));
    case ELIDER_UUID: return RowValue(uuid_of(value));
    case ELIDER_DECIMAL:
      if (value.scale < 0 || value.scale > kDecimalScaleMax)
        return Status::invalid_argument("elider_value.scale is " + std::to_string(value.scale) + "; a decimal has 0 to " +
                                        std::to_string(kDecimalScaleMax) + " digits after the point");
      return RowValue(Decimal{value.integer, static_cast<uint8_t>(value.scale)});
    default: return refuse_kind(value.kind, "a row");
  }
}

elider_value value_of(const RowValue& value) {
  switch (value.kind()) {
    case RowValue::Kind::kNull: return elider_null();
    case RowValue::Kind::kBool: return elider_bool(value.boolean());
    case RowValue::Kind::kInteger: return integer_value(value.word(), value.negative());
    case RowValue::Kind::kFloat: return elider_value_of(ELIDER_FLOAT, 0, value.number(), nullptr, 0);
    case RowValue::Kind::kDouble: return elider_double(value.number());
    case RowValue::Kind::kTimestamp: return elider_timestamp(us_of(value.timestamp()));
    case RowValue::Kind::kText: return text_value(ELIDER_TEXT, value.text());
    case RowValue::Kind::kBytes: return text_value(ELIDER_BYTES, value.text());
    case RowValue::Kind::kUuid: return uuid_value(value.uuid());
    case RowValue::Kind::kDecimal: return elider_decimal(value.decimal().units, value.decimal().scale);
  }
  return elider_null();
}

Result<TupleField> tuple_field(const elider_value& value, bool descending) {
  TupleField field;
  field.descending = descending;
  switch (value.kind) {
    case ELIDER_NULL: field.type = TupleType::kNull; break;
    case ELIDER_BOOL:
      field.type = TupleType::kBool;
      field.boolean = value.integer != 0;
      break;
    case ELIDER_INT64:
    case ELIDER_UINT64:
      field.type = TupleType::kInteger;
      field.integer = static_cast<uint64_t>(value.integer);
      field.negative = value.kind == ELIDER_INT64 && value.integer < 0;
      break;
    case ELIDER_FLOAT:
      field.type = TupleType::kFloat;
      field.number32 = static_cast<float>(value.real);
      break;
    case ELIDER_DOUBLE:
      field.type = TupleType::kDouble;
      field.number = value.real;
      break;
    case ELIDER_TIMESTAMP:
      field.type = TupleType::kTimestamp;
      field.timestamp = timestamp_of(value);
      break;
    case ELIDER_TEXT:
    case ELIDER_BYTES:
      if (Status status = check_memory(value.data, value.size, "elider_value.data"); !status.ok()) return status;
      field.type = value.kind == ELIDER_TEXT ? TupleType::kText : TupleType::kBytes;
      field.text = {value.size == 0 ? "" : static_cast<const char*>(value.data), value.size};
      break;
    case ELIDER_UUID:
      field.type = TupleType::kUuid;
      field.uuid = uuid_of(value);
      break;
    case ELIDER_TUPLE: field.type = TupleType::kTuple; break;
    case ELIDER_TUPLE_END: field.type = TupleType::kTupleEnd; break;
    default: return refuse_kind(value.kind, "a tuple");
  }
  return field;
}

elider_value value_of(const TupleField& field) {
  switch (field.type) {
    case TupleType::kNull: return elider_null();
    case TupleType::kBool: return elider_bool(field.boolean);
    case TupleType::kInteger: return integer_value(field.integer, field.negative);
    case TupleType::kFloat: return elider_float(field.number32);
    case TupleType::kDouble: return elider_double(field.number);
    case TupleType::kTimestamp: return elider_timestamp(us_of(field.timestamp));
    case TupleType::kText: return text_value(ELIDER_TEXT, field.text);
    case TupleType::kBytes: return text_value(ELIDER_BYTES, field.text);
    case TupleType::kUuid: return uuid_value(field.uuid);
    case TupleType::kTuple: return elider_value_of(ELIDER_TUPLE, 0, 0, nullptr, 0);
    case TupleType::kTupleEnd: return elider_value_of(ELIDER_TUPLE_END, 0, 0, nullptr, 0);
  }
  return elider_null();
}

}  // namespace elider::c

struct elider_tuple {
  std::array<std::byte, elider::kTupleBytesMax> bytes;
  std::optional<elider::TupleWriter> writer{std::span<std::byte>(bytes)};
  elider::Status failed;  // a value that a tuple cannot have
};

struct elider_tuple_reader {
  std::array<std::byte, elider::kTupleBytesMax> bytes;
  std::optional<elider::TupleReader> reader;
};

using elider::Status;
using elider::c::entry;
using elider::c::refuse_null;

extern "C" {

elider_tuple* elider_tuple_new(void) { return new (std::nothrow) elider_tuple; }
void elider_tuple_free(elider_tuple* tuple) { delete tuple; }
void elider_tuple_clear(elider_tuple* tuple) {
  if (tuple == nullptr) return;
  tuple->writer.emplace(std::span<std::byte>(tuple->bytes));
  tuple->failed = Status();
}
elider_code elider_tuple_add(elider_tuple* tuple, elider_value value, bool descending, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (tuple == nullptr) return refuse_null("the tuple");
    if (!tuple->failed.ok()) return tuple->failed;
    const auto field = elider::c::tuple_field(value, descending);
    if (!field.ok()) return tuple->failed = field.status();
    tuple->writer->add(*field);
    // finish() also fails while a nested tuple is open, so only other failures are kept here.
    return {};
  });
}
elider_code elider_tuple_key(elider_tuple* tuple, elider_key* key, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (tuple == nullptr || key == nullptr) return refuse_null("the tuple or the place for the key");
    if (!tuple->failed.ok()) return tuple->failed;
    const auto size = tuple->writer->finish();
    if (!size.ok()) return size.status();
    *key = elider_bytes(tuple->bytes.data(), *size);
    return {};
  });
}

elider_tuple_reader* elider_tuple_reader_new(void) { return new (std::nothrow) elider_tuple_reader; }
void elider_tuple_reader_free(elider_tuple_reader* reader) { delete reader; }
elider_code elider_tuple_begin(elider_tuple_reader* reader, const void* data, size_t size, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (reader == nullptr) return refuse_null("the reader");
    reader->reader.reset();
    if (Status status = elider::c::check_memory(data, size, "the tuple"); !status.ok()) return status;
    if (size > reader->bytes.size())
      return Status::invalid_argument("a tuple has at most " + std::to_string(reader->bytes.size()) + " bytes, not " +
                                      std::to_string(size));
    if (size != 0) std::memcpy(reader->bytes.data(), data, size);
    reader->reader.emplace(std::span<const std::byte>(reader->bytes.data(), size));
    return {};
  });
}
elider_code elider_tuple_next(elider_tuple_reader* reader, elider_value* value, bool* descending, bool* more, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (reader == nullptr || value == nullptr || more == nullptr)
      return refuse_null("the reader, or the place for the value or for `more`");
    *more = false;
    if (!reader->reader.has_value()) return Status::invalid_argument("elider_tuple_next() was called without elider_tuple_begin()");
    elider::TupleField field;
    if (!reader->reader->next(&field)) return reader->reader->status();
    *value = elider::c::value_of(field);
    if (descending != nullptr) *descending = field.descending;
    *more = true;
    return {};
  });
}

}  // extern "C"
