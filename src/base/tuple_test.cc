#include "elider/tuple.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace elider::tuple_tests {  // some helpers have the same names as those of other tests
namespace {

using namespace std::string_view_literals;
using std::nullopt;
using std::optional;
using std::string;
using std::tuple;
using Bytes = std::vector<std::byte>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr float kInfinityF = std::numeric_limits<float>::infinity();
constexpr float kNanF = std::numeric_limits<float>::quiet_NaN();
enum class Color : uint8_t { kRed = 3, kBlue = 200 };
enum Sign { kMinus = -1, kPlus = 1 };

Timestamp at(int64_t us) { return Timestamp(std::chrono::microseconds(us)); }
Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}
Uuid some_uuid() {
  Uuid uuid;
  for (size_t i = 0; i < 16; ++i) uuid.bytes[i] = static_cast<std::byte>(i * 17);
  return uuid;
}

string hex(std::span<const std::byte> bytes) {
  string text;
  for (const std::byte byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    if (!text.empty()) text += ' ';
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

template <class... Fields>
string encoded(const Fields&... fields) {
  EncodedTuple key;
  const Status status = key.set(fields...);
  return status.ok() ? hex(key.bytes()) : status.message();
}

// Returns the result of decoding the encoded tuple.
template <class... Fields>
Result<tuple<Fields...>> round_trip(const tuple<Fields...>& value) {
  EncodedTuple key;
  if (Status status = key.set_tuple(value); !status.ok()) return status;
  return decode_tuple<tuple<Fields...>>(key.bytes());
}
template <class T>
void expect_round_trip(const T& value) {
  const auto ascending = round_trip(tuple<T>(value));
  ASSERT_TRUE(ascending.ok()) << ascending.status().message();
  EXPECT_EQ(std::get<0>(*ascending), value);
  const auto nested = round_trip(tuple<Descending<tuple<T, Descending<T>>>, optional<T>>({{value, {value}}}, value));
  ASSERT_TRUE(nested.ok()) << nested.status().message();
  EXPECT_EQ(std::get<0>(*nested).value, (tuple<T, Descending<T>>(value, {value})));
  EXPECT_EQ(std::get<1>(*nested), optional<T>(value));
}

// Files contain these bytes, so the encoding must never change.
TEST(Tuple, GoldenBytes) {
  EXPECT_EQ(encoded(), "");
  EXPECT_EQ(encoded(nullptr), "04");
  EXPECT_EQ(encoded(nullopt), "04");
  EXPECT_EQ(encoded(optional<int>()), "04");
  EXPECT_EQ(encoded(false, true), "08 09");
  EXPECT_EQ(encoded(0, 1, 63, optional<int>(7)), "18 19 57 1f");
  EXPECT_EQ(encoded(64), "58 40");
  EXPECT_EQ(encoded(255u), "58 ff");
  EXPECT_EQ(encoded(256), "59 01 00");
  EXPECT_EQ(encoded(int16_t{1000}, uint64_t{1000}), "59 03 e8 59 03 e8");
  EXPECT_EQ(encoded(65536), "5a 01 00 00");
  EXPECT_EQ(encoded(uint64_t{1} << 24), "5b 01 00 00 00");
  EXPECT_EQ(encoded(uint64_t{1} << 32), "5c 01 00 00 00 00");
  EXPECT_EQ(encoded(uint64_t{1} << 40), "5d 01 00 00 00 00 00");
  EXPECT_EQ(encoded(uint64_t{1} << 48), "5e 01 00 00 00 00 00 00");
  EXPECT_EQ(encoded(uint64_t{1} << 56), "5f 01 00 00 00 00 00 00 00");
  EXPECT_EQ(encoded(std::numeric_limits<int64_t>::max()), "5f 7f ff ff ff ff ff ff ff");
  EXPECT_EQ(encoded(std::numeric_limits<uint64_t>::max()), "5f ff ff ff ff ff ff ff ff");
  EXPECT_EQ(encoded(-1), "17 ff");
  EXPECT_EQ(encoded(int64_t{-256}), "17 00");
  EXPECT_EQ(encoded(-257), "16 fe ff");
  EXPECT_EQ(encoded(-65537), "15 fe ff ff");
  EXPECT_EQ(encoded(std::numeric_limits<int64_t>::min()), "10 80 00 00 00 00 00 00 00");
  EXPECT_EQ(encoded(Color::kRed, Color::kBlue, kMinus), "1b 58 c8 17 ff");
  EXPECT_EQ(encoded(0.0f), "62 80 00 00 00");
  EXPECT_EQ(encoded(-0.0f), "62 80 00 00 00");
  EXPECT_EQ(encoded(1.5f), "62 bf c0 00 00");
  EXPECT_EQ(encoded(-1.5f), "62 40 3f ff ff");
  EXPECT_EQ(encoded(-kInfinityF), "62 00 7f ff ff");
  EXPECT_EQ(encoded(kInfinityF), "62 ff 80 00 00");
  EXPECT_EQ(encoded(kNanF, -kNanF), "62 ff c0 00 00 62 ff c0 00 00");
  EXPECT_EQ(encoded(0.0, -0.0), "63 80 00 00 00 00 00 00 00 63 80 00 00 00 00 00 00 00");
  EXPECT_EQ(encoded(1.5), "63 bf f8 00 00 00 00 00 00");
  EXPECT_EQ(encoded(-1.5), "63 40 07 ff ff ff ff ff ff");
  EXPECT_EQ(encoded(-kInfinity), "63 00 0f ff ff ff ff ff ff");
  EXPECT_EQ(encoded(kInfinity), "63 ff f0 00 00 00 00 00 00");
  EXPECT_EQ(encoded(kNan), "63 ff f8 00 00 00 00 00 00");
  EXPECT_EQ(encoded(std::bit_cast<double>(uint64_t{0xfff0000000000001})), "63 ff f8 00 00 00 00 00 00");
  EXPECT_EQ(encoded(at(0)), "66 80 00 00 00 00 00 00 00");
  EXPECT_EQ(encoded(at(-1)), "66 7f ff ff ff ff ff ff ff");
  EXPECT_EQ(encoded("eu"), "6a 65 75 00");
  EXPECT_EQ(encoded(""sv, ""sv), "6a 00 6a 00");
  EXPECT_EQ(encoded("a\0\1\2b"sv), "6a 61 01 01 01 02 02 62 00");
  EXPECT_EQ(encoded("0123456789"sv), "6a 30 31 32 33 34 35 36 37 38 39 00");
  EXPECT_EQ(encoded("na\u00efve \U0001f600"), "6a 6e 61 c3 af 76 65 20 f0 9f 98 80 00");
  EXPECT_EQ(encoded(bytes_of({0xff, 0, 1, 2})), "6c ff 01 01 01 02 02 00");
  EXPECT_EQ(encoded(some_uuid()), "70 00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff");
  EXPECT_EQ(encoded(tuple()), "74 00");
  EXPECT_EQ(encoded(tuple(1, tuple("a"sv), nullptr), 2), "74 19 74 6a 61 00 00 04 00 1a");
}

TEST(Tuple, GoldenBytesOfDescendingFields) {
  EXPECT_EQ(encoded(Descending{nullptr}), "fb");
  EXPECT_EQ(encoded(Descending{false}, Descending{true}), "f7 f6");
  EXPECT_EQ(encoded(Descending{0}, Descending{63}, Descending{64}), "e7 a8 a7 bf");
  EXPECT_EQ(encoded(Descending{-1}, Descending{-257}), "e8 00 e9 01 00");
  EXPECT_EQ(encoded(Descending{1.5f}, Descending{1.5}), "9d 40 3f ff ff 9c 40 07 ff ff ff ff ff ff");
  EXPECT_EQ(encoded(Descending{at(0)}), "99 7f ff ff ff ff ff ff ff");
  EXPECT_EQ(encoded(Descending{"eu"}), "95 9a 8a ff");
  EXPECT_EQ(encoded(Descending{bytes_of({0, 1, 0xff})}), "93 fe fe fe fd 00 ff");
  EXPECT_EQ(encoded(Descending{some_uuid()}), "8f ff ee dd cc bb aa 99 88 77 66 55 44 33 22 11 00");
  EXPECT_EQ(encoded(Descending{tuple(1, Descending{"a"}, 0)}), "8b e6 6a 61 00 e7 ff");
  EXPECT_EQ(encoded(tuple(1, Descending{"a"}, 0)), "74 19 95 9e ff 18 00");
  EXPECT_EQ(encoded(optional<Descending<int>>(), optional<Descending<int>>(Descending{1}), Descending{optional<int>()}), "04 e6 fb");
}

TEST(Tuple, ExamplesOfTheFormatsPage) {
  EXPECT_EQ(encoded("eu", 17, nullptr), "6a 65 75 00 29 04");
  EXPECT_EQ(encoded(0, 63, 64, 300), "18 57 58 40 59 01 2c");
  EXPECT_EQ(encoded(-1, -256, -257), "17 ff 17 00 16 fe ff");
  EXPECT_EQ(encoded(1.5f, -1.5), "62 bf c0 00 00 63 40 07 ff ff ff ff ff ff");
  EXPECT_EQ(encoded(at(1)), "66 80 00 00 00 00 00 00 01");
  EXPECT_EQ(encoded("a\0\1"sv, bytes_of({0, 1, 255})), "6a 61 01 01 01 02 00 6c 01 01 01 02 ff 00");
  EXPECT_EQ(encoded(Descending{"eu"}, Descending{17}), "95 9a 8a ff d6");
  EXPECT_EQ(encoded(tuple(1, "a"), Descending{tuple()}), "74 19 6a 61 00 00 8b ff");
}

TEST(Tuple, ExtremesRoundTrip) {
  EXPECT_TRUE(round_trip(tuple(nullptr, Descending{nullptr})).ok());
  for (const bool value : {false, true}) expect_round_trip(value);
  for (const int value : {-128, -1, 0, 63, 64, 127}) expect_round_trip(static_cast<int8_t>(value));
  for (const int value : {0, 63, 64, 255}) expect_round_trip(static_cast<uint8_t>(value));
  for (unsigned bits = 0; bits < 64; ++bits) {
    for (const uint64_t near : {~uint64_t{0}, uint64_t{0}, uint64_t{1}}) {
      const uint64_t value = (uint64_t{1} << bits) + near;
      expect_round_trip(value);
      expect_round_trip(static_cast<int64_t>(value));
      expect_round_trip(static_cast<int64_t>(~value));
      expect_round_trip(at(static_cast<int64_t>(value)));
      expect_round_trip(static_cast<int32_t>(value));
      expect_round_trip(static_cast<uint16_t>(value));
    }
  }
  using Floats = std::numeric_limits<float>;
  for (const float value : {-kInfinityF, Floats::lowest(), -1.0f, -Floats::denorm_min(), 0.0f, Floats::denorm_min(), Floats::min(), 1e-3f,
                            Floats::max(), kInfinityF})
    expect_round_trip(value);
  using Doubles = std::numeric_limits<double>;
  for (const double value : {-kInfinity, Doubles::lowest(), -1.0, -Doubles::denorm_min(), 0.0, Doubles::denorm_min(), Doubles::min(), 1e-3,
                             Doubles::max(), kInfinity})
    expect_round_trip(value);
  for (const std::string_view value :
       {""sv, "\0"sv, "\1"sv, "\0\1\0\1"sv, "a\0"sv, "12345678"sv, "12345678\1"sv, "\x7f\u0080\uffff\U0010ffff"sv})
    expect_round_trip(string(value));
  expect_round_trip(string(kTupleBytesMax / 4 - 2, 'x'));
  Bytes all;
  for (int value = 0; value < 200; ++value) all.push_back(static_cast<std::byte>(value < 100 ? value : 355 - value));
  expect_round_trip(all);
  expect_round_trip(some_uuid());
  expect_round_trip(tuple<>());
  expect_round_trip(tuple<tuple<>, tuple<tuple<>>, int>({}, {}, 1));
  expect_round_trip(Color::kBlue);
  expect_round_trip(kMinus);
}

TEST(Tuple, ZerosAndNansAreOneValueEach) {
  const auto values = round_trip(tuple(-0.0, -0.0f, std::bit_cast<double>(~uint64_t{0}), -kNanF));
  ASSERT_TRUE(values.ok());
  EXPECT_FALSE(std::signbit(std::get<0>(*values)));
  EXPECT_FALSE(std::signbit(std::get<1>(*values)));
  EXPECT_EQ(std::bit_cast<uint64_t>(std::get<2>(*values)), 0x7ff8000000000000u);
  EXPECT_EQ(std::bit_cast<uint32_t>(std::get<3>(*values)), 0x7fc00000u);
}

TEST(Tuple, TheLongestTupleFits) {
  EncodedTuple key;
  ASSERT_TRUE(key.set(string(1022, 'x')).ok());
  EXPECT_EQ(key.size(), kTupleBytesMax);
  ASSERT_TRUE(key.set(Bytes(511)).ok());
  EXPECT_EQ(key.size(), kTupleBytesMax);
  EXPECT_EQ(std::get<0>(*decode_tuple<tuple<Bytes>>(key.bytes())), Bytes(511));
  const string limit = " does not fit: an encoded tuple has at most 1024 bytes";
  EXPECT_EQ(encoded(string(1023, 'x')), "invalid argument: tuple field 0 (text of 1023 bytes)" + limit);
  EXPECT_EQ(encoded(1, Bytes(511)), "invalid argument: tuple field 1 (bytes of 511 bytes)" + limit);
  EXPECT_EQ(encoded(string(1022, 'x'), true), "invalid argument: tuple field 1 (bool)" + limit);
  // After an error, the tuple does not have fields.
  EXPECT_FALSE(key.set(string(1023, 'x')).ok());
  EXPECT_EQ(key.size(), 0u);
}

// Tests every size of the buffer. A byte after the buffer's end is never written.
TEST(Tuple, ABufferThatIsTooSmallIsAnError) {
  const tuple values(1u, 300, -70000, 1.5f, 2.5, at(7), "text\1of some length"sv, bytes_of({0, 9}), some_uuid(), nullopt, true,
                     tuple(1, Descending{"abc"}));
  std::vector<std::byte> whole(kTupleBytesMax + 100, std::byte{0xaa});
  const Result<size_t> size = encode_tuple(whole, values);
  ASSERT_TRUE(size.ok());
  for (size_t room = 0; room <= *size + 9; ++room) {
    std::vector<std::byte> buffer(room + 16, std::byte{0xaa});
    const Result<size_t> got = encode_tuple(std::span(buffer).first(room), values);
    EXPECT_EQ(got.ok(), room >= *size) << room;
    for (size_t i = room; i < buffer.size(); ++i) EXPECT_EQ(buffer[i], std::byte{0xaa}) << room;
    if (!got.ok()) {
      EXPECT_EQ(got.status().code(), Code::kInvalidArgument);
      EXPECT_NE(got.status().message().find("the buffer has " + std::to_string(room) + " bytes"), string::npos) << got.status().message();
    }
  }
}

TEST(Tuple, AnEmptyBufferHoldsTheTupleWithoutFields) {
  EXPECT_EQ(*encode_fields({}), 0u);
  EXPECT_EQ(encode_fields({}, 1).status().message(), "invalid argument: tuple field 0 (integer) does not fit: the buffer has 0 bytes");
  EXPECT_EQ(*TupleWriter({}).finish(), 0u);
  EXPECT_TRUE(decode_tuple<tuple<>>({}).ok());
}

TEST(Tuple, ErrorsOfEncodingNameTheField) {
  EXPECT_EQ(encoded(1, "a\xff\x62"), "invalid argument: tuple field 1: the text is not UTF-8 at byte 1");
  EXPECT_EQ(encoded(1, tuple(2, tuple("ok", Descending{"12345678\xc0\x80"}))),
            "invalid argument: tuple field 1.1.1: the text is not UTF-8 at byte 8");
  EXPECT_EQ(encoded(static_cast<const char*>(nullptr)), "invalid argument: tuple field 0: the text is a null pointer");
  EXPECT_EQ(encoded("\xed\xa0\x80"), "invalid argument: tuple field 0: the text is not UTF-8 at byte 0");
  EXPECT_EQ(encoded("\xe2\x82"), "invalid argument: tuple field 0: the text is not UTF-8 at byte 0");
}

TEST(Tuple, ArraysEndAtTheirFirstZero) {
  const char padded[8] = {'e', 'u', '\0', 'x'}, full[2] = {'e', 'u'};
  EXPECT_EQ(encoded(padded), encoded("eu"sv));
  EXPECT_EQ(encoded(full), encoded("eu"sv));
}

template <class Tuple, class... Fields>
string decode_error(const Fields&... fields) {
  EncodedTuple key;
  EXPECT_TRUE(key.set(fields...).ok());
  const auto decoded = decode_tuple<Tuple>(key.bytes());
  return decoded.ok() ? "none" : decoded.status().message().substr(string("invalid argument: tuple field ").size());
}

TEST(Tuple, ErrorsOfDecodingSayWhatIsThereAndWhatWasAsked) {
  EXPECT_EQ((decode_error<tuple<uint8_t>>(300)), "0 is the integer 300, but a uint8_t was asked for");
  EXPECT_EQ((decode_error<tuple<uint64_t>>(-1)), "0 is the integer -1, but a uint64_t was asked for");
  EXPECT_EQ((decode_error<tuple<int64_t>>(~uint64_t{0})), "0 is the integer 18446744073709551615, but an int64_t was asked for");
  EXPECT_EQ((decode_error<tuple<int8_t>>(128)), "0 is the integer 128, but an int8_t was asked for");
  EXPECT_EQ((decode_error<tuple<int8_t>>(-129)), "0 is the integer -129, but an int8_t was asked for");
  EXPECT_EQ((decode_error<tuple<Color>>(256)), "0 is the integer 256, but a uint8_t was asked for");
  EXPECT_EQ((decode_error<tuple<string, int32_t>>("eu", "17")), "1 is the text \"17\", but an int32_t was asked for");
  EXPECT_EQ((decode_error<tuple<string, int32_t>>("eu")), "1 is missing, but an int32_t was asked for");
  EXPECT_EQ((decode_error<tuple<string>>("eu", 17)), "1 is the integer 17, but no field was asked for");
  EXPECT_EQ((decode_error<tuple<>>(nullptr)), "0 is null, but no field was asked for");
  EXPECT_EQ((decode_error<tuple<bool>>(nullptr)), "0 is null, but a bool was asked for");
  EXPECT_EQ((decode_error<tuple<std::nullptr_t>>(0)), "0 is the integer 0, but null was asked for");
  EXPECT_EQ((decode_error<tuple<double>>(1.5f)), "0 is the float 1.5f, but a double was asked for");
  EXPECT_EQ((decode_error<tuple<float>>(2.0)), "0 is the double 2.0, but a float was asked for");
  EXPECT_EQ((decode_error<tuple<string>>(bytes_of({0, 255}))), "0 is the bytes 0x00ff, but text was asked for");
  EXPECT_EQ((decode_error<tuple<Bytes>>("eu")), "0 is the text \"eu\", but bytes was asked for");
  EXPECT_EQ((decode_error<tuple<Timestamp>>(7)), "0 is the integer 7, but a timestamp was asked for");
  EXPECT_EQ((decode_error<tuple<Uuid>>(at(0))), "0 is the timestamp 1970-01-01T00:00:00.000000Z, but a UUID was asked for");
  EXPECT_EQ((decode_error<tuple<int>>(Descending{5})), "0 is the integer 5 desc, but an int32_t was asked for");
  EXPECT_EQ((decode_error<tuple<Descending<int>>>(5)), "0 is the integer 5, but an int32_t desc was asked for");
  EXPECT_EQ((decode_error<tuple<optional<string>>>(5)), "0 is the integer 5, but text was asked for");
  EXPECT_EQ((decode_error<tuple<int, tuple<int, string>>>(1, tuple(2, 3))), "1.1 is the integer 3, but text was asked for");
  EXPECT_EQ((decode_error<tuple<int, tuple<int, string>>>(1, tuple(2))), "1.1 is missing, but text was asked for");
  EXPECT_EQ((decode_error<tuple<tuple<int>, int>>(tuple(2, tuple(3)), 1)), "0.1 is the tuple (3), but no field was asked for");
  EXPECT_EQ((decode_error<tuple<int, tuple<int>>>(1, 2)), "1 is the integer 2, but a tuple was asked for");
  EXPECT_EQ((decode_error<tuple<int, int>>(1, tuple("eu", tuple(), 2))), "1 is the tuple (\"eu\", (), 2), but an int32_t was asked for");
  EXPECT_EQ((decode_error<tuple<int>>(string(200, 'x'))), "0 is the text \"" + string(79, 'x') + "..., but an int32_t was asked for");
  EXPECT_EQ((decode_error<tuple<Descending<tuple<int, Descending<bool>>>>>(Descending{tuple(1, true)})),
            "0.1 is the bool true, but a bool desc was asked for");
}

TEST(Tuple, ViewsAreIntoTheBytesOrTheScratch) {
  EncodedTuple key;
  ASSERT_TRUE(key.set("eu", "a\0b"sv, Descending{"desc"}, bytes_of({5, 6})).ok());
  TupleScratch scratch;
  using Views = tuple<std::string_view, std::string_view, Descending<std::string_view>, std::span<const std::byte>>;
  const auto views = decode_tuple<Views>(key.bytes(), scratch);
  ASSERT_TRUE(views.ok()) << views.status().message();
  EXPECT_EQ(std::get<0>(*views), "eu");
  EXPECT_EQ(std::get<1>(*views), "a\0b"sv);
  EXPECT_EQ(std::get<2>(*views).value, "desc");
  EXPECT_EQ(hex(std::get<3>(*views)), "05 06");
  EXPECT_EQ(static_cast<const void*>(std::get<0>(*views).data()), key.bytes().data() + 1);
}

// A type of the program that provides its bytes.
struct Shown {
  Shown() = default;
  explicit Shown(std::span<const std::byte> bytes) : shown(bytes) {}
  std::span<const std::byte> span() const { return shown; }
  std::span<const std::byte> shown;
};

TEST(Tuple, TypesWithASpanAreBytes) {
  const Bytes bytes = bytes_of({0, 5});
  EXPECT_EQ(encoded(Shown(bytes)), encoded(bytes));
  EncodedTuple key;
  ASSERT_TRUE(key.set(Descending{Shown(bytes)}).ok());
  TupleScratch scratch;
  const auto decoded = decode_tuple<tuple<Descending<Shown>>>(key.bytes(), scratch);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(hex(std::get<0>(*decoded).value.span()), hex(bytes));
}

TEST(Tuple, PrefixesAreRanges) {
  const auto range = [](const TuplePrefix& prefix) {
    return prefix.status().ok() ? hex(prefix.from()) + (prefix.to_end() ? " to the end" : " to " + hex(prefix.to())) : "wrong";
  };
  EXPECT_EQ(range(prefix()), " to the end");
  EXPECT_EQ(range(prefix("eu")), "6a 65 75 00 to 6a 65 75 01");
  EXPECT_EQ(range(prefix(1, 255)), "19 58 ff to 19 59");
  EXPECT_EQ(range(prefix(~uint64_t{0})), "5f ff ff ff ff ff ff ff ff to 60");
  EXPECT_EQ(range(prefix(1, StartsWith{"e"})), "19 6a 65 to 19 6a 66");
  EXPECT_EQ(range(prefix(StartsWith{""})), "6a to 6b");
  EXPECT_EQ(range(prefix(Descending{StartsWith{"e\0"sv}})), "95 9a fe fe to 95 9a fe ff");
  EXPECT_EQ(range(prefix(StartsWith{bytes_of({0xff})})), "6c ff to 6d");
  EXPECT_EQ(prefix(1, "\xff").status().message(), "invalid argument: tuple field 1: the text is not UTF-8 at byte 0");
  EXPECT_FALSE(prefix("\xff").contains({}));
  // 1,024 bytes, with and without an escape at the end.
  EXPECT_TRUE(prefix(StartsWith{string(1023, 'x')}).status().ok());
  EXPECT_TRUE(prefix(StartsWith{string(1021, 'x') + '\1'}).status().ok());
  EXPECT_FALSE(prefix(StartsWith{string(1022, 'x') + '\1'}).status().ok());
  EXPECT_FALSE(prefix(StartsWith{string(1024, 'x')}).status().ok());
}

TEST(Tuple, APrefixContainsExactlyTheTuplesThatBeginWithIt) {
  const auto contains = [](const TuplePrefix& prefix, const auto&... fields) {
    EncodedTuple key;
    EXPECT_TRUE(key.set(fields...).ok());
    const auto less = [](std::span<const std::byte> a, std::span<const std::byte> b) {
      return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
    };
    const bool in_range = !less(key.bytes(), prefix.from()) && (prefix.to_end() || less(key.bytes(), prefix.to()));
    EXPECT_EQ(in_range, prefix.contains(key.bytes()));
    return in_range;
  };
  EXPECT_TRUE(contains(prefix("a"), "a"));
  EXPECT_TRUE(contains(prefix("a"), "a", 1));
  EXPECT_TRUE(contains(prefix("a"), "a", Descending{tuple()}));
  EXPECT_FALSE(contains(prefix("a"), "a\0"sv));
  EXPECT_FALSE(contains(prefix("a"), "a\1"sv));
  EXPECT_FALSE(contains(prefix("a"), "ab"));
  EXPECT_FALSE(contains(prefix("a"), Descending{"a"}));
  EXPECT_FALSE(contains(prefix(1), 2));
  EXPECT_FALSE(contains(prefix(1), 256));
  EXPECT_TRUE(contains(prefix(StartsWith{"a"}), "a"));
  EXPECT_TRUE(contains(prefix(StartsWith{"a"}), "a\0"sv));
  EXPECT_TRUE(contains(prefix(StartsWith{"a"}), "ab", 4));
  EXPECT_FALSE(contains(prefix(StartsWith{"a"}), "b"));
  EXPECT_TRUE(contains(prefix(1, Descending{StartsWith{"a"}}), 1, Descending{"ab"}));
  EXPECT_TRUE(contains(prefix(1, Descending{StartsWith{"a"}}), 1, Descending{"a"}));
  EXPECT_FALSE(contains(prefix(1, Descending{StartsWith{"a"}}), 1, Descending{"b"}));
  EXPECT_TRUE(contains(prefix(), Descending{nullptr}));
  EXPECT_TRUE(contains(prefix()));
}

TEST(Tuple, CopiesHaveTheirOwnBytes) {
  EncodedTuple first, second;
  ASSERT_TRUE(first.set("eu", 17).ok());
  second = first;
  const EncodedTuple third(second);
  ASSERT_TRUE(first.set(1).ok());
  EXPECT_EQ(tuple_to_text(second.bytes()), "(\"eu\", 17)");
  EXPECT_EQ(third.text(), second.text());
  const TuplePrefix prefix_of_eu = TuplePrefix(prefix("eu"));
  EXPECT_TRUE(prefix_of_eu.contains(third.bytes()));
}

TEST(Tuple, DescendingComparesInReverse) {
  EXPECT_LT(Descending{2}, Descending{1});
  EXPECT_LT((tuple(1, Descending{string("b")})), (tuple(1, Descending{string("a")})));
  EXPECT_EQ(Descending{1}, Descending{1});
}

}  // namespace
}  // namespace elider::tuple_tests
