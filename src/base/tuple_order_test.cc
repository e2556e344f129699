// Tests that encodings have the order of their tuples, and that no other bytes can be decoded. The
// tuples are random, from fixed seeds. They are compared with std::tuple, and with a model of
// values of any type.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "elider/tuple.h"

namespace elider::tuple_order_tests {  // some helpers have the same names as those of other tests
namespace {

using std::optional;
using std::string;
using std::tuple;

// Returns values that are likely to be equal, to begin alike, or to be at a limit of the format.
uint64_t any_number(Random& random) {
  const uint64_t near = random.below(4);
  switch (random.below(4)) {
    case 0: return random.below(4);
    case 1: return (uint64_t{1} << random.below(64)) + near - 2;
    case 2: return ~((uint64_t{1} << random.below(64)) + near - 2);
    default: return random.next() >> random.below(64);
  }
}
template <class T>
void draw(Random& random, optional<T>* value);
template <class T>
void draw(Random& random, Descending<T>* value);
template <class... Ts>
void draw(Random& random, tuple<Ts...>* value);
template <class T>
void draw(Random& random, T* value) {
  *value = static_cast<T>(any_number(random));
}
void draw(Random& random, bool* value) { *value = random.one_in(2); }
template <class Float, class Bits>
void draw_float(Random& random, Float* value) {
  static constexpr Float kValues[] = {0, -0.0f, 1, -1, std::numeric_limits<Float>::infinity(), -std::numeric_limits<Float>::infinity(),
                                      std::numeric_limits<Float>::denorm_min(), std::numeric_limits<Float>::max()};
  *value = random.one_in(2) ? kValues[random.below(std::size(kValues))] : std::bit_cast<Float>(static_cast<Bits>(random.next()));
  if (std::isnan(*value)) *value = 2;  // std::tuple does not order NaN
}
void draw(Random& random, float* value) { draw_float<float, uint32_t>(random, value); }
void draw(Random& random, double* value) { draw_float<double, uint64_t>(random, value); }
void draw(Random& random, Timestamp* value) { *value = Timestamp(std::chrono::microseconds(static_cast<int64_t>(any_number(random)))); }
void draw(Random& random, Uuid* value) {
  for (std::byte& byte : value->bytes) byte = static_cast<std::byte>(random.one_in(2) ? 0 : random.next());
}
void draw(Random& random, string* value) {
  static constexpr std::string_view kPieces[] = {
      std::string_view("\0", 1), "\1", "\2", "a", "b", "\x7f", "\u00e9", "\U0010ffff", "abcdefgh"};
  value->clear();
  for (uint64_t pieces = random.below(5); pieces != 0; --pieces) *value += kPieces[random.below(std::size(kPieces))];
}
void draw(Random& random, std::vector<std::byte>* value) {
  static constexpr std::byte kValues[] = {std::byte{0}, std::byte{1}, std::byte{2}, std::byte{0xfe}, std::byte{0xff}};
  value->resize(random.below(12));
  for (std::byte& byte : *value) byte = kValues[random.below(std::size(kValues))];
}
template <class T>
void draw(Random& random, optional<T>* value) {
  if (random.one_in(3)) value->reset();
  else draw(random, &value->emplace());
}
template <class T>
void draw(Random& random, Descending<T>* value) {
  draw(random, &value->value);
}
template <class... Ts>
void draw(Random& random, tuple<Ts...>* value) {
  std::apply([&](auto&... fields) { (draw(random, &fields), ...); }, *value);
}

int sign_of_memcmp(std::span<const std::byte> a, std::span<const std::byte> b) {
  const size_t common = std::min(a.size(), b.size());
  const int order = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);
  return order != 0 ? (order < 0 ? -1 : 1) : a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

template <class Tuple>
class TupleOrderTest : public testing::Test {};
using Tuples = testing::Types<
    tuple<bool, bool>, tuple<uint64_t, uint64_t>, tuple<int64_t, int64_t>, tuple<int8_t, uint8_t, int16_t>, tuple<float, double>,
    tuple<double, float>, tuple<Timestamp, Timestamp>, tuple<string, string>, tuple<std::vector<std::byte>, int>, tuple<Uuid, bool>,
    tuple<optional<int64_t>, optional<string>>, tuple<optional<Descending<int64_t>>, Descending<optional<string>>>,
    tuple<Descending<bool>, Descending<uint64_t>>, tuple<Descending<int64_t>, int64_t>, tuple<Descending<float>, Descending<double>>,
    tuple<Descending<Timestamp>, Descending<Uuid>>, tuple<Descending<string>, string>,
    tuple<Descending<std::vector<std::byte>>, Descending<string>>,
    tuple<tuple<string, Descending<int64_t>>, tuple<>, int>, tuple<Descending<tuple<string, Descending<string>>>, string>,
    tuple<tuple<tuple<optional<string>>, Descending<tuple<Descending<double>>>>, string>>;
TYPED_TEST_SUITE(TupleOrderTest, Tuples);

TYPED_TEST(TupleOrderTest, EncodingsAreOrderedAsTuples) {
  Random random(20261129);
  EncodedTuple encoded[2];
  TypeParam values[2];
  draw(random, &values[1]);
  ASSERT_TRUE(encoded[1].set_tuple(values[1]).ok());
  for (int i = 0; i < 20'000; ++i) {
    const int one = i % 2;
    draw(random, &values[one]);
    ASSERT_TRUE(encoded[one].set_tuple(values[one]).ok());
    const auto order = values[0] <=> values[1];
    ASSERT_EQ(sign_of_memcmp(encoded[0].bytes(), encoded[1].bytes()), order < 0 ? -1 : order > 0 ? 1 : 0)
        << tuple_to_text(encoded[0].bytes()) << " and " << tuple_to_text(encoded[1].bytes()) << ", i = " << i;
    const auto decoded = decode_tuple<TypeParam>(encoded[one].bytes());
    ASSERT_TRUE(decoded.ok()) << decoded.status().message();
    ASSERT_EQ(*decoded, values[one]) << tuple_to_text(encoded[one].bytes());
  }
}

// Integers of all types at the same position compare as numbers.
TEST(TupleOrder, IntegersOfDifferentTypesCompareAsNumbers) {
  Random random(20261130);
  for (int i = 0; i < 100'000; ++i) {
    const auto number = static_cast<int64_t>(any_number(random));
    const uint64_t other = any_number(random);
    EncodedTuple first, second;
    ASSERT_TRUE(first.set(number).ok() && second.set(other).ok());
    const int order = std::cmp_less(number, other) ? -1 : std::cmp_greater(number, other) ? 1 : 0;
    ASSERT_EQ(sign_of_memcmp(first.bytes(), second.bytes()), order) << number << " and " << other;
  }
}

// A field of any type in a tuple of any shape.
struct Value {
  TupleField field;
  string text;  // also the text of field.text
  std::vector<Value> fields;
};

Value any_value(Random& random, size_t depth) {
  Value value;
  TupleField& field = value.field;
  field.type = static_cast<TupleType>(random.below(depth < 3 ? 10 : 9));
  field.descending = random.one_in(3);
  switch (field.type) {
    case TupleType::kBool: draw(random, &field.boolean); break;
    case TupleType::kInteger:
      field.integer = any_number(random);
      field.negative = field.integer >> 63 != 0 && random.one_in(2);
      break;
    case TupleType::kFloat: field.number32 = std::bit_cast<float>(static_cast<uint32_t>(any_number(random))); break;
    case TupleType::kDouble: field.number = std::bit_cast<double>(any_number(random)); break;
    case TupleType::kTimestamp: draw(random, &field.timestamp); break;
    case TupleType::kText: draw(random, &value.text); break;
    case TupleType::kBytes: {
      std::vector<std::byte> bytes;
      draw(random, &bytes);
      value.text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      break;
    }
    case TupleType::kUuid: draw(random, &field.uuid); break;
    case TupleType::kTuple:
      for (uint64_t fields = random.below(4); fields != 0; --fields) value.fields.push_back(any_value(random, depth + 1));
      break;
    default: break;
  }
  return value;
}

template <class T>
int compare_values(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}
template <class Float>
int compare_floats(Float a, Float b) {
  if (std::isnan(a) || std::isnan(b)) return static_cast<int>(std::isnan(a)) - static_cast<int>(std::isnan(b));
  return compare_values(a, b);
}
int compare(const std::vector<Value>& a, const std::vector<Value>& b);
int compare(const Value& a, const Value& b) {
  const TupleField &x = a.field, &y = b.field;
  if (x.descending != y.descending) return x.descending ? 1 : -1;
  int order = compare_values(static_cast<int>(x.type), static_cast<int>(y.type));
  if (order == 0) {
    switch (x.type) {
      case TupleType::kBool: order = compare_values(x.boolean, y.boolean); break;
      case TupleType::kInteger:
        order = x.negative != y.negative ? (x.negative ? -1 : 1) : compare_values(x.integer, y.integer);
        break;
      case TupleType::kFloat: order = compare_floats(x.number32, y.number32); break;
      case TupleType::kDouble: order = compare_floats(x.number, y.number); break;
      case TupleType::kTimestamp: order = compare_values(x.timestamp, y.timestamp); break;
      case TupleType::kText:
      case TupleType::kBytes: order = compare_values(a.text, b.text); break;  // as unsigned bytes
      case TupleType::kUuid: order = compare_values(x.uuid, y.uuid); break;
      case TupleType::kTuple: order = compare(a.fields, b.fields); break;
      default: break;
    }
  }
  return x.descending ? -order : order;
}
int compare(const std::vector<Value>& a, const std::vector<Value>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (const int order = compare(a[i], b[i]); order != 0) return order;
  return compare_values(a.size(), b.size());
}

void write(const std::vector<Value>& values, TupleWriter* writer) {
  for (const Value& value : values) {
    TupleField field = value.field;
    field.text = value.text;
    writer->add(field);
    if (field.type != TupleType::kTuple) continue;
    write(value.fields, writer);
    writer->end_tuple();
  }
}

// Encodes again what the reader has decoded. The result is empty if the reader refuses the bytes.
std::vector<std::byte> written_again(std::span<const std::byte> bytes, Status* status) {
  std::vector<std::byte> buffer(kTupleBytesMax);
  TupleReader reader(bytes);
  TupleWriter writer(buffer);
  for (TupleField field; reader.next(&field);) writer.add(field);
  *status = reader.status();
  if (!status->ok()) return {};
  const Result<size_t> size = writer.finish();
  EXPECT_TRUE(size.ok()) << size.status().message();
  buffer.resize(size.ok() ? *size : 0);
  return buffer;
}

std::vector<Value> any_tuple(Random& random) {
  std::vector<Value> values;
  for (uint64_t fields = random.below(4); fields != 0; --fields) values.push_back(any_value(random, 0));
  return values;
}
std::vector<std::byte> encode(const std::vector<Value>& values) {
  std::vector<std::byte> buffer(kTupleBytesMax);
  TupleWriter writer(buffer);
  write(values, &writer);
  const Result<size_t> size = writer.finish();
  EXPECT_TRUE(size.ok()) << size.status().message();
  buffer.resize(size.ok() ? *size : 0);
  return buffer;
}

TEST(TupleOrder, TuplesOfMixedTypesAndLengthsAreOrderedAsTheModel) {
  Random random(20261201);
  std::vector<Value> values[2];
  std::vector<std::byte> bytes[2];
  for (int i = 0; i < 200'000; ++i) {
    const int one = i % 2;
    values[one] = any_tuple(random);
    if (random.one_in(4)) {  // a tuple that begins like the other one
      values[one] = values[1 - one];
      if (!values[one].empty()) values[one].back() = any_value(random, 0);
      if (random.one_in(2)) values[one].push_back(any_value(random, 0));
    }
    bytes[one] = encode(values[one]);
    ASSERT_EQ(sign_of_memcmp(bytes[0], bytes[1]), compare(values[0], values[1]))
        << tuple_to_text(bytes[0]) << " and " << tuple_to_text(bytes[1]) << ", i = " << i;
    Status status;
    ASSERT_EQ(written_again(bytes[one], &status), bytes[one]) << tuple_to_text(bytes[one]) << ' ' << status.message();
  }
}

// If bytes are not an encoding, the reader refuses them. Otherwise they are the encoding of the
// decoded tuple.
void expect_canonical(std::span<const std::byte> bytes, int* accepted) {
  Status status;
  const std::vector<std::byte> again = written_again(bytes, &status);
  EXPECT_EQ(check_tuple(bytes).ok(), status.ok());
  if (!status.ok()) {
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return;
  }
  ++*accepted;
  ASSERT_TRUE(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()))
      << tuple_to_text(bytes) << " and " << tuple_to_text(again);
}

TEST(TupleOrder, TruncatedAndChangedEncodingsAreRefusedOrCanonical) {
  Random random(20261202);
  int accepted = 0, truncated = 0, all = 0;
  for (int i = 0; i < 3'000; ++i) {
    std::vector<std::byte> bytes = encode(any_tuple(random));
    for (size_t size = 0; size < bytes.size(); ++size) expect_canonical(std::span(bytes).first(size), &truncated);
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit, ++all) {
      bytes[bit / 8] ^= std::byte{1} << bit % 8;
      expect_canonical(bytes, &accepted);
      bytes[bit / 8] ^= std::byte{1} << bit % 8;
    }
    if (HasFatalFailure()) FAIL() << "i = " << i;
  }
  EXPECT_GT(truncated, 1'000);  // between fields
  EXPECT_GT(accepted, all / 10);
  EXPECT_LT(accepted, all);
}

// A std::tuple is decoded if and only if the reader finds fields of its types.
template <class Tuple>
void expect_same_as_reader(std::span<const std::byte> bytes, int* accepted) {
  const auto decoded = decode_tuple<Tuple>(bytes);
  if (!decoded.ok()) {
    EXPECT_FALSE(decoded.status().message().empty());
    return;
  }
  ++*accepted;
  EncodedTuple again;
  ASSERT_TRUE(again.set_tuple(*decoded).ok());
  ASSERT_EQ(again.text(), std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  ASSERT_TRUE(check_tuple(bytes).ok());
}
TYPED_TEST(TupleOrderTest, ChangedEncodingsAreRefusedOrCanonical) {
  Random random(20261203);
  int accepted = 0;
  for (int i = 0; i < 500; ++i) {
    TypeParam value;
    draw(random, &value);
    EncodedTuple key;
    ASSERT_TRUE(key.set_tuple(value).ok());
    std::vector<std::byte> bytes(key.bytes().begin(), key.bytes().end());
    for (size_t size = 0; size < bytes.size(); ++size) {
      const auto decoded = decode_tuple<TypeParam>(std::span(bytes).first(size));
      ASSERT_FALSE(decoded.ok());
    }
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      bytes[bit / 8] ^= std::byte{1} << bit % 8;
      expect_same_as_reader<TypeParam>(bytes, &accepted);
      bytes[bit / 8] ^= std::byte{1} << bit % 8;
    }
    if (this->HasFatalFailure()) FAIL() << "i = " << i;
  }
}

TEST(TupleOrder, EveryShortByteStringIsRefusedOrCanonical) {
  int accepted = 0;
  std::vector<std::byte> bytes;
  for (size_t size = 0; size <= 2; ++size) {
    bytes.resize(size);
    for (unsigned value = 0; value < 1u << (8 * size); ++value) {
      for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
      expect_canonical(bytes, &accepted);
    }
  }
  // 67 one-byte fields and as many descending ones are tuples, and so are all pairs of them; the
  // others are 192 + 256 integers of one byte, two empty texts, and the empty tuple, in both
  // directions.
  EXPECT_EQ(accepted, 1 + 134 + 134 * 134 + 2 * (192 + 256 + 3));
}

}  // namespace
}  // namespace elider::tuple_order_tests
