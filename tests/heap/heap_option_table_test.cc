// A heap's options as texts, by their table: each is set, read and refused by its name.
#include "elider/heap_option_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/status_matchers.h"

namespace elider::test {
namespace {

TEST(HeapOptionTableTest, EachTakesBackTheTextOfItsDefaultAndKeepsItsRange) {
  EXPECT_GE(heap_option_table().size(), 11u);
  for (const OptionInfo& option : heap_option_table()) {
    HeapOptions options;
    const std::string before = option_text(options, option.name);
    EXPECT_FALSE(before.empty()) << option.name;
    EXPECT_FALSE(option.words.empty()) << option.name;
    EXPECT_OK(set_option(options, option.name, before)) << option.name;
    EXPECT_OK(check_options(options));
    EXPECT_REFUSED(Code::kInvalidArgument, std::string(option.name), set_option(options, option.name, "nonsense"));
    if (option.max != 0) {
      EXPECT_OK(set_option(options, option.name, std::to_string(option.max))) << option.name;
      EXPECT_OK(check_options(options));
      EXPECT_REFUSED(Code::kInvalidArgument, std::string(option.name), set_option(options, option.name, std::to_string(option.max + 1)));
    }
    if (!option.choices.empty()) {
      for (size_t from = 0; from < option.choices.size();) {
        const size_t comma = std::min(option.choices.find(", ", from), option.choices.size());
        const std::string choice(option.choices.substr(from, comma - from));
        EXPECT_OK(set_option(options, option.name, choice)) << option.name;
        EXPECT_EQ(option_text(options, option.name), choice);
        from = comma + 2;
      }
    }
  }
  HeapOptions options;
  EXPECT_REFUSED(Code::kInvalidArgument, "unknown option 'wishful'", set_option(options, "wishful", "1"));
  EXPECT_REFUSED(Code::kInvalidArgument, "markers", set_option(options, "markers", "1000"));
  EXPECT_OK(set_option(options, "capacity_bytes", "2G"));
  EXPECT_EQ(options.capacity_bytes, uint64_t{2} << 30);
  EXPECT_EQ(option_text(options, "capacity_bytes"), "2G");
  options.threads_max = 65;
  EXPECT_REFUSED(Code::kInvalidArgument, "HeapOptions::threads_max is 65", check_options(options));
}

}  // namespace
}  // namespace elider::test
