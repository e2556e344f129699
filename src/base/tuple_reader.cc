// TupleReader, TupleWriter, and printing, for tuples whose types are not known at compile time.
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/utf8.h"
#include "elider/tuple.h"

namespace elider {

TupleReader::TupleReader(std::span<const std::byte> bytes)
    : begin_(bytes.data()), input_{bytes.data(), bytes.data() + bytes.size(), &scratch_} {
  if (bytes.size() <= kTupleBytesMax) return;
  status_ = Status::invalid_argument("an encoded tuple has at most " + std::to_string(kTupleBytesMax) + " bytes, but the input has " +
                                     std::to_string(bytes.size()));
}

bool TupleReader::refuse(size_t offset, const char* why) {
  status_ = Status::invalid_argument("the bytes are not an encoded tuple: at byte " + std::to_string(offset) + ", " + why);
  return false;
}

bool TupleReader::next(TupleField* field) {
  if (!status_.ok()) return false;
  const size_t begin = offset();
  if (input_.at == input_.end) return depth_ == 0 ? false : refuse(begin, "the end of a nested tuple is missing");
  uint8_t flip = (flips_ & 1) != 0 ? 0xff : 0;
  auto tag = static_cast<uint8_t>(std::to_integer<uint8_t>(*input_.at++) ^ flip);
  *field = TupleField();
  if (tag == detail::kTagEnd) {
    if (depth_ == 0) return refuse(begin, "this byte ends a nested tuple, but none is open");
    --depth_;
    flips_ >>= 1;
    field->type = TupleType::kTupleEnd;
    return true;
  }
  if (tag >= 0x80) {
    field->descending = true;
    tag = static_cast<uint8_t>(~tag);
    flip = static_cast<uint8_t>(~flip);
  }
  if (take(field, tag, flip)) return true;
  if (!status_.ok()) return false;
  return refuse(begin, "the value is cut off, or is not in the form that the encoder writes");
}

// Reads the value of a field after its tag. Returns false, without setting status_, if the value is
// cut off or not canonical.
bool TupleReader::take(TupleField* field, uint8_t tag, uint8_t flip) {
  if (detail::is_integer_tag(tag)) {
    field->type = TupleType::kInteger;
    detail::TupleInteger integer;
    if (!take_integer(input_, tag, flip, &integer)) return false;
    field->integer = integer.bits;
    field->negative = integer.negative;
    return true;
  }
  switch (tag) {
    case detail::kTagNull: return true;
    case detail::kTagFalse:
    case detail::kTagTrue:
      field->type = TupleType::kBool;
      field->boolean = tag == detail::kTagTrue;
      return true;
    case detail::kTagFloat: field->type = TupleType::kFloat; return take_float(input_, flip, detail::kInfinity32, &field->number32);
    case detail::kTagDouble: field->type = TupleType::kDouble; return take_float(input_, flip, detail::kInfinity64, &field->number);
    case detail::kTagTimestamp: {
      field->type = TupleType::kTimestamp;
      uint64_t word;
      if (!detail::take_word(input_, 8, flip, &word)) return false;
      field->timestamp = detail::timestamp_of(word);
      return true;
    }
    case detail::kTagText:
    case detail::kTagBytes: {
      field->type = tag == detail::kTagText ? TupleType::kText : TupleType::kBytes;
      detail::TextPart part;
      if (!detail::take_text(input_, flip, &part)) return false;
      if (detail::view_text(part, flip, field->type, scratch_, &field->text)) return true;
      return refuse(offset() - part.encoded_bytes - 1, "the text is not UTF-8");
    }
    case detail::kTagUuid: field->type = TupleType::kUuid; return detail::take_uuid(input_, flip, &field->uuid);
    case detail::kTagTuple:
      field->type = TupleType::kTuple;
      if (depth_ == kTupleDepthMax) return refuse(offset() - 1, "tuples nest too deeply");
      ++depth_;
      flips_ = flips_ << 1 | (flip != 0 ? 1 : 0);
      return true;
    default: return refuse(offset() - 1, "no type of field begins with this byte");
  }
}

Status check_tuple(std::span<const std::byte> bytes) {
  TupleReader reader(bytes);
  for (TupleField field; reader.next(&field);) {
  }
  return reader.status();
}

// Writing.

TupleWriter& TupleWriter::fail() {
  failure_.path.add(fields_[depth_]);
  for (size_t level = depth_; level-- > 0;) failure_.path.add(fields_[level]);
  status_ = detail::encode_status(failure_, static_cast<size_t>(end_ - begin_));
  return *this;
}

bool TupleWriter::has_depth(size_t more) {
  if (depth_ + more <= kTupleDepthMax) return true;
  status_ = Status::invalid_argument("tuples nest more than " + std::to_string(kTupleDepthMax) + " deep");
  return false;
}

TupleWriter& TupleWriter::begin_tuple(bool descending) {
  if (!status_.ok() || !has_depth(1)) return *this;
  const bool flip = ((flips_ & 1) != 0) != descending;
  if (at_ == end_) {
    failure_.set(detail::EncodeFailure::Reason::kNoRoom, TupleType::kTuple);
    return fail();
  }
  *at_++ = flip ? detail::flipped<true>(detail::kTagTuple) : detail::flipped<false>(detail::kTagTuple);
  flips_ = flips_ << 1 | (flip ? 1 : 0);
  fields_[++depth_] = 0;
  return *this;
}

TupleWriter& TupleWriter::end_tuple() {
  if (!status_.ok()) return *this;
  if (depth_ == 0) {
    status_ = Status::invalid_argument("end_tuple() was called without begin_tuple()");
    return *this;
  }
  const bool flip = (flips_ & 1) != 0;
  --depth_;
  flips_ >>= 1;
  if (at_ == end_) {
    failure_.set(detail::EncodeFailure::Reason::kNoRoom, TupleType::kTuple);
    return fail();
  }
  *at_++ = flip ? detail::flipped<true>(detail::kTagEnd) : detail::flipped<false>(detail::kTagEnd);
  ++fields_[depth_];
  return *this;
}

TupleWriter& TupleWriter::add(const TupleField& field) {
  const auto add_as = [&](const auto& value) -> TupleWriter& { return field.descending ? add(Descending{value}) : add(value); };
  switch (field.type) {
    case TupleType::kNull: return add_as(nullptr);
    case TupleType::kBool: return add_as(field.boolean);
    case TupleType::kInteger: return field.negative ? add_as(field.as_int64()) : add_as(field.integer);
    case TupleType::kFloat: return add_as(field.number32);
    case TupleType::kDouble: return add_as(field.number);
    case TupleType::kTimestamp: return add_as(field.timestamp);
    case TupleType::kText: return add_as(field.text);
    case TupleType::kBytes: return add_as(field.bytes());
    case TupleType::kUuid: return add_as(field.uuid);
    case TupleType::kTuple: return begin_tuple(field.descending);
    case TupleType::kTupleEnd: return end_tuple();
  }
  if (status_.ok()) status_ = Status::invalid_argument("unknown field type " + std::to_string(static_cast<int>(field.type)));
  return *this;
}

Result<size_t> TupleWriter::finish() {
  if (status_.ok() && depth_ != 0) status_ = Status::invalid_argument("end_tuple() is missing for a nested tuple");
  if (!status_.ok()) return status_;
  return static_cast<size_t>(at_ - begin_);
}

// Text.

namespace {

constexpr char kDigits[] = "0123456789abcdef";

void append_hex(std::span<const std::byte> bytes, std::string* text) {
  for (const std::byte byte : bytes) {
    *text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    *text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
}

void append_quoted(std::string_view words, std::string* text) {
  std::string escaped;
  for (const char c : words) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  *text += '"' + printable(escaped) + '"';
}

template <class Float>
void append_number(Float number, std::string* text) {
  char digits[64];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  const std::string_view shortest(digits, static_cast<size_t>(end - digits));
  *text += shortest;
  if (shortest.find_first_of(".ein") == shortest.npos) *text += ".0";
  if (std::is_same_v<Float, float> && std::isfinite(number)) *text += 'f';
}

void append_timestamp(Timestamp timestamp, std::string* text) {
  using namespace std::chrono;
  const auto day = floor<days>(timestamp);
  const int64_t since = day.time_since_epoch().count();
  char digits[64];
  if (since < -719162 || since > 2932896) {  // before the year 1 or after the year 9999
    std::snprintf(digits, sizeof digits, "timestamp(%lld)", static_cast<long long>(timestamp.time_since_epoch().count()));
  } else {
    const year_month_day date(day);
    const auto us = static_cast<long long>((timestamp - day).count());
    std::snprintf(digits, sizeof digits, "%04d-%02u-%02uT%02lld:%02lld:%02lld.%06lldZ", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), us / 3'600'000'000, us / 60'000'000 % 60,
                  us / 1'000'000 % 60, us % 1'000'000);
  }
  *text += digits;
}

void append_uuid(const Uuid& uuid, std::string* text) {
  const std::span<const std::byte> bytes(uuid.bytes);
  append_hex(bytes.first(4), text);
  for (const size_t from : {4, 6, 8}) {
    *text += '-';
    append_hex(bytes.subspan(from, 2), text);
  }
  *text += '-';
  append_hex(bytes.subspan(10), text);
}

void append_value(const TupleField& field, std::string* text) {
  switch (field.type) {
    case TupleType::kNull: *text += "null"; break;
    case TupleType::kBool: *text += field.boolean ? "true" : "false"; break;
    case TupleType::kInteger: *text += field.negative ? std::to_string(field.as_int64()) : std::to_string(field.integer); break;
    case TupleType::kFloat: append_number(field.number32, text); break;
    case TupleType::kDouble: append_number(field.number, text); break;
    case TupleType::kTimestamp: append_timestamp(field.timestamp, text); break;
    case TupleType::kText: append_quoted(field.text, text); break;
    case TupleType::kBytes:
      *text += "0x";
      append_hex(field.bytes(), text);
      break;
    case TupleType::kUuid: append_uuid(field.uuid, text); break;
    case TupleType::kTuple:
    case TupleType::kTupleEnd: break;
  }
}

// Prints the field that the reader has just read. If the field is a nested tuple, also reads and
// prints the rest of it.
void append_field(TupleReader& reader, TupleField field, std::string* text) {
  uint64_t descending = 0;  // one bit per open tuple; the lowest bit is that of the innermost tuple
  for (size_t open = 0;;) {
    if (field.type == TupleType::kTuple) {
      *text += '(';
      descending = descending << 1 | (field.descending ? 1 : 0);
      ++open;
    } else {
      if (field.type == TupleType::kTupleEnd) {
        if (text->ends_with(", ")) text->resize(text->size() - 2);
        *text += (descending & 1) != 0 ? ") desc" : ")";
        descending >>= 1;
        --open;
      } else {
        append_value(field, text);
        if (field.descending) *text += " desc";
      }
      if (open == 0) return;
      *text += ", ";
    }
    if (!reader.next(&field)) return;
  }
}

// Reads fields of the current tuple up to and including the field at this position. Returns false
// if the tuple has fewer fields.
bool find_field(TupleReader& reader, size_t position, TupleField* field) {
  for (const size_t depth = reader.depth(); reader.next(field);) {
    if (reader.depth() < depth) return false;  // the end of the tuple
    if (reader.depth() == depth + (field->type == TupleType::kTuple ? 1 : 0) && field->type != TupleType::kTupleEnd && position-- == 0)
      return true;
  }
  return false;
}

}  // namespace

std::string tuple_to_text(std::span<const std::byte> bytes) {
  std::string text;
  TupleReader reader(bytes);
  for (TupleField field; reader.next(&field);) {
    text += text.empty() ? "(" : ", ";
    append_field(reader, field, &text);
  }
  if (reader.status().ok()) return text.empty() ? "()" : text + ")";
  text = "0x";
  append_hex(bytes, &text);
  return text;
}

namespace detail {

Status decode_status(const DecodeFailure& failure, std::span<const std::byte> bytes) {
  if (Status status = check_tuple(bytes); !status.ok()) return status;
  TupleReader reader(bytes);
  TupleField field;
  bool found = true;
  for (uint32_t level = failure.path.depth; level-- > 0 && found;) found = find_field(reader, failure.path.fields[level], &field);
  std::string words = failure.path.text();
  if (found) {
    std::string value;
    append_field(reader, field, &value);
    constexpr size_t kShownMax = 80;
    if (value.size() > kShownMax) {
      size_t end = kShownMax;
      while ((static_cast<unsigned char>(value[end]) & 0xc0) == 0x80) --end;  // do not split a UTF-8 character
      value.resize(end);
      value += "...";
    }
    words += field.type == TupleType::kNull ? " is " : " is the " + std::string(name_of(field.type)) + ' ';
    words += value;
  } else {
    words += " is missing";
  }
  words += std::string(", but ") + failure.asked;
  if (failure.asked_descending) words += " desc";
  return Status::invalid_argument(words + " was asked for");
}

}  // namespace detail
}  // namespace elider
