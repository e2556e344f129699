#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "elider/tuple.h"

namespace elider::tuple_reader_tests {  // some helpers have the same names as those of other tests
namespace {

using namespace std::string_view_literals;
using std::string;
using std::tuple;

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}
template <class... Fields>
string text_of(const Fields&... fields) {
  EncodedTuple key;
  const Status status = key.set(fields...);
  return status.ok() ? tuple_to_text(key.bytes()) : status.message();
}
Timestamp at(int64_t us) { return Timestamp(std::chrono::microseconds(us)); }

TEST(TupleText, ShowsEveryType) {
  EXPECT_EQ(text_of(), "()");
  EXPECT_EQ(text_of("eu", 17, nullptr), "(\"eu\", 17, null)");
  EXPECT_EQ(text_of(true, false, -5, ~uint64_t{0}), "(true, false, -5, 18446744073709551615)");
  EXPECT_EQ(text_of(1.5f, 17.0, -0.0, 1e300, 0.1), "(1.5f, 17.0, 0.0, 1e+300, 0.1)");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(text_of(kInfinity, -kInfinity, kNan, static_cast<float>(kInfinity)), "(inf, -inf, nan, inf)");
  EXPECT_EQ(text_of("say \"\\x\"\n\1\u00e9"), "(\"say \\\"\\\\x\\\"\\x0a\\x01\u00e9\")");
  EXPECT_EQ(text_of(bytes_of({0, 1, 255}), bytes_of({})), "(0x0001ff, 0x)");
  EXPECT_EQ(text_of(Uuid{{std::byte{0x12}, std::byte{0x34}, std::byte{0x56}}}), "(12345600-0000-0000-0000-000000000000)");
  EXPECT_EQ(text_of(tuple(), tuple(1, tuple("a", Descending{2}), 3), 4), "((), (1, (\"a\", 2 desc), 3), 4)");
  EXPECT_EQ(text_of(Descending{tuple(Descending{tuple(1)}, Descending{nullptr})}, 5), "(((1) desc, null desc) desc, 5)");
}

TEST(TupleText, ShowsTimestampsOfYears1To9999AsDates) {
  EXPECT_EQ(text_of(at(0)), "(1970-01-01T00:00:00.000000Z)");
  EXPECT_EQ(text_of(at(-1)), "(1969-12-31T23:59:59.999999Z)");
  EXPECT_EQ(text_of(at(1'582'934'400'000'001)), "(2020-02-29T00:00:00.000001Z)");
  EXPECT_EQ(text_of(at(-62'135'596'800'000'000)), "(0001-01-01T00:00:00.000000Z)");
  EXPECT_EQ(text_of(at(-62'135'596'800'000'001)), "(timestamp(-62135596800000001))");
  EXPECT_EQ(text_of(at(253'402'300'799'999'999)), "(9999-12-31T23:59:59.999999Z)");
  EXPECT_EQ(text_of(at(253'402'300'800'000'000)), "(timestamp(253402300800000000))");
  EXPECT_EQ(text_of(at(std::numeric_limits<int64_t>::min())), "(timestamp(-9223372036854775808))");
}

TEST(TupleText, ShowsOtherBytesInHexadecimal) {
  EXPECT_EQ(tuple_to_text(bytes_of({0x19, 0x7f})), "0x197f");
  EXPECT_EQ(tuple_to_text(bytes_of({0x74, 0x19})), "0x7419");
}

string refusal(std::initializer_list<int> values) {
  const Status status = check_tuple(bytes_of(values));
  const string start = "invalid argument: the bytes are not an encoded tuple: at byte ";
  return status.ok() ? "none" : status.message().substr(start.size());
}

TEST(TupleReader, NamesTheOffsetOfWhatItRefuses) {
  const string cut = ", the value is cut off, or is not in the form that the encoder writes";
  const string unknown = ", no type of field begins with this byte";
  EXPECT_EQ(refusal({0x19}), "none");
  EXPECT_EQ(refusal({0x19, 0x00}), "1, this byte ends a nested tuple, but none is open");
  EXPECT_EQ(refusal({0x19, 0xff}), "1" + unknown);
  EXPECT_EQ(refusal({0x01}), "0" + unknown);
  EXPECT_EQ(refusal({0x0f}), "0" + unknown);
  EXPECT_EQ(refusal({0x60}), "0" + unknown);
  EXPECT_EQ(refusal({0x75}), "0" + unknown);
  EXPECT_EQ(refusal({0x8a}), "0" + unknown);
  EXPECT_EQ(refusal({0x58}), "0" + cut);
  EXPECT_EQ(refusal({0x58, 63}), "0" + cut);        // a small number
  EXPECT_EQ(refusal({0x59, 0, 255}), "0" + cut);    // fits in one byte
  EXPECT_EQ(refusal({0x16, 255, 0}), "0" + cut);    // likewise
  EXPECT_EQ(refusal({0x10, 0x7f, 255, 255, 255, 255, 255, 255, 255}), "0" + cut);  // below -2^63
  EXPECT_EQ(refusal({0x62, 0x7f, 255, 255, 255}), "0" + cut);                      // -0.0
  EXPECT_EQ(refusal({0x62, 0xff, 0xc0, 0, 1}), "0" + cut);                         // another NaN
  EXPECT_EQ(refusal({0x62, 0x00, 0x3f, 255, 255}), "0" + cut);                     // a negative NaN
  EXPECT_EQ(refusal({0x63, 0x7f, 255, 255, 255, 255, 255, 255, 255}), "0" + cut);
  EXPECT_EQ(refusal({0x66, 0, 0, 0, 0, 0, 0, 0}), "0" + cut);
  EXPECT_EQ(refusal({0x70, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), "0" + cut);
  EXPECT_EQ(refusal({0x19, 0x6a, 'a'}), "1" + cut);
  EXPECT_EQ(refusal({0x6c, 1, 0}), "0" + cut);
  EXPECT_EQ(refusal({0x6c, 1, 3, 0}), "0" + cut);
  EXPECT_EQ(refusal({0x6c, 1}), "0" + cut);
  EXPECT_EQ(refusal({0x6c, 0xff, 0}), "none");
  EXPECT_EQ(refusal({0x6a, 0xff, 0}), "1, the text is not UTF-8");
  EXPECT_EQ(refusal({0x95, 0x00, 0xff}), "1, the text is not UTF-8");
  EXPECT_EQ(refusal({0x74, 0x19}), "2, the end of a nested tuple is missing");
  EXPECT_EQ(refusal({0x74, 0xff}), "1" + unknown);
  EXPECT_EQ(refusal({0x8b, 0x00}), "1" + unknown);
  EXPECT_EQ(refusal({0x8b, 0xff}), "none");
  EXPECT_EQ(check_tuple(std::vector<std::byte>(1025, std::byte{0x18})).message(),
            "invalid argument: an encoded tuple has at most 1024 bytes, but the input has 1025");
  EXPECT_TRUE(check_tuple(std::vector<std::byte>(1024, std::byte{0x18})).ok());
}

TEST(TupleReader, TuplesNestToALimit) {
  for (const size_t depth : {kTupleDepthMax, kTupleDepthMax + 1}) {
    std::vector<std::byte> bytes(depth, std::byte{0x74});
    bytes.resize(2 * depth, std::byte{0});
    EXPECT_EQ(check_tuple(bytes).ok(), depth == kTupleDepthMax) << check_tuple(bytes).message();
    std::vector<std::byte> buffer(kTupleBytesMax);
    TupleWriter writer(buffer);
    for (size_t i = 0; i < depth; ++i) writer.begin_tuple();
    for (size_t i = 0; i < depth; ++i) writer.end_tuple();
    EXPECT_EQ(writer.finish().ok(), depth == kTupleDepthMax);
    if (depth == kTupleDepthMax) continue;
    EXPECT_EQ(writer.finish().status().message(), "invalid argument: tuples nest more than 32 deep");
  }
}

TEST(TupleReader, WalksNestedTuples) {
  EncodedTuple key;
  ASSERT_TRUE(key.set(7, Descending{tuple("a", Descending{-2}, tuple())}, nullptr).ok());
  TupleReader reader(key.bytes());
  string walk;
  for (TupleField field; reader.next(&field);) {
    walk += std::to_string(reader.depth()) + ' ' + string(name_of(field.type)) + (field.descending ? " desc; " : "; ");
    if (field.type == TupleType::kText) {
      EXPECT_EQ(field.text, "a");
    }
    if (field.type == TupleType::kInteger) {
      EXPECT_EQ(field.as_int64(), field.negative ? -2 : 7);
    }
  }
  EXPECT_EQ(walk, "0 integer; 1 tuple desc; 1 text; 1 integer desc; 2 tuple; 1 end of a tuple; 0 end of a tuple; 0 null; ");
  EXPECT_TRUE(reader.status().ok());
  EXPECT_EQ(reader.offset(), key.size());
}

TEST(TupleReader, AllTextsStayValid) {
  EncodedTuple key;
  ASSERT_TRUE(key.set(Descending{string(500, 'x')}, string(200, '\1'), string(100, 'y')).ok());
  TupleReader reader(key.bytes());
  TupleField fields[3], end;
  for (TupleField& field : fields) ASSERT_TRUE(reader.next(&field));
  EXPECT_FALSE(reader.next(&end));
  EXPECT_EQ(fields[0].text, string(500, 'x'));
  EXPECT_EQ(fields[1].text, string(200, '\1'));
  EXPECT_EQ(fields[2].text, string(100, 'y'));
}

TEST(TupleWriter, WritesWhatEncodeFieldsWrites) {
  EncodedTuple expected;
  ASSERT_TRUE(expected.set("eu", Descending{tuple(1u, Descending{tuple(2.5)}, true)}, nullptr).ok());
  std::vector<std::byte> buffer(kTupleBytesMax);
  TupleWriter writer(buffer);
  writer.add("eu").begin_tuple(true).add(1).begin_tuple(true).add(2.5).end_tuple().add(true).end_tuple().add(nullptr);
  const Result<size_t> size = writer.finish();
  ASSERT_TRUE(size.ok());
  buffer.resize(*size);
  EXPECT_EQ(tuple_to_text(buffer), tuple_to_text(expected.bytes()));
  EXPECT_TRUE(std::equal(buffer.begin(), buffer.end(), expected.bytes().begin(), expected.bytes().end()));
}

TEST(TupleWriter, KeepsTheFirstError) {
  std::vector<std::byte> buffer(8);
  TupleWriter writer(buffer);
  writer.add(1).begin_tuple().add(2).add("a\xff").add("much too long").end_tuple();
  EXPECT_EQ(writer.finish().status().message(), "invalid argument: tuple field 1.1: the text is not UTF-8 at byte 1");
  TupleWriter full(buffer);
  full.add(1000).add(tuple(1, tuple("abcdefgh")));
  EXPECT_EQ(full.finish().status().message(),
            "invalid argument: tuple field 1.1.0 (text of 8 bytes) does not fit: the buffer has 8 bytes");
  TupleWriter open(buffer), closed(buffer), no_room(std::span<std::byte>(buffer.data(), 1));
  EXPECT_EQ(open.begin_tuple().finish().status().message(), "invalid argument: end_tuple() is missing for a nested tuple");
  EXPECT_EQ(closed.end_tuple().finish().status().message(), "invalid argument: end_tuple() was called without begin_tuple()");
  EXPECT_EQ(no_room.begin_tuple().end_tuple().finish().status().message(),
            "invalid argument: tuple field 0 (tuple) does not fit: the buffer has 1 bytes");
  TupleField field;
  field.type = static_cast<TupleType>(77);
  TupleWriter unknown(buffer);
  EXPECT_EQ(unknown.add(field).finish().status().message(), "invalid argument: unknown field type 77");
}

TEST(TupleType, EveryTypeHasItsOwnName) {
  for (int type = 0; type <= static_cast<int>(TupleType::kTupleEnd); ++type)
    EXPECT_NE(name_of(static_cast<TupleType>(type)), "unknown type");
}

}  // namespace
}  // namespace elider::tuple_reader_tests
