#include "bench/ycsb/key_format.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <string_view>
#include <system_error>
#include <tuple>

#include <fmt/format.h>

#include "bench/common/random.h"
#include "elider/tuple.h"
#include "elider/tuple_key.h"

namespace elider::bench {

namespace {

using TupleForm = std::tuple<uint64_t, uint32_t>;
struct AnyRow {};
constexpr uint64_t kTuplesPerPrefix = 100;
constexpr std::string_view kUrlItem = "/item-", kUrlEnd = ".html";
constexpr size_t kUrlDigits = 20;

void put_number(Key number, std::byte* to) {
  const uint64_t bytes = __builtin_bswap64(number);
  std::memcpy(to, &bytes, sizeof bytes);
}
Key take_number(const std::byte* from) {
  uint64_t bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return __builtin_bswap64(bytes);
}

Key number_of_url(std::string_view url) {
  Key number = 0;
  const size_t size = kUrlDigits + kUrlEnd.size();
  if (url.size() < size || !url.ends_with(kUrlEnd)) return kKeyMax;
  const char* const digits = url.data() + url.size() - size;
  const auto [end, error] = std::from_chars(digits, digits + kUrlDigits, number);
  return error == std::errc() && end == digits + kUrlDigits ? number : kKeyMax;
}

}  // namespace

const char* name_of(KeyForm form) {
  switch (form) {
    case KeyForm::kNumber: return "number";
    case KeyForm::kBytes: return "bytes";
    case KeyForm::kTuple: return "tuple";
    case KeyForm::kUuid: return "uuid";
    case KeyForm::kUrl: return "url";
  }
  return "unknown";
}

void KeyFormat::describe(Schema* schema) const {
  if (is_number()) return;
  schema->key_kind = KeyKind::kBytes;
  if (form_ == KeyForm::kTuple) schema->key_fields = SchemaOf<AnyRow, TupleForm>(schema->name).schema().key_fields;
}

Bytes KeyFormat::key_of(Key number, std::byte* to) const {
  switch (form_) {
    case KeyForm::kNumber: break;
    case KeyForm::kBytes: {
      put_number(number, to);
      uint64_t filler = number;
      for (uint32_t at = sizeof number; at < bytes_; at += sizeof filler) {
        filler = mix64(filler + 1);
        std::memcpy(to + at, &filler, std::min<size_t>(sizeof filler, bytes_ - at));
      }
      return {to, bytes_};
    }
    case KeyForm::kTuple: {
      const Result<size_t> size =
          encode_fields(std::span(to, kBytesMax), number / kTuplesPerPrefix, static_cast<uint32_t>(number % kTuplesPerPrefix));
      return {to, *size};
    }
    case KeyForm::kUuid:
      put_number(mix64(number + 1), to);
      put_number(number, to + sizeof number);
      return {to, 2 * sizeof number};
    case KeyForm::kUrl: {
      // 10,000 consecutive items belong to one shop, so the URLs are sorted like the numbers.
      char* const begin = reinterpret_cast<char*>(to);
      char* const end = fmt::format_to(begin, "https://www.example.com/shop/{:016}{}{:020}{}", number / 10'000, kUrlItem, number, kUrlEnd);
      return {to, static_cast<size_t>(end - begin)};
    }
  }
  return {};
}

Key KeyFormat::number_of(Bytes key) const {
  switch (form_) {
    case KeyForm::kNumber: break;
    case KeyForm::kBytes: return key.size() == bytes_ ? take_number(key.data()) : kKeyMax;
    case KeyForm::kTuple: {
      const auto tuple = decode_tuple<TupleForm>(key.span());
      return tuple.ok() ? std::get<0>(*tuple) * kTuplesPerPrefix + std::get<1>(*tuple) : kKeyMax;
    }
    case KeyForm::kUuid: return key.size() == 16 ? take_number(key.data() + 8) : kKeyMax;
    case KeyForm::kUrl: return number_of_url(key.text());
  }
  return kKeyMax;
}

}  // namespace elider::bench
