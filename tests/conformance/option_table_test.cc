// Tests that options are set from text, printed as text, and refused, by their names in the tables.
#include "elider/laboratory.h"
#include "elider/option_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "elider/database.h"
#include "tests/support/status_matchers.h"

namespace elider {
namespace {

// All options, those of the laboratory included.
std::vector<OptionInfo> all_options() {
  std::vector<OptionInfo> all(option_table().begin(), option_table().end());
  all.insert(all.end(), laboratory_option_table().begin(), laboratory_option_table().end());
  return all;
}

TEST(OptionTableTest, EachTakesBackTheTextOfItsDefault) {
  for (const OptionInfo& option : all_options()) {
    const std::string before = option_text(Options(), option.name);
    Options options;
    EXPECT_OK(set_option(options, option.name, before)) << option.name;
    EXPECT_EQ(option_text(options, option.name), before) << option.name;
    EXPECT_FALSE(option.words.empty()) << option.name;
    ASSERT_NE(find_option(option.name), nullptr) << option.name;
    EXPECT_EQ(find_option(option.name)->name, option.name);
  }
}

// A change of the laboratory options of one object leaves its copies unchanged.
TEST(OptionTableTest, CopiesKeepTheirLaboratoryOptions) {
  Options options;
  EXPECT_EQ(laboratory_of(options).partitions, 64u);
  change_laboratory(options).partitions = 3;
  const Options copy = options;
  change_laboratory(options).partitions = 5;
  EXPECT_OK(set_option(options, "restarts_max", "7"));
  EXPECT_EQ(laboratory_of(copy).partitions, 3u);
  EXPECT_EQ(laboratory_of(copy).restarts_max, LaboratoryOptions().restarts_max);
  EXPECT_EQ(laboratory_of(options).partitions, 5u);
  EXPECT_EQ(laboratory_of(options).restarts_max, 7u);
  EXPECT_EQ(laboratory_of(Options()).partitions, 64u);
  EXPECT_LE(option_table().size(), 28u) << "the options of a product's user";
}

TEST(OptionTableTest, NumbersKeepTheirRange) {
  for (const OptionInfo& option : all_options()) {
    if (option.type != OptionInfo::Type::kNumber && option.type != OptionInfo::Type::kBytes) continue;
    Options options;
    const std::string before = option_text(options, option.name);
    EXPECT_OK(set_option(options, option.name, std::to_string(option.min))) << option.name;
    EXPECT_OK(set_option(options, option.name, std::to_string(option.max))) << option.name;
    options = {};
    if (option.max != ~uint64_t{0}) {
      EXPECT_REFUSED(Code::kInvalidArgument, std::string(option.name), set_option(options, option.name, std::to_string(option.max + 1)));
    }
    if (option.min != 0) {
      EXPECT_EQ(set_option(options, option.name, "0").ok(), !option.zero.empty()) << option.name;
    }
    options = {};
    for (const char* nonsense : {"", "-1", "x", "1x", "0x10", "1.5", " 1", "99999999999999999999", "99999999999G"})
      EXPECT_REFUSED(Code::kInvalidArgument, std::string(option.name), set_option(options, option.name, nonsense));
    EXPECT_EQ(option_text(options, option.name), before) << "what is refused changes nothing";
  }
}

TEST(OptionTableTest, TextsOfAllTypesAreTaken) {
  Options options;
  EXPECT_OK(set_option(options, "memory_limit_bytes", "512M"));
  EXPECT_EQ(options.memory_limit_bytes, uint64_t{512} << 20);
  EXPECT_OK(set_option(options, "checkpoint_log_bytes", "2g"));
  EXPECT_EQ(options.checkpoint_log_bytes, uint64_t{2} << 30);
  EXPECT_OK(set_option(options, "checkpoint_log_bytes", "automatic"));
  EXPECT_EQ(options.checkpoint_log_bytes, kCheckpointLogAutomatic);
  EXPECT_OK(set_option(options, "huge_pages", "false"));
  EXPECT_FALSE(options.huge_pages);
  EXPECT_OK(set_option(options, "durability", "group"));
  EXPECT_EQ(options.durability, Durability::kGroup);
  EXPECT_OK(set_option(options, "log_failure", "stop"));
  EXPECT_EQ(options.log_failure, LogFailure::kStop);
  EXPECT_OK(set_option(options, "data_folders", "a,b/c"));
  EXPECT_EQ(options.data_folders, (std::vector<std::string>{"a", "b/c"}));
  EXPECT_OK(set_option(options, "data_folders", ""));
  EXPECT_TRUE(options.data_folders.empty());
  EXPECT_OK(set_option(options, "elision.poor_percent", "7"));
  EXPECT_EQ(change_laboratory(options).elision.poor_percent, 7u);
  EXPECT_REFUSED(Code::kInvalidArgument, "data_folders", set_option(options, "data_folders", "a,,b"));
  EXPECT_REFUSED(Code::kInvalidArgument, "data_folders", set_option(options, "data_folders", "a,"));
  EXPECT_REFUSED(Code::kInvalidArgument, "none, async, group", set_option(options, "durability", "default"));
  EXPECT_REFUSED(Code::kInvalidArgument, "true, false", set_option(options, "huge_pages", "yes"));
  EXPECT_REFUSED(Code::kInvalidArgument, "power of two", set_option(options, "log_buffer_bytes", "5000"));
  EXPECT_REFUSED(Code::kInvalidArgument, "workers_max", set_option(options, "workers_max", "1K"));
  EXPECT_REFUSED(Code::kInvalidArgument, "'workers'", set_option(options, "workers", "1"));
  EXPECT_EQ(option_text(options, "workers"), "");
}

TEST(OptionTableTest, ADatabaseThatOpensChecksByIt) {
  Options options;
  options.workers_max = 5000;
  EXPECT_REFUSED(Code::kInvalidArgument, "Options::workers_max is 5000; allowed: 1 to 4096", Database::open(options));
  options = {};
  change_laboratory(options).elision.window_runs = 2'000'000;
  EXPECT_REFUSED(Code::kInvalidArgument, "elision.window_runs", Database::open(options));
  options = {};
  options.memory_limit_bytes = 100;
  EXPECT_REFUSED(Code::kInvalidArgument, "0 (no limit) or at least 4M", Database::open(options));
}

}  // namespace
}  // namespace elider
