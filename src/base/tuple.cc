#include "elider/tuple.h"

#include "base/utf8.h"

namespace elider {

std::string_view name_of(TupleType type) {
  switch (type) {
    case TupleType::kNull: return "null";
    case TupleType::kBool: return "bool";
    case TupleType::kInteger: return "integer";
    case TupleType::kFloat: return "float";
    case TupleType::kDouble: return "double";
    case TupleType::kTimestamp: return "timestamp";
    case TupleType::kText: return "text";
    case TupleType::kBytes: return "bytes";
    case TupleType::kUuid: return "UUID";
    case TupleType::kTuple: return "tuple";
    case TupleType::kTupleEnd: return "end of a tuple";
  }
  return "unknown type";
}

void TuplePrefix::set_size(size_t size) {
  size_ = size;
  // The upper end is the smallest byte string that is above all strings with this prefix. To
  // compute it, drop trailing 0xff bytes, and increment the last remaining byte.
  while (size != 0 && from_[size - 1] == std::byte{0xff}) --size;
  to_size_ = size;
  if (size == 0) return;
  std::memcpy(to_, from_, size);
  to_[size - 1] = static_cast<std::byte>(std::to_integer<unsigned>(to_[size - 1]) + 1);
}

namespace detail {
namespace {

// Text and byte strings end with byte 0. Within them, byte 0 is encoded as 1 1, and byte 1 as 1 2.
constexpr uint8_t kTextEnd = 0, kEscape = 1, kEscapedZero = 1, kEscapedOne = 2;

constexpr uint64_t every(uint8_t byte) { return 0x0101010101010101u * byte; }

uint64_t load(const void* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// Returns true if one of the word's eight bytes is 0 or 1.
constexpr bool has_escapes(uint64_t word) { return ((word - every(2)) & ~word & every(0x80)) != 0; }
constexpr bool has_more_than_ascii(uint64_t word) { return (word & every(0x80)) != 0; }

void invert(std::byte* from, std::byte* to) {
  for (; from != to; ++from) *from = ~*from;
}

}  // namespace

std::string TuplePath::text() const {
  std::string name = "tuple field ";
  for (uint32_t i = depth; i-- > 0;) {
    name += std::to_string(fields[i]);
    if (i != 0) name += '.';
  }
  return name;
}

std::byte* put_text(std::byte* at, std::byte* end, std::string_view text, TupleType type, bool flip, bool ended,
                    EncodeFailure& failure) {
  const bool is_text = type == TupleType::kText;
  const auto no_room = [&] { return failure.set(EncodeFailure::Reason::kNoRoom, type, text.size()); };
  if (static_cast<size_t>(end - at) < text.size() + 1 + (ended ? 1 : 0)) return no_room();
  std::byte* const begin = at;
  *at++ = static_cast<std::byte>(is_text ? kTagText : kTagBytes);
  const char* from = text.data();
  size_t left = text.size();
  while (left != 0) {
    // Here the buffer has room for the rest of the text, unless some of its bytes must be escaped.
    if (left >= 8) {
      const uint64_t word = load(from);
      if (!has_escapes(word) && !(is_text && has_more_than_ascii(word))) [[likely]] {
        std::memcpy(at, from, 8);
        at += 8, from += 8, left -= 8;
        continue;
      }
    }
    const auto byte = static_cast<uint8_t>(*from);
    size_t bytes = 1;
    if (byte <= 1) {
      if (static_cast<size_t>(end - at) < left + 1 + (ended ? 1 : 0)) return no_room();
      *at++ = std::byte{kEscape};
      *at++ = static_cast<std::byte>(byte == 0 ? kEscapedZero : kEscapedOne);
    } else {
      if (byte >= 0x80 && is_text) {
        bytes = utf8_bytes({from, left});
        if (bytes == 0)
          return failure.set(EncodeFailure::Reason::kNotUtf8, type, text.size(), static_cast<size_t>(from - text.data()));
      }
      std::memcpy(at, from, bytes);
      at += bytes;
    }
    from += bytes, left -= bytes;
  }
  if (ended) *at++ = std::byte{kTextEnd};
  if (flip) invert(begin, at);
  return at;
}

bool take_uuid(TupleInput& input, uint8_t flip, Uuid* uuid) {
  if (input.end - input.at < 16) return false;
  for (std::byte& byte : uuid->bytes) byte = *input.at++ ^ static_cast<std::byte>(flip);
  return true;
}

bool take_text(TupleInput& input, uint8_t flip, TextPart* part) {
  const uint64_t mask = every(flip);
  const std::byte* at = input.at;
  size_t escaped = 0;
  while (true) {
    if (input.end - at >= 8 && !has_escapes(load(at) ^ mask)) {
      at += 8;
      continue;
    }
    if (at == input.end) return false;
    const auto byte = static_cast<uint8_t>(std::to_integer<uint8_t>(*at) ^ flip);
    if (byte == kTextEnd) break;
    if (byte == kEscape) {
      if (++at == input.end) return false;
      const auto next = static_cast<uint8_t>(std::to_integer<uint8_t>(*at) ^ flip);
      if (next != kEscapedZero && next != kEscapedOne) return false;
      ++escaped;
    }
    ++at;
  }
  part->encoded = input.at;
  part->encoded_bytes = static_cast<size_t>(at - input.at);
  part->bytes = part->encoded_bytes - escaped;
  input.at = at + 1;
  return true;
}

bool copy_text(const TextPart& part, uint8_t flip, TupleType type, std::byte* to) {
  if (part.bytes == 0) return true;
  const auto mask = static_cast<std::byte>(flip);
  if (part.bytes == part.encoded_bytes) {
    for (size_t i = 0; i < part.bytes; ++i) to[i] = part.encoded[i] ^ mask;
  } else {
    for (size_t from = 0, i = 0; i < part.bytes; ++i) {
      std::byte byte = part.encoded[from++] ^ mask;
      if (byte == std::byte{kEscape}) byte = (part.encoded[from++] ^ mask) == std::byte{kEscapedOne} ? std::byte{1} : std::byte{0};
      to[i] = byte;
    }
  }
  return type != TupleType::kText || utf8_end({reinterpret_cast<const char*>(to), part.bytes}) == part.bytes;
}

bool view_text(const TextPart& part, uint8_t flip, TupleType type, TupleScratch& scratch, std::string_view* view) {
  if (flip == 0 && part.bytes == part.encoded_bytes) {
    *view = {reinterpret_cast<const char*>(part.encoded), part.bytes};
    return type != TupleType::kText || utf8_end(*view) == part.bytes;
  }
  std::byte* const to = scratch.take(part.bytes);
  *view = {reinterpret_cast<const char*>(to), part.bytes};
  return copy_text(part, flip, type, to);
}

Status encode_status(const EncodeFailure& failure, size_t room) {
  std::string words = failure.path.text();
  switch (failure.reason) {
    case EncodeFailure::Reason::kNotUtf8: words += ": the text is not UTF-8 at byte " + std::to_string(failure.offset); break;
    case EncodeFailure::Reason::kNullPointer: words += ": the text is a null pointer"; break;
    case EncodeFailure::Reason::kOutOfRange:
      words += " is ";
      words += failure.negative ? std::to_string(static_cast<int64_t>(failure.number)) : std::to_string(failure.number);
      words += ", which is out of the range of ";
      words += failure.integer_type;
      break;
    case EncodeFailure::Reason::kNoRoom:
      words += " (";
      words += name_of(failure.type);
      if (failure.type == TupleType::kText || failure.type == TupleType::kBytes) words += " of " + std::to_string(failure.bytes) + " bytes";
      words += ") does not fit: ";
      words += room == kTupleBytesMax ? "an encoded tuple has at most " : "the buffer has ";
      words += std::to_string(room) + " bytes";
      break;
  }
  return Status::invalid_argument(std::move(words));
}

}  // namespace detail
}  // namespace elider
