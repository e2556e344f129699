#include "rows/json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace elider::rows {
namespace {

std::string mistake_of(std::string_view text) {
  const std::string copy(text);  // on the heap, so that a sanitizer sees an access after the end
  const std::vector<char> exact(copy.begin(), copy.end());
  const JsonMistake mistake = check_json({exact.data(), exact.size()});
  return mistake.reason == nullptr ? "" : std::to_string(mistake.offset) + ' ' + mistake.reason;
}

TEST(Json, AcceptsEveryKindOfValue) {
  for (const char* text :
       {"null", "true", "false", "0", "-0", "12", "-1.5", "1e9", "1E+9", "0.5e-10", "123456789012345678901234567890", "\"\"", "\"a\"",
        " \t\r\n1 \n", "[]", "[ ]", "{}", "{ }", "[1,2]", "[1 , [ ] , {}]", R"({"a":1})", R"({"a" : {"b" : [null, "x"]}, "a" : 2})",
        R"("\"\\\/\b\f\n\r\t\u00e4\uD83D\uDE00")", "\"\u00e4 \U0001f600\"", R"(["12345678","a longer string with an \n escape in it"])"})
    EXPECT_EQ(mistake_of(text), "") << text;
}

TEST(Json, NamesTheOffsetOfTheMistake) {
  EXPECT_EQ(mistake_of(""), "0 a value is missing");
  EXPECT_EQ(mistake_of("  "), "2 a value is missing");
  EXPECT_EQ(mistake_of("x"), "0 a value is missing");
  EXPECT_EQ(mistake_of("tru"), "0 true, false or null is misspelled");
  EXPECT_EQ(mistake_of("nulL"), "0 true, false or null is misspelled");
  EXPECT_EQ(mistake_of("1 2"), "2 the JSON value ends here, but the text does not");
  EXPECT_EQ(mistake_of("01"), "1 a number begins with 0");
  EXPECT_EQ(mistake_of("-"), "1 a digit is missing");
  EXPECT_EQ(mistake_of("1."), "2 a digit is missing");
  EXPECT_EQ(mistake_of("1e+"), "3 a digit is missing");
  EXPECT_EQ(mistake_of(".5"), "0 a value is missing");
  EXPECT_EQ(mistake_of("[1"), "2 ',' or ']' is missing");
  EXPECT_EQ(mistake_of("[1,]"), "3 a value is missing");
  EXPECT_EQ(mistake_of("[1}"), "2 ',' or ']' is missing");
  EXPECT_EQ(mistake_of("{"), "1 the name of a member is missing");
  EXPECT_EQ(mistake_of("{1:2}"), "1 the name of a member is missing");
  EXPECT_EQ(mistake_of(R"({"a" 1})"), "5 ':' is missing");
  EXPECT_EQ(mistake_of(R"({"a":})"), "5 a value is missing");
  EXPECT_EQ(mistake_of(R"({"a":1,})"), "7 the name of a member is missing");
  EXPECT_EQ(mistake_of(R"({"a":1)"), "6 ',' or '}' is missing");
  EXPECT_EQ(mistake_of("]"), "0 a value is missing");
  EXPECT_EQ(mistake_of("\"abc"), "4 a string does not end");
  EXPECT_EQ(mistake_of("\"abcdefgh\n\""), "9 a string contains a control character; escape it");
  EXPECT_EQ(mistake_of(R"("\x")"), "2 the escape is unknown");
  EXPECT_EQ(mistake_of(std::string_view("\"\\\0\"", 4)), "2 the escape is unknown");
  EXPECT_EQ(mistake_of("\"\\"), "2 a string does not end");
  EXPECT_EQ(mistake_of(R"("\u12g4")"), "5 \\u needs four hexadecimal digits");
  EXPECT_EQ(mistake_of("\"\\u12"), "5 \\u needs four hexadecimal digits");
  EXPECT_EQ(mistake_of(R"("\uD83D")"), "6 the second half of a surrogate pair is missing");
  EXPECT_EQ(mistake_of(R"("\uD83D\u0041")"), "12 the second half of a surrogate pair is missing");
  EXPECT_EQ(mistake_of(R"("\uDE00")"), "6 the second half of a surrogate pair comes alone");
}

TEST(Json, LimitsTheDepth) {
  const std::string most = std::string(kJsonDepthMax, '[') + std::string(kJsonDepthMax, ']');
  EXPECT_EQ(mistake_of(most), "");
  EXPECT_EQ(mistake_of('[' + most + ']'), "512 arrays and objects are nested more than 512 deep");
  std::string mixed;  // arrays and objects in turns, to see that each is closed as what it is
  for (size_t i = 0; i < kJsonDepthMax / 2; ++i) mixed += "[{\"a\":";
  mixed += '1';
  for (size_t i = 0; i < kJsonDepthMax / 2; ++i) mixed += "}]";
  EXPECT_EQ(mistake_of(mixed), "");
}

}  // namespace
}  // namespace elider::rows
