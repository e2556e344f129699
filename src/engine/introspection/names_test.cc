#include <gtest/gtest.h>

#include <set>
#include <string>

#include "elider/elider.h"
#include "engine/introspection/json_text.h"

namespace elider {
namespace {

// Each enumerator from 0 up to the first value without a name has a unique name, and the name leads
// back to the enumerator.
template <class Enum>
void expect_names_lead_back(size_t count) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<Enum>(i);
    const std::string_view name = name_of(value);
    EXPECT_FALSE(name.empty());
    EXPECT_TRUE(names.insert(name).second) << name << " occurs twice";
    Enum parsed{};
    EXPECT_TRUE(parse(name, &parsed)) << name;
    EXPECT_EQ(parsed, value) << name;
  }
  Enum untouched{};
  EXPECT_FALSE(parse("no such name", &untouched));
  EXPECT_FALSE(parse("", &untouched));
}

TEST(Names, OfOptionsLeadBack) {
  expect_names_lead_back<SyncPolicy>(5);
  expect_names_lead_back<Protocol>(3);
  expect_names_lead_back<KeyIndex>(std::size(kKeyIndexes));
  expect_names_lead_back<Durability>(4);
}

TEST(JsonText, WhatJsonCannotHoldIsEscaped) {
  EXPECT_EQ(detail::quoted("plain"), "\"plain\"");
  EXPECT_EQ(detail::quoted("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(detail::quoted(std::string_view("\n\x01", 2)), "\"\\u000a\\u0001\"");
  EXPECT_EQ(detail::quoted("a\xff\xc3"), "\"a\\\\xff\\\\xc3\"") << "bytes that are not UTF-8 stay readable";
  EXPECT_EQ(detail::quoted("\xc3\xa4"), "\"\xc3\xa4\"") << "UTF-8 stays";
}

}  // namespace
}  // namespace elider
